//! The layers of the fused graph one by one, each on what the lowered graph gave its operands.
//!
//! A layer is what lies between values of the fused graph that correspond to values of the lowered one: most often one
//! node. On the same operands it may differ from the lowered graph by as much as its certificate says and not more; what
//! layers above it did plays no part.

use crate::analysis::Analysis;
use crate::claims::Allowed;
use crate::error::VerifyError;
use std::collections::BTreeMap;
use strait_core::tensor::Element;
use strait_core::{Def, Graph, Op, ValueId};
use strait_execute::{Plan, PlanOptions, TensorView};

/// A layer, ready to run.
pub(crate) struct Layer {
    /// What it computes, in the fused graph.
    pub(crate) value: ValueId,
    /// The same in the lowered graph.
    pub(crate) result: ValueId,
    /// Its operands, in the lowered graph.
    pub(crate) operands: Vec<ValueId>,
    pub(crate) plan: Plan,
    pub(crate) allowed: Allowed,
}

/// The layers in which something is requantized. All others are the same nodes in both graphs, computed by the same code.
pub(crate) fn layers(analysis: &Analysis<'_>, options: &PlanOptions<'_>) -> Result<Vec<Layer>, VerifyError> {
    let module = analysis.module;
    let (fused, lowered) = (analysis.fused_graph, analysis.lowered_graph);
    let order = lowered.topological_order().map_err(|id| {
        VerifyError::Cycle(
            lowered
                .node(id)
                .map_or_else(String::new, |n| module.name(n.name).into()),
        )
    })?;
    let mut positions = vec![0; lowered.value_bound()];
    for (position, id) in order.into_iter().enumerate() {
        for output in lowered.node(id).iter().flat_map(|node| &node.outputs) {
            positions[output.index()] = position + 1;
        }
    }
    // Of several values that one corresponds to, the first: it is there before any other's result is.
    let mut counterparts: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for &(f, l) in &analysis.pairs {
        let first = counterparts.entry(f).or_insert(l);
        if positions[l.index()] < positions[first.index()] {
            *first = l;
        }
    }
    let mut layers = Vec::new();
    for &(value, result) in &analysis.pairs {
        let Some(part) = part(fused, &counterparts, value).filter(|part| part.requantizes) else {
            continue;
        };
        let integer = fused.value(value).is_some_and(|v| v.ty.elem.int_type().is_some());
        if !integer {
            continue;
        }
        let plan = Plan::of_part(module, module.main, &part.inputs, &[value], options);
        layers.push(Layer {
            value,
            result,
            operands: part
                .inputs
                .iter()
                .filter_map(|f| counterparts.get(f).copied())
                .collect(),
            plan: plan.map_err(|source| VerifyError::Execute {
                graph: crate::FUSED,
                source,
            })?,
            allowed: analysis.allowed.get(&(value, result)).cloned().unwrap_or_default(),
        });
    }
    Ok(layers)
}

/// What makes a value out of values that have counterparts.
struct Part {
    inputs: Vec<ValueId>,
    requantizes: bool,
}

/// `None` for a value that no node makes, and where the graphs do not correspond on the way to it.
fn part(graph: &Graph, counterparts: &BTreeMap<ValueId, ValueId>, value: ValueId) -> Option<Part> {
    graph.producer(value)?;
    let mut part = Part {
        inputs: Vec::new(),
        requantizes: false,
    };
    let mut open = vec![value];
    let mut seen = vec![false; graph.value_bound()];
    while let Some(at) = open.pop() {
        if std::mem::replace(seen.get_mut(at.index())?, true) {
            continue;
        }
        match graph.value(at)?.def {
            Def::Data(_) => {}
            Def::Input(_) | Def::Node(..) if at != value && counterparts.contains_key(&at) => part.inputs.push(at),
            Def::Input(_) => return None,
            Def::Node(node, _) => {
                let node = graph.node(node)?;
                part.requantizes |=
                    node.fused.is_some() || matches!(node.op, Op::Requantize(_) | Op::Lookup(_) | Op::Quantize(_));
                open.extend(node.inputs.iter().copied().flatten());
            }
        }
    }
    Some(part)
}

/// An element in which a layer differs by more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deviation {
    pub(crate) element: usize,
    pub(crate) expected: i64,
    pub(crate) found: i64,
    pub(crate) max_lsb: u32,
}

/// The first element of integers that differs by more than is allowed.
pub(crate) fn deviation(expected: TensorView<'_>, found: TensorView<'_>, allowed: &Allowed) -> Option<Deviation> {
    fn of<T: Element + Copy + Into<i64>>(
        expected: TensorView<'_>,
        found: TensorView<'_>,
        allowed: &Allowed,
    ) -> Option<Deviation> {
        let (Ok(a), Ok(b)) = (expected.values::<T>(), found.values::<T>()) else {
            return None;
        };
        let at = |element: usize| allowed.at(expected.shape(), element);
        let pairs = a.iter().zip(b).enumerate();
        pairs
            .map(|(element, (a, b))| Deviation {
                element,
                expected: (*a).into(),
                found: (*b).into(),
                max_lsb: 0,
            })
            .filter(|d| d.expected != d.found)
            .map(|d| Deviation {
                max_lsb: at(d.element),
                ..d
            })
            .find(|d| d.expected.abs_diff(d.found) > d.max_lsb.into())
    }
    match expected.elem() {
        strait_core::Elem::I8 => of::<i8>(expected, found, allowed),
        strait_core::Elem::U8 => of::<u8>(expected, found, allowed),
        strait_core::Elem::I16 => of::<i16>(expected, found, allowed),
        strait_core::Elem::I32 => of::<i32>(expected, found, allowed),
        _ => None,
    }
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
        let found = |verdicts: Per<Verdict>, axis| {
            let deviation = deviation(views[0], views[1], &Allowed::new(&verdicts, axis))?;
            Some((deviation.element, deviation.found, deviation.max_lsb))
        };
        assert_eq!(found(Verdict::Exact.into(), None), Some((2, 1, 0)));
        assert_eq!(found(bound(1).into(), None), Some((3, -2, 1)));
        assert_eq!(
            found([bound(2), Verdict::Exact].into_iter().collect(), Some(1)),
            Some((2, 1, 0))
        );
        assert_eq!(found([Verdict::Exact, bound(2)].into_iter().collect(), Some(1)), None);
        // Without an axis nothing is known by channel.
        assert_eq!(found([Verdict::Exact, bound(2)].into_iter().collect(), None), None);
    }
}
