//! Finds the layers whose codes can be chosen.

use crate::algebra::plane::Lattice;
use crate::layer::geometry::Geometry;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_core::{
    CodesOrigin, DataId, Graph, Module, Node, NodeId, ParameterCodes, Parts, Port, QuantParams, Scheme, State, ValueId,
};

/// A layer whose codes can be chosen.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) node: NodeId,
    pub(crate) geometry: Geometry,
    /// What the layer reads, and what it makes.
    pub(crate) values: [ValueId; 2],
    /// The weights of the float model.
    pub(crate) weights: DataId,
    /// The bias of the float model.
    pub(crate) bias: Option<DataId>,
    /// True if the bias becomes codes, so that another one can be chosen.
    pub(crate) corrects: bool,
    /// The scale of what the layer reads. `None` if the layer reads real numbers.
    pub(crate) scale: Option<f32>,
    /// The grid of the weights, and the smallest and the largest code.
    pub(crate) grid: Arc<QuantParams>,
    pub(crate) range: [i32; 2],
}

/// The layers in the order of the graph, and the nodes with codes that cannot be chosen, each with the reason.
pub(crate) fn find(float: &Module, annotated: &Module) -> (Vec<Layer>, BTreeMap<NodeId, &'static str>) {
    let (graph, mut layers, mut left) = (annotated.main(), Vec::new(), BTreeMap::new());
    for id in graph.topological_order().unwrap_or_default() {
        let Some(node) = graph.node(id) else { continue };
        let Some(weights) = codes_of(graph, id, 1) else {
            continue;
        };
        match layer(float, graph, (id, node), weights) {
            Ok(layer) => layers.push(layer),
            Err(why) => {
                left.insert(id, why);
            }
        }
    }
    (layers, left)
}

/// The codes of a constant operand, if it was converted to codes, with the scheme.
fn codes_of(graph: &Graph, id: NodeId, index: usize) -> Option<(ParameterCodes, Scheme)> {
    let config = graph.quant.id(id, Port::Operand(index))?;
    let baked = matches!(graph.quant.state(config)?, State::Baked | State::PassiveBaked);
    graph.data_of(graph.node(id)?.input(index)?)?;
    Some((
        graph.quant.codes(config).filter(|_| baked)?,
        graph.quant.config(config)?.scheme,
    ))
}

fn layer(
    float: &Module,
    graph: &Graph,
    (id, node): (NodeId, &Node),
    (codes, scheme): (ParameterCodes, Scheme),
) -> Result<Layer, &'static str> {
    if codes.origin == CodesOrigin::Given {
        return Err("the model or a record gives its codes");
    }
    const MISSING: &str = "an operand of it is missing";
    let (x, y) = (node.input(0).ok_or(MISSING)?, node.result().ok_or(MISSING)?);
    let value = node.input(1).ok_or(MISSING)?;
    if graph.uses(value).count() > 1 {
        return Err("other layers share its weights");
    }
    let data = graph.data_of(value).ok_or(MISSING)?;
    let tensor = float.data(data).ok_or(MISSING)?;
    let geometry = Geometry::of(node, tensor.shape())?;
    let range = scheme.range().ok_or("its weights are no integers")?;
    let scale = match graph.quant.params_of(id, Port::Operand(0)) {
        None => None,
        Some(grid) => Some(grid.as_tensor().ok_or("its activations have several scales")?.0),
    };
    let outputs = geometry.outputs() * geometry.groups();
    let bias = match node.input(2) {
        None => None,
        Some(bias) => Some(graph.data_of(bias).ok_or("its bias is no constant")?),
    };
    let has_codes = codes_of(graph, id, 2).is_some_and(|(codes, _)| codes.origin != CodesOrigin::Given);
    let fits = |data: DataId| float.data(data).is_some_and(|bias| bias.shape() == [outputs as u64]);
    if !bias.is_none_or(fits) {
        return Err("its bias is not one number for each output");
    }
    Ok(Layer {
        node: id,
        geometry,
        values: [x, y],
        weights: data,
        bias,
        corrects: has_codes,
        scale,
        grid: graph.quant.params_of(id, Port::Operand(1)).ok_or(MISSING)?,
        range: range.map(|end| end.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
    })
}

impl Layer {
    /// The numbers that the codes of one group can stand for, with `indices` of the group's weights in the whole tensor.
    pub(crate) fn lattice(&self, shape: &[u64], indices: &[usize]) -> Lattice {
        let shape: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
        let parts = Parts::of_grid(&self.grid, &shape).unwrap_or(Parts::WHOLE);
        let part = |&index: &usize| parts.of(index);
        Lattice {
            steps: indices
                .iter()
                .map(|at| self.grid.scale.get(part(at)).copied().unwrap_or(1.0))
                .collect(),
            zeros: indices
                .iter()
                .map(|at| self.grid.zero_point.get(part(at)).copied().unwrap_or(0))
                .collect(),
            range: self.range,
        }
    }
}
