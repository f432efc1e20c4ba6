//! Effect: a grid that looks bad is told of where an output of the model hears it.
//!
//! A channel of weights with one large number and others next to nothing gives nearly all of its grid to that number, and loses
//! nothing by it: what the others would have added is not heard beside it. Nor is it a loss that a channel is dead, or a tensor
//! on a coarse grid far beside the way that noise takes. What counts is the noise that would be gone at an output of the model
//! were the grid as fine as one likes ([`Noise`]). Values that a node joins or chooses from are told of however little they are, and
//! so is a grid that clips.

use super::Findings;
use super::given_away::{GivenAway, given_away};
use super::noise::Noise;
use super::unlike::{PartKind, UnlikePart, unlike_parts};
use crate::annotate::settings::Annotation;
use crate::annotate::state::Overlapped;
use strait_core::shape::element_count;
use strait_core::{Graph, Module, ValueId};

/// Decibels that an output has to gain by a finer grid before it is told of the one that it has. An estimate may be a few
/// decibels off in the noise of a part, which is half of one here.
const LEAST: f64 = 1.0;

/// Adds what gives its range away or is lost beside others, and leaves of all that is found what an output hears.
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
        // Of what nothing is known, the finding stands.
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
        // Whoever joins values wants each, and constants as far as they count.
        PartKind::Joined if graph.data_of(found.value).is_none() => f64::INFINITY,
        PartKind::Joined => cost,
        PartKind::CutOut if found.leaves => noise.cost_of_part(found.value, found.noise),
        PartKind::CutOut => cost,
        PartKind::Channels(channels) => noise.cost_of_channels(found.node, channels, found.noise),
    });
    let mut heard = keep(of_unlike.collect());
    unlike.retain(|_| heard());
}

/// Noise of a grid that is given away, where it is heard.
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

/// Noise of a part in what it is joined to, or by itself.
fn in_result(graph: &Graph, found: &UnlikePart) -> (ValueId, f64) {
    let elements = |value| element_count(&graph.value(value)?.ty.shape).map(|count| count as f64);
    let joined = graph.node(found.node).and_then(|node| {
        let result = node
            .outputs
            .first()
            .copied()
            .filter(|_| found.kind == PartKind::Joined)?;
        Some((
            result,
            found.noise * (elements(found.value)? / elements(result)?.max(1.0)).min(1.0),
        ))
    });
    joined.unwrap_or((found.value, found.noise))
}

/// Noise that a grid brings which is wider than what is read on it asks for; none that is known of one that is narrower.
fn imposed(noise: &Noise<'_>, found: &Overlapped) -> Option<(ValueId, f64)> {
    let [own, imposed] = [noise.rounded_alone(found.value)?, noise.rounded(found.value)?];
    (imposed >= own).then_some((found.value, imposed - own))
}
