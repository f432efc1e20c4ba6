//! What a row would make of a site, and the proof of it.

use super::site::Found;
use super::{accepts, grounds};
use crate::interval::Bounds;
use strait_core::Reason;
use strait_requantize::{Certificate, DecideError, IntType, Narrowing, Per, Requantization, Rounding, Step, form};
use strait_target::TargetSpec;
use strait_target::spec::{FusionRow, Verb};

/// What the fused producer computes behind its accumulator.
pub(super) struct Planned {
    pub(super) after: Step,
    /// Whether the clamp of codes behind the requantization is part of it.
    pub(super) takes_clamp_behind: bool,
}

/// The common part of two clamps; a site whose clamps exclude each other keeps the outer one's nearest end.
fn meet(inner: Option<[i32; 2]>, outer: Option<[i32; 2]>) -> Option<[i32; 2]> {
    match (inner, outer) {
        (Some([a, b]), Some([c, d])) => Some([a.clamp(c, d.max(c)), b.clamp(c, d.max(c))]),
        (inner, outer) => inner.or(outer),
    }
}

/// The form as it is, or weakened, with as many clamps as an accepted form takes along.
pub(super) fn plan(found: &Found<'_>, row: &FusionRow, spec: &TargetSpec) -> Result<Planned, Reason> {
    let clamp_behind = found.clamp_behind.map(|(_, ends, _)| ends);
    let weakened = row
        .weaken_to
        .iter()
        .filter_map(|name| Some((vec![name.as_str()], weaken(spec, name, found.form)?)));
    let own = (
        row.accept.iter().map(|n| n.as_str()).collect::<Vec<_>>(),
        found.form.clone(),
    );
    let mut last = Reason::new("no-form", "the row accepts no form");
    for (names, form) in std::iter::once(own).chain(weakened) {
        let moved = match found.clamp_before {
            None => None,
            Some(_) if !row.then.iter().any(|v| **v == Verb::RequantizeClamp) => {
                return Err(Reason::new("clamp", "a clamp of the accumulator stands in between"));
            }
            Some((_, ends)) => {
                let moved = form
                    .clamp_behind(ends)
                    .map_err(|e| Reason::new("outside-domain", e.to_string()))?;
                let differs = || Reason::new("clamp", "requantized, the clamp differs from channel to channel");
                Some(moved.ok_or_else(differs)?)
            }
        };
        for takes in [true, false] {
            if takes && clamp_behind.is_none() {
                continue;
            }
            let clamp = meet(moved, if takes { clamp_behind } else { None });
            for name in &names {
                match accepts(spec, name, &form, clamp) {
                    Ok(()) => {
                        return Ok(Planned {
                            after: Step { form, clamp },
                            takes_clamp_behind: takes,
                        });
                    }
                    Err(reason) => {
                        last = Reason {
                            code: reason.code,
                            text: format!("{name}: {}", reason.text),
                        }
                    }
                }
            }
        }
    }
    Err(last)
}

/// The requantization as the form `name`, where that is another spelling of it.
fn weaken(spec: &TargetSpec, name: &str, form: &Requantization) -> Option<Requantization> {
    use strait_requantize::FormKind;
    match spec.form.get(name)?.form_kind()? {
        FormKind::ArithFolded => form.to_arith_folded(),
        FormKind::Fixed => form.to_fixed(),
        _ => None,
    }
}

/// The claim that the planned step equals what stands there, on every accumulator that can occur.
pub(super) fn certificate(found: &Found<'_>, planned: &Planned) -> Result<Certificate, Reason> {
    let mut before = Vec::new();
    if let Some((_, ends)) = found.clamp_before {
        let shift = Per::Tensor(0);
        let narrowing = Narrowing {
            shift,
            rounding: Rounding::Floor,
            out: IntType::I32,
        };
        before.push(Step {
            form: Requantization::ArithFolded(form::ArithFolded { narrowing }),
            clamp: Some(ends),
        });
    }
    let behind = found.clamp_behind.filter(|_| planned.takes_clamp_behind);
    before.push(Step {
        form: found.form.clone(),
        clamp: behind.map(|(_, ends, _)| ends),
    });
    let after = Some(planned.after.clone());
    let undecided = |error: DecideError| Reason::new("undecided", error.to_string());
    let mut bounds = Bounds::new(found.module, found.graph);
    let certificate = match found.entries() {
        Some(tensor) => {
            let channels = found.channels_of(tensor.shape());
            let codes = tensor.to_i64().map_err(|e| Reason::new("parameter", e.to_string()))?;
            let entries = codes.iter().enumerate().map(|(index, &x)| (channels.of(index), x));
            Certificate::of_entries(before, after, entries).map_err(undecided)?
        }
        None => {
            let interval = bounds.of(found.wide);
            let interval =
                interval.ok_or_else(|| Reason::new("no-interval", "its accumulators have no known bounds"))?;
            Certificate::derive(found.argument(), before, after, interval).map_err(undecided)?
        }
    };
    let because = grounds::because(found, &mut bounds);
    let digest = grounds::digest(found, &certificate).ok_or_else(|| Reason::new("undecided", "it has no digest"))?;
    Ok(certificate.grounded(because, digest))
}
