//! Compares the layers of the fused graph one by one. Each layer is run on operands of the lowered graph.
//!
//! Some values of the fused graph correspond to values of the lowered graph. A layer is the part of the fused graph
//! that computes one such value from others, usually a single node. On the same operands, its result may differ from
//! that of the lowered graph by at most what its certificate allows. Differences in earlier layers do not matter.

use crate::analysis::Analysis;
use crate::claims::Allowed;
use crate::elements::for_integers;
use crate::error::VerifyError;
use crate::finding::Fault;
use std::collections::BTreeMap;
use strait_core::tensor::Element;
use strait_core::{Elem, Graph, Node, Op, Value, ValueId};
use strait_execute::{Plan, TensorView};

/// A value of the lowered graph that the result of a layer stands for.
pub(crate) struct Counterpart {
    pub(crate) value: ValueId,
    /// How far the result of the layer may differ from `value`.
    pub(crate) allowed: Allowed,
}

/// The layers that requantize something. All other nodes are the same in both graphs and are computed by the same code.
pub(crate) struct Layers {
    /// For each value of the fused graph, by index: the values that it stands for, if it is the result of a layer.
    results: Vec<Vec<Counterpart>>,
    /// For each value of the lowered graph, by index: the number of results of layers that stand for it.
    readers: Vec<usize>,
}

impl Layers {
    /// Finds the layers whose results are visible when `plan` runs. It is a plan of the fused graph.
    pub(crate) fn find(analysis: &Analysis<'_>, plan: &Plan) -> Result<Layers, VerifyError> {
        let graph = analysis.fused_graph;
        let order = graph.topological_order().map_err(|id| {
            let name = graph.node(id).map(|node| analysis.module.name(node.name));
            VerifyError::Cycle(name.unwrap_or_default().into())
        })?;
        let mut counterparts: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
        for &(fused, lowered) in &analysis.pairs {
            counterparts.entry(fused).or_default().push(lowered);
        }
        let mut shown = vec![false; graph.value_bound()];
        plan.shown().for_each(|value| shown[value.index()] = true);
        let mut results = Vec::new();
        results.resize_with(graph.value_bound(), Vec::new);
        let mut readers = vec![0; analysis.lowered_graph.value_bound()];
        // `open` has an entry for each value. The entry is true if a requantization lies between the value and the
        // nearest earlier values that correspond to values of the lowered graph.
        let mut open = vec![false; graph.value_bound()];
        for node in order.into_iter().filter_map(|id| graph.node(id)) {
            let requantizes = requantizes(node) || node.inputs.iter().flatten().any(|operand| open[operand.index()]);
            for &result in &node.outputs {
                let found = counterparts.get(&result).filter(|_| shown[result.index()]);
                open[result.index()] = requantizes && found.is_none();
                let Some(found) = found.filter(|_| requantizes && is_integer(graph, result)) else {
                    continue;
                };
                let with_bound = |&value: &ValueId| {
                    readers[value.index()] += 1;
                    let allowed = analysis.allowed.get(&(result, value)).cloned().unwrap_or_default();
                    Counterpart { value, allowed }
                };
                results[result.index()] = found.iter().map(with_bound).collect();
            }
        }
        Ok(Layers { results, readers })
    }

    pub(crate) fn count(&self) -> usize {
        self.results.iter().map(Vec::len).sum()
    }

    /// Returns the values of the lowered graph that the value `value` of the fused graph stands for. The list is empty
    /// if `value` is not the result of a layer.
    pub(crate) fn of(&self, value: ValueId) -> &[Counterpart] {
        self.results.get(value.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of results of layers that stand for the value `value` of the lowered graph.
    pub(crate) fn readers(&self, value: ValueId) -> usize {
        self.readers.get(value.index()).copied().unwrap_or(0)
    }
}

fn requantizes(node: &Node) -> bool {
    let narrows = matches!(
        node.op,
        Op::Requantize(_)
            | Op::Lookup(_)
            | Op::Interpolate(_)
            | Op::IntegerResize(_)
            | Op::IntegerSoftmax(_)
            | Op::IntegerLayerNormalization(_)
            | Op::ScaledAdd(_)
            | Op::Quantize(_)
    );
    node.fused.is_some() || narrows
}

fn is_integer(graph: &Graph, value: ValueId) -> bool {
    graph.value(value).is_some_and(Value::is_quantized)
}

/// The first integer element of a layer's result that differs by more than is allowed.
pub(crate) fn deviation(
    expected: TensorView<'_>,
    found: TensorView<'_>,
    allowed: &Allowed,
    sample: &str,
) -> Option<Fault> {
    fn of<T: Element + PartialEq + Into<i64>>(
        expected: TensorView<'_>,
        found: TensorView<'_>,
        allowed: &Allowed,
        sample: &str,
    ) -> Option<Fault> {
        let (a, b) = (expected.values::<T>().ok()?, found.values::<T>().ok()?);
        let mut differing = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
        differing.find_map(|(element, (a, b))| {
            let (a, b): (i64, i64) = ((*a).into(), (*b).into());
            let max_lsb = allowed.at(expected.shape(), element);
            (a.abs_diff(b) > max_lsb.into()).then(|| Fault::Layer {
                sample: sample.to_owned(),
                element,
                expected: a,
                found: b,
                max_lsb,
            })
        })
    }
    for_integers!(expected.elem(), of(expected, found, allowed, sample))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_requantize::{Per, Verdict};

    #[test]
    fn an_element_is_held_against_the_bound_of_its_channel() {
        let bound = |max_lsb| Verdict::Bounded {
            max_lsb,
            witness: 0,
            share: 0.5,
        };
        let shape = [1, 2, 2];
        let (a, b) = ([0i8, 0, 0, 0], [0i8, 0, 1, -2]);
        let views = [&a, &b].map(|values| TensorView::of(&shape, values).unwrap());
        let found = |verdicts: Per<Verdict>, axis| match deviation(
            views[0],
            views[1],
            &Allowed::new(&verdicts, axis),
            "sample",
        )? {
            Fault::Layer {
                element,
                found,
                max_lsb,
                ..
            } => Some((element, found, max_lsb)),
            other => panic!("{other}"),
        };
        assert_eq!(found(Verdict::Exact.into(), None), Some((2, 1, 0)));
        assert_eq!(found(bound(1).into(), None), Some((3, -2, 1)));
        assert_eq!(
            found([bound(2), Verdict::Exact].into_iter().collect(), Some(1)),
            Some((2, 1, 0))
        );
        assert_eq!(found([Verdict::Exact, bound(2)].into_iter().collect(), Some(1)), None);
        // Without a channel axis, nothing is known about single channels.
        assert_eq!(found([Verdict::Exact, bound(2)].into_iter().collect(), None), None);
    }
}
