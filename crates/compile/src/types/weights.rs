//! The sizes of weights.

use std::collections::BTreeMap;

use strait_core::{DataId, Module, NodeId, shape::element_count};

use crate::rules::weighs;

/// The weights of one layer, or of several layers that share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerWeights {
    /// The layers, in the order of the graph.
    pub nodes: Vec<NodeId>,
    /// The number of elements.
    pub elements: u64,
    /// The bits of each element: those of its code, or 32 if the weights are real numbers.
    pub bits: u8,
}

impl LayerWeights {
    /// The bytes of the weights: ⌈elements · bits / 8⌉.
    pub fn bytes(&self) -> u64 {
        self.elements.saturating_mul(self.bits.into()).div_ceil(8)
    }
}

/// The constant weights of an annotated graph's layers: of convolutions, matrix products and lookups of rows.
pub fn weights(annotated: &Module) -> Vec<LayerWeights> {
    let graph = annotated.main();
    let mut found: Vec<LayerWeights> = Vec::new();
    let mut known: BTreeMap<(DataId, u8), usize> = BTreeMap::new();
    for id in graph.topological_order().unwrap_or_default() {
        let Some(node) = graph.node(id).filter(|node| weighs(node)) else {
            continue;
        };
        let index = node.op.weights_operand();
        let Some((value, data)) = node.input(index).and_then(|value| Some((value, graph.data_of(value)?))) else {
            continue;
        };
        let port = strait_core::Port::Operand(index);
        let scheme = graph
            .quant
            .baked(id, port)
            .and_then(|_| graph.quant.scheme_of(id, port));
        let bits = scheme
            .and_then(strait_core::Scheme::int_type)
            .map_or(32, strait_requantize::IntType::bits);
        let elements = graph
            .value(value)
            .and_then(|value| element_count(&value.ty.shape))
            .unwrap_or(0);
        match known.get(&(data, bits)).and_then(|&at| found.get_mut(at)) {
            Some(shared) => shared.nodes.push(id),
            None => {
                known.insert((data, bits), found.len());
                found.push(LayerWeights {
                    nodes: vec![id],
                    elements,
                    bits,
                });
            }
        }
    }
    found
}
