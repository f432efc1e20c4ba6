//! Plans how a row can change a site.

use super::accepts;
use super::site::{Producer, RequantizationSite, does};
use crate::lowering::integers;
use strait_core::{Elem, Op, Reason, ReasonCode, TensorData, refused};
use strait_requantize::decide::{Activation, Behind, Wanted, compose_steps, move_behind, weaken};
use strait_requantize::{FromFloat, IntType, Per, Requantization, Step, clamp_twice};
use strait_target::TargetSpec;
use strait_target::spec::{FormRow, FusionRow, Verb};

/// A plan that replaces the producer and the first links of the chain.
pub(super) struct Planned {
    /// The number of links that the plan replaces.
    pub(super) links: usize,
    /// True if the producer is an addition that moves into the accumulator of the product that it reads.
    pub(super) inside: bool,
    pub(super) becomes: Becomes,
}

/// The node or constant that replaces the producer.
pub(super) enum Becomes {
    /// A node with the same op as the producer, which applies the given step to its accumulator.
    Step(Step),
    /// The given tensor, as a constant or as the table of a lookup.
    Entries(TensorData),
    /// A quantization of floats to another grid.
    Quantize(FromFloat),
}

/// Returns the plans of a row for the first `links` links of the chain, the preferred plan first. If there is no plan,
/// returns the reason.
pub(super) fn plans(
    site: &RequantizationSite<'_>,
    row: &FusionRow,
    spec: &TargetSpec,
    links: usize,
) -> (Vec<Planned>, Option<Reason>) {
    let inside = row.with.is_some();
    let one = |becomes: Result<Becomes, Reason>| match becomes {
        Ok(becomes) => (vec![Planned { links, inside, becomes }], None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    if does(row, &Verb::RequantizeData) || does(row, &Verb::BurnIntoTable) {
        return one(accepted(site, row, spec, links)
            .and_then(|()| entries(site, links))
            .map(Becomes::Entries));
    }
    if does(row, &Verb::RescaleQuantize) {
        return one(accepted(site, row, spec, links)
            .and_then(|()| rescaled(site, links))
            .map(Becomes::Quantize));
    }
    match joined(site, row, links) {
        Err(reason) => (Vec::new(), Some(reason)),
        Ok(joined) => {
            let (steps, refused) = forms(site, &joined, row, spec);
            let plans = steps.into_iter().map(|step| Planned {
                links,
                inside,
                becomes: Becomes::Step(step),
            });
            (plans.collect(), refused)
        }
    }
}

/// Checks that the row accepts the form of each requantization. A row that names no forms accepts all forms. These
/// requantizations are computed at compile time, so it does not matter whether the form can clamp.
fn accepted(site: &RequantizationSite<'_>, row: &FusionRow, spec: &TargetSpec, links: usize) -> Result<(), Reason> {
    let requantizations = site.requantizations(links).filter(|_| row.accept.is_some());
    for (form, _) in requantizations {
        let mut last = Reason::new(ReasonCode::NoForm, "the row accepts no form");
        let mut any = false;
        for name in row.accepted() {
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

/// Returns the steps that the row can fuse for `step`: `step` itself, or a step that computes the same by a less
/// general form of the table. If the row has the verb that merges scales, there is also a step with merged scales. If
/// `step` was composed from two steps, the table has no form for it, so a step that computes the same is searched for
/// among the row's forms.
fn forms(
    site: &RequantizationSite<'_>,
    joined: &Joined,
    row: &FusionRow,
    spec: &TargetSpec,
) -> (Vec<Step>, Option<Reason>) {
    let step = &joined.step;
    let (mut steps, mut refused) = (Vec::<Step>::new(), None);
    for name in row.accepted().map(String::as_str) {
        match accepts(spec, name, &step.form, step.clamp) {
            Ok(()) => steps.push(step.clone()),
            Err(reason) => refused = Some(named(name, reason)),
        }
    }
    let composed = row.accepted().filter(|_| joined.composed);
    let spellings: Vec<&str> = composed.chain(&row.weaken_to).map(String::as_str).collect();
    if steps.is_empty() && !spellings.is_empty() {
        match weakened(site, step, &spellings, spec) {
            Ok(weaker) => steps.extend(weaker),
            Err(reason) => refused = Some(reason),
        }
    }
    let rows = row.accepted().filter(|_| does(row, &Verb::MergeScales));
    for name in rows.map(String::as_str) {
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

/// Converts a step to the first of `forms` with which it gives the same result for every accumulator that can occur. If
/// there is no such form, the error says why the last form that was tried does not fit.
fn weakened(
    site: &RequantizationSite<'_>,
    step: &Step,
    forms: &[&str],
    spec: &TargetSpec,
) -> Result<Option<Step>, Reason> {
    let mut interval = site.accumulators()?;
    if step.form.channels().is_none() {
        // If the step's form has no parameters by channel, the other forms get no parameters by channel either. So one
        // interval for all channels is enough.
        interval = Per::Tensor(hull(&interval));
    }
    let mut refused = None;
    for &name in forms {
        let Some(wanted) = spec.form.get(name).map(FormRow::wanted) else {
            continue;
        };
        let cheaper = match weaken(&step.form, std::slice::from_ref(&wanted), &interval) {
            Ok(Some((_, form))) => accepts(spec, name, &form, step.clamp).map(|()| form),
            Ok(None) => Err(unequal(&step.form, &wanted, &interval)),
            Err(error) => Err(Reason::new(ReasonCode::Undecided, error.to_string())),
        };
        match cheaper {
            Ok(form) => {
                let clamp = step.clamp;
                return Ok(Some(Step { form, clamp }));
            }
            Err(reason) => refused = Some(named(name, reason)),
        }
    }
    refused.map_or(Ok(None), Err)
}

/// The smallest interval that contains the intervals of all channels.
fn hull(interval: &Per<(i64, i64)>) -> (i64, i64) {
    let low = interval.values().iter().map(|ends| ends.0).min();
    let high = interval.values().iter().map(|ends| ends.1).max();
    (low.unwrap_or_default(), high.unwrap_or_default())
}

fn unequal(form: &Requantization, wanted: &Wanted, interval: &Per<(i64, i64)>) -> Reason {
    let ((low, high), its, own) = (hull(interval), form.kind(), wanted.kind);
    let text = format!("it is {its}, and no {own} of the form's limits that equals it was found on [{low}, {high}]");
    Reason::new(ReasonCode::NotEqual, text)
}

/// Several links of a chain, joined into one step.
struct Joined {
    step: Step,
    /// True if the step was composed from two steps and neither of them is the identity.
    composed: bool,
}

/// Joins the first `links` links of the chain into one step. A clamp before a requantization is replaced by a clamp to
/// the requantized bounds after the requantization, or is dropped if it changes nothing. Two requantizations become one
/// if a single form computes both; the saturation of the first one is treated as a clamp before the second one.
fn joined(site: &RequantizationSite<'_>, row: &FusionRow, links: usize) -> Result<Joined, Reason> {
    let mut joined: Option<Joined> = None;
    for step in site.steps(links) {
        let Some(Joined { step: before, composed }) = joined else {
            joined = Some(Joined { step, composed: false });
            continue;
        };
        if before.clamp.is_some() && !does(row, &Verb::RequantizeClamp) {
            return refused(ReasonCode::Clamp, "a clamp stands in front of the requantization");
        }
        joined = Some(if before.form.is_identity() && before.form.out() == IntType::I32 {
            let moved = before.clamp.map(|ends| moved(site, ends, &step.form)).transpose()?;
            let clamp = clamp_twice(moved.flatten(), step.clamp);
            let form = step.form;
            Joined {
                step: Step { form, clamp },
                composed,
            }
        } else {
            let step = composed_steps(site, &before, &step)?;
            Joined { step, composed: true }
        });
    }
    joined.ok_or_else(|| Reason::new(ReasonCode::NoForm, "nothing stands behind the producer"))
}

/// Composes two steps into one step that computes the same on all accumulators that can occur.
fn composed_steps(site: &RequantizationSite<'_>, before: &Step, step: &Step) -> Result<Step, Reason> {
    let interval = site.accumulators()?;
    let composed = compose_steps(before, step, &interval);
    let composed = composed.map_err(|error| Reason::new(ReasonCode::Undecided, error.to_string()))?;
    composed.ok_or_else(|| {
        Reason::new(
            ReasonCode::Chain,
            "behind the first requantization stands a second one, and no one form computes both",
        )
    })
}

/// Turns a clamp of the accumulators before a form into a clamp of codes after the form. Returns `None` if the clamp
/// changes nothing.
fn moved(
    site: &RequantizationSite<'_>,
    [low, high]: [i32; 2],
    form: &Requantization,
) -> Result<Option<[i32; 2]>, Reason> {
    let interval = site.accumulators()?;
    let clamp = Activation::Clamp {
        low: low.into(),
        high: high.into(),
    };
    let behind = move_behind(clamp, form, &interval);
    match behind.map_err(|error| Reason::new(ReasonCode::Undecided, error.to_string()))? {
        Behind::Redundant => Ok(None),
        Behind::Clamp(ends) => Ok(Some(ends)),
        Behind::PerChannel { channel } => refused(
            ReasonCode::Clamp,
            format!("requantized, the clamp differs from channel to channel, first in channel {channel}"),
        ),
        Behind::NotAClamp => refused(ReasonCode::Clamp, "it does not move behind the requantization"),
    }
}

/// The elements of the constant, or of the lookup's table, after all links were applied to them.
fn entries(site: &RequantizationSite<'_>, links: usize) -> Result<TensorData, Reason> {
    let tensor = site
        .entries()
        .ok_or_else(|| Reason::new(ReasonCode::Table, "it has no constant table"))?;
    let is_table = matches!(site.producer, Producer::Node(..));
    if is_table && site.requantizations(links).any(|(form, _)| form.channels().is_some()) {
        return refused(ReasonCode::Table, "a lookup has one table for all channels");
    }
    let out = site.out(links).unwrap_or(Elem::I32);
    let parameter = |e: &dyn std::fmt::Display| Reason::new(ReasonCode::Parameter, e.to_string());
    let mut codes = tensor.to_i64().map_err(|e| parameter(&e))?;
    let channels = site.channels(links, tensor.shape())?;
    for step in site.steps(links) {
        for (index, code) in codes.iter_mut().enumerate() {
            let eval = step.eval(channels.of(index), *code);
            *code = eval
                .map_err(|e| Reason::new(ReasonCode::OutsideDomain, e.to_string()))?
                .into();
        }
    }
    let codes = codes
        .into_iter()
        .map(|code| i32::try_from(code).map_err(|e| parameter(&e)));
    integers(tensor.shape(), &codes.collect::<Result<Vec<_>, _>>()?, out).map_err(|e| parameter(&e))
}

/// Returns a quantization that goes from floats directly to the grid after the first `links` links, so that a number is
/// rounded only once. The quantization has the zero point of that grid. The requantizations map the zero point of the
/// original quantization to the zero point of that grid
/// ([`zero_points_meet`](super::site::RequantizationSite::zero_points_meet)).
fn rescaled(site: &RequantizationSite<'_>, links: usize) -> Result<FromFloat, Reason> {
    if site.requantizations(links).any(|(form, _)| form.channels().is_some()) {
        return refused(ReasonCode::Channels, "a quantization has one grid for all channels");
    }
    let before = site.quantization()?;
    let result = site.taken(links).and_then(|(_, result)| site.graph.value(result));
    let grid = result.and_then(|v| Some((v.ty.elem.int_type()?, v.quant.as_deref()?.as_tensor()?)));
    let (out, (scale, zero_point)) =
        grid.ok_or_else(|| Reason::new(ReasonCode::NoGrid, "the result has no single grid"))?;
    Ok(FromFloat {
        scale,
        zero_point,
        out,
        ..before
    })
}

impl RequantizationSite<'_> {
    /// The quantization that the producer performs.
    pub(super) fn quantization(&self) -> Result<FromFloat, Reason> {
        let wide = self.graph.value(self.wide);
        let grid = wide.and_then(|v| Some((v.ty.elem.int_type()?, v.quant.as_deref()?.as_tensor()?)));
        let (Producer::Node(_, node), Some((out, (scale, zero_point)))) = (self.producer, grid) else {
            return refused(ReasonCode::NoGrid, "what is quantized has no single grid");
        };
        let operand = node.input(0).and_then(|v| self.graph.value(v));
        match &node.op {
            Op::Quantize(op) if operand.is_some_and(|v| v.ty.elem == Elem::F32) => Ok(FromFloat {
                scale,
                zero_point,
                added: op.zero_point,
                rounding: op.rounding,
                reciprocal: op.reciprocal,
                out,
            }),
            _ => refused(ReasonCode::Type, "it does not quantize 32-bit floats"),
        }
    }
}
