//! Counts, and lines for layers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use strait_container::Digest;
use strait_core::{Bodies, DataId, Dim, Module, Node, Placement, Value, ValueId};
use strait_document::Glob;
use strait_report::{FreeIntegers, FromScales, Layer, Outside, ReasonReport};

use strait_compile::rules::matches_layer;

/// Summary of a model's parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The stage of the main graph: `float` for a model, `integer` for an artifact.
    pub stage: String,
    /// The digest by which an artifact is known.
    pub digest: Option<Digest>,
    /// The inputs of the main graph.
    pub inputs: Vec<Port>,
    /// Its outputs.
    pub outputs: Vec<Port>,
    /// Its operators, by their names.
    pub ops: Vec<OpCount>,
    /// Elements of all its constants.
    pub parameters: u64,
    /// Bytes of all its constants.
    pub parameter_bytes: u64,
    /// The layers that were chosen, in the order in which they run.
    pub layers: Vec<LayerLine>,
    /// True if a pattern chose the layers.
    #[serde(skip)]
    pub chosen: bool,
}

/// An input, an output, or a value in between.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub elem: String,
    /// Its extents; symbolic ones by their names.
    pub shape: Vec<String>,
}

/// Number of uses of an operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpCount {
    /// The operator.
    pub op: String,
    /// Number of uses.
    pub count: usize,
    /// Number of these uses on the host.
    pub host: usize,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerLine {
    /// Its name.
    pub name: String,
    /// Every source name that it answers for.
    pub sources: Vec<String>,
    /// Its operator.
    pub op: String,
    /// True if it runs on the host.
    pub host: bool,
    /// Operands that are no constants.
    pub operands: Vec<Port>,
    /// Results of the layer.
    pub results: Vec<Port>,
    /// Of an artifact: how near the integers of its requantization are to the ideal, where the compiler chose them.
    pub free_integers: Option<FreeIntegers>,
    /// Of an artifact: how near they are where the runtime makes them, and what others would gain.
    pub from_scales: Option<FromScales>,
    /// Of an artifact: why a clamp in front of its requantization was left out.
    pub dropped_clamp: Option<ReasonReport>,
    /// Of an artifact: its forms that were shown to be right on fewer accumulators than it can have.
    pub outside: Vec<Outside>,
}

pub(super) fn summary((module, bodies): (&Module, &Bodies), pattern: Option<&Glob>, reported: &[Layer]) -> Summary {
    let graph = module.main();
    let ports = |ids: &[ValueId]| {
        ids.iter()
            .filter_map(|&id| Some(port(module, graph.value(id)?)))
            .collect()
    };
    let reported: BTreeMap<&str, &Layer> = reported.iter().map(|layer| (layer.name.as_str(), layer)).collect();
    let mut ops: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (_, node) in graph.nodes() {
        let counts = ops.entry(node.op.term().name()).or_default();
        counts.0 += 1;
        counts.1 += usize::from(on_host(node));
    }
    let constants: BTreeSet<DataId> = graph
        .values()
        .filter(|&(id, _)| graph.uses(id).next().is_some())
        .filter_map(|(id, _)| graph.data_of(id))
        .collect();
    let tensors = || constants.iter().filter_map(|&id| module.data(id));
    let order = graph.topological_order().unwrap_or_default();
    let nodes = order.into_iter().filter_map(|id| graph.node(id));
    let chosen =
        |node: &&Node| pattern.is_none_or(|pattern| matches_layer(module, node, std::slice::from_ref(pattern)));
    Summary {
        stage: graph.stage().to_string(),
        digest: None,
        inputs: ports(bodies.own_inputs(graph)),
        outputs: ports(bodies.own_outputs(graph)),
        ops: ops
            .into_iter()
            .map(|(op, (count, host))| OpCount {
                op: op.to_owned(),
                count,
                host,
            })
            .collect(),
        parameters: tensors().map(|tensor| tensor.len() as u64).sum(),
        parameter_bytes: tensors().map(|tensor| tensor.bytes().len() as u64).sum(),
        layers: nodes
            .filter(chosen)
            .map(|node| layer(module, node, &reported))
            .collect(),
        chosen: pattern.is_some(),
    }
}

fn layer(module: &Module, node: &Node, reported: &BTreeMap<&str, &Layer>) -> LayerLine {
    let graph = module.main();
    let told = reported.get(module.name(node.name)).copied();
    let fusion = told.and_then(|told| told.fusion.as_ref());
    let ports =
        |ids: &mut dyn Iterator<Item = ValueId>| ids.filter_map(|id| Some(port(module, graph.value(id)?))).collect();
    LayerLine {
        name: module.name(node.name).to_owned(),
        sources: module.sources(node),
        op: node.op.term().to_string(),
        host: on_host(node),
        operands: ports(
            &mut node
                .inputs
                .iter()
                .copied()
                .flatten()
                .filter(|&id| graph.data_of(id).is_none()),
        ),
        results: ports(&mut node.outputs.iter().copied()),
        free_integers: told.and_then(|told| told.free_integers.clone()),
        from_scales: told.and_then(|told| told.from_scales.clone()),
        dropped_clamp: fusion.and_then(|fusion| fusion.dropped_clamp.clone()),
        outside: told.map_or_else(Vec::new, |told| told.outside.clone()),
    }
}

fn on_host(node: &Node) -> bool {
    matches!(node.place, Placement::Host(_))
}

fn port(module: &Module, value: &Value) -> Port {
    Port {
        name: module.name(value.name).to_owned(),
        elem: value.ty.elem.name().to_owned(),
        shape: value
            .ty
            .shape
            .iter()
            .map(|dim| match dim {
                Dim::Fixed(extent) => extent.to_string(),
                Dim::Named(name) => module.name(*name).to_owned(),
            })
            .collect(),
    }
}
