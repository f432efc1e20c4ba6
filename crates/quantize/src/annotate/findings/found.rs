//! All findings of one annotation.

use super::{GivenAway, Requantized, RuleRange, UnlikePart};
use crate::annotate::state::{Coarser, Overlapped, Raised};

/// Grids that cost accuracy because of decisions of the annotation, or because of settings.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Grids of nodes on the accelerator that are coarser than the observed range requires. If only zeros were
    /// observed, nothing is lost, and the grid is not listed.
    pub coarser: Vec<Coarser>,
    /// Values that all readers have to read on one grid: the grid to which one reader has aligned its operand. The
    /// configuration or the target requires this. The entries are in the order of values.
    pub overlapped: Vec<Overlapped>,
    /// Weights whose scale is larger than their range requires, in the order of nodes.
    pub raised: Vec<Raised>,
    /// Ranges in rules that do not fit what was observed.
    pub rule_ranges: Vec<RuleRange>,
    /// Values of the model whose own grid the target does not support, and which are on another grid now.
    pub requantized: Vec<Requantized>,
    /// Grids that spend almost all of their codes on a single number, in the order of nodes.
    pub given_away: Vec<GivenAway>,
    /// Parts of tensors that lose accuracy because they share a grid with other parts.
    pub unlike: Vec<UnlikePart>,
}
