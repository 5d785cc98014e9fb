//! A contact after the solve, as it is recorded.

use super::Party;
use muslin_friction::State;
use muslin_linalg::Vec3;

/// Where two objects touched in a step, and what happened there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Who touches whom; the normal points from the second to the first.
    pub parties: [Party; 2],
    /// On the surface of the second party at the start of the step, m.
    pub position: Vec3,
    /// Unit normal.
    pub normal: Vec3,
    /// Impulse on the first party, N s, in scene axes; the second gets the opposite.
    pub impulse: Vec3,
    /// What the contact does.
    pub state: State,
}
