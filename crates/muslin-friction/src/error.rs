//! What can be wrong with a problem. Missing a tolerance is not among it: that is in the report.

/// A malformed problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FrictionError {
    /// An array has the wrong length.
    #[error("{what} has {found} entries, but {expected} are needed")]
    Size {
        /// Which array.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A number is not finite.
    #[error("{what} {index} is not a finite number")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// Where in it.
        index: usize,
    },
    /// A diagonal block is not positive definite.
    #[error("the diagonal block of node {node} is not positive definite")]
    Diagonal {
        /// The node.
        node: usize,
    },
    /// A node's inertia is not positive.
    #[error("the inertia of node {node} is not positive")]
    Inertia {
        /// The node.
        node: usize,
    },
    /// A contact without nodes.
    #[error("contact {contact} has no node")]
    NoNode {
        /// The contact.
        contact: usize,
    },
    /// A contact names a node that does not exist.
    #[error("contact {contact} names node {node}, which does not exist")]
    NodeOutOfRange {
        /// The contact.
        contact: usize,
        /// The node.
        node: u32,
    },
    /// A contact names a node twice.
    #[error("contact {contact} names node {node} twice")]
    RepeatedNode {
        /// The contact.
        contact: usize,
        /// The node.
        node: u32,
    },
    /// A contact's frame is not orthonormal.
    #[error("the frame of contact {contact} is not orthonormal")]
    Frame {
        /// The contact.
        contact: usize,
    },
    /// A friction coefficient is negative or not a number.
    #[error("a friction coefficient of contact {contact} is negative or not a number")]
    Friction {
        /// The contact.
        contact: usize,
    },
    /// The tolerance is not positive.
    #[error("the tolerance must be positive, and {0} is not")]
    Tolerance(f64),
}
