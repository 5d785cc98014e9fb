//! Panels with axes, curves and a legend, drawn as SVG or as pixels.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::sync::Once;

/// One curve.
pub struct Curve {
    /// Name in the legend.
    pub label: String,
    /// Points.
    pub points: Vec<(f64, f64)>,
}

/// Curves over one pair of axes.
pub struct Panel {
    /// What is shown.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// Whether the vertical axis runs in powers of ten.
    pub logarithmic: bool,
    /// Whether the area below the curves is filled.
    pub bars: bool,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// Colours that people with colour-blindness tell apart (Okabe and Ito).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// More points than this are thinned to the extremes of equal stretches: nobody sees the difference.
const MOST_POINTS: usize = 4000;
const FONT: &str = "sans-serif";

fn fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let bytes = include_bytes!("../../../../assets/fonts/DejaVuSans.ttf");
        // The file is part of the program; a test draws with it.
        let _ = plotters::style::register_font(FONT, FontStyle::Normal, bytes);
    });
}

/// An SVG document.
pub fn svg(size: [usize; 2], panels: &[Panel]) -> Result<String, String> {
    fonts();
    let mut text = String::new();
    {
        let backend = SVGBackend::with_string(&mut text, (size[0] as u32, size[1] as u32));
        draw(&backend.into_drawing_area(), panels)?;
    }
    Ok(text)
}

/// RGB bytes.
pub fn rgb(size: [usize; 2], panels: &[Panel]) -> Result<Vec<u8>, String> {
    fonts();
    let mut bytes = vec![255; 3 * size[0] * size[1]];
    {
        let backend = BitMapBackend::with_buffer(&mut bytes, (size[0] as u32, size[1] as u32));
        draw(&backend.into_drawing_area(), panels)?;
    }
    Ok(bytes)
}

fn draw<B: DrawingBackend>(area: &DrawingArea<B, Shift>, panels: &[Panel]) -> Result<(), String> {
    area.fill(&WHITE).map_err(|e| e.to_string())?;
    for (place, panel) in area.split_evenly((panels.len(), 1)).iter().zip(panels) {
        draw_panel(place, panel).map_err(|e| e.to_string())?;
    }
    area.present().map_err(|e| e.to_string())
}

/// Powers of ten that a logarithmic panel shows at most.
const MOST_DECADES: f64 = 12.0;
/// Share of the height that a line of the legend takes, for panels of the usual size.
const LEGEND_ROOM: f64 = 0.13;

fn draw_panel<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    panel: &Panel,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let curves: Vec<Vec<(f64, f64)>> = panel
        .curves
        .iter()
        .map(|c| thinned(&shown(&c.points, panel.logarithmic)))
        .collect();
    let x = bounds(curves.iter().flatten().map(|p| p.0), 0.0);
    let mut y = bounds(curves.iter().flatten().map(|p| p.1), 0.06);
    if panel.bars {
        y.0 = 0.0;
    }
    if panel.logarithmic {
        // Residuals of nothing at all would press the others into one line; they are drawn at the bottom.
        y.0 = y.0.max(y.1 - MOST_DECADES);
    }
    let legend = panel.curves.len() > 1 || panel.bars;
    if legend {
        // Room above the curves, so that it hides none of them.
        y.1 += (y.1 - y.0) * LEGEND_ROOM * panel.curves.len() as f64;
    }
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(24)
        .caption(&panel.title, (FONT, 15))
        .x_label_area_size(38)
        .y_label_area_size(74)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    let power = |v: &f64| format!("1e{v:.0}");
    let across = |v: &f64| tidy(*v, x.1 - x.0);
    let plain = |v: &f64| tidy(*v, y.1 - y.0);
    let vertical: &dyn Fn(&f64) -> String = if panel.logarithmic { &power } else { &plain };
    let decades = (y.1 - y.0).abs().ceil() as usize;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(226, 226, 226))
        .axis_style(RGBColor(90, 90, 90))
        .label_style((FONT, 12))
        .axis_desc_style((FONT, 13))
        .x_desc(&panel.x_label)
        .y_desc(&panel.y_label)
        .x_labels(9)
        .y_labels(if panel.logarithmic {
            decades.clamp(2, 8)
        } else {
            7
        })
        .x_label_formatter(&across)
        .y_label_formatter(vertical)
        .draw()?;
    for (i, points) in curves.into_iter().enumerate() {
        let color = COLORS[i % COLORS.len()];
        if panel.bars {
            let below = AreaSeries::new(points.iter().copied(), 0.0, color.mix(0.2));
            chart.draw_series(below)?;
        }
        let line = points.into_iter().map(|p| (p.0, p.1.max(y.0)));
        let line = LineSeries::new(line, color.stroke_width(2));
        chart
            .draw_series(line)?
            .label(&panel.curves[i].label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    if legend {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font((FONT, 12))
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .draw()?;
    }
    Ok(())
}

/// Points as they are drawn; a logarithm has no place for zero and less.
fn shown(points: &[(f64, f64)], logarithmic: bool) -> Vec<(f64, f64)> {
    let finite = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite();
    points
        .iter()
        .filter(|p| !logarithmic || p.1 > 0.0)
        .map(|p| (p.0, if logarithmic { p.1.log10() } else { p.1 }))
        .filter(finite)
        .collect()
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::with_capacity(MOST_POINTS);
    for part in points.chunks(stretch) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        if let (Some(low), Some(high)) = (part.iter().min_by(by), part.iter().max_by(by)) {
            let (first, second) = if low.0 <= high.0 {
                (low, high)
            } else {
                (high, low)
            };
            kept.extend([*first, *second]);
        }
    }
    kept
}

/// Smallest and largest value with a margin; never an empty range.
fn bounds(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
        (a.min(v), b.max(v))
    });
    if low > high {
        return (0.0, 1.0);
    }
    // Differences below rounding would make all labels the same.
    let spread = (high - low)
        .max(1e-9 * low.abs().max(high.abs()))
        .max(1e-12);
    let room = if high > low { margin * spread } else { spread };
    (low - room, high + room)
}

/// A number for an axis of a length; what is nothing beside it is zero that went through rounding.
fn tidy(v: f64, length: f64) -> String {
    if v.abs() < 1e-9 * length {
        return "0".into();
    }
    if v.abs() >= 1e5 || v.abs() < 1e-3 {
        return format!("{v:.1e}");
    }
    let text = format!("{v:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(points: Vec<(f64, f64)>, logarithmic: bool) -> Panel {
        Panel {
            title: "residual & <more>".into(),
            x_label: "time (s)".into(),
            y_label: "m/s".into(),
            logarithmic,
            bars: false,
            curves: vec![Curve {
                label: "run".into(),
                points,
            }],
        }
    }

    #[test]
    fn both_kinds_are_drawn_with_text() {
        let panels = [panel(
            (0..50).map(|i| (f64::from(i), f64::from(i * i))).collect(),
            false,
        )];
        let text = svg([400, 300], &panels).unwrap();
        assert!(text.contains("<svg") && text.contains("polyline") && text.contains("time (s)"));
        assert!(text.contains("residual &amp; &lt;more&gt;"));
        let pixels = rgb([400, 300], &panels).unwrap();
        let dark = pixels
            .chunks(3)
            .filter(|p| p.iter().all(|c| *c < 90))
            .count();
        assert!(dark > 300, "{dark} dark pixels: no text");
    }

    #[test]
    fn odd_curves_do_not_harm() {
        for points in [
            vec![],
            vec![(0.0, 0.0)],
            vec![(0.0, 5.0), (1.0, 5.0)],
            vec![(0.0, f64::NAN), (1.0, f64::INFINITY)],
            vec![(0.0, 1e300), (1.0, -1e300)],
        ] {
            for logarithmic in [false, true] {
                assert!(svg([300, 200], &[panel(points.clone(), logarithmic)]).is_ok());
            }
        }
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let spike = |i: usize| if i == 54_321 { 1e6 } else { (i % 7) as f64 };
        let points: Vec<(f64, f64)> = (0..100_000).map(|i| (i as f64, spike(i))).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS + 2 && kept.contains(&(54_321.0, 1e6)));
    }
}
