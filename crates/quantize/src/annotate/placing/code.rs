//! Asks the target's own code which nodes it refuses. The target's table has already accepted these nodes.

use super::refusal::operands;
use strait_core::{GraphId, Module, Placement, Refusal};
use strait_target::spec::OpSite;
use strait_target::{Candidate, Target, TargetError};

/// Returns the nodes on the accelerator that the target's code refuses, with the code's reasons.
///
/// # Errors
/// Any error of the target's code that is not a refusal.
pub fn refused_by_code(module: &Module, graph: GraphId, target: &dyn Target) -> Result<Vec<Refusal>, TargetError> {
    let Some(g) = module.graph(graph) else {
        return Ok(Vec::new());
    };
    let (mut ids, mut candidates) = (Vec::new(), Vec::new());
    for (id, node) in g.nodes().filter(|(_, node)| node.place == Placement::Accelerator) {
        let Some(result) = node.outputs.first().and_then(|&y| g.value(y)) else {
            continue;
        };
        let operands = operands(g, node);
        let site = OpSite {
            op: &node.op,
            operands: &operands,
            result: &result.ty,
            weight_sum: None,
        };
        ids.push(id);
        candidates.push(Candidate::new(module.name(node.name), site));
    }
    let reasons = target.refusals(&candidates)?;
    let refused = ids.into_iter().zip(reasons);
    Ok(refused
        .filter_map(|(id, reason)| Some(Refusal::from((id, reason?))))
        .collect())
}
