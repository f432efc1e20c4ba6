//! Functions with which rules inspect a node and the graph around it.

use crate::miss::Miss;
use std::borrow::Cow;
use strait_core::op::{Transpose, Unary};
use strait_core::{
    DataId, Elem, Graph, GraphId, Kind, Module, NewNode, Node, NodeId, Op, PassError, Patch, Source, TensorData,
    TensorError, Term, ValueId,
};

/// A node, with its graph and module.
#[derive(Clone, Copy)]
pub(crate) struct GraphNode<'a> {
    pub(crate) module: &'a Module,
    pub(crate) graph: &'a Graph,
    pub(crate) id: NodeId,
    pub(crate) node: &'a Node,
}

impl<'a> GraphNode<'a> {
    /// The node `at`, which must exist. The worklist contains only nodes that exist.
    pub(crate) fn new(module: &'a Module, graph: GraphId, at: NodeId) -> Result<GraphNode<'a>, PassError> {
        let graph = module
            .graph(graph)
            .ok_or_else(|| PassError::Ours(format!("{graph} does not exist").into()))?;
        let node = graph
            .node(at)
            .ok_or_else(|| PassError::Ours(format!("{at} does not exist").into()))?;
        Ok(GraphNode {
            module,
            graph,
            id: at,
            node,
        })
    }

    /// Operand `index`, or `None` if it is not present.
    pub(crate) fn input(&self, index: usize) -> Option<ValueId> {
        self.node.input(index)
    }

    /// Operand `index`. If it is not present, the rule does not match.
    pub(crate) fn operand(&self, index: usize) -> Result<ValueId, Miss> {
        self.input(index).ok_or(Miss::NoMatch)
    }

    /// The first result.
    pub(crate) fn output(&self) -> Option<ValueId> {
        self.node.result()
    }

    /// The first result. If there is none, the rule does not match.
    pub(crate) fn result(&self) -> Result<ValueId, Miss> {
        self.output().ok_or(Miss::NoMatch)
    }

    /// The operands of this node, with `first` in place of the first operand.
    pub(crate) fn operands_with(&self, first: Source) -> Vec<Option<Source>> {
        let others = self.node.inputs.iter().skip(1);
        let others = others.map(|operand| operand.map(Source::Old));
        std::iter::once(Some(first)).chain(others).collect()
    }

    /// The patch that puts new nodes in the place of this node. The last of them makes the result.
    pub(crate) fn replaced_by(&self, add: Vec<NewNode>) -> Result<Patch, Miss> {
        self.completed(Patch {
            add,
            ..Patch::default()
        })
    }

    /// Completes a patch whose new nodes take the place of this node. The last of them makes the result.
    pub(crate) fn completed(&self, mut patch: Patch) -> Result<Patch, Miss> {
        let last = Source::New(patch.add.len() as u16 - 1, 0);
        patch.replace.push((self.result()?, last));
        patch.remove.insert(0, self.id);
        Ok(patch)
    }

    /// The node that makes `value`.
    pub(crate) fn maker(&self, value: ValueId) -> Option<GraphNode<'a>> {
        let (id, node) = self.graph.producer(value)?;
        Some(GraphNode { id, node, ..*self })
    }

    /// The node that makes `value`, if its op is `term`.
    pub(crate) fn producer(&self, value: ValueId, term: Term) -> Option<GraphNode<'a>> {
        self.maker(value).filter(|maker| maker.node.op.term() == term)
    }

    /// The only node that reads `value`, unless the value is an output of the graph.
    pub(crate) fn only_reader(&self, value: ValueId) -> Option<GraphNode<'a>> {
        let id = self.graph.only_use(value)?.node;
        let node = self.graph.node(id)?;
        Some(GraphNode { id, node, ..*self })
    }

    /// The two operands of a binary node, in both orders.
    pub(crate) fn both_orders(&self) -> Vec<(ValueId, ValueId)> {
        match (self.input(0), self.input(1)) {
            (Some(a), Some(b)) => vec![(a, b), (b, a)],
            _ => Vec::new(),
        }
    }

    /// True if `value` is read by only one operand, and is not an output of the graph.
    pub(crate) fn used_once(&self, value: ValueId) -> bool {
        self.graph.only_use(value).is_some()
    }

    /// The extents of a value, if all are known.
    pub(crate) fn dims(&self, value: ValueId) -> Option<Vec<u64>> {
        Some(self.graph.value(value)?.ty.dims()?.to_vec())
    }

    /// The tensor of a value, if it is a constant.
    pub(crate) fn constant(&self, value: ValueId) -> Option<(DataId, &'a TensorData)> {
        let id = self.graph.data_of(value)?;
        Some((id, self.module.data(id)?))
    }

    /// Returns the elements of an f32 constant. Rules do not change floats of other widths: the constant that a rule
    /// computes would be f32, so the op would have operands of two types.
    pub(crate) fn floats(&self, value: ValueId) -> Option<(&'a TensorData, Cow<'a, [f32]>)> {
        let (_, tensor) = self.constant(value)?;
        let elements = (tensor.elem() == Elem::F32).then(|| tensor.to_f32())?;
        Some((tensor, elements.ok()?))
    }

    /// A transpose of a matrix for which the model gives a grid. The result has the transposed grid.
    pub(crate) fn turned(&self, matrix: ValueId) -> Option<NewNode> {
        let value = self.graph.value(matrix)?;
        let given = value.quant.as_ref()?;
        let grid = given.turned(value.ty.dims()?.as_slice())?;
        let permutation = [1, 0].into_iter().collect();
        let mut node = NewNode::new(Transpose { permutation }, &[Some(Source::Old(matrix))], &[self.id]);
        node.quant.push(Some(grid.into()));
        Some(node)
    }

    /// The element of a float constant with a single element.
    pub(crate) fn scalar(&self, value: ValueId) -> Option<f32> {
        let (_, values) = self.floats(value)?;
        match *values {
            [x] => Some(x),
            _ => None,
        }
    }

    /// True if the node's result has the same type as `x`. The types differ if a constant operand has more axes than
    /// `x`.
    pub(crate) fn keeps_type(&self, x: ValueId) -> bool {
        let ty = |v| self.graph.value(v).map(|v| &v.ty);
        self.output().is_some_and(|y| ty(y) == ty(x))
    }

    /// The node, then all nodes between it and `x`. A single replacement will take their place and all their source
    /// names.
    pub(crate) fn down_to(&self, x: ValueId) -> Vec<NodeId> {
        let mut found = vec![self.id];
        let mut next = 0;
        while let Some(node) = found.get(next).and_then(|&id| self.graph.node(id)) {
            let operands = node.inputs.iter().flatten().filter(|&&v| v != x);
            let producers = operands.filter_map(|&v| self.graph.producer(v)).map(|(id, _)| id);
            let new: Vec<NodeId> = producers.filter(|id| !found.contains(id)).collect();
            found.extend(new);
            next += 1;
        }
        found
    }

    /// True if a value is the constant `wanted`. A difference from an exporter's rounding is allowed.
    pub(crate) fn is_scalar(&self, value: ValueId, wanted: f32) -> bool {
        self.scalar(value).is_some_and(|x| near(x, wanted))
    }
}

/// True for a function of one variable.
pub(crate) fn is_function(site: &GraphNode<'_>) -> bool {
    site.node.op.term().kind() == Kind::Function && site.node.inputs.len() == 1
}

/// Adds a node to a patch, and returns its first result.
pub(crate) fn push(patch: &mut Patch, node: NewNode) -> Source {
    patch.add.push(node);
    Source::New(patch.add.len() as u16 - 1, 0)
}

/// True if an exporter's rounding can have turned `wanted` into `found`.
pub(crate) fn near(found: f32, wanted: f32) -> bool {
    (found - wanted).abs() <= 1e-6 * wanted.abs()
}

/// Makes an f32 tensor. The sizes come from existing tensors, so an error is a defect of the compiler.
pub(crate) fn tensor(shape: &[u64], values: &[f32]) -> Result<TensorData, PassError> {
    TensorData::from_values(shape, values).map_err(|error: TensorError| PassError::Ours(error.to_string().into()))
}

/// The op for a function of one variable.
pub(crate) fn unary(function: strait_core::op::Function) -> Op {
    Unary { function }.into()
}
