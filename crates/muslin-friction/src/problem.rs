//! The many-contact problem on plain arrays: `A v + b = Jᵀ r`, `u = J v + u_f`, and Coulomb's law between r and u at every
//! contact.

use muslin_linalg::{BlockMatrix, BlockPattern, Mat3, Vec3};

/// Stands in [`Contact::nodes`] where there is none.
pub const NO_NODE: u32 = u32::MAX;

/// One contact: up to four weighted nodes, a frame and a cone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Nodes that take part; unused places hold [`NO_NODE`].
    pub nodes: [u32; 4],
    /// Signed weights of their velocities; zero in unused places.
    pub weights: [f64; 4],
    /// Rows are normal and tangents, orthonormal: local components are `frame * vector`.
    pub frame: Mat3,
    /// Friction coefficients along the two tangents; equal for Coulomb's circle. Friction is that of maximum dissipation.
    pub friction: [f64; 2],
    /// Local relative velocity that is there without the nodes: obstacle motion and gap over time step, m/s.
    pub offset: Vec3,
}

/// What a contact does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No impulse.
    #[default]
    Separate,
    /// No relative velocity.
    Stick,
    /// Tangential velocity against an impulse on the border of the cone.
    Slide,
}

/// Everything that is given.
#[derive(Clone, Copy, Debug)]
pub struct FrictionProblem<'a> {
    /// Which blocks of the matrix exist.
    pub pattern: &'a BlockPattern,
    /// Symmetric positive definite, kg: mass plus stiffness times the squared time step.
    pub matrix: &'a BlockMatrix,
    /// Minus the momentum of the step without contact, kg m/s.
    pub b: &'a [Vec3],
    /// Contacts.
    pub contacts: &'a [Contact],
    /// Coordinates that may move, by node; empty if all may. Held ones have a diagonal row in the matrix and keep the
    /// velocity that row gives them, whatever pushes.
    pub free: &'a [[bool; 3]],
    /// Mass that a node's velocity error is measured with, kg, by node; empty for the mean of its diagonal block.
    ///
    /// A stiff sheet's diagonal is far above its mass, and an error of momentum that looks small beside it can move the
    /// whole sheet. With the mass here, errors bound the velocity of every rigid motion too.
    pub inertia: &'a [f64],
}

impl Contact {
    /// Nodes that exist with their weights.
    pub fn arms(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.nodes
            .iter()
            .zip(&self.weights)
            .filter(|(n, _)| **n != NO_NODE)
            .map(|(n, w)| (*n as usize, *w))
    }

    /// Local relative velocity.
    pub fn velocity(&self, v: &[Vec3]) -> Vec3 {
        let world: Vec3 = self.arms().map(|(n, w)| w * v[n]).sum();
        self.frame * world + self.offset
    }
}
