//! The passes that annotate, in their order. Each works on whole regions of the graph, all of it at first and later what a
//! refusal touches ([`Scope`](crate::annotate::analyses::scope::Scope)).
//!
//! In front of them [`place`](crate::annotate::place()) dispatches nodes to accelerator and host; behind them lowering bakes parameters.

use super::{
    alignment, borders, calibration, configs, fusion, given, parameters, parts, passive, products, shifts, simplify,
};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};

/// A step over the draft.
type Pass = fn(&PassContext<'_>, &mut Draft) -> Result<(), AnnotateError>;

/// The passes that say which configs share a grid. They refuse nodes where two grids that are given stand against that.
const GROUPS: &[Pass] = &[
    configs::run,
    passive::run,
    fusion::run,
    alignment::run,
    simplify::run,
    borders::run,
];

/// The passes that find the grids. Each may refuse nodes.
const GRIDS: &[Pass] = &[
    calibration::run,
    parts::run,
    parameters::run,
    products::run,
    shifts::run,
    given::run,
];

/// Runs the passes until one refuses nodes: what follows needs what these have not. Answers whether the groups of the
/// scope stand; if not, all of it is to be done again.
pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<bool, AnnotateError> {
    draft.withdraw(context)?;
    for pass in GROUPS {
        pass(context, draft)?;
    }
    let stands = draft.refused.is_empty();
    for pass in GRIDS {
        if draft.refused.is_empty() {
            pass(context, draft)?;
        }
    }
    Ok(stands)
}
