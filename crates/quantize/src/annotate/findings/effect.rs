//! Effect: a grid that looks bad is reported only if it makes an output of the model noticeably worse.
//!
//! Suppose a channel of weights has one large number, and all others are close to zero. Then nearly all codes of its
//! grid are spent on that number, but nothing is lost: the contributions of the other numbers are too small to matter.
//! Likewise, a coarse grid does no harm in a dead channel, or in a tensor that hardly influences the outputs. What
//! counts is how much noise would disappear at an output of the model if the grid were arbitrarily fine ([`Noise`]).
//! Two kinds of findings are reported even if their effect is small: findings about values that a node joins or from
//! which a node chooses, and findings about grids that clip.

use super::Findings;
use super::given_away::{GivenAway, given_away};
use super::noise::Noise;
use super::unlike::{PartKind, UnlikePart, unlike_parts};
use crate::annotate::settings::Annotation;
use crate::annotate::state::Overlapped;
use strait_core::shape::element_count;
use strait_core::{Graph, Module, ValueId};

/// A grid is reported only if the signal-to-noise ratio of some output would improve by at least this many decibels
/// with a finer grid. The estimates of noise may be off by a few decibels.
const LEAST: f64 = 1.0;

/// Adds two kinds of findings: grids that spend almost all of their codes on a single number, and parts of tensors that
/// lose accuracy because they share a grid with other parts. Then keeps only findings that affect an output.
pub(crate) fn heard(module: &Module, how: &Annotation<'_>, findings: &mut Findings) {
    findings.given_away = given_away(module, how.spec, how.observation);
    findings.unlike = unlike_parts(module, how);
    let Findings {
        overlapped,
        given_away,
        unlike,
        ..
    } = findings;
    if overlapped.is_empty() && given_away.is_empty() && unlike.is_empty() {
        return;
    }
    let (noise, graph) = (Noise::new(module, how), module.main());
    let costs = |of: Vec<Option<(ValueId, f64)>>| {
        let known: Vec<(ValueId, f64)> = of.iter().copied().flatten().collect();
        let mut costs = noise.costs(&known).into_iter();
        // If the effect of a finding is unknown, the finding is kept.
        of.into_iter()
            .map(move |one| one.map_or(f64::INFINITY, |_| costs.next().unwrap_or(0.0)))
    };
    let keep = |costs: Vec<f64>| {
        let mut costs = costs.into_iter();
        move || costs.next().is_none_or(|cost| cost >= LEAST)
    };
    let of_overlapped = overlapped.iter().map(|found| imposed(&noise, found));
    let mut heard = keep(costs(of_overlapped.collect()).collect());
    overlapped.retain(|_| heard());
    let of_away = given_away.iter().map(|found| away(&noise, graph, found));
    let mut heard = keep(costs(of_away.collect()).collect());
    given_away.retain(|_| heard());
    let of_unlike = unlike.iter().map(|found| Some(in_result(graph, found)));
    let on_the_way: Vec<f64> = costs(of_unlike.collect()).collect();
    let of_unlike = unlike.iter().zip(on_the_way).map(|(found, cost)| match &found.kind {
        // A part that is joined with others is reported even if its effect on the outputs is small. But if the part is
        // a constant, it is reported only if it affects an output.
        PartKind::Joined if graph.data_of(found.value).is_none() => f64::INFINITY,
        PartKind::Joined => cost,
        PartKind::CutOut if found.leaves => noise.cost_of_part(found.value, found.noise),
        PartKind::CutOut => cost,
        PartKind::Channels(channels) => noise.cost_of_channels(found.node, channels, found.noise),
    });
    let mut heard = keep(of_unlike.collect());
    unlike.retain(|_| heard());
}

/// Returns the noise of a grid that spends almost all of its codes on a single number, and the value at which this
/// noise enters the graph.
fn away(noise: &Noise<'_>, graph: &Graph, found: &GivenAway) -> Option<(ValueId, f64)> {
    let reader = graph.node(found.reader)?;
    match &found.channels[..] {
        [] => Some((found.value, noise.rounded(found.value)?)),
        channels => {
            let of = noise.of_weights(found.reader, reader, |channel| channels.contains(&channel));
            Some((*reader.outputs.first()?, of?))
        }
    }
}

/// Returns the noise of a part, and the value to which this noise is added: the result of the concatenation that joins
/// the part with others, or the part itself if there is no concatenation.
fn in_result(graph: &Graph, found: &UnlikePart) -> (ValueId, f64) {
    let elements = |value| element_count(&graph.value(value)?.ty.shape).map(|count| count as f64);
    let joined = graph.node(found.node).and_then(|node| {
        let result = node.result().filter(|_| found.kind == PartKind::Joined)?;
        Some((
            result,
            found.noise * (elements(found.value)? / elements(result)?.max(1.0)).min(1.0),
        ))
    });
    joined.unwrap_or((found.value, found.noise))
}

/// Returns the additional noise of a value that is on an imposed grid wider than the value needs. Returns `None` if the
/// imposed grid is narrower, because the noise of clipping is not estimated.
fn imposed(noise: &Noise<'_>, found: &Overlapped) -> Option<(ValueId, f64)> {
    let [own, imposed] = [noise.rounded_alone(found.value)?, noise.rounded(found.value)?];
    (imposed >= own).then_some((found.value, imposed - own))
}
