//! Goes back along displacements until nothing meets: the way out that always exists, because nothing crosses where
//! everything began.

use crate::contact::{Candidate, NO_VERTEX};
use muslin_geometry::InputError;
use muslin_linalg::Vec3;

/// Part of the way to a meeting that is kept.
const BEFORE: f64 = 0.9;
/// Rounds after which vertices that still meet stay where they began.
const PATIENCE: usize = 8;

/// What is left of the displacements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackOff {
    /// Rounds it took, the last and clean one included.
    pub rounds: usize,
    /// Vertices that could not go all the way.
    pub held_back: usize,
    /// Meetings with obstacles that happen even to vertices that stay where they are.
    pub trapped: usize,
}

/// Shortens displacements until `meetings` finds nothing more than what cannot be helped. `x1` are the ends of the ways
/// from `x0` (m); only the first `movable` vertices can be stopped. The search gets the ends, and the vertices whose
/// ends have changed since it was last asked (none the first time: all count).
pub fn back_off(
    x0: &[Vec3],
    x1: &mut [Vec3],
    movable: usize,
    mut meetings: impl FnMut(&[Vec3], Option<&[bool]>, &mut Vec<Candidate>) -> Result<(), InputError>,
) -> Result<BackOff, InputError> {
    let way: Vec<Vec3> = (0..movable).map(|i| x1[i] - x0[i]).collect();
    let mut fraction = vec![1.0; movable];
    let mut changed = vec![false; x0.len()];
    let mut hopeless: Vec<[u32; 4]> = Vec::new();
    let mut found = Vec::new();
    let mut done = BackOff::default();
    loop {
        let since = (done.rounds > 0).then_some(&changed[..]);
        meetings(x1, since, &mut found)?;
        done.rounds += 1;
        changed.fill(false);
        let mut open = false;
        for c in &found {
            let own = || {
                let vertices = c.vertices.into_iter().filter(|v| *v != NO_VERTEX);
                vertices.map(|v| v as usize).filter(|v| *v < movable)
            };
            if own().all(|v| fraction[v] == 0.0) {
                hopeless.push(c.vertices);
                continue;
            }
            open = true;
            for v in own() {
                let now = if done.rounds > PATIENCE {
                    0.0
                } else {
                    BEFORE * c.time.min(1.0) * fraction[v]
                };
                // The fraction of the round just searched may have fallen already for another meeting.
                fraction[v] = now.min(fraction[v]);
                changed[v] = true;
            }
        }
        for v in (0..movable).filter(|v| changed[*v]) {
            x1[v] = x0[v] + way[v] * fraction[v];
        }
        if !open {
            hopeless.sort_unstable();
            hopeless.dedup();
            done.trapped = hopeless.len();
            done.held_back = fraction.iter().filter(|f| **f < 1.0).count();
            return Ok(done);
        }
    }
}
