//! Summarizes a model: counts, and one line for each layer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use strait_container::Digest;
use strait_core::{Bodies, DataId, Dim, Module, Node, Placement, Value, ValueId};
use strait_document::Glob;
use strait_report::{FreeIntegers, FromScales, Layer, Outside, ReasonReport};

use strait_compile::rules::matches_layer;

/// Summary of a model or an artifact.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Stage of the main graph: `float` for a model, `integer` for an artifact.
    pub stage: String,
    /// The digest that identifies an artifact; absent for a model.
    pub digest: Option<Digest>,
    /// Inputs of the main graph.
    pub inputs: Vec<Port>,
    /// Outputs of the main graph.
    pub outputs: Vec<Port>,
    /// Operators of the main graph, sorted by name.
    pub ops: Vec<OpCount>,
    /// Number of elements of all constants.
    pub parameters: u64,
    /// Number of bytes of all constants.
    pub parameter_bytes: u64,
    /// The chosen layers, in the order in which they run.
    pub layers: Vec<LayerLine>,
    /// True if a pattern chose the layers; false if all layers are listed.
    #[serde(skip)]
    pub chosen: bool,
}

/// A tensor: an input, an output, or a value between layers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Port {
    /// Name of the tensor.
    pub name: String,
    /// Element type of the tensor.
    pub elem: String,
    /// Shape of the tensor, with symbolic dimensions by name.
    pub shape: Vec<String>,
}

/// How often an operator is used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpCount {
    /// Name of the operator.
    pub op: String,
    /// Number of nodes with this operator.
    pub count: usize,
    /// How many of these nodes run on the host.
    pub host: usize,
}

/// A layer in the summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerLine {
    /// Name of the layer.
    pub name: String,
    /// Names of all layers in the source model that this layer replaces.
    pub sources: Vec<String>,
    /// Operator of the layer.
    pub op: String,
    /// True if the layer runs on the host.
    pub host: bool,
    /// Operands of the layer that are not constants.
    pub operands: Vec<Port>,
    /// Results of the layer.
    pub results: Vec<Port>,
    /// How close the results of the layer's requantization come to exact arithmetic with the real scales. Only present
    /// for a layer of an artifact, and only if the compiler chose the integers of the requantization.
    pub free_integers: Option<FreeIntegers>,
    /// How close the results of the layer's requantization come to exact arithmetic with the real scales, and how much
    /// closer another multiplier and shift would come. Only present for a layer of an artifact, and only if the target's
    /// runtime computes the integers of the requantization from scales.
    pub from_scales: Option<FromScales>,
    /// For a layer of an artifact: why a clamp before its requantization could be left out.
    pub dropped_clamp: Option<ReasonReport>,
    /// For a layer of an artifact: the requantization forms whose evidence does not cover all accumulators that can
    /// occur in the layer.
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
        free_integers: told.and_then(|told| told.free_integers.as_deref().cloned()),
        from_scales: told.and_then(|told| told.from_scales.as_deref().cloned()),
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
