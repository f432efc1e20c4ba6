//! Chooses the order in which the axes of each value are stored.
//!
//! In the IR, an image is [N, C, spatial…]. Some formats and some kernels want the channels last. [`Layouts`] chooses
//! an order of axes for each value of a graph, such that few transpositions are needed. Convolutions and pools read and
//! write images with channels last. Elementwise functions keep the order of their operand. A `transpose` only changes
//! the order. All other ops read their operands as they are in the IR. The graph does not change.

use crate::graph::{Def, Graph, Node};
use crate::ids::ValueId;
use crate::kind::Kind;
use crate::op::{Op, Term};
use crate::shape::Dim;
use smallvec::SmallVec;

/// The order in which the axes of a value are stored: axis i of the stored tensor is axis `order[i]` of the value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order(SmallVec<[u8; 6]>);

impl Order {
    /// Returns the order in which axis i of the stored tensor is axis `axes[i]` of the value. `axes` has each axis
    /// once.
    pub fn of(axes: &[u8]) -> Order {
        Order(axes.into())
    }

    /// Returns the order of the IR.
    pub fn plain(rank: usize) -> Order {
        Order((0..rank as u8).collect())
    }

    /// Returns the order [N, spatial…, C] of an image [N, C, spatial…].
    pub fn channels_last(rank: usize) -> Order {
        let spatial = 2..rank as u8;
        match rank {
            0..3 => Order::plain(rank),
            _ => Order([0].into_iter().chain(spatial).chain([1]).collect()),
        }
    }

    /// For each axis of the stored tensor, the value's axis.
    pub fn axes(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.0.iter().map(|&axis| usize::from(axis))
    }

    /// True if the stored tensor has its axes in the same order as the value.
    pub fn is_plain(&self) -> bool {
        self.axes().enumerate().all(|(at, axis)| at == axis)
    }

    /// Returns the position of a value's axis in the stored tensor.
    pub fn position(&self, axis: usize) -> Option<usize> {
        self.axes().position(|own| own == axis)
    }

    /// Reorders a list with one entry for each axis of the value into the order of the stored tensor.
    pub fn stored<T: Copy>(&self, of_value: &[T]) -> SmallVec<[T; 6]> {
        self.axes().filter_map(|axis| of_value.get(axis).copied()).collect()
    }

    /// Returns the permutation that converts a tensor from this order to the order `to`: axis i of the result is axis
    /// `permutation[i]` of the tensor.
    pub fn permutation_to(&self, to: &Order) -> SmallVec<[usize; 6]> {
        to.axes().filter_map(|axis| self.position(axis)).collect()
    }

    /// Returns the order for the result of a `transpose` of the value with this permutation, such that the stored
    /// tensor stays as it is.
    fn transposed(&self, permutation: &[u32]) -> Option<Order> {
        let at = |axis: usize| permutation.iter().position(|&from| from as usize == axis);
        self.axes()
            .map(|axis| at(axis).map(|axis| axis as u8))
            .collect::<Option<_>>()
            .map(Order)
    }

    /// Returns the order of the remaining axes after the axes `dropped` have been removed.
    fn without(&self, dropped: &[usize]) -> Order {
        let kept = self.axes().filter(|axis| !dropped.contains(axis));
        Order(
            kept.map(|axis| (axis - dropped.iter().filter(|&&other| other < axis).count()) as u8)
                .collect(),
        )
    }

    /// Returns the order for the result of a reshape from `from` to `to`, such that the stored tensor keeps the order
    /// of its elements. Returns `None` if there is no such order.
    ///
    /// Both shapes are cut into groups of neighbouring axes, as small as possible, such that corresponding groups have
    /// equally many elements. The axes of a group have to be neighbours in the stored tensor, too. Axes of extent 1 may
    /// be anywhere.
    fn reshaped(&self, from: &[u64], to: &[u64]) -> Option<Order> {
        let groups = groups(from, to)?;
        let group_of = |axis: usize| groups.iter().position(|[from, _]| from.contains(&axis));
        let mut made: SmallVec<[u8; 6]> = SmallVec::new();
        let mut stored = self.axes().filter(|&axis| from[axis] != 1).peekable();
        while let Some(axis) = stored.next() {
            let [own, new] = &groups[group_of(axis)?];
            let mut rest = own.clone().filter(|&axis| from[axis] != 1);
            if rest.next() != Some(axis) {
                return None;
            }
            for next in rest {
                if stored.next() != Some(next) {
                    return None;
                }
            }
            made.extend(new.clone().map(|axis| axis as u8));
        }
        // Axes of extent 1 that belong to no group stay at their own position.
        for axis in 0..to.len() {
            if !made.contains(&(axis as u8)) {
                made.insert(axis.min(made.len()), axis as u8);
            }
        }
        Some(Order(made))
    }
}

/// Cuts two shapes with equally many elements into groups of neighbouring axes. The first groups of both shapes have
/// equally many elements, and so do the second groups, and so on. Each group has as few axes as possible.
fn groups(from: &[u64], to: &[u64]) -> Option<Vec<[std::ops::Range<usize>; 2]>> {
    if from.contains(&0) || to.contains(&0) {
        return None;
    }
    let (mut groups, mut at) = (Vec::new(), [0, 0]);
    while at[0] < from.len() && at[1] < to.len() {
        let (start, mut own, mut new) = (at, from[at[0]], to[at[1]]);
        at = [at[0] + 1, at[1] + 1];
        while own != new {
            if own < new {
                own = own.checked_mul(*from.get(at[0])?)?;
                at[0] += 1;
            } else {
                new = new.checked_mul(*to.get(at[1])?)?;
                at[1] += 1;
            }
        }
        groups.push([start[0]..at[0], start[1]..at[1]]);
    }
    let rest = from[at[0]..].iter().chain(&to[at[1]..]);
    rest.copied().all(|extent| extent == 1).then_some(groups)
}

/// How an op reads and writes the axes of its operands and results.
enum Access {
    /// The first operand and the results are images, with channels last.
    Image,
    /// The operands and the results have the same order.
    Same,
    /// The result keeps the stored order of the operand's elements, if the result's axes allow this.
    Stays,
    /// The result lacks these axes of the operand.
    Drops(Vec<usize>),
    /// Operands and results have the order of the IR.
    Plain,
}

fn access(node: &Node, rank: usize) -> Access {
    match &node.op {
        Op::Conv(_)
        | Op::ConvTranspose(_)
        | Op::MaxPool(_)
        | Op::AveragePool(_)
        | Op::GlobalAveragePool(_)
        | Op::Resize(_) => Access::Image,
        Op::Reduce(reduce) if reduce.keep_dims => Access::Same,
        Op::Reduce(reduce) => match reduce.reduced(rank) {
            Ok(axes) => Access::Drops(axes.into_iter().collect()),
            Err(_) => Access::Plain,
        },
        Op::Transpose(_) => Access::Stays,
        Op::Concat(_) | Op::Split(_) | Op::Pad(_) | Op::Slice(_) | Op::Softmax(_) | Op::BatchNormalization(_) => {
            Access::Same
        }
        Op::Binary(_) | Op::Compare(_) | Op::Select(_) | Op::Identity(_) | Op::Lookup(_) => Access::Same,
        op => match (op.term(), op.term().kind()) {
            (Term::Add | Term::Sub | Term::Mul | Term::Div | Term::Pow, _) => Access::Same,
            (_, Kind::Function | Kind::Converts | Kind::Boundary) => Access::Same,
            (_, Kind::Rearranges) => Access::Stays,
            _ => Access::Plain,
        },
    }
}

/// The order in which each value of a graph is stored.
#[derive(Clone, Debug)]
pub struct Layouts(Vec<Option<Order>>);

impl Layouts {
    /// Chooses an order for each value, such that images have their channels last. `inputs` has the orders of the
    /// graph's inputs. Inputs without an order are stored as in the IR.
    pub fn channels_last(graph: &Graph, inputs: &[Order]) -> Layouts {
        let mut layouts = Layouts(vec![None; graph.value_bound()]);
        for (&input, order) in graph.inputs().iter().zip(inputs) {
            layouts.0[input.index()] = Some(order.clone());
        }
        for (_, node) in graph.nodes() {
            for &result in &node.outputs {
                layouts.0[result.index()] = layouts.chosen(graph, node, result);
            }
        }
        layouts
    }

    /// Returns the order in which the axes of a value are stored.
    pub fn of(&self, graph: &Graph, value: ValueId) -> Order {
        let own = self.0.get(value.index()).cloned().flatten();
        own.unwrap_or_else(|| Order::plain(rank(graph, value)))
    }

    /// Returns the order in which a node reads the axes of an operand.
    pub fn read(&self, graph: &Graph, node: &Node, operand: usize) -> Order {
        let Some(value) = node.inputs.get(operand).copied().flatten() else {
            return Order::plain(0);
        };
        let (own, result) = (rank(graph, value), node.outputs.first().copied());
        let plain = Order::plain(own);
        match (access(node, own), result) {
            (Access::Image, _) if operand == 0 => Order::channels_last(own),
            (Access::Same, Some(result)) => {
                let order = self.of(graph, result);
                // An operand with fewer axes broadcasts: its axes are the last axes of the result.
                match order.0.len().checked_sub(own) {
                    Some(0) => order,
                    _ => plain,
                }
            }
            (Access::Stays | Access::Drops(_), Some(result)) if operand == 0 => {
                let stored = self.of(graph, value);
                match self
                    .kept(graph, node, value)
                    .is_some_and(|kept| kept == self.of(graph, result))
                {
                    true => stored,
                    false => plain,
                }
            }
            _ => plain,
        }
    }

    /// Returns the order of the result of a `transpose`, a reshape or a reduction that reads the operand in the order
    /// in which the operand is stored.
    fn kept(&self, graph: &Graph, node: &Node, operand: ValueId) -> Option<Order> {
        let stored = self.of(graph, operand);
        match (&node.op, access(node, rank(graph, operand))) {
            (Op::Transpose(transpose), _) => stored.transposed(&transpose.permutation),
            (_, Access::Drops(axes)) => Some(stored.without(&axes)),
            _ => {
                let [from, to] = [Some(operand), node.outputs.first().copied()].map(|value| {
                    let shape = &graph.value(value?)?.ty.shape;
                    shape.iter().map(|dim: &Dim| dim.fixed()).collect::<Option<Vec<u64>>>()
                });
                stored.reshaped(&from?, &to?)
            }
        }
    }

    fn chosen(&self, graph: &Graph, node: &Node, result: ValueId) -> Option<Order> {
        let own = rank(graph, result);
        let first = node.inputs.first().copied().flatten();
        match access(node, first.map_or(0, |value| rank(graph, value))) {
            Access::Image => Some(Order::channels_last(own)),
            Access::Same => {
                let activations = node.inputs.iter().copied().flatten();
                let orders =
                    activations.filter(|&value| !matches!(graph.value(value).map(|v| v.def), Some(Def::Data(_))));
                let mut orders = orders
                    .map(|value| self.of(graph, value))
                    .filter(|order| order.0.len() == own);
                orders.find(|order| !order.is_plain())
            }
            Access::Stays | Access::Drops(_) => self.kept(graph, node, first?),
            Access::Plain => None,
        }
    }
}

fn rank(graph: &Graph, value: ValueId) -> usize {
    graph.value(value).map_or(0, |value| value.ty.shape.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transpose_only_changes_the_order() {
        let image = Order::channels_last(4);
        assert_eq!(image.transposed(&[0, 2, 3, 1]), Some(Order::plain(4)));
        assert_eq!(Order::plain(3).transposed(&[0, 2, 1]), Some(Order::of(&[0, 2, 1])));
        assert_eq!(image.permutation_to(&Order::plain(4)).as_slice(), [0, 3, 1, 2]);
        assert_eq!(image.stored(&[1, 3, 5, 7]).as_slice(), [1, 5, 7, 3]);
    }

    #[test]
    fn a_reshape_keeps_the_order_of_elements_where_groups_of_axes_stay_together() {
        let image = Order::channels_last(4);
        // [N, C, H, W] to [N, C, H·W]: stored as [N, H·W, C].
        assert_eq!(image.reshaped(&[1, 8, 3, 5], &[1, 8, 15]), Some(Order::of(&[0, 2, 1])));
        // Flattening mixes channels with positions.
        assert_eq!(image.reshaped(&[1, 8, 3, 5], &[1, 120]), None);
        // With one position, nothing moves.
        assert_eq!(image.reshaped(&[1, 8, 1, 1], &[1, 8]), Some(Order::plain(2)));
        assert_eq!(Order::plain(2).reshaped(&[6, 4], &[3, 8]), Some(Order::plain(2)));
        assert_eq!(
            Order::of(&[0, 2, 1]).reshaped(&[1, 8, 15], &[1, 8, 3, 5]),
            Some(Order::channels_last(4))
        );
        assert_eq!(
            image.reshaped(&[1, 8, 3, 5], &[1, 2, 4, 3, 5]),
            Some(Order::of(&[0, 3, 4, 1, 2]))
        );
    }

    #[test]
    fn dropped_axes_leave_the_others_in_their_order() {
        assert_eq!(Order::channels_last(4).without(&[2, 3]), Order::plain(2));
        assert_eq!(Order::channels_last(4).without(&[0]), Order::of(&[1, 2, 0]));
    }
}
