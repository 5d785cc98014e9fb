//! Questions about one place: what is in this box, what is nearest to this point.

use super::bounds::{Bounds, Splat};
use super::elements::NONE;
use super::tree::Bvh;
use muslin_linalg::Vec3;

/// The nearest face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Its index.
    pub face: u32,
    /// Its squared distance, in square metres, as the caller measured it.
    pub squared: f64,
}

impl Bvh {
    /// Appends every face whose box overlaps `bounds`, in the order of the tree.
    pub fn faces_overlapping(&self, bounds: &Bounds, out: &mut Vec<u32>) {
        let query = Splat::new(bounds);
        self.leaves_overlapping(&query, 0, |leaf| {
            let mut near = self.nodes[leaf].overlaps(&query);
            while near != 0 {
                let element = &self.leaf(leaf)[near.trailing_zeros() as usize];
                near &= near - 1;
                if element.face != NONE {
                    out.push(element.face);
                }
            }
        });
    }

    /// The face nearest to `point` among those within `max_distance` (m), measured by `squared_distance` (m²), which gets
    /// the index of a face and must not be less than the distance to its box. Of equally near faces the one with the
    /// smallest index wins, whatever the shape of the tree.
    pub fn nearest_face(
        &self,
        point: Vec3,
        max_distance: f64,
        mut squared_distance: impl FnMut(u32) -> f64,
    ) -> Option<Nearest> {
        let mut best = Nearest {
            face: NONE,
            squared: max_distance * max_distance,
        };
        let mut stack = [(0u32, 0u32, 0.0f64); 64];
        stack[0] = (self.levels.len() as u32 - 1, 0, 0.0);
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (level, index, bound) = stack[depth];
            if bound > best.squared {
                continue;
            }
            let node = &self.nodes[self.levels[level as usize] + index as usize];
            let squared = node.squared_distances(point);
            let mut order = [0u32, 1, 2, 3];
            order.sort_unstable_by(|&a, &b| squared[b as usize].total_cmp(&squared[a as usize]));
            if level == 0 {
                for &lane in order.iter().rev() {
                    let element = self.elements.get(4 * index as usize + lane as usize);
                    let Some(face) = element.map(|e| e.face).filter(|&f| f != NONE) else {
                        continue;
                    };
                    if squared[lane as usize] <= best.squared {
                        let found = squared_distance(face);
                        if found < best.squared || (found == best.squared && face < best.face) {
                            best = Nearest {
                                face,
                                squared: found,
                            };
                        }
                    }
                }
            } else {
                // Farthest first, so that the nearest is on top.
                for lane in order {
                    let bound = squared[lane as usize];
                    let child = 4 * index + lane;
                    if bound <= best.squared && self.exists(level - 1, child) {
                        stack[depth] = (level - 1, child, bound);
                        depth += 1;
                    }
                }
            }
        }
        (best.face != NONE).then_some(best)
    }

    /// Empty lanes are infinitely far, which is still not beyond an infinite search radius.
    fn exists(&self, level: u32, index: u32) -> bool {
        let level = level as usize;
        let end = self
            .levels
            .get(level + 1)
            .copied()
            .unwrap_or(self.nodes.len());
        self.levels[level] + (index as usize) < end
    }
}
