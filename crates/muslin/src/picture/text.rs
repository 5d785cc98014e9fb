//! Labels in pictures, in a font that is part of the program.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};

/// Writes a line of text into RGB bytes of a picture so many pixels wide; `at` is its upper left corner, `height` that of
/// a line, in pixels. What falls outside is cut off.
pub fn write_text(
    rgb: &mut [u8],
    width: usize,
    at: [usize; 2],
    height: f32,
    color: [u8; 3],
    text: &str,
) {
    let bytes: &[u8] = include_bytes!("../../../../assets/fonts/DejaVuSans.ttf");
    // The file is part of the program; a test writes with it.
    let Ok(font) = FontRef::try_from_slice(bytes) else {
        return;
    };
    let scaled = font.as_scaled(PxScale::from(height));
    let mut x = at[0] as f32;
    let baseline = at[1] as f32 + scaled.ascent();
    for letter in text.chars() {
        let glyph = scaled.scaled_glyph(letter);
        let mut placed = glyph.clone();
        placed.position = point(x, baseline);
        x += scaled.h_advance(glyph.id);
        let Some(outline) = font.outline_glyph(placed) else {
            continue;
        };
        let corner = outline.px_bounds().min;
        outline.draw(|dx, dy, cover| {
            let (px, py) = (corner.x + dx as f32, corner.y + dy as f32);
            if px < 0.0 || py < 0.0 || px as usize >= width {
                return;
            }
            let first = 3 * (py as usize * width + px as usize);
            if let Some(pixel) = rgb.get_mut(first..first + 3) {
                for k in 0..3 {
                    let mixed = f32::from(pixel[k]) * (1.0 - cover) + f32::from(color[k]) * cover;
                    pixel[k] = mixed as u8;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_leave_ink_and_stay_inside() {
        let mut rgb = vec![255; 3 * 60 * 20];
        write_text(
            &mut rgb,
            60,
            [2, 2],
            14.0,
            [0; 3],
            "Frame 12, much too long",
        );
        assert!(rgb.iter().filter(|c| **c < 100).count() > 100);
        // The first columns are left of the text.
        assert!((0..20).all(|y| rgb[3 * 60 * y] == 255));
    }
}
