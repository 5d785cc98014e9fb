//! What the fail-safe says of a step.

/// What the fail-safe did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Vertices whose end it changed.
    pub touched: usize,
    /// Searches for meetings.
    pub searches: usize,
    /// The last stage that was needed.
    pub stage: Stage,
    /// Meetings with obstacles that nothing could prevent.
    pub trapped: usize,
    /// Pairs that crossed at the start of the step and were left out.
    pub left_out: usize,
}

/// How far the fail-safe had to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing met.
    #[default]
    Clean,
    /// Impulses were enough.
    Impulses,
    /// Inelastic projection.
    Projection,
    /// Rigid impact zones.
    Zones,
    /// Some vertices stopped short of where they were to go.
    BackOff,
}

impl Stage {
    /// In a word, for reports; later stages come later in the alphabet.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "",
            Self::Impulses => "1 impulses",
            Self::Projection => "2 projection",
            Self::Zones => "3 zones",
            Self::BackOff => "4 back-off",
        }
    }
}
