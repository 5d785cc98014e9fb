//! The surface of a solid: the sides that only one tetrahedron has.

use super::check::TetError;

/// Corners of the side opposite each corner, counter-clockwise seen from outside a tetrahedron of positive volume.
const SIDES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// Faces that have a tetrahedron on one side only, counter-clockwise seen from outside, in the order of the tetrahedra.
///
/// All volumes must be positive. Two tetrahedra on the same side of a common face overlap, and more than two cannot have
/// one: both are errors.
pub fn surface_faces(tetrahedra: &[[u32; 4]]) -> Result<Vec<[u32; 3]>, TetError> {
    let mut sides: Vec<([u32; 3], bool, u32, u8)> = Vec::with_capacity(4 * tetrahedra.len());
    for (t, corners) in tetrahedra.iter().enumerate() {
        for (k, side) in SIDES.iter().enumerate() {
            let (sorted, even) = sorted(side.map(|c| corners[c]));
            sides.push((sorted, even, t as u32, k as u8));
        }
    }
    sides.sort_unstable();
    let mut lonely = Vec::new();
    for group in sides.chunk_by(|a, b| a.0 == b.0) {
        match *group {
            [(_, _, t, k)] => lonely.push((t, k)),
            [(_, a, t, _), (_, b, u, _)] if a == b => {
                return Err(TetError::Overlap {
                    tetrahedra: [t as usize, u as usize],
                });
            }
            [_, _] => {}
            _ => {
                return Err(TetError::SharedFace {
                    vertices: group[0].0,
                    tetrahedra: group.len(),
                });
            }
        }
    }
    lonely.sort_unstable();
    let face =
        |(t, k): (u32, u8)| SIDES[usize::from(k)].map(|corner| tetrahedra[t as usize][corner]);
    Ok(lonely.into_iter().map(face).collect())
}

/// A triple in ascending order, and whether it took an even number of swaps to get there.
fn sorted(mut f: [u32; 3]) -> ([u32; 3], bool) {
    let mut even = true;
    for (a, b) in [(0, 1), (1, 2), (0, 1)] {
        if f[a] > f[b] {
            f.swap(a, b);
            even = !even;
        }
    }
    (f, even)
}
