//! Invariants 5 to 7: forms, grids and the numbers that ops have as attributes.

use super::findings::{Findings, Verified, View, ensure};
use crate::elem::Elem;
use crate::graph::{Fused, Node, Value};
use crate::ids::ValueId;
use crate::op::Op;
use crate::quant::QuantParams;
use crate::shape::TensorType;
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

/// Checks an operand that gives the channel of each element: the operand is a constant, and each of its elements is a
/// channel of the node's forms.
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
        return view.ensure(node, false, 5, || {
            "channels are picked by what is no constant, or for a form that has none".into()
        });
    };
    let outside = picks.iter().find(|&&pick| !(0..channels as i64).contains(&pick));
    outside.map_or(Ok(()), |pick| {
        view.ensure(node, false, 5, || format!("channel {pick} is picked of {channels}"))
    })
}

fn form(view: View<'_>, node: &Node, form: &Requantization) -> Verified {
    form.check()
        .or_else(|error| view.ensure(node, false, 5, || error.to_string()))
}

fn fused_form(view: View<'_>, node: &Node, fused: &Fused) -> Verified {
    form(view, node, &fused.requant)?;
    let operands: Vec<_> = (node.own_inputs().iter())
        .map(|i| i.and_then(|v| view.graph.value(v)).map(|v| &v.ty))
        .collect();
    let unfused = view.module.result_types(&node.op, &operands, None);
    let results: Vec<Elem> = unfused.iter().flatten().map(|ty| ty.elem).collect();
    view.ensure(node, matches!(results[..], [Elem::I32 | Elem::I64]), 5, || {
        "a form is fused into what is not one accumulator of i32 or i64".into()
    })?;
    let added = fused.addend.as_ref().map(|addend| &addend.form);
    added.map_or(Ok(()), |added| form(view, node, added))?;
    let channels = [Some(&fused.requant), added].into_iter().flatten();
    for channels in channels.filter_map(Requantization::channels) {
        let Some(result) = view.results(node).next().filter(|_| node.picked_channels().is_none()) else {
            continue;
        };
        let axis = node.op.channel_axis(result.ty.shape.len());
        let extent = axis.and_then(|axis| result.ty.shape.get(axis)).and_then(|d| d.fixed());
        view.ensure(node, extent == Some(channels as u64), 5, || {
            format!("{channels} channels are fused on {}", along(axis, &result.ty))
        })?;
    }
    let out = fused.requant.out().range();
    let wrong = fused
        .clamp
        .filter(|[low, high]| low > high || !out.contains(low) || !out.contains(high));
    wrong.map_or(Ok(()), |[low, high]| {
        let out = fused.requant.out();
        view.ensure(node, false, 5, || format!("[{low}, {high}] is not a range of {out}"))
    })
}

/// Describes the channel axis and its extent in messages.
fn along(axis: Option<usize>, ty: &TensorType) -> String {
    let Some(axis) = axis else { return "no axis".to_owned() };
    match ty.shape.get(axis) {
        Some(extent) => format!("axis {axis} of extent {extent}"),
        None => format!("axis {axis} of rank {}", ty.shape.len()),
    }
}

fn grid(view: View<'_>, value: &Value, quant: &QuantParams) -> Verified {
    ensure(quant.has_legal_scales(), 6, || {
        format!("{} has a scale that is not finite and positive", view.value(value))
    })?;
    ensure(quant.codes.is_none() || value.ty.elem.is_float(), 6, || {
        format!("{} has codes of another type than its own", view.value(value))
    })?;
    // If the grid of a float value states no type of codes, only the target knows what the grid means.
    let codes = quant.codes.unwrap_or(value.ty.elem);
    let range = codes.int_type().map(strait_requantize::IntType::range);
    ensure(
        range.is_none_or(|range| quant.zero_point.all(|z| range.contains(z))),
        6,
        || format!("{} has a zero point that is not {codes}", view.value(value)),
    )?;
    ensure(value.ty.elem.is_float() || value.ty.elem.is_integer(), 6, || {
        format!("{} is {}, which has no grid", view.value(value), value.ty.elem)
    })?;
    let axis = quant.axis.map(usize::from);
    let extent = quant.parts(&value.ty.shape);
    for channels in [quant.scale.channels(), quant.zero_point.channels()]
        .into_iter()
        .flatten()
    {
        ensure(extent == Some(channels as u64), 6, || {
            format!(
                "{} has {channels} channels on {}",
                view.value(value),
                along(axis, &value.ty)
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
        view.ensure(node, fits, 7, || {
            format!("{zero} is no zero point of operand {index}, {}", operand.ty.elem)
        })?;
    }
    Ok(())
}

fn numbers(view: View<'_>, node: &Node) -> Verified {
    let nan = node.op.nan_attribute();
    view.ensure(node, nan.is_none(), 7, || {
        format!("attribute `{}` is NaN", nan.unwrap_or_default())
    })
}
