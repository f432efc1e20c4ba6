//! Proves that the node that a row of the table would put at a site computes the right result.

use super::grounds;
use super::plan::{Becomes, Planned};
use super::site::RequantizationSite;
use strait_core::{Reason, ReasonCode, TensorData};
use strait_requantize::{Argument, Certificate, DecideError, certificate::ordered};

/// A certificate that says how far the planned node agrees with the nodes that stand there now. It covers every
/// accumulator that can occur.
pub(super) fn certificate(site: &RequantizationSite<'_>, planned: &Planned) -> Result<Certificate, Reason> {
    let before = site.steps(planned.links);
    let undecided = |error: DecideError| Reason::new(ReasonCode::Undecided, error.to_string());
    let certificate = match &planned.becomes {
        Becomes::Step(after) => {
            let argument = site.argument()?;
            site.commutes(after)?;
            let interval = match site.by_channel(planned.links) {
                Some(each) => each.into_iter().map(|(interval, _)| interval).collect(),
                None => site.accumulators()?,
            };
            Certificate::derive(argument, before, Some(after.clone()), interval).map_err(undecided)?
        }
        Becomes::Entries(after) => {
            let entries = site
                .entries()
                .ok_or_else(|| Reason::new(ReasonCode::Table, "it has no constant table"))?;
            let channels = site.channels(planned.links, entries.shape())?;
            let values = |tensor: &TensorData| {
                tensor
                    .to_i64()
                    .map_err(|e| Reason::new(ReasonCode::Parameter, e.to_string()))
            };
            let pairs = values(entries)?.into_iter().zip(values(after)?).enumerate();
            let pairs = pairs.map(|(index, (from, to))| (channels.of(index), from, to));
            Certificate::of_entries(before, pairs).map_err(undecided)?
        }
        Becomes::Quantize(after) => {
            let argument = Argument::OrderedFloats {
                before: site.quantization()?,
                after: *after,
            };
            let every = (ordered(f32::NEG_INFINITY), ordered(f32::INFINITY));
            Certificate::derive(argument, before, None, every.into()).map_err(undecided)?
        }
    };
    let because = match certificate.argument {
        Argument::EveryEntry { .. } => certificate.because.clone(),
        Argument::OrderedFloats { .. } => vec![strait_requantize::Because::EveryFloat],
        Argument::SameAccumulator | Argument::Commutes => grounds::because(site, planned.inside, planned.links),
    };
    let digest = grounds::digest(site, (planned.inside, planned.links), &certificate, &because);
    let digest = digest.ok_or_else(|| Reason::new(ReasonCode::Undecided, "it has no digest"))?;
    Ok(certificate.grounded(because, digest))
}
