//! What rules ask of the graph around a node.

use std::borrow::Cow;
use strait_core::op::Unary;
use strait_core::{DataId, Graph, GraphId, Module, Node, NodeId, Op, PassError, TensorData, TensorError, ValueId};

/// One node and its surroundings.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) module: &'a Module,
    pub(crate) graph: &'a Graph,
    pub(crate) id: NodeId,
    pub(crate) node: &'a Node,
}

impl<'a> Site<'a> {
    /// The node at `at`; the worklist asks about living nodes only.
    pub(crate) fn new(module: &'a Module, graph: GraphId, at: NodeId) -> Result<Site<'a>, PassError> {
        let graph = module
            .graph(graph)
            .ok_or_else(|| PassError::Ours(format!("{graph:?} does not exist").into()))?;
        let node = graph
            .node(at)
            .ok_or_else(|| PassError::Ours(format!("{at:?} does not exist").into()))?;
        Ok(Site {
            module,
            graph,
            id: at,
            node,
        })
    }

    /// Operand `index`, where it is present.
    pub(crate) fn input(&self, index: usize) -> Option<ValueId> {
        self.node.inputs.get(index).copied().flatten()
    }

    /// The first result.
    pub(crate) fn output(&self) -> Option<ValueId> {
        self.node.outputs.first().copied()
    }

    /// The node that produces `value`, if its term is `term`.
    pub(crate) fn producer(&self, value: ValueId, term: &str) -> Option<Site<'a>> {
        let (id, node) = self.graph.producer(value)?;
        (node.op.term() == term).then_some(Site { id, node, ..*self })
    }

    /// The operands of a binary node in both orders.
    pub(crate) fn both_orders(&self) -> Vec<(ValueId, ValueId)> {
        match (self.input(0), self.input(1)) {
            (Some(a), Some(b)) => vec![(a, b), (b, a)],
            _ => Vec::new(),
        }
    }

    /// Whether `value` is used by one operand alone and is no output of the graph.
    pub(crate) fn used_once(&self, value: ValueId) -> bool {
        self.graph.only_use(value).is_some()
    }

    /// The dimensions of a value, where all are known.
    pub(crate) fn dims(&self, value: ValueId) -> Option<Vec<u64>> {
        Some(self.graph.value(value)?.ty.dims()?.to_vec())
    }

    /// The tensor that a value is, if it is a constant.
    pub(crate) fn constant(&self, value: ValueId) -> Option<(DataId, &'a TensorData)> {
        let id = self.graph.data_of(value)?;
        Some((id, self.module.data(id)?))
    }

    /// The elements of a float constant.
    pub(crate) fn floats(&self, value: ValueId) -> Option<(&'a TensorData, Cow<'a, [f32]>)> {
        let (_, tensor) = self.constant(value)?;
        Some((tensor, tensor.to_f32().ok()?))
    }

    /// The only element of a float constant.
    pub(crate) fn scalar(&self, value: ValueId) -> Option<f32> {
        let (_, values) = self.floats(value)?;
        match *values {
            [x] => Some(x),
            _ => None,
        }
    }

    /// Whether a value is the constant `wanted`, up to the rounding of an exporter.
    pub(crate) fn is_scalar(&self, value: ValueId, wanted: f32) -> bool {
        self.scalar(value)
            .is_some_and(|x| (x - wanted).abs() <= 1e-6 * wanted.abs())
    }
}

/// A tensor of f32; sizes come from tensors that exist, so an error is ours.
pub(crate) fn tensor(shape: &[u64], values: &[f32]) -> Result<TensorData, PassError> {
    TensorData::from_values(shape, values).map_err(|error: TensorError| PassError::Ours(error.to_string().into()))
}

/// The op of a function of one variable.
pub(crate) fn unary(function: strait_core::op::Function) -> Op {
    Unary { function }.into()
}
