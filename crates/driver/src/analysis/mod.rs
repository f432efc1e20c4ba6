//! Which layers of a compiled model lose how much accuracy, and why.
//!
//! `groups.rs` finds the layers, `single.rs` measures each of them by itself, `statistics.rs` describes their tensors, and
//! each file in `reasons` has a rule that tells why a layer loses accuracy.

mod distributions;
mod groups;
mod reasons;
mod single;
mod statistics;

use std::collections::BTreeMap;

use strait_compile::{Built, types::node_operations};
use strait_core::{Module, NodeId, ValueId};
use strait_quantize::{Observation, observe};
use strait_target::TargetSpec;

use crate::{
    report::{CostlyLayer, LayerAnalysis, Lint},
    sanity::ValueError,
    session::Session,
    stop::Stop,
};

pub(crate) use groups::{Group, groups};
pub(crate) use single::{Single, apart, roles_snr, singles};

use reasons::Facts;

/// The compiled model that is analysed.
pub(crate) struct Analysed<'a> {
    /// The float graph, with the bodies of control flow inlined.
    pub(crate) canonical: &'a Module,
    pub(crate) built: &'a Built,
    pub(crate) observation: &'a Observation,
    pub(crate) spec: &'a TargetSpec,
    pub(crate) lints: &'a [Lint],
}

impl Analysed<'_> {
    /// Describes the layers. `single` has the SNR of the model's outputs if only this layer is quantized, `entire` the
    /// error of each value of the integer model. The layers that do most harm come first.
    pub(crate) fn layers(
        &self,
        groups: &[Group],
        single: &[Single],
        entire: &BTreeMap<ValueId, ValueError>,
    ) -> Vec<(NodeId, LayerAnalysis)> {
        let graph = self.built.annotated.main();
        let operations: Vec<u64> = groups.iter().map(|group| operations(self.canonical, group)).collect();
        let all: u64 = canonical_operations(self.canonical);
        let told = groups
            .iter()
            .zip(single)
            .zip(&operations)
            .filter_map(|((group, single), &operations)| {
                let node = graph.node(group.main)?;
                let error = entire.get(&group.result);
                let (weights, result) = (self.weights(group), self.tensor(group.result));
                let facts = Facts {
                    analysed: self,
                    group,
                    weights: weights.as_ref(),
                    single,
                    tensors: &group
                        .tensors(graph)
                        .filter_map(|value| self.tensor(value))
                        .collect::<Vec<_>>(),
                };
                let reasons = reasons::of(&facts);
                let layer = LayerAnalysis {
                    layer: group.name(self.canonical),
                    op: node.op.term().name().to_owned(),
                    share: operations as f64 / all.max(1) as f64,
                    clamps: group.clamps(self.canonical),
                    single: single.whole,
                    single_weights: single.weights,
                    single_activations: single.activations,
                    entire: error.map(|error| error.after),
                    cosine: error.and_then(|error| error.cosine),
                    before: error.map(|error| error.before),
                    jumps: error.is_some_and(|error| error.jumps),
                    weights,
                    result,
                    reasons,
                };
                Some((group.main, layer))
            });
        let mut told: Vec<(NodeId, LayerAnalysis)> = told.collect();
        let key = |(_, layer): &(NodeId, LayerAnalysis)| layer.single.unwrap_or(f64::INFINITY);
        told.sort_by(|one, other| key(one).total_cmp(&key(other)));
        told
    }
}

/// The `named` layers whose quantization alone does most harm, measured on the first `few` samples.
///
/// # Errors
/// If a run fails or needs more than is allowed, or if the user interrupts.
pub(crate) fn worst(
    built: &Built,
    samples: &dyn observe::Samples,
    (few, named): (usize, usize),
    canonical: &Module,
    session: (&Session<'_>, &str),
) -> Result<Vec<CostlyLayer>, Stop> {
    let groups = groups(&built.annotated);
    let single = single::wholes(&apart(built, (samples, few), session)?, &groups, session)?;
    let told = groups.iter().zip(single).filter_map(|(group, snr)| {
        let layer = group.name(canonical);
        Some(CostlyLayer { layer, snr: snr? })
    });
    let mut told: Vec<CostlyLayer> = told.collect();
    told.sort_by(|one, other| one.snr.total_cmp(&other.snr));
    told.truncate(named);
    Ok(told)
}

/// The operations of a layer in the float model.
fn operations(module: &Module, group: &Group) -> u64 {
    group
        .nodes
        .iter()
        .map(|&id| node_operations(module, id))
        .fold(0, u64::saturating_add)
}

fn canonical_operations(module: &Module) -> u64 {
    let nodes = module.main().nodes();
    nodes
        .map(|(id, _)| node_operations(module, id))
        .fold(0, u64::saturating_add)
}
