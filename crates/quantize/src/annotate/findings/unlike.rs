//! Finds parts of tensors with very different ranges on one grid. If the numbers of one part are small compared with
//! those of the other parts, this part uses only few of the codes.

use super::noise::{of_constant, rounding};
use crate::annotate::settings::Annotation;
use crate::logarithm::ln;
use crate::observers::{GridKind, grid};
use crate::requests::leaving_product;
use std::collections::BTreeSet;
use std::f64::consts::LN_2;
use strait_core::{Graph, Kind, Module, NodeId, Op, Placement, Port, ValueId};

/// A part is reported if the steps of the shared grid are at least this many times as large as the steps of a grid for
/// this part alone. The part then loses three bits.
const TIMES: f64 = 8.0;

/// A part that has at least this many codes on the shared grid is not reported, even if its own grid would be much
/// finer. The limit is 2^5, the number of codes that an 8-bit grid has after the loss of three bits.
const ENOUGH: f64 = 32.0;

/// What a part of a tensor loses because it shares a grid with other parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unlike {
    /// The steps of the shared grid are this many times as large as the part needs.
    pub times: f64,
    /// The number of steps from the smallest number of the part to its largest, or to zero.
    pub codes: f64,
}

impl Unlike {
    /// The loss of numbers in `range` on a grid with step `scale`. `None` if the loss is too small to be reported.
    pub(crate) fn new(kind: GridKind, range: [f32; 2], scale: f32) -> Option<Unlike> {
        let (own, _) = grid(kind, range).ok()?.as_tensor()?;
        let [low, high] = range.map(f64::from);
        let found = Unlike {
            times: f64::from(scale) / f64::from(own),
            codes: (high.max(0.0) - low.min(0.0)) / f64::from(scale),
        };
        (found.times >= TIMES && found.codes > 0.0 && found.codes < ENOUGH).then_some(found)
    }

    /// The number of bits that the part loses.
    pub fn bits(self) -> f64 {
        ln(self.times) / LN_2
    }
}

/// How a part relates to its tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A node joins the part with others, or chooses between the part and others.
    Joined,
    /// A node cuts the part out of the tensor.
    CutOut,
    /// The part consists of these channels of the node's result. The channel that loses most comes first.
    Channels(Vec<usize>),
}

/// A part of a tensor that loses accuracy because it shares a grid with other parts.
#[derive(Clone, Debug, PartialEq)]
pub struct UnlikePart {
    /// The node because of which the part has this grid. It joins the part with others, chooses between the part and
    /// others, or makes the part.
    pub node: NodeId,
    /// The part itself or, if the part consists of channels, the tensor that these channels belong to.
    pub value: ValueId,
    /// How the part relates to the tensor: it is joined with other parts, is cut out of the tensor, or consists of some
    /// of the tensor's channels.
    pub kind: PartKind,
    /// How much accuracy the part loses.
    pub lost: Unlike,
    /// The mean squared error from rounding the part.
    pub(crate) noise: f64,
    /// True if the part becomes an output of the model, directly or through ops that only move its elements.
    pub leaves: bool,
}

/// Finds parts that lose accuracy because a node on the accelerator puts them on one grid with others. The parts are in
/// the order of these nodes.
pub(crate) fn unlike_parts(module: &Module, how: &Annotation<'_>) -> Vec<UnlikePart> {
    let graph = module.main();
    let seen = Seen { module, graph, how };
    let mut found: Vec<UnlikePart> = Vec::new();
    let mut told = BTreeSet::new();
    let order = graph.topological_order().unwrap_or_default();
    for (id, node) in order.into_iter().filter_map(|id| Some((id, graph.node(id)?))) {
        if node.place != Placement::Accelerator {
            continue;
        }
        let ports: Vec<(Port, ValueId)> = match &node.op {
            Op::Concat(_) | Op::Select(_) => {
                let operands = node.inputs.iter().enumerate();
                operands
                    .filter_map(|(index, value)| Some((Port::Operand(index), (*value)?)))
                    .collect()
            }
            // If the whole tensor was already reported, the parts that are cut out of it are not reported again.
            Op::Slice(_) | Op::Split(_) | Op::Gather(_) if node.input(0).is_some_and(|x| !told.contains(&x)) => {
                let results = node.outputs.iter().enumerate();
                results.map(|(index, &value)| (Port::Result(index), value)).collect()
            }
            op if op.term().kind() == Kind::Rearranges && node.input(0).is_some_and(|x| told.contains(&x)) => {
                told.extend(node.outputs.iter().copied());
                continue;
            }
            _ => Vec::new(),
        };
        let before = found.len();
        found.extend(ports.into_iter().filter_map(|(port, value)| seen.part(id, port, value)));
        match node.op {
            Op::Slice(_) | Op::Split(_) | Op::Gather(_) => told.extend(found[before..].iter().map(|part| part.value)),
            _ if found.len() > before => told.extend(node.outputs.iter().copied()),
            _ => {}
        }
    }
    let products: BTreeSet<_> = graph
        .outputs()
        .iter()
        .filter_map(|&y| leaving_product(graph, y))
        .collect();
    found.extend(
        products
            .into_iter()
            .filter_map(|(value, axis)| seen.channels(value, axis)),
    );
    found
}

struct Seen<'a> {
    module: &'a Module,
    graph: &'a Graph,
    how: &'a Annotation<'a>,
}

impl Seen<'_> {
    fn name(&self, value: ValueId) -> &str {
        self.graph.value(value).map_or("", |value| self.module.name(value.name))
    }

    /// The kind and the step of the grid at a port with codes.
    fn grid(&self, node: NodeId, port: Port) -> Option<(GridKind, f32)> {
        let scheme = self
            .graph
            .quant
            .scheme_of(node, port)
            .filter(|scheme| !scheme.is_of_sums())?;
        let (scale, _) = self.graph.quant.params_of(node, port)?.as_tensor()?;
        Some((GridKind::of(scheme), scale))
    }

    fn part(&self, id: NodeId, port: Port, value: ValueId) -> Option<UnlikePart> {
        let (kind, scale) = self.grid(id, port)?;
        let constant = self.module.constant(self.graph, value).and_then(of_constant);
        let statistics = constant
            .as_ref()
            .or_else(|| self.how.observation.elements(self.name(value)))?;
        let lost = Unlike::new(kind, [statistics.min()?, statistics.max()?], scale)?;
        Some(UnlikePart {
            node: id,
            value,
            kind: match port {
                Port::Operand(_) => PartKind::Joined,
                _ => PartKind::CutOut,
            },
            lost,
            noise: rounding(statistics, scale),
            leaves: self.leaves(value),
        })
    }

    /// The channels that lose accuracy in a convolution or Gemm whose result is an output of the model.
    fn channels(&self, value: ValueId, axis: u32) -> Option<UnlikePart> {
        let (id, _) = self
            .graph
            .producer(value)
            .filter(|(_, node)| node.place == Placement::Accelerator)?;
        let (kind, scale) = self.grid(id, Port::Result(0))?;
        let ends = &self.how.observation.channels(axis, self.name(value))?.ends;
        let lost = ends.iter().enumerate();
        let mut lost: Vec<(usize, Unlike)> = lost
            .filter_map(|(channel, &ends)| Some((channel, Unlike::new(kind, ends, scale)?)))
            .collect();
        // If several channels lose equally much, the first one comes first.
        lost.sort_by(|(a, one), (b, other)| other.times.total_cmp(&one.times).then(a.cmp(b)));
        let &(channel, worst) = lost.first()?;
        let step = f64::from(scale);
        let largest = ends[channel].map(|end| f64::from(end.abs()));
        let largest = largest[0].max(largest[1]);
        Some(UnlikePart {
            node: id,
            value,
            kind: PartKind::Channels(lost.into_iter().map(|(channel, _)| channel).collect()),
            lost: worst,
            // If all numbers lie below half a step, they become zero, and the error of each number is the number
            // itself. It is assumed that the numbers are spread evenly between 0 and the largest one.
            noise: if 2.0 * largest < step {
                largest * largest / 3.0
            } else {
                step * step / 12.0
            },
            leaves: true,
        })
    }

    /// True if a value becomes an output of the model, directly or through ops that only move its elements.
    fn leaves(&self, value: ValueId) -> bool {
        let (mut open, mut seen) = (vec![value], BTreeSet::from([value]));
        while let Some(value) = open.pop() {
            if self.graph.is_output(value) {
                return true;
            }
            let readers = self.graph.uses(value).filter_map(|at| self.graph.node(at.node));
            let moves = readers.filter(|node| matches!(node.op.term().kind(), Kind::Rearranges | Kind::Moves));
            open.extend(moves.flat_map(|node| &node.outputs).filter(|&&y| seen.insert(y)));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(codes: [i64; 2], range: [f32; 2], scale: f32) -> Option<Unlike> {
        let kind = GridKind {
            codes,
            symmetric: false,
            power_of_two: false,
            float: None,
        };
        Unlike::new(kind, range, scale)
    }

    #[test]
    fn three_bits_of_eight_are_a_loss_and_less_is_none() {
        // A range that ends at 2.55 needs steps of 0.01.
        assert_eq!(found([-128, 127], [0.0, 2.55], 0.0799), None);
        let lost = found([-128, 127], [0.0, 2.55], 0.16).unwrap();
        assert!((lost.bits() - 4.0).abs() < 1e-6 && (lost.codes - 15.9375).abs() < 1e-6);
        // Numbers that are all far from zero need the codes between zero and them, too.
        assert_eq!(found([-128, 127], [2.5, 2.55], 0.0799), None);
        // Every grid contains zero, however coarse it is.
        assert_eq!(found([-128, 127], [0.0, 0.0], 100.0), None);
    }

    #[test]
    fn of_sixteen_bits_enough_are_left() {
        assert_eq!(found([-32768, 32767], [0.0, 1.0], 1.0 / 64.0), None);
        assert!(found([-32768, 32767], [0.0, 1.0], 1.0 / 16.0).is_some());
    }
}
