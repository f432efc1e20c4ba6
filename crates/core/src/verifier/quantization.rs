//! Invariants 5 to 7: forms, grids and the numbers that ops carry.

use super::{Findings, Verified, View, ensure};
use crate::elem::Elem;
use crate::graph::{Fused, Node, Value};
use crate::ids::ValueId;
use crate::op::Op;
use crate::quant_params::QuantParams;
use strait_requantize::Requantization;

pub(super) fn verify<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    for (_, value) in view.graph.values() {
        if let Some(quant) = value.quant.as_deref() {
            findings.take(grid(view, value, quant));
        }
    }
    for (id, node) in view.graph.nodes() {
        findings.of_node(view, id, forms(view, node));
        findings.of_node(view, id, zero_points(view, node));
        findings.of_node(view, id, numbers(view, node));
    }
}

fn forms(view: View<'_>, node: &Node) -> Verified {
    if let Op::Requantize(requantize) = &node.op {
        form(view, node, &requantize.form)?;
    }
    if let Some(fused) = node.fused.as_deref() {
        fused_form(view, node, fused)?;
    }
    match node.picked_channels() {
        Some(operand) => picked_channels(view, node, operand),
        None => Ok(()),
    }
}

/// Checks that the operand that picks channels is a constant, and that each element is a channel of the node's forms.
fn picked_channels(view: View<'_>, node: &Node, operand: ValueId) -> Verified {
    let own = match &node.op {
        Op::Requantize(op) => Some(&op.form),
        _ => None,
    };
    let fused = node.fused.as_deref().map(|fused| &fused.requant);
    let channels = [own, fused].into_iter().flatten().filter_map(Requantization::channels);
    let channels = channels.min();
    let picks = view.module.constant(view.graph, operand);
    let picks = picks.and_then(|tensor| tensor.to_i64().ok());
    let (Some(channels), Some(picks)) = (channels, picks) else {
        return ensure(false, 5, || {
            format!(
                "{}: channels are picked by what is no constant, or for a form that has none",
                view.place(node)
            )
        });
    };
    let outside = picks.iter().find(|&&pick| !(0..channels as i64).contains(&pick));
    ensure(outside.is_none(), 5, || {
        format!("{}: channel {outside:?} is picked of {channels}", view.place(node))
    })
}

fn form(view: View<'_>, node: &Node, form: &Requantization) -> Verified {
    form.check()
        .or_else(|error| ensure(false, 5, || format!("{}: {error}", view.place(node))))
}

fn fused_form(view: View<'_>, node: &Node, fused: &Fused) -> Verified {
    form(view, node, &fused.requant)?;
    let operands: Vec<_> = node
        .inputs
        .iter()
        .map(|i| i.and_then(|v| view.graph.value(v)).map(|v| &v.ty))
        .collect();
    let unfused = view.module.result_types(&node.op, &operands, None);
    let results: Vec<Elem> = unfused.iter().flatten().map(|ty| ty.elem).collect();
    ensure(results == [Elem::I32], 5, || {
        format!(
            "{}: a form is fused into what is not one i32 accumulator",
            view.place(node)
        )
    })?;
    if let (Some(channels), Some(result)) = (fused.requant.channels(), view.results(node).next())
        && node.picked_channels().is_none()
    {
        let axis = node.op.channel_axis(result.ty.shape.len());
        let extent = axis.and_then(|axis| result.ty.shape.get(axis)).and_then(|d| d.fixed());
        ensure(extent == Some(channels as u64), 5, || {
            format!(
                "{}: {channels} channels are fused on axis {axis:?} of extent {extent:?}",
                view.place(node)
            )
        })?;
    }
    let out = fused.requant.out().range();
    let fits = fused
        .clamp
        .is_none_or(|[low, high]| low <= high && out.contains(&low) && out.contains(&high));
    ensure(fits, 5, || {
        format!(
            "{}: {:?} is not a range of {}",
            view.place(node),
            fused.clamp,
            fused.requant.out()
        )
    })
}

fn grid(view: View<'_>, value: &Value, quant: &QuantParams) -> Verified {
    ensure(quant.scale.all(|s| s.is_finite() && *s > 0.0), 6, || {
        format!("{} has a scale that is not finite and positive", view.value(value))
    })?;
    // The grid of a float value, before integers, is for a type that only the target knows.
    let range = value.ty.elem.int_type().map(strait_requantize::IntType::range);
    ensure(
        range.is_none_or(|range| quant.zero_point.all(|z| range.contains(z))),
        6,
        || format!("{} has a zero point that is not {}", view.value(value), value.ty.elem),
    )?;
    ensure(
        value.ty.elem.is_float() || value.ty.elem.int_type().is_some(),
        6,
        || format!("{} is {}, which has no grid", view.value(value), value.ty.elem),
    )?;
    let axis = quant.axis.map(usize::from);
    let extent = axis.and_then(|axis| value.ty.shape.get(axis)).and_then(|d| d.fixed());
    for channels in [quant.scale.channels(), quant.zero_point.channels()]
        .into_iter()
        .flatten()
    {
        ensure(extent == Some(channels as u64), 6, || {
            format!(
                "{} has {channels} channels on axis {axis:?} of extent {extent:?}",
                view.value(value)
            )
        })?;
    }
    Ok(())
}

fn zero_points(view: View<'_>, node: &Node) -> Verified {
    for zero in node.op.zeros() {
        let (index, zero) = (zero.operand, zero.code);
        let Some(operand) = view.operand(node, index) else {
            continue;
        };
        let fits = match operand.ty.elem.int_type() {
            Some(codes) => codes.range().contains(&zero),
            None => zero == 0,
        };
        ensure(fits, 7, || {
            format!(
                "{}: {zero} is no zero point of operand {index}, {}",
                view.place(node),
                operand.ty.elem
            )
        })?;
    }
    Ok(())
}

fn numbers(view: View<'_>, node: &Node) -> Verified {
    let nan = node.op.nan_attribute();
    ensure(nan.is_none(), 7, || {
        format!("{}: attribute `{}` is NaN", view.place(node), nan.unwrap_or_default())
    })
}
