//! What ties vertices to places: hands that drag, pins that hold some axes only, and the wind.

use super::following::Following;
use super::split::Split;
use crate::force::drag::DragTriangle;
use crate::force::grip::Grip;
use crate::force::{Element, StepContext};
use muslin_linalg::Vec3;

/// A vertex on a spring to a hand.
pub struct Dragged {
    element: Grip,
    stiffness: f64,
}

impl Dragged {
    /// `dt`: length of the steps, s.
    pub fn new(element: Grip, dt: f64) -> Self {
        Self {
            stiffness: element.stiffness_over(dt),
            element,
        }
    }
}

impl Following<1> for Dragged {
    fn vertices(&self) -> [u32; 1] {
        self.element.vertices()
    }

    fn stiffness(&self) -> [[f64; 1]; 1] {
        [[self.stiffness]]
    }

    fn begin_step(&mut self, x: &[Vec3; 1], v: &[Vec3; 1], step: &StepContext) {
        self.element.begin_step(x, v, step);
    }

    fn pull(&self, x: &[Vec3; 1]) -> [Vec3; 1] {
        [x[0] * self.stiffness - self.element.gradient(x)[0]]
    }
}

/// A vertex of which some axes are held: its place is anywhere along the others.
pub struct Rail {
    /// Vertex in the state.
    pub vertex: u32,
    /// One on held axes.
    pub held: Vec3,
    weight: f64,
    /// Where it has to be, m; only held axes count.
    pub place: Vec3,
}

impl Rail {
    /// `weight` in N/m.
    pub fn new(vertex: u32, axes: [bool; 3], weight: f64) -> Self {
        Self {
            vertex,
            held: Vec3::from(axes.map(|a| if a { 1.0 } else { 0.0 })),
            weight,
            place: Vec3::ZERO,
        }
    }
}

impl Split<1, 1> for Rail {
    fn vertices(&self) -> [u32; 1] {
        [self.vertex]
    }

    fn rows(&self) -> [[f64; 1]; 1] {
        [[1.0]]
    }

    fn weights(&self) -> [f64; 1] {
        [self.weight]
    }

    fn stress(&self, _z: &[Vec3; 1]) -> [Vec3; 1] {
        [Vec3::ZERO]
    }

    fn nearest(&mut self, y: &[Vec3; 1], _weights: &[f64; 1]) -> [Vec3; 1] {
        [self.held * self.place + (Vec3::ONE - self.held) * y[0]]
    }
}

/// A triangle in the wind. Its resistance changes from step to step, so the form is a bound of it.
pub struct Blown {
    element: DragTriangle,
    stiffness: f64,
}

impl Blown {
    /// `stiffness` between displacement of the centre and force that no wind of the scene exceeds by much, N/m.
    pub fn new(element: DragTriangle, stiffness: f64) -> Self {
        Self { element, stiffness }
    }
}

impl Following<3> for Blown {
    fn vertices(&self) -> [u32; 3] {
        self.element.vertices()
    }

    fn stiffness(&self) -> [[f64; 3]; 3] {
        [[self.stiffness / 9.0; 3]; 3]
    }

    fn begin_step(&mut self, x: &[Vec3; 3], v: &[Vec3; 3], step: &StepContext) {
        self.element.begin_step(x, v, step);
    }

    fn pull(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let held = (x[0] + x[1] + x[2]) * (self.stiffness / 9.0);
        self.element.gradient(x).map(|g| held - g)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::force::grip::Hand;
    use crate::step::admm::testing::{assert_minimises, force_of};

    #[test]
    fn a_dragged_vertex_feels_the_hand() {
        let hand = Hand::new(0, Vec3::new(0.1, 0.2, 0.3), 40.0);
        let mut dragged = Dragged::new(Grip::new(hand), 0.01);
        let step = StepContext {
            time: 0.0,
            dt: 0.01,
        };
        dragged.begin_step(&[Vec3::X], &[Vec3::ZERO], &step);
        let x = [Vec3::new(0.9, 0.1, -0.2)];
        let force = force_of(&dragged, &x)[0] + dragged.element.gradient(&x)[0];
        assert!(force.length() < 1e-9);
    }

    #[test]
    fn a_rail_lets_slide_along_its_free_axes() {
        let mut rail = Rail::new(0, [true, false, true], 3.0);
        rail.place = Vec3::new(1.0, 5.0, 2.0);
        let y = [Vec3::new(0.3, 0.4, 0.5)];
        assert_eq!(rail.nearest(&y, &[1.0])[0], Vec3::new(1.0, 0.4, 2.0));
        assert_minimises(&mut rail, &y, |rail, z| {
            let off = (z[0] - rail.place) * rail.held;
            if off.length() > 1e-9 { 1e9 } else { 0.0 }
        });
    }
}
