//! The annotation passes, in their order. Each pass works on whole regions of the graph: first on all regions, and
//! later on the regions that a refusal affects ([`Scope`](crate::annotate::analyses::scope::Scope)).
//!
//! Before these passes, [`place`](crate::annotate::place()) decides which nodes run on the accelerator. After them,
//! lowering bakes parameters.

use super::{
    alignment, borders, calibration, configs, fusion, given, parameters, parts, passive, products, shifts, simplify,
};
use crate::annotate::settings::AnnotateError;
use crate::annotate::state::{Draft, PassContext};

/// A pass: a function that changes the draft.
type Pass = fn(&PassContext<'_>, &mut Draft) -> Result<(), AnnotateError>;

/// The passes that decide which configs share a grid. They refuse a node if two given grids would have to be the same
/// but differ.
const GROUPS: &[Pass] = &[
    configs::run,
    passive::run,
    fusion::run,
    alignment::run,
    simplify::run,
    borders::run,
];

/// The passes that find the grids. Each of them may refuse nodes.
const GRIDS: &[Pass] = &[
    calibration::run,
    parts::run,
    parameters::run,
    products::run,
    shifts::run,
    given::run,
];

/// Runs the passes until one of them refuses nodes. Then it stops, because later passes need grids that these nodes do
/// not have. Returns true if the groups of the scope are complete. Otherwise, the whole scope has to be annotated
/// again.
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
