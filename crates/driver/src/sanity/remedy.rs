//! Looks for a rule of a configuration that avoids the error at the layers where it jumps.
//!
//! The first rule that is tried gives the first of these layers 16 bits, if the target's table allows 16 bits. If this
//! does not correct all outputs that are at fault, a rule that runs the layers in float is tried. Each rule is tried as
//! it would be written in the configuration: the graph is annotated with the rule, and simulated. If the rule helps
//! little, the layers that compute the operands of the rule's layers are added to the rule. As long as an output is at
//! fault, the layers at which the error jumps in the simulation are added, too.

use std::collections::BTreeSet;

use strait_core::{Graph, Kind, Module, NodeId, Op};
use strait_execute::Standard;

use crate::{
    report::{Fault, Remedy, SanityOutput},
    session::Session,
    stop::Stop,
};

use super::{
    NAMED, Reference, SEARCHED, Subject,
    jumps::{Jump, Model},
    simulated::{Lift, Simulated},
};

/// The search adds further layers to a rule at most this many times.
const ROUNDS: usize = 3;

/// A rule that improves the SNR by less than this, in dB, helps little.
const GAIN: f64 = 3.0;

/// Returns the first rule that corrects all outputs. If no rule does, returns the rule that helps most, or `None` if
/// every rule helps little. `outputs` are the results of comparing the integer model's outputs with the float model's.
///
/// # Errors
/// If a run fails, or the user interrupts.
pub(super) fn remedy(
    reference: &Reference<'_>,
    outputs: &[SanityOutput],
    subject: &Subject<'_>,
    jumps: &[Jump],
    session: &Session<'_>,
) -> Result<Option<Remedy>, Stop> {
    let helps = |found: &Remedy| found.mends || found.snr > least(outputs).map(|snr| snr + GAIN);
    let mut best: Option<Remedy> = None;
    for lift in Lift::of(subject.spec) {
        let tried = with(lift, reference, outputs, subject, jumps.to_vec(), session)?;
        let Some(found) = tried.filter(helps) else { continue };
        if best.as_ref().is_none_or(|best| found.mends || found.snr > best.snr) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.mends) {
            break;
        }
    }
    // The rule was found with a few samples. The report gives its effect on all samples.
    let all = reference.outputs.len();
    let Some(best) = best else { return Ok(None) };
    if all <= SEARCHED {
        return Ok(Some(best));
    }
    let rule = std::slice::from_ref(&best.toml);
    let told = Simulated::with(rule, reference, all, subject, session)?;
    Ok(told
        .map(|simulated| remedy_of(best.toml.clone(), &simulated))
        .filter(helps))
}

/// The report's entry for a rule, made from the simulation with this rule.
fn remedy_of(toml: String, simulated: &Simulated) -> Remedy {
    Remedy {
        toml,
        snr: least(&simulated.outputs),
        mends: simulated.outputs.iter().all(|output| output.faults.is_empty()),
    }
}

/// Searches for the rule of one kind, `lift`; `None` if it cannot be applied to any of the layers.
fn with(
    lift: Lift,
    reference: &Reference<'_>,
    outputs: &[SanityOutput],
    subject: &Subject<'_>,
    mut jumps: Vec<Jump>,
    session: &Session<'_>,
) -> Result<Option<Remedy>, Stop> {
    let graph = subject.annotated.main();
    // If the fault is that answers differ, all samples are needed, because answers have to differ on at least two
    // samples.
    let answers = outputs.iter().any(|output| output.faults.contains(&Fault::Answers));
    let samples = reference.outputs.len().min(if answers { usize::MAX } else { SEARCHED });
    let mut reached = least(outputs);
    let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
    let mut found = None;
    for round in 1..=ROUNDS {
        // If the error jumps at a layer on the host, the cause is in the operands of this layer. So the layers that
        // compute these operands are added.
        let with_makers = |&id: &NodeId| std::iter::once(id).chain(makers(graph, id));
        let is_new = |jump: &&Jump| {
            let mut all = jump.nodes.iter().flat_map(with_makers);
            all.any(|id| lift.fits(subject.annotated, subject.spec, id) && !nodes.contains(&id))
        };
        let first = jumps.iter().filter(is_new).take(NAMED);
        let alone: BTreeSet<NodeId> = first.flat_map(|jump| jump.nodes.iter().copied()).collect();
        let before: BTreeSet<NodeId> = alone.iter().flat_map(|&id| makers(graph, id)).collect();
        let mut best: Option<(BTreeSet<NodeId>, Simulated, Remedy)> = None;
        for more in [alone.clone(), alone.union(&before).copied().collect()] {
            let tried = nodes.union(&more).copied();
            let tried: BTreeSet<NodeId> = tried
                .filter(|&id| lift.fits(subject.annotated, subject.spec, id))
                .collect();
            if tried.len() == nodes.len() || best.as_ref().is_some_and(|(known, ..)| *known == tried) {
                continue;
            }
            let rule = lift.rule(subject.spec, &layers(subject.canonical, &tried));
            let Some(simulated) = Simulated::with(std::slice::from_ref(&rule), reference, samples, subject, session)?
            else {
                continue;
            };
            let remedy = remedy_of(rule, &simulated);
            let helps = remedy.mends || remedy.snr > reached.map(|snr| snr + GAIN);
            let is_better = best.as_ref().is_none_or(|(.., best)| remedy.snr > best.snr);
            if remedy.mends || is_better {
                best = Some((tried, simulated, remedy));
            }
            if helps {
                break;
            }
        }
        let Some((tried, simulated, remedy)) = best else { break };
        reached = remedy.snr;
        let mends = remedy.mends;
        if found
            .as_ref()
            .is_none_or(|known: &Remedy| mends || remedy.snr > known.snr)
        {
            found = Some(remedy);
        }
        if mends || round == ROUNDS {
            break;
        }
        let model = Model {
            module: &simulated.module,
            loops: &Standard,
        };
        jumps = match model.jumps(reference, &simulated.outputs, subject, session) {
            Ok(jumps) => jumps,
            Err(Stop::Found(_)) => break,
            Err(stop) => return Err(stop),
        };
        nodes = tried;
    }
    Ok(found)
}

/// The smallest SNR of the outputs.
fn least(outputs: &[SanityOutput]) -> Option<f64> {
    outputs.iter().filter_map(|output| output.snr).reduce(f64::min)
}

/// Returns the nodes that compute what a node reads. Nodes that only move or clamp elements are skipped.
fn makers(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let (mut found, mut open) = (Vec::new(), vec![id]);
    while let Some(id) = open.pop() {
        let values = graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten());
        for (producer, node) in values.filter_map(|&value| graph.producer(value)) {
            if !found.contains(&producer) {
                found.push(producer);
                let moves = matches!(
                    node.op.term().kind(),
                    Kind::Rearranges | Kind::Moves | Kind::Extends | Kind::Selects
                );
                if moves || matches!(node.op, Op::Relu(_) | Op::Clip(_)) {
                    open.push(producer);
                }
            }
        }
    }
    found
}

/// For each node, the name of one of the layers of the source model that it comes from.
fn layers(module: &Module, nodes: &BTreeSet<NodeId>) -> Vec<String> {
    let graph = module.main();
    let names = nodes.iter().filter_map(|&id| {
        let source = graph.node(id)?.sources.first()?;
        Some(module.name(*source).to_owned())
    });
    let mut listed: Vec<String> = Vec::new();
    for name in names {
        if !listed.contains(&name) {
            listed.push(name);
        }
    }
    listed
}
