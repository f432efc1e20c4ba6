//! Requests: they say which statistics are observed for which values.

use crate::statistics::{Kind, Observation};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::shape::axis_of;
use strait_core::{Def, Elem, Graph, GraphId, Module, NodeId, Op, ValueId};

/// The statistics that are requested. A request that is made several times is stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeSet<(ValueId, Kind)>);

impl Requests {
    /// Requests the statistics that placing and annotating always need: the statistics of the elements of every float
    /// value; those of the largest elements (peaks) in each value that a softmax reads; and those of the channels of
    /// each convolution or Gemm that becomes an output of the model, directly or after its elements are rearranged.
    pub fn all(module: &Module, graph: GraphId) -> Requests {
        let mut requests = Requests::default();
        let Some(g) = module.graph(graph) else { return requests };
        let observed = g.values().filter(|(_, value)| !matches!(value.def, Def::Data(_)));
        for (value, _) in observed.filter(|(_, value)| value.ty.elem == Elem::F32) {
            requests.value(value, Kind::Elements);
        }
        for (node, _) in g.nodes().filter(|(_, node)| matches!(node.op, Op::Softmax(_))) {
            requests.operand(g, node, 0, Kind::Peaks);
        }
        for (value, axis) in g.outputs().iter().filter_map(|&output| leaving_product(g, output)) {
            requests.value(value, Kind::Channels { axis });
        }
        requests
    }

    /// Requests statistics of an operand of a node. Indices after the last operand stand for the results. Returns false
    /// if there is no such operand, or if it does not hold floats.
    pub fn operand(&mut self, graph: &Graph, node: NodeId, operand: usize, kind: Kind) -> bool {
        let value = graph.node(node).and_then(|node| {
            let operands = node.inputs.iter().copied();
            operands
                .chain(node.outputs.iter().copied().map(Some))
                .nth(operand)
                .flatten()
        });
        let float = value.filter(|&value| graph.value(value).is_some_and(|value| value.ty.elem == Elem::F32));
        float.into_iter().for_each(|value| self.value(value, kind));
        float.is_some()
    }

    /// Requests statistics of a value.
    pub fn value(&mut self, value: ValueId, kind: Kind) {
        self.0.insert((value, kind));
    }

    /// The requests for which `observation` has no record.
    #[must_use]
    pub fn unmet(&self, module: &Module, graph: GraphId, observation: &Observation) -> Requests {
        let name = |value: ValueId| Some(module.name(module.graph(graph)?.value(value)?.name));
        let is_met =
            |(value, kind): &(ValueId, Kind)| name(*value).is_some_and(|name| observation.get(*kind, name).is_some());
        Requests(self.0.iter().filter(|request| !is_met(request)).copied().collect())
    }

    /// True if nothing is requested.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The requests, ordered by value and kind.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, Kind)> + '_ {
        self.0.iter().copied()
    }

    /// The kinds of statistics that are requested for a value.
    pub(crate) fn kinds(&self, value: ValueId) -> impl Iterator<Item = Kind> + '_ {
        let of = self.0.range((value, Kind::Elements)..);
        of.take_while(move |(other, _)| *other == value).map(|(_, kind)| *kind)
    }
}

/// Returns the result of the convolution or Gemm that makes an output of the model, and the axis of its channels. Ops
/// that only rearrange elements may lie between this result and the output.
pub(crate) fn leaving_product(graph: &Graph, mut value: ValueId) -> Option<(ValueId, u32)> {
    loop {
        let (_, node) = graph.producer(value)?;
        let axis = match node.op {
            Op::Conv(_) => Some(1),
            Op::Gemm(_) => Some(graph.value(value)?.ty.shape.len().checked_sub(1)? as u32),
            _ => None,
        };
        if let Some(axis) = axis {
            return Some((value, axis));
        }
        let rearranges = node.op.term().kind() == strait_core::Kind::Rearranges;
        value = node.input(0).filter(|_| rearranges)?;
    }
}

/// For each value that softmaxes read, the axes along which they compute.
pub(crate) fn softmax_axes(module: &Module, graph: GraphId) -> BTreeMap<ValueId, BTreeSet<usize>> {
    let mut axes: BTreeMap<ValueId, BTreeSet<usize>> = BTreeMap::new();
    let Some(graph) = module.graph(graph) else { return axes };
    for (_, node) in graph.nodes() {
        if let Op::Softmax(softmax) = &node.op
            && let Some(x) = node.input(0)
        {
            let rank = graph.value(x).map_or(0, |x| x.ty.shape.len());
            axes.entry(x).or_default().extend(axis_of(softmax.axis, rank));
        }
    }
    axes
}
