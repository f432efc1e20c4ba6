//! Intervals of sums of products.

use super::taps::{Attributes, Tap, Window};
use super::{Analysis, Interval, ValueRange};
use crate::elements::for_integers;
use strait_core::tensor::Element;
use strait_core::{Elem, Node, TensorData, ValueId, WeightZero, op};

/// If weights are computed at run time, separate bounds are found for at most this many of them. Without this limit, a
/// shape in a file could ask for any number of bounds.
const MOST_COMPUTED: u64 = 1 << 24;

/// The intervals of the inputs that every output of one group reads.
struct Inputs {
    intervals: Vec<Interval>,
    /// The largest magnitude of a number in `intervals`.
    largest: u64,
}

impl Inputs {
    fn new(intervals: Vec<Interval>) -> Inputs {
        let ends = intervals.iter().flat_map(|x| [x.low, x.high]);
        let largest = ends.map(i64::unsigned_abs).max().unwrap_or(0);
        Inputs { intervals, largest }
    }

    /// Returns the interval of Σ (w − z)·x over the weights w and the inputs x, where z is `zero`. No weight has a
    /// larger magnitude than `most`. Each term is smallest at one end of its input's interval and largest at the other:
    /// if w − z is negative, the term is smallest at the upper end.
    fn sum(&self, weights: impl Iterator<Item = i64>, zero: i32, most: u64) -> Interval {
        let terms = weights.zip(&self.intervals);
        let factor = most.saturating_add(u64::from(zero.unsigned_abs()));
        let reach = factor.saturating_mul(self.largest);
        // The sum is nearly always so far from the ends of i64 that no overflow checks are needed.
        if factor.max(reach.saturating_mul(self.intervals.len() as u64)) < 1 << 62 {
            let zero = i64::from(zero);
            let [low, high] = terms.fold([0, 0], |[low, high], (weight, x)| {
                let ends = [(weight - zero) * x.low, (weight - zero) * x.high];
                [low + ends[0].min(ends[1]), high + ends[0].max(ends[1])]
            });
            return Interval { low, high };
        }
        let zero = Interval::point(zero.into());
        terms.fold(Interval::point(0), |sum, (weight, x)| {
            sum.plus(x.times(Interval::point(weight).minus(zero)))
        })
    }
}

/// The zero point of the weights of an output.
fn zero(zeros: &WeightZero, output: usize) -> Interval {
    Interval::point(zeros.of(output).into())
}

/// Returns the intervals of the sums of all outputs. `index(output, input)` is the index of a weight. `inputs` returns
/// the intervals of the inputs of each group; a group has `per_group` outputs.
fn sums(
    given: (&TensorData, &WeightZero),
    [outputs, per_group]: [usize; 2],
    index: impl Fn(usize, usize) -> usize,
    inputs: impl Fn(usize) -> Vec<Interval>,
) -> Option<Vec<Interval>> {
    fn of<T: Element + Into<i64>>(
        (weight, zeros): (&TensorData, &WeightZero),
        [outputs, per_group]: [usize; 2],
        index: impl Fn(usize, usize) -> usize,
        inputs: impl Fn(usize) -> Vec<Interval>,
    ) -> Option<Vec<Interval>> {
        let weights = weight.values::<T>().ok()?;
        let (least, most) = weight.elem().integers()?;
        let most = least.unsigned_abs().max(most.unsigned_abs());
        let mut sums = Vec::new();
        for first in (0..outputs).step_by(per_group.max(1)) {
            let inputs = Inputs::new(inputs(first));
            for output in first..outputs.min(first + per_group) {
                // In this layout, the last weight of an output has the largest index, so this lookup checks that all
                // weights exist. A sum without products is 0.
                if let Some(last) = inputs.intervals.len().checked_sub(1) {
                    weights.get(index(output, last))?;
                }
                let weights = (0..inputs.intervals.len()).map(|k| weights[index(output, k)].into());
                sums.push(inputs.sum(weights, zeros.of(output), most));
            }
        }
        Some(sums)
    }
    for_integers!(given.0.elem(), of(given, [outputs, per_group], index, inputs))
}

impl Analysis<'_> {
    /// The interval of Σ (w − z)·x + b for each output channel. A tap may read the value of the padding instead of x.
    pub(super) fn conv(&self, op: &op::Conv, node: &Node) -> Option<ValueRange> {
        let [x, weight, bias] = [0, 1, 2].map(|i| node.inputs.get(i).copied().flatten());
        let (x, weight) = (x?, weight?);
        let dims = self.shape(weight)?;
        let outputs = usize::try_from(*dims.first()?).ok()?;
        if self.constant(weight).is_none() && dims.iter().product::<u64>() > MOST_COMPUTED {
            return None;
        }
        let (channels, taps) = (*dims.get(1)? as usize, dims[2..].iter().product::<u64>() as usize);
        let kernel = self.kernel(op, node, &dims[2..], taps)?;
        let (x, padding) = (self.range(x)?, Interval::point(op.pad_value.into()));
        let per_group = (outputs / (op.groups as usize).max(1)).max(1);
        let inputs = |output: usize| {
            let first = output / per_group * channels;
            let read = |channel| {
                let element = x.at(1, channel);
                kernel.iter().map(move |tap| match (tap.inside, tap.outside) {
                    (true, false) => element,
                    (false, true) => padding,
                    _ => element.hull(padding),
                })
            };
            (first..first + channels).flat_map(read).collect::<Vec<_>>()
        };
        let products = match self.constant(weight) {
            // A row of the weight tensor has all weights of one output, ordered by channel and then by tap.
            Some(weight) => sums(
                (weight, &op.weight_zero),
                [outputs, per_group],
                |output, k| output * channels * taps + k,
                inputs,
            )?,
            None => {
                let weight = self.range(weight)?;
                let product = |output| {
                    let weight = weight.at(0, output).minus(zero(&op.weight_zero, output));
                    inputs(output)
                        .into_iter()
                        .fold(Interval::point(0), |sum, x| sum.plus(x.times(weight)))
                };
                (0..outputs).map(product).collect()
            }
        };
        self.with_bias(node, 1, products, bias)
    }

    /// Returns what each tap of a convolution can read: elements, padding or both. If extents are not known or do not
    /// fit together, every tap is taken to read both.
    fn kernel(&self, op: &op::Conv, node: &Node, size: &[u64], taps: usize) -> Option<Vec<Tap>> {
        let [x, y] = [node.inputs.first().copied().flatten()?, *node.outputs.first()?];
        let attributes = Attributes::new(&op.stride, &op.dilation, &op.pad);
        let extents = self.shape(x).zip(self.shape(y));
        let window = extents.and_then(|(x, y)| Window::new(attributes, size.iter().copied(), &x, &y));
        let any = Tap {
            inside: true,
            outside: true,
        };
        Some(window.map_or_else(|| vec![any; taps], |window| window.taps()))
    }

    /// Returns the interval of Σ a·(b − z) + bias for each column of the result, where a and b are the operands and z
    /// is the zero point of b. If b is computed at run time and has too many elements, there is one interval for all
    /// columns.
    pub(super) fn gemm(&self, op: &op::Gemm, node: &Node) -> Option<ValueRange> {
        if (op.alpha, op.beta) != (1.0, 1.0) {
            return None;
        }
        let [a, b, bias] = [0, 1, 2].map(|i| node.inputs.get(i).copied().flatten());
        let (a, b) = (a?, b?);
        let (a_rank, dims) = (self.extents(a)?.len(), self.extents(b)?);
        let [rows, columns] = [*dims.first()? as usize, *dims.get(1)? as usize];
        let (outputs, depth) = if op.transpose_b {
            (rows, columns)
        } else {
            (columns, rows)
        };
        let inner = if op.transpose_a { 0 } else { a_rank.checked_sub(1)? };
        let (a, zeros) = (self.range(a)?, &op.weight_zero);
        let axis = self.dims(*node.outputs.first()?)?.len().checked_sub(1)?;
        if self.constant(b).is_none() && dims.iter().product::<u64>() > MOST_COMPUTED {
            let zero = (zeros.0.values().iter().map(|&z| Interval::point(z.into()))).reduce(Interval::hull)?;
            let product = a.hull().times(self.range(b)?.hull().minus(zero));
            let bias = bias.map_or(Some(Interval::point(0)), |bias| Some(self.range(bias)?.hull()));
            return Some(ValueRange::tensor(product.summed(depth as u64).plus(bias?)));
        }
        let inputs: Vec<Interval> = (0..depth).map(|k| a.at(inner, k)).collect();
        let products = match self.constant(b) {
            Some(b) => {
                let index = |column, k| match op.transpose_b {
                    true => column * depth + k,
                    false => k * outputs + column,
                };
                sums((b, zeros), [outputs; 2], index, |_| inputs.clone())?
            }
            None => {
                let b = self.range(b)?;
                let product = |column| {
                    let b = b.at(usize::from(!op.transpose_b), column).minus(zero(zeros, column));
                    inputs.iter().fold(Interval::point(0), |sum, x| sum.plus(x.times(b)))
                };
                (0..outputs).map(product).collect()
            }
        };
        self.with_bias(node, axis, products, bias)
    }

    /// The interval of Σ (a − a_zero)·(b − b_zero) over the inner dimension.
    pub(super) fn matmul(&self, op: &op::MatMul, node: &Node) -> Option<ValueRange> {
        let [a, b] = [0, 1].map(|i| node.inputs.get(i).copied().flatten());
        let (a, b) = (a?, b?);
        let depth = *self.extents(a)?.last()?;
        let factor = |id: ValueId, zero: i32| Some(self.range(id)?.hull().minus(Interval::point(zero.into())));
        Some(ValueRange::tensor(
            factor(a, op.a_zero)?.times(factor(b, op.b_zero)?).summed(depth),
        ))
    }

    /// Adds the bias to sums of products, for each index of the result along `axis`. The bias of each output is known
    /// if the bias is a constant with one element for each output.
    fn with_bias(
        &self,
        node: &Node,
        axis: usize,
        products: Vec<Interval>,
        bias: Option<ValueId>,
    ) -> Option<ValueRange> {
        let result = self.dims(*node.outputs.first()?)?;
        let products = ValueRange::along(result, axis, products)?;
        let Some(bias) = bias else {
            return Some(products);
        };
        // The bias of a convolution has one axis, for the channels. Any other bias broadcasts from the last axis.
        let last = self.dims(bias)?.len().checked_sub(1);
        let moved = |own| (Some(own) == last).then_some(axis);
        let bias = self.range(bias)?.moved(result, moved);
        Some(products.combined(&bias, Interval::plus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(ends: &[(i64, i64)]) -> Inputs {
        Inputs::new(ends.iter().map(|&(low, high)| Interval { low, high }).collect())
    }

    #[test]
    fn the_extremes_of_a_sum_are_those_of_all_corners() {
        let ends = [(-128, 127), (0, 255), (-5, -3), (7, 7), (-1, 2)];
        let (weights, zero) = ([3, -4, 5, -128, 2], 2);
        let corner = |bits: usize| -> i64 {
            let x = |k: usize| if bits >> k & 1 == 1 { ends[k].1 } else { ends[k].0 };
            (0..5).map(|k| (weights[k] - i64::from(zero)) * x(k)).sum()
        };
        let corners: Vec<i64> = (0..32).map(corner).collect();
        let expect = Interval {
            low: *corners.iter().min().unwrap(),
            high: *corners.iter().max().unwrap(),
        };
        // If weights are known to have eight bits, their sums are far from the ends of i64. If nothing is known about
        // the weights, their sums may reach these ends.
        for most in [128, u64::MAX] {
            assert_eq!(inputs(&ends).sum(weights.into_iter(), zero, most), expect, "{most}");
        }
    }

    #[test]
    fn a_sum_that_has_gone_past_the_ends_does_not_come_back() {
        let ends = [(0, i64::MAX), (0, i64::MAX), (-9, -9)];
        let found = inputs(&ends).sum([1, -1, 1].into_iter(), 0, 128);
        assert_eq!((found.low, found.high), (i64::MIN, i64::MAX));
        let widest = inputs(&[(0, 0)]).sum([i64::MIN].into_iter(), 1, i64::MIN.unsigned_abs());
        assert_eq!(widest, Interval::point(0));
    }
}
