//! **Parts.**
//! - What: moves a concatenation to the host if only the host reads its result and its parts have very different
//!   ranges.
//! - Why: if scores share a grid with boxes in pixels, for example, all scores become the code of zero. If only the
//!   host reads the result, nothing on the accelerator needs the shared grid, so each part can have a grid of its own.
//! - Effect: a concatenation is refused if three conditions hold: a part of it would lose three bits; its range was
//!   observed; and only nodes on the host and outputs of the model read its result, directly or after nodes that only
//!   move codes. Each part then has a grid of its own, and the host joins the parts as real numbers. A concatenation
//!   stays if its alignment is `share`, if the configuration requires it in integers, if it has codes in the model, or
//!   if a rule sets its range.

use crate::annotate::findings::Unlike;
use crate::annotate::settings::{AnnotateError, OnCodes, RangeFrom, Run};
use crate::annotate::state::{Draft, PassContext};
use crate::observers::GridKind;
use crate::parts::parts;
use std::collections::BTreeSet;
use strait_core::{Failure, Node, NodeId, Op, Origin, Reason, ReasonCode, ValueId};
use strait_target::spec::{Alignment, Recipe};

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    for &id in &context.scope.nodes {
        let result = context.graph.node(id).and_then(Node::result);
        let Some(result) =
            result.filter(|&result| may_leave(context, draft, id) && host_alone_reads(context, draft, result))
        else {
            continue;
        };
        if let Some(reason) = unlike(context, draft, id, result)? {
            draft.refused.push((id, reason));
        }
    }
    Ok(())
}

/// True if a node on the accelerator is a concatenation that has a grid of its own and may move to the host.
fn may_leave(context: &PassContext<'_>, draft: &Draft, id: NodeId) -> bool {
    let Some(node) = context.graph.node(id).filter(|node| matches!(node.op, Op::Concat(_))) else {
        return false;
    };
    let settings = context.how.settings;
    let alignment = settings.alignment(id).unwrap_or(settings.default.alignments.concat);
    let stays = settings.run(id) == Some(&Run::Integer) || context.how.constraints.on_codes(id) != OnCodes::Nothing;
    let grid = draft.result(id, 0).and_then(|result| draft.table.grid(result));
    let observed = grid.is_some_and(|grid| matches!(grid.origin, Origin::Observed | Origin::Coarsened));
    moves(context, id, node) && alignment != Alignment::Share && !stays && observed
}

/// True if a node on the accelerator only moves codes.
fn moves(context: &PassContext<'_>, id: NodeId, node: &Node) -> bool {
    let recipe = context.how.roles().recipe(id, node);
    recipe.is_some_and(|(_, recipe)| matches!(recipe, Recipe::PassThrough { .. }))
}

/// True if only outputs of the graph and nodes on the host read a value. Nodes that only move codes may lie in between:
/// they would move to the host too.
fn host_alone_reads(context: &PassContext<'_>, draft: &Draft, value: ValueId) -> bool {
    let (mut open, mut seen) = (vec![value], BTreeSet::new());
    while let Some(value) = open.pop() {
        for at in context.graph.uses(value) {
            let Some(node) = context
                .graph
                .node(at.node)
                .filter(|_| context.how.roles().reads_codes(context.graph, at))
            else {
                continue;
            };
            let alone = draft.activations(at.node, node.inputs.len()).len() == 1;
            if !(may_leave(context, draft, at.node) || alone && moves(context, at.node, node)) {
                return false;
            }
            open.extend(node.outputs.iter().filter(|&&result| seen.insert(result)));
        }
    }
    true
}

/// The reason why the parts that a node joins should have grids of their own. `None` if they may share a grid.
fn unlike(
    context: &PassContext<'_>,
    draft: &mut Draft,
    id: NodeId,
    result: ValueId,
) -> Result<Option<Reason>, AnnotateError> {
    let config = draft.result(id, 0);
    let Some((kind, (scale, _))) = config.and_then(|config| {
        let scheme = draft.scheme(config)?;
        Some((GridKind::of(scheme), draft.table.params(config)?.as_tensor()?))
    }) else {
        return Ok(None);
    };
    // Only observed ranges count. A rule for a part belongs to another region, and must not decide here.
    let observed = RangeFrom::Observer(context.how.settings.default.observer.clone());
    for part in parts(context.graph, result) {
        let range = match draft.ranges.from(context, part, &observed, kind) {
            Ok(range) => range,
            Err(Failure::Reason(_)) => continue,
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
        };
        if let Some(lost) = Unlike::new(kind, range, scale) {
            let name = context
                .graph
                .value(part)
                .map_or("", |value| context.module.name(value.name));
            let text = format!(
                "its parts are of unlike range, and the host alone reads them: on one grid `{name}` would lose {:.1} bits",
                lost.bits()
            );
            return Ok(Some(Reason::new(ReasonCode::UnlikeParts, text)));
        }
    }
    Ok(None)
}
