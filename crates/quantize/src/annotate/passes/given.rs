//! **Given codes.**
//! - What: takes over the given codes of parameters, and checks again whether given grids fit together.
//! - Why: grids and codes from a model or a record are used as they are. If a node does not support them, the reason
//!   has to be stated.
//! - Preconditions: every config has its grid.
//! - Effect: configs of parameters with given codes carry these codes, and baking uses them instead of rounding. The
//!   following are refused: a bias or accumulator whose given scale is not s_x·s_w, or whose given type is not the type
//!   of accumulators; a bias with given codes that depend on a grid which is not given; and a reader that needs another
//!   grid than its producer's, if the target does not requantize codes.

use super::simplify::can_requantize;
use crate::annotate::analyses::Role;
use crate::annotate::settings::{AnnotateError, Given};
use crate::annotate::state::given::of;
use crate::annotate::state::refuse;
use crate::annotate::state::{Draft, PassContext};
use strait_core::{ConfigId, Derivation, Move, Node, NodeId, Port, QuantParams, Reason, ReasonCode, State};

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    let nodes = std::mem::take(&mut draft.unchecked);
    let nodes = nodes.into_iter().filter_map(|id| Some((id, context.graph.node(id)?)));
    for (id, port) in nodes.flat_map(|(id, node)| ports(node).map(move |port| (id, port))) {
        let Some(id) = draft.table.id(id, port) else { continue };
        if let Some((node, reason)) = meets(context, draft, id) {
            if reason.code == ReasonCode::GivenGrid {
                draft.unfitting([id, draft.table.root(id)], node, &reason);
            }
            draft.refused.push((node, reason));
        }
        let Some(given) = of(context, draft, id) else { continue };
        let wrong = draft
            .table
            .derivation(id)
            .and_then(|from| rests(draft, id, from, given));
        match (wrong, given.codes) {
            (Some(wrong), _) => refuse(draft, id, wrong),
            (None, Some(codes)) if draft.table.codes(id).is_none() => draft.transition(id, Move::Give(codes))?,
            (None, _) => {}
        }
    }
    Ok(())
}

fn ports(node: &Node) -> impl Iterator<Item = Port> {
    let operands = (0..node.inputs.len()).map(Port::Operand);
    operands.chain((0..node.outputs.len()).map(Port::Result))
}

/// If a node cannot use the codes that the producer of its operand stores, returns this node and the reason. Returns
/// `None` if the node can use them.
fn meets(context: &PassContext<'_>, draft: &Draft, id: ConfigId) -> Option<(NodeId, Reason)> {
    let (bound, config) = (draft.bound.get(id.index())?, draft.table.config(id)?);
    if bound.role != Role::Activation || !matches!(config.port, Port::Operand(_)) {
        return None;
    }
    // If the producer stores the value as an accumulator, there is no grid that a reader could refuse: each reader
    // requantizes the accumulator to its own grid.
    let leaves = draft.left(context, bound.value)?;
    if draft.table.state(leaves) == Some(State::Float) {
        return None;
    }
    let scheme = draft.scheme(leaves);
    let met = || draft.table.params(id) == draft.table.params(leaves) && draft.scheme(id) == scheme;
    if can_requantize(context.how.spec, scheme) || met() {
        return None;
    }
    let code = match draft.is_given(id) || draft.is_given(leaves) {
        true => ReasonCode::GivenGrid,
        false => ReasonCode::TwoGrids,
    };
    let text = format!(
        "{} is on another grid than its producer leaves, and the target requantizes no codes",
        config.port
    );
    Some((config.node, Reason::new(code, text)))
}

/// The reason why a bias cannot use the grid or the codes that are given for it. `None` if the bias can use them.
fn rests(draft: &Draft, id: ConfigId, from: Derivation, given: &Given) -> Option<&'static str> {
    let own = draft.table.params(id)?;
    if draft.scheme(id)?.elem() != Some(given.elem) {
        return Some("is given in another type than that of the sum that it belongs to");
    }
    if !agree(&own, &given.params) {
        return Some("is given on another grid than that of the sum that it belongs to");
    }
    let free = given.codes.is_some() && from.masters().any(|master| !draft.is_given(master));
    free.then_some("has codes given for grids of operand and weights that are not given")
}

/// True if two grids are the same. Scales count as the same if they differ by no more than a millionth.
fn agree(one: &QuantParams, other: &QuantParams) -> bool {
    let parts = [one, other].map(|grid| grid.scale.channels().unwrap_or(1));
    let near = |at| match (one.scale.get(at), other.scale.get(at)) {
        (Some(one), Some(other)) => (f64::from(*one) / f64::from(*other) - 1.0).abs() < 1e-6,
        _ => false,
    };
    (0..parts[0].max(parts[1])).all(near) && other.zero_point.all(|&zero| zero == 0)
}
