//! What the verbs of a row do.

use super::certify::Planned;
use super::site::{Found, Producer};
use crate::lowering::integers;
use smallvec::smallvec;
use strait_core::{Elem, Fused, NewNode, Node, NodeId, Op, Patch, QuantParams, Reason, Source, TensorData, ValueId};
use strait_requantize::Step;
use strait_target::spec::{FusionRow, Verb};
use strait_target::{Decision, Site, Target};

/// The nodes that a fusion takes away besides the producer.
fn absorbed(found: &Found<'_>, with_clamp: bool) -> (Vec<NodeId>, ValueId) {
    let mut gone: Vec<NodeId> = found.clamp_before.iter().map(|(id, _)| *id).collect();
    gone.push(found.requantize);
    match found.clamp_behind {
        Some((id, _, result)) if with_clamp => {
            gone.push(id);
            (gone, result)
        }
        _ => (gone, found.narrow),
    }
}

/// The patch of a row without custom verbs.
pub(super) fn patch(found: &Found<'_>, row: &FusionRow, planned: &Planned) -> Result<Patch, Reason> {
    let does = |verb: Verb| row.then.iter().any(|v| **v == verb);
    let (gone, result) = absorbed(found, planned.takes_clamp_behind);
    match found.producer {
        Producer::Constant(tensor) if does(Verb::RequantizeData) => {
            let name = found.name_of(result);
            let data = requantized(found, tensor, &planned.after)?;
            let replace = vec![(result, Source::Data(0))];
            Ok(Patch {
                data: vec![(name, data)],
                replace,
                remove: gone,
                ..Patch::default()
            })
        }
        Producer::Node(id, node) if does(Verb::BurnIntoTable) => burn(found, planned, id, node, gone, result),
        Producer::Node(id, node) if does(Verb::SetRequantize) => {
            let fused = Fused {
                requant: planned.after.form.clone(),
                clamp: planned.after.clamp,
            };
            Ok(absorb(found, (id, node), node.op.clone(), fused, gone, result))
        }
        _ => {
            let verbs = row.then.iter().map(|v| v.to_string()).collect::<Vec<_>>().join(", ");
            Err(Reason::new(
                "verb",
                format!("{verbs} has no exact meaning at this site"),
            ))
        }
    }
}

/// The producer with `fused` in it, in place of everything up to `result`.
fn absorb(
    found: &Found<'_>,
    (id, node): (NodeId, &Node),
    op: Op,
    fused: Fused,
    gone: Vec<NodeId>,
    result: ValueId,
) -> Patch {
    let inputs: Vec<Option<Source>> = node.inputs.iter().map(|i| i.map(Source::Old)).collect();
    let mut origins = vec![id];
    origins.extend(&gone);
    let mut new = NewNode::new(op, &inputs, &origins);
    new.fused = Some(fused);
    new.quant = smallvec![found.graph.value(result).and_then(|v| v.quant.clone())];
    let mut remove = gone;
    remove.push(id);
    Patch {
        add: vec![new],
        replace: vec![(result, Source::New(0, 0))],
        remove,
        ..Patch::default()
    }
}

/// A lookup whose table holds what the step makes of each entry.
fn burn(
    found: &Found<'_>,
    planned: &Planned,
    id: NodeId,
    node: &Node,
    gone: Vec<NodeId>,
    result: ValueId,
) -> Result<Patch, Reason> {
    let table = node
        .inputs
        .get(1)
        .copied()
        .flatten()
        .and_then(|t| found.module.constant(found.graph, t));
    let Some(table) = table.filter(|_| matches!(node.op, Op::Lookup(_)) && planned.after.form.channels().is_none())
    else {
        return Err(Reason::new(
            "table",
            "it is no lookup with one requantization for all entries",
        ));
    };
    let burnt = requantized(found, table, &planned.after)?;
    let inputs = [node.inputs[0].map(Source::Old), Some(Source::Data(0))];
    let mut origins = vec![id];
    origins.extend(&gone);
    let mut new = NewNode::new(node.op.clone(), &inputs, &origins);
    new.quant = smallvec![found.graph.value(result).and_then(|v| v.quant.clone())];
    let mut remove = gone;
    remove.push(id);
    let data = vec![("table".to_string(), burnt)];
    Ok(Patch {
        data,
        add: vec![new],
        replace: vec![(result, Source::New(0, 0))],
        remove,
    })
}

/// The elements of a constant, each through the step of its channel.
fn requantized(found: &Found<'_>, tensor: &TensorData, step: &Step) -> Result<TensorData, Reason> {
    let values = tensor.to_i64().map_err(|e| Reason::new("parameter", e.to_string()))?;
    let shape = tensor.shape();
    let channels = found.channels_of(shape);
    let codes = values
        .iter()
        .enumerate()
        .map(|(index, &x)| step.eval(channels.of(index), x));
    let codes = codes
        .collect::<Result<Vec<i32>, _>>()
        .map_err(|e| Reason::new("outside-domain", e.to_string()))?;
    integers(shape, &codes, found.out())
}

/// What the target's code decides at a site: the op and the step that are to stand there. Its claim is certified like
/// any other.
pub(super) fn decided(
    found: &Found<'_>,
    row: &FusionRow,
    verb: &str,
    target: &dyn Target,
) -> Result<(Option<Op>, Planned), Reason> {
    let Producer::Node(_, node) = found.producer else {
        return Err(Reason::new("verb", format!("custom:{verb} is not for constants")));
    };
    let operands: Vec<(Elem, Option<&QuantParams>)> = (node.inputs.iter().flatten())
        .filter_map(|&v| found.graph.value(v))
        .map(|v| (v.ty.elem, v.quant.as_deref()))
        .collect();
    let site = Site {
        row: row.name.as_str(),
        op: &node.op,
        operands: &operands,
        requant: found.form,
    };
    let decision = target.custom(verb, &site);
    match decision.map_err(|error| Reason::new("custom-verb", error.to_string()))? {
        Decision::Refuse(reason) => Err(reason),
        Decision::Fuse { op, fused } => {
            let after = Step {
                form: fused.requant,
                clamp: fused.clamp,
            };
            let planned = Planned {
                after,
                takes_clamp_behind: false,
            };
            Ok((Some(op), planned))
        }
    }
}

/// The patch of a fusion that the target's code decided.
pub(super) fn taken(found: &Found<'_>, op: Op, planned: &Planned) -> Result<Patch, Reason> {
    let Producer::Node(id, node) = found.producer else {
        return Err(Reason::new("verb", "a constant has no node"));
    };
    let (gone, result) = absorbed(found, planned.takes_clamp_behind);
    let fused = Fused {
        requant: planned.after.form.clone(),
        clamp: planned.after.clamp,
    };
    Ok(absorb(found, (id, node), op, fused, gone, result))
}
