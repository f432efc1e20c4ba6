//! What a row could make of a site.

use super::accepts;
use super::site::{Found, Producer, does};
use crate::interval::Bounds;
use crate::lowering::integers;
use strait_core::{Elem, Op, Reason, TensorData};
use strait_requantize::decide::weaken;
use strait_requantize::{FormKind, FromFloat, IntType, Requantization, Step, compose};
use strait_target::TargetSpec;
use strait_target::spec::{FusionRow, Verb};

/// What stands in place of the producer and the first links.
pub(super) struct Planned {
    /// How many links.
    pub(super) links: usize,
    pub(super) becomes: Becomes,
}

/// What the producer becomes.
pub(super) enum Becomes {
    /// The same op, with this step behind its accumulator.
    Step(Step),
    /// A constant, or a lookup with a table, of these elements.
    Entries(TensorData),
    /// A quantization of floats to another grid.
    Quantize(FromFloat),
}

/// What a row could make of the first `links` links, what it prefers first; or why nothing.
pub(super) fn plans(
    found: &Found<'_>,
    row: &FusionRow,
    spec: &TargetSpec,
    links: usize,
) -> (Vec<Planned>, Option<Reason>) {
    let one = |becomes: Result<Becomes, Reason>| match becomes {
        Ok(becomes) => (vec![Planned { links, becomes }], None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    if does(row, &Verb::RequantizeData) || does(row, &Verb::BurnIntoTable) {
        return one(accepted(found, row, spec, links)
            .and_then(|()| entries(found, links))
            .map(Becomes::Entries));
    }
    if does(row, &Verb::RescaleQuantize) {
        return one(accepted(found, row, spec, links)
            .and_then(|()| rescaled(found, links))
            .map(Becomes::Quantize));
    }
    match joined(found, row, links) {
        Err(reason) => (Vec::new(), Some(reason)),
        Ok(step) => {
            let (steps, refused) = forms(found, &step, row, spec);
            let plans = steps.into_iter().map(|step| Planned {
                links,
                becomes: Becomes::Step(step),
            });
            (plans.collect(), refused)
        }
    }
}

/// Whether the row accepts the form of each requantization. What is computed ahead of time needs no clamp of the form's.
fn accepted(found: &Found<'_>, row: &FusionRow, spec: &TargetSpec, links: usize) -> Result<(), Reason> {
    for (form, _) in found.requantizations(links) {
        let mut last = Reason::new("no-form", "the row accepts no form");
        let mut any = false;
        for name in row.accept.iter() {
            match accepts(spec, name.as_str(), form, None) {
                Ok(()) => any = true,
                Err(reason) => last = named(name.as_str(), reason),
            }
        }
        if !any {
            return Err(last);
        }
    }
    Ok(())
}

fn named(form: &str, reason: Reason) -> Reason {
    Reason {
        text: format!("{form}: {}", reason.text),
        ..reason
    }
}

/// The step as it is, weakened, and with its scales merged where the row does that, as far as the row accepts its form.
fn forms(found: &Found<'_>, step: &Step, row: &FusionRow, spec: &TargetSpec) -> (Vec<Step>, Option<Reason>) {
    let own = row.accept.iter().map(|name| (name.as_str(), Some(step.form.clone())));
    let weakened = row
        .weaken_to
        .iter()
        .map(|name| (name.as_str(), cheaper(found, spec, name.as_str(), &step.form)));
    let (mut steps, mut refused) = (Vec::<Step>::new(), None);
    for (name, form) in own.chain(weakened) {
        let Some(form) = form else { continue };
        match accepts(spec, name, &form, step.clamp) {
            Ok(()) => {
                let clamp = step.clamp;
                steps.push(Step { form, clamp });
            }
            Err(reason) => refused = Some(named(name, reason)),
        }
    }
    let rows = row.accept.iter().filter(|_| does(row, &Verb::MergeScales));
    for name in rows.map(|name| name.as_str()) {
        let merged = spec.form.get(name).and_then(|row| row.merge(&step.form, step.clamp));
        let accepted = |step: Step| accepts(spec, name, &step.form, step.clamp).map(|()| step);
        match merged.map(|merged| merged.and_then(accepted)) {
            Some(Ok(step)) => steps.push(step),
            Some(Err(reason)) => refused = Some(named(name, reason)),
            None => {}
        }
    }
    (steps, refused)
}

/// The requantization as the form `name`, where that is another spelling of it, or equal on every accumulator that can
/// occur.
fn cheaper(found: &Found<'_>, spec: &TargetSpec, name: &str, form: &Requantization) -> Option<Requantization> {
    let row = spec.form.get(name)?;
    let spelled = match row.form_kind()? {
        FormKind::ArithFolded => form.to_arith_folded(),
        FormKind::Fixed => form.to_fixed(),
        _ => None,
    };
    spelled.or_else(|| {
        let interval = Bounds::new(found.module, found.graph).of(found.wide)?;
        let weakened = weaken(form, &[row.wanted()?], &interval).ok()??;
        Some(weakened.1)
    })
}

/// The first links as one step. A clamp in front of a requantization moves behind it, its ends requantized; two
/// requantizations become one where they are one form.
fn joined(found: &Found<'_>, row: &FusionRow, links: usize) -> Result<Step, Reason> {
    let mut joined: Option<Step> = None;
    for step in found.steps(links) {
        let Some(before) = joined else {
            joined = Some(step);
            continue;
        };
        if before.clamp.is_some() && !does(row, &Verb::RequantizeClamp) {
            return Err(Reason::new("clamp", "a clamp stands in front of the requantization"));
        }
        let moved = before.clamp.map(|ends| moved(&step.form, ends)).transpose()?;
        let form = match before.form.is_identity() && before.form.out() == IntType::I32 {
            true => step.form,
            false => compose(&before.form, &step.form).ok_or_else(|| {
                Reason::new(
                    "chain",
                    "behind the first requantization stands a second one, and no one form computes both",
                )
            })?,
        };
        let clamp = meet(moved, step.clamp);
        joined = Some(Step { form, clamp });
    }
    joined.ok_or_else(|| Reason::new("no-form", "nothing stands behind the producer"))
}

/// A clamp in front of a form as one behind it.
fn moved(form: &Requantization, ends: [i32; 2]) -> Result<[i32; 2], Reason> {
    let moved = form
        .clamp_behind(ends)
        .map_err(|e| Reason::new("outside-domain", e.to_string()))?;
    moved.ok_or_else(|| Reason::new("clamp", "requantized, the clamp differs from channel to channel"))
}

/// The common part of two clamps; a site whose clamps exclude each other keeps the outer one's nearest end.
fn meet(inner: Option<[i32; 2]>, outer: Option<[i32; 2]>) -> Option<[i32; 2]> {
    match (inner, outer) {
        (Some([a, b]), Some([c, d])) => Some([a.clamp(c, d.max(c)), b.clamp(c, d.max(c))]),
        (inner, outer) => inner.or(outer),
    }
}

/// The elements of the constant, or of the lookup's table, each through the links.
fn entries(found: &Found<'_>, links: usize) -> Result<TensorData, Reason> {
    let tensor = found
        .entries()
        .ok_or_else(|| Reason::new("table", "it has no constant table"))?;
    let is_table = matches!(found.producer, Producer::Node(..));
    if is_table && found.requantizations(links).any(|(form, _)| form.channels().is_some()) {
        return Err(Reason::new("table", "a lookup has one table for all channels"));
    }
    let out = found.out(links).unwrap_or(Elem::I32);
    let parameter = |e: &dyn std::fmt::Display| Reason::new("parameter", e.to_string());
    let mut codes = tensor.to_i64().map_err(|e| parameter(&e))?;
    let channels = found.channels(links, tensor.shape())?;
    for step in found.steps(links) {
        for (index, code) in codes.iter_mut().enumerate() {
            let eval = step.eval(channels.of(index), *code);
            *code = eval.map_err(|e| Reason::new("outside-domain", e.to_string()))?.into();
        }
    }
    let codes = codes
        .into_iter()
        .map(|code| i32::try_from(code).map_err(|e| parameter(&e)));
    integers(tensor.shape(), &codes.collect::<Result<Vec<_>, _>>()?, out)
}

/// The quantization from floats to the grid behind the links. Its zero point is the one that the result was given, rounded
/// once, and not what is left of the first one after two truncations.
fn rescaled(found: &Found<'_>, links: usize) -> Result<FromFloat, Reason> {
    if found.requantizations(links).any(|(form, _)| form.channels().is_some()) {
        return Err(Reason::new("channels", "a quantization has one grid for all channels"));
    }
    let before = found.quantization()?;
    let result = found.taken(links).and_then(|(_, result)| found.graph.value(result));
    let grid = result.and_then(|v| Some((v.ty.elem.int_type()?, v.quant.as_deref()?.as_tensor()?)));
    let (out, (scale, zero_point)) = grid.ok_or_else(|| Reason::new("no-grid", "the result has no single grid"))?;
    Ok(FromFloat {
        scale,
        zero_point,
        out,
        ..before
    })
}

impl Found<'_> {
    /// The quantization that the producer is.
    pub(super) fn quantization(&self) -> Result<FromFloat, Reason> {
        let wide = self.graph.value(self.wide);
        let grid = wide.and_then(|v| Some((v.ty.elem.int_type()?, v.quant.as_deref()?.as_tensor()?)));
        let (Producer::Node(_, node), Some((out, (scale, zero_point)))) = (self.producer, grid) else {
            return Err(Reason::new("no-grid", "what is quantized has no single grid"));
        };
        let operand = node.inputs.first().copied().flatten().and_then(|v| self.graph.value(v));
        match &node.op {
            Op::Quantize(op) if operand.is_some_and(|v| v.ty.elem == Elem::F32) => Ok(FromFloat {
                scale,
                zero_point,
                added: op.zero_point,
                rounding: op.rounding,
                reciprocal: op.reciprocal,
                out,
            }),
            _ => Err(Reason::new("type", "it does not quantize 32-bit floats")),
        }
    }
}
