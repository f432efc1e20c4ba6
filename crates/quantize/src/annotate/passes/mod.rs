//! The passes that annotate, in their order. Each works on whole regions of the graph, all of it at first and later what a
//! refusal touches ([`super::scope`]).
//!
//! In front of them [`place`](super::place()) dispatches nodes to accelerator and host; behind them lowering bakes parameters.

mod alignment;
mod calibration;
mod configs;
mod fusion;
mod parameters;
mod passive;
mod simplify;

use super::AnnotateError;
use super::draft::{Draft, Site};

/// A step over the draft.
type Pass = fn(&Site<'_>, &mut Draft) -> Result<(), AnnotateError>;

/// All passes. The last two may refuse nodes.
const PASSES: &[Pass] = &[
    configs::run,
    passive::run,
    fusion::run,
    alignment::run,
    simplify::run,
    calibration::run,
    parameters::run,
];

/// Runs the passes until one refuses nodes: what follows needs what these have not.
pub(super) fn run(site: &Site<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    draft.withdraw(site);
    for pass in PASSES {
        pass(site, draft)?;
        if !draft.refused.is_empty() {
            break;
        }
    }
    Ok(())
}
