//! Facts about ops besides their attributes, and functions that several ops share for inference.

use crate::attribute::Attributes;
use crate::carrier::Carrier;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::{Dim, MAX_ELEMENTS, MAX_RANK, Shape, TensorType, axis_of, element_count};
use crate::zeros::{WeightZero, Zero};
use smallvec::{SmallVec, smallvec};
use strait_requantize::function::Real;

/// The types of an op's operands. An optional operand that is absent is `None`.
pub type Operands<'a> = [Option<&'a TensorType>];

/// The types of a node's results.
pub type Results = SmallVec<[TensorType; 1]>;

/// Facts about an op besides its attributes.
pub trait OpFacts: Attributes {
    /// Infers the types of the results. If the operands are wrong, returns the reason. Named dimensions are kept where
    /// the op allows it. This function never panics, whatever the attributes are.
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason>;

    /// Returns the axis of the first result along which each index has its own requantization parameters. `rank` is the
    /// number of axes of this result. Returns `None` if all elements have the same parameters.
    fn channel_axis(&self, _rank: usize) -> Option<usize> {
        None
    }

    /// Returns the position of the operand that gives the channel of each element; `None` if the op never has such an
    /// operand.
    fn channel_operand(&self) -> Option<usize> {
        None
    }

    /// Returns the zero points of constant weights, for ops with such an attribute.
    fn weight_zero(&self) -> Option<&WeightZero> {
        None
    }

    /// Returns the zero points that the op has as attributes. A zero point is the code that stands for real zero.
    fn zeros(&self) -> SmallVec<[Zero; 2]> {
        SmallVec::new()
    }

    /// Returns the function of real numbers that the op computes, if it is of
    /// [`Kind::Function`](crate::Kind::Function).
    fn real(&self) -> Option<Real> {
        None
    }
}

/// Returns the operand at `index`. An error means that an optional operand is absent, because `Op::infer` has already
/// refused nodes without a required operand.
pub(super) fn operand<'a>(operands: &Operands<'a>, index: usize) -> Result<&'a TensorType, Reason> {
    operands
        .get(index)
        .copied()
        .flatten()
        .ok_or_else(|| Reason::new(ReasonCode::Arity, format!("operand {index} is absent")))
}

/// Returns a refusal with this code and text, unless `holds` is true.
pub(super) fn ensure(holds: bool, code: ReasonCode, text: impl FnOnce() -> String) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(Reason::new(code, text())) }
}

/// Returns the element type of a sum, or of a sum of products. Codes and other integers of up to 32 bits are summed in
/// `carrier`. Floats keep their own type, and so does i64, whose values are shapes, indices, or accumulators.
pub(super) fn accumulator(elem: Elem, carrier: Carrier) -> Result<Elem, Reason> {
    if elem.int_type().is_some() {
        return Ok(carrier.elem());
    }
    ensure(carrier == Carrier::I32, ReasonCode::ElementTypes, || {
        format!("sums of {elem} have no accumulator of {}", carrier.name())
    })?;
    Ok(elem)
}

/// Returns the element type of the result of `add` or `sub`: i32 for integers of up to 32 bits, and the operands' own
/// type otherwise.
pub(super) fn summed(elem: Elem) -> Elem {
    if elem.int_type().is_some() { Elem::I32 } else { elem }
}

/// Returns the element type of a sum of products. Both factors must be floats, or both must be codes. `bias` must have
/// the type of the sum.
pub(super) fn factors(
    a: &TensorType,
    b: &TensorType,
    bias: Option<&TensorType>,
    carrier: Carrier,
) -> Result<Elem, Reason> {
    let float = a.elem.is_float() && b.elem.is_float();
    let codes = a.elem.int_type().is_some() && b.elem.int_type().is_some();
    ensure(float || codes, ReasonCode::ElementTypes, || {
        format!(
            "{} and {} have no product; both are floats, or both are codes",
            a.elem, b.elem
        )
    })?;
    let sum = accumulator(a.elem, carrier)?;
    if let Some(bias) = bias {
        let fits = if float { bias.elem.is_float() } else { bias.elem == sum };
        ensure(fits, ReasonCode::ElementTypes, || {
            format!(
                "a bias of {} cannot be added to products of {} in {sum}",
                bias.elem, a.elem
            )
        })?;
    }
    Ok(sum)
}

/// Checks that `zeros` has one zero point for all outputs, or one for each output.
pub(super) fn one_for_each(zeros: &WeightZero, outputs: u64) -> Result<(), Reason> {
    let fits = zeros.0.channels().is_none_or(|zeros| zeros as u64 == outputs);
    ensure(fits, ReasonCode::WeightZeros, || {
        format!(
            "{} zero points of weights, for {outputs} outputs",
            zeros.0.values().len()
        )
    })
}

/// Checks that the operand at `index` can give the channel of each element of a result: it is i32, and its shape
/// broadcasts to `result`.
pub(super) fn picks_channels(operands: &Operands<'_>, index: usize, result: &[Dim]) -> Result<(), Reason> {
    let picks = operand(operands, index)?;
    let fits = broadcast(&picks.shape, result).is_ok_and(|shape| shape[..] == *result);
    ensure(picks.elem == Elem::I32 && fits, ReasonCode::PickedChannels, || {
        format!(
            "{} of shape {:?} does not pick a channel for each element of {result:?}",
            picks.elem, picks.shape
        )
    })
}

/// Checks that rank and number of elements of each result are within the limits of the IR.
pub(super) fn within_limits(results: &Results) -> Result<(), Reason> {
    for ty in results {
        let fixed = ty.dims().is_some();
        let fits = ty.shape.len() <= MAX_RANK && (!fixed || element_count(&ty.shape).is_some());
        ensure(fits, ReasonCode::TooLarge, || {
            format!(
                "a result of shape {:?} is past the limits of rank {MAX_RANK} and {MAX_ELEMENTS} elements",
                ty.shape
            )
        })?;
    }
    Ok(())
}

/// Returns the result types of a node with a single result.
pub(super) fn one(elem: Elem, shape: Shape) -> Result<Results, Reason> {
    Ok(smallvec![TensorType { elem, shape }])
}

/// A sliding window along one axis.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) size: u64,
    pub(super) stride: u32,
    pub(super) dilation: u32,
    pub(super) pad: (u32, u32),
    pub(super) ceil: bool,
}

impl Window {
    /// Returns the window along one axis, without rounding the number of windows up. `lists` are the strides, the
    /// dilations and the padding of all axes, as in [`Lists`].
    pub(super) fn along(axis: usize, size: u64, lists: [&[u32]; 3]) -> Window {
        let [stride, dilation, pad] = lists;
        Window {
            size,
            stride: stride[axis],
            dilation: dilation[axis],
            pad: (pad[axis], pad[axis + stride.len()]),
            ceil: false,
        }
    }
}

/// Returns the number of windows along an axis, which is the extent of the result. If the operand has the extent `x`,
/// this number is floor((x + pads − (size − 1)·dilation − 1) / stride) + 1, where pads is the padding at both ends.
/// With `ceil`, the quotient is rounded up, but a last window that would start in the trailing padding is dropped, as
/// in ONNX and PyTorch.
pub(super) fn window_extent(x: Dim, window: Window) -> Result<Dim, Reason> {
    let Dim::Fixed(x) = x else {
        let same = window.size == 1 && window.stride == 1 && window.pad == (0, 0);
        return Ok(if same { x } else { Dim::OPEN });
    };
    let zero = [(window.stride, "stride"), (window.dilation, "dilation")];
    if let Some((_, what)) = zero.into_iter().find(|&(number, _)| number == 0) {
        let text = format!("a window has a {what} of 0; it is 1 at least");
        return Err(Reason::new(ReasonCode::Window, text));
    }
    let error = || {
        let Window {
            size,
            stride,
            dilation,
            pad,
            ..
        } = window;
        Reason::new(
            ReasonCode::Window,
            format!(
                "a window of size {size}, stride {stride}, dilation {dilation} and pads {} and {} does not fit an extent of {x}",
                pad.0, pad.1
            ),
        )
    };
    let reach = window
        .size
        .checked_sub(1)
        .and_then(|s| s.checked_mul(u64::from(window.dilation)))
        .and_then(|s| s.checked_add(1))
        .ok_or_else(error)?;
    let begin = u64::from(window.pad.0);
    let padded = x
        .checked_add(begin)
        .and_then(|s| s.checked_add(u64::from(window.pad.1)))
        .ok_or_else(error)?;
    let room = padded.checked_sub(reach).ok_or_else(error)?;
    let stride = u64::from(window.stride);
    let mut extent = if window.ceil {
        room.div_ceil(stride)
    } else {
        room / stride
    } + 1;
    if window.ceil && (extent - 1) * stride >= x + begin {
        extent -= 1;
    }
    Ok(Dim::Fixed(extent))
}

/// The attributes that describe a sliding window, with one entry per spatial axis. `pad` has first the padding before
/// each axis, then the padding after each axis.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a> {
    pub(super) size: &'a [u32],
    pub(super) stride: &'a [u32],
    pub(super) pad: &'a [u32],
    pub(super) dilation: &'a [u32],
}

/// Gives each of these ops a function that returns the attributes of its sliding window.
macro_rules! windows {
    ($($op:ident),*) => { $(impl super::$op {
        pub(super) fn window(&self) -> Lists<'_> {
            Lists {
                size: &self.size,
                stride: &self.stride,
                pad: &self.pad,
                dilation: &self.dilation,
            }
        }
    })* };
}
windows!(MaxPool, AveragePool, SumPool);

impl Lists<'_> {
    /// Returns how many taps of the window read elements of the operand, for each position along a spatial axis.
    /// `extent` is the operand's extent along this axis. If `padding` is true, taps on the padding count, too. At
    /// position p, tap k reads the coordinate p · stride + k · dilation − begin, where begin is the padding before the
    /// axis.
    pub(super) fn taps_inside(&self, axis: usize, extent: u64, positions: u64, padding: bool) -> Vec<u64> {
        let at = |list: &[u32], index: usize| i128::from(list.get(index).copied().unwrap_or(0));
        let (begin, end) = (at(self.pad, axis), at(self.pad, axis + self.pad.len() / 2));
        let (size, stride) = (at(self.size, axis), at(self.stride, axis));
        let dilation = at(self.dilation, axis).max(1);
        let extent = i128::from(extent);
        let (low, high) = if padding { (-begin, extent + end) } else { (0, extent) };
        // Counts the taps that read a position below `coordinate`. These are the taps with k < (coordinate − start) /
        // dilation.
        let before = |coordinate: i128, start: i128| {
            let taps = (coordinate - start + dilation - 1).div_euclid(dilation);
            taps.clamp(0, size)
        };
        let inside = |position: u64| {
            let start = i128::from(position) * stride - begin;
            // The number of taps is at most the size of the window.
            (before(high, start) - before(low, start)) as u64
        };
        (0..positions).map(inside).collect()
    }

    /// Like `taps_inside`, but for windows over all axes, in row-major order. The number for a window is the product of
    /// the numbers along each axis. Returns `None` for more than [`MAX_POSITIONS`] positions.
    pub(super) fn all_inside(&self, extents: &[u64], positions: &[u64], padding: bool) -> Option<Vec<u64>> {
        let count = positions.iter().try_fold(1u64, |n, &p| n.checked_mul(p))?;
        if count > MAX_POSITIONS {
            return None;
        }
        let mut all = vec![1u64];
        for (axis, (&extent, &count)) in extents.iter().zip(positions).enumerate() {
            let along = self.taps_inside(axis, extent, count, padding);
            all = (all.iter())
                .flat_map(|&outer| along.iter().map(move |&inner| outer.saturating_mul(inner)))
                .collect();
        }
        Some(all)
    }
}

/// The largest number of window positions in the result of `all_inside`.
pub(super) const MAX_POSITIONS: u64 = 1 << 24;

/// Returns the position of an axis, counted from the front. A negative `axis` counts from the end: −1 is the last axis.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, Reason> {
    let text = || format!("axis {axis} is outside rank {rank}");
    axis_of(axis, rank).ok_or_else(|| Reason::new(ReasonCode::Axis, text()))
}

/// Returns the positions of several axes, in the same order; see [`axis`].
pub(super) fn axes(axes: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>, Reason> {
    axes.iter().map(|&own| axis(own, rank)).collect()
}

/// Returns the positions of several axes in ascending order. No axis may be named twice.
pub(super) fn ascending_axes(own: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>, Reason> {
    let mut sorted = axes(own, rank)?;
    sorted.sort_unstable();
    let distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    ensure(distinct, ReasonCode::Axes, || format!("{own:?} names an axis twice"))?;
    Ok(sorted)
}

/// Checks that the operand at `index`, if it is present, is a bias with one number for each output.
pub(super) fn bias(operands: &Operands<'_>, index: usize, outputs: u64) -> Result<(), Reason> {
    let bias = operands.get(index).copied().flatten();
    let fits = bias.is_none_or(|bias| bias.shape.as_slice() == [Dim::Fixed(outputs)]);
    ensure(fits, ReasonCode::ConvBias, || {
        format!("the bias must have shape [{outputs}]")
    })
}

/// Returns the common shape of two operands under NumPy broadcasting. If one of two extents is unknown and the other is
/// larger than 1, the result has the larger extent. If both are unknown, the extent of the result is unknown, too, and
/// the two extents are compared at run time.
pub(super) fn broadcast(a: &[Dim], b: &[Dim]) -> Result<Shape, Reason> {
    let rank = a.len().max(b.len());
    let at = |shape: &[Dim], index: usize| {
        (index + shape.len())
            .checked_sub(rank)
            .map_or(Dim::Fixed(1), |position| shape[position])
    };
    (0..rank)
        .map(|index| match (at(a, index), at(b, index)) {
            (x, y) if x == y => Ok(x),
            (Dim::Fixed(1), y) => Ok(y),
            (x, Dim::Fixed(1)) => Ok(x),
            (Dim::Named(_), Dim::Named(_)) => Ok(Dim::OPEN),
            (Dim::Named(_), known) | (known, Dim::Named(_)) => Ok(known),
            (x, y) => Err(Reason::new(
                ReasonCode::Broadcast,
                format!("{x} and {y} cannot be broadcast, at axis {index} of {rank}"),
            )),
        })
        .collect()
}

/// True if `shape` broadcasts to the shape `to`. Two named extents count as equal.
pub(super) fn broadcasts_to(shape: &[Dim], to: &[Dim]) -> Result<bool, Reason> {
    let found = broadcast(shape, to)?;
    let is_own = |(found, own): (&Dim, &Dim)| found == own || (*found == Dim::OPEN && own.fixed().is_none());
    Ok(found.len() == to.len() && found.iter().zip(to).all(is_own))
}

/// True if the two shapes have the same rank, and their extents may be equal along each axis.
pub(super) fn may_equal(a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a.may_equal(b))
}

/// Infers the result of an elementwise op of two operands. Their element types must be equal, and their shapes must
/// broadcast. `elem` computes the element type of the result from that of the operands.
pub(super) fn binary(operands: &Operands<'_>, elem: impl Fn(Elem) -> Elem) -> Result<Results, Reason> {
    let (a, b) = (operand(operands, 0)?, operand(operands, 1)?);
    ensure(a.elem == b.elem, ReasonCode::ElementTypes, || {
        format!("the operands are {} and {}", a.elem, b.elem)
    })?;
    one(elem(a.elem), broadcast(&a.shape, &b.shape)?)
}

/// Infers an elementwise op of one operand. The result has the type of the operand.
pub(super) fn same(operands: &Operands<'_>) -> Result<Results, Reason> {
    let x = operand(operands, 0)?;
    one(x.elem, x.shape.clone())
}

/// Returns the product of dimensions. Dimensions of 1 are ignored. If only one dimension is left, the product is this
/// dimension, with its name if it is named. If several are left and one of them is named, the product is only known at
/// run time.
pub(super) fn product(dims: &[Dim]) -> Result<Dim, Reason> {
    let others = || dims.iter().filter(|dim| **dim != Dim::Fixed(1));
    if others().any(|dim| dim.fixed().is_none()) {
        let mut others = others();
        return Ok(match (others.next(), others.next()) {
            (Some(&alone), None) => alone,
            _ => Dim::OPEN,
        });
    }
    let product = others().try_fold(1u64, |n, d| n.checked_mul(d.fixed()?));
    product
        .map(Dim::Fixed)
        .ok_or_else(|| Reason::new(ReasonCode::TooLarge, "a product of extents is past 64 bits"))
}

/// Infers an op with a sliding window over the spatial axes of [N, C, spatial…].
pub(super) fn pool(
    operands: &Operands<'_>,
    window: Lists<'_>,
    ceil: bool,
    elem: impl Fn(Elem) -> Elem,
) -> Result<Results, Reason> {
    let x = operand(operands, 0)?;
    let Lists {
        size,
        stride,
        pad,
        dilation,
    } = window;
    let spatial = size.len();
    let lists = [stride.len(), dilation.len(), pad.len() / 2];
    ensure(
        lists == [spatial; 3] && pad.len().is_multiple_of(2) && x.shape.len() == spatial + 2 && spatial > 0,
        ReasonCode::Pool,
        || {
            format!(
                "a window of rank {spatial} (stride {stride:?}, pad {pad:?}, dilation {dilation:?}) on rank {}",
                x.shape.len()
            )
        },
    )?;
    let mut shape: Shape = x.shape[..2].into();
    for (axis, &size) in size.iter().enumerate() {
        let window = Window::along(axis, size.into(), [stride, dilation, pad]);
        let window = Window { ceil, ..window };
        // A window that lies entirely in the padding would have no elements.
        let reach = window.size.saturating_sub(1).saturating_mul(u64::from(window.dilation)) + 1;
        ensure(
            u64::from(window.pad.0.max(window.pad.1)) < reach,
            ReasonCode::Pool,
            || {
                let (before, behind) = window.pad;
                format!("a padding of {before} and {behind} is wider than the window")
            },
        )?;
        shape.push(window_extent(x.shape[axis + 2], window)?);
    }
    one(elem(x.elem), shape)
}

/// Checks that all operands are floats of the same type.
pub(super) fn all_float(operands: &Operands<'_>) -> Result<(), Reason> {
    let mut elems = operands.iter().flatten().map(|ty| ty.elem);
    let first = elems.next();
    let fits = first.is_none_or(Elem::is_float) && elems.all(|elem| Some(elem) == first);
    ensure(fits, ReasonCode::ElementTypes, || {
        let elems: Vec<&str> = operands.iter().flatten().map(|ty| ty.elem.name()).collect();
        format!("{} are not floats of one type", elems.join(", "))
    })
}

/// Checks that `indices` has the rank of `x`, and that it is not longer than `x` along any axis except `axis`.
pub(super) fn within(x: &[Dim], indices: &[Dim], axis: usize) -> Result<(), Reason> {
    let fits = |(position, (x, index)): (usize, (&Dim, &Dim))| {
        let longer = x.fixed().zip(index.fixed()).is_some_and(|(x, index)| index > x);
        position == axis || !longer
    };
    let fits = x.len() == indices.len() && x.iter().zip(indices).enumerate().all(fits);
    ensure(fits, ReasonCode::Gather, || {
        format!("indices of {indices:?} are not inside of {x:?} beside axis {axis}")
    })
}

/// Returns true if the operand at `index` is present. The operand replaces an attribute, so it must be a list of
/// `length` integers.
pub(super) fn late_list(operands: &Operands<'_>, index: usize, length: usize) -> Result<bool, Reason> {
    let Some(Some(list)) = operands.get(index) else {
        return Ok(false);
    };
    let fits = list.elem == Elem::I64 && may_equal(&list.shape, &[Dim::Fixed(length as u64)]);
    ensure(fits, ReasonCode::Operands, || {
        format!("{list} is not a list of {length} integers")
    })?;
    Ok(true)
}

/// Returns true if the operand at `index` is present. It replaces an attribute, so it must be a single integer.
pub(super) fn late_number(operands: &Operands<'_>, index: usize) -> Result<bool, Reason> {
    let Some(Some(number)) = operands.get(index) else {
        return Ok(false);
    };
    let fits = number.elem == Elem::I64 && number.shape.iter().all(|dim| dim.may_equal(Dim::Fixed(1)));
    ensure(fits, ReasonCode::Operands, || format!("{number} is not one integer"))?;
    Ok(true)
}

/// Checks that the operand has at least one element along the axis.
pub(super) fn not_empty(x: &TensorType, axis: usize) -> Result<(), Reason> {
    ensure(x.shape[axis] != Dim::Fixed(0), ReasonCode::Operands, || {
        format!("axis {axis} of {x} has no element")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_or_a_dilation_of_0_is_told_as_that() {
        for (stride, dilation, what) in [(0, 1, "a stride of 0"), (1, 0, "a dilation of 0")] {
            let window = Window {
                size: 1,
                stride,
                dilation,
                pad: (0, 0),
                ceil: false,
            };
            for x in [Dim::Fixed(8), Dim::Fixed(0)] {
                let reason = window_extent(x, window).unwrap_err();
                assert!(
                    reason.code == ReasonCode::Window && reason.text.contains(what),
                    "{reason:?}"
                );
            }
        }
    }
}
