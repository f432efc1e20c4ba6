//! All findings of one annotation.

use super::{GivenAway, Requantized, RuleRange, UnlikePart};
use crate::annotate::state::{Coarser, Overlapped, Raised};

/// Grids that cost accuracy, by what annotation did or was told to do.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The grids that are coarser than what was seen asks for, of nodes on the accelerator. Zero alone loses nothing.
    pub coarser: Vec<Coarser>,
    /// The values whose other readers have the grid of an aligned operand because that is forced, in the order of values.
    pub overlapped: Vec<Overlapped>,
    /// The weights whose scale is larger than they ask for, in the order of nodes.
    pub raised: Vec<Raised>,
    /// The ranges of rules that do not fit what was seen.
    pub rule_ranges: Vec<RuleRange>,
    /// The values of the model that were on a grid which the target cannot have, and are on another one.
    pub requantized: Vec<Requantized>,
    /// The grids of which one number takes nearly all, in the order of nodes.
    pub given_away: Vec<GivenAway>,
    /// The parts of tensors that lose by the grid which they share.
    pub unlike: Vec<UnlikePart>,
}
