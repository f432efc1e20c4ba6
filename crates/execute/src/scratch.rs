//! Estimates, from types alone, the bytes that a plan and its runs need besides values, constants and packed weights:
//! index lists of steps, and temporary memory.

use crate::float::reduce::runs;
use crate::float::resize::neighbours;
use crate::reference::Primitive;
use smallvec::SmallVec;
use strait_core::op::{PadMode, Reduction};
use strait_core::shape::{count_of, element_count};
use strait_core::{Dim, Elem, Node, Op, TensorType};

/// Bytes that one node needs besides its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// Bytes that are held as long as the plan exists.
    pub(crate) held: u64,
    /// Bytes that are needed during a run, on one thread.
    pub(crate) run: u64,
}

/// Bytes of a position or an index, and of an element of an operand in the reference interpreter.
const WORD: u64 = 8;

/// Bytes of an element of a result in the reference interpreter: the exact number, and one value each before and after
/// the fused steps.
const EXACT: u64 = 32;

/// Bytes of an element of the float stage.
const FLOAT: u64 = 4;

/// Bytes for the taps of a row or column of a pool, and for the neighbours of a position that is resampled.
const TAPS: u64 = 24;

/// Bytes for a product of a batch: the indices of both operands' matrices, including room for the list to grow.
const PAIR: u64 = 32;

/// Bytes for a position of a plane whose channel is picked by an operand: its number, and its parameters while they are
/// selected.
const PICKED: u64 = 64;

/// Bytes that a node needs besides its values. If another tensor is added inside of the node's accumulators, these
/// include the accumulators, the addends, and the codes that the addends are made from.
pub(crate) fn scratch(
    node: &Node,
    operands: &[Option<&TensorType>],
    is_constant: impl Fn(usize) -> bool,
    results: &[&TensorType],
) -> Scratch {
    let own = operands.get(..node.own_inputs().len()).unwrap_or(operands);
    let product = alone(node, own, is_constant, results);
    let sums = node
        .addend()
        .and(results.first())
        .map_or(0, |y| times(count(y), 3 * WORD));
    Scratch {
        run: product.run.saturating_add(sums),
        ..product
    }
}

/// Like [`scratch`], without a fused addend.
fn alone(
    node: &Node,
    operands: &[Option<&TensorType>],
    is_constant: impl Fn(usize) -> bool,
    results: &[&TensorType],
) -> Scratch {
    let (Some(Some(x)), Some(&y)) = (operands.first(), results.first()) else {
        return Scratch::default();
    };
    // Nothing is prepared for an empty result.
    if results.iter().all(|ty| count(ty) == 0) {
        return Scratch::default();
    }
    let run = |run: u64| Scratch { held: 0, run };
    let held = |held: u64| Scratch { held, run: 0 };
    if is_plain(node, operands, is_constant) {
        let read = operands.iter().flatten().map(|ty| times(count(ty), WORD));
        return run(read.fold(times(count(y), EXACT), u64::saturating_add));
    }
    match &node.op {
        Op::Conv(op) if x.shape.len() == 5 => run(volume(op, operands, y)),
        // The taps of the layers' rows and columns, then the taps over the layers, and the results in between.
        Op::MaxPool(_) if x.shape.len() == 5 && x.elem != Elem::F32 => {
            let (rows, columns) = (extent(y, 3), extent(y, 4));
            let between = count(x) / extent(x, 3).saturating_mul(extent(x, 4)).max(1);
            let positions = rows.saturating_mul(columns);
            let taps = axes(y, 2).saturating_add(positions);
            run(times(taps, TAPS).saturating_add(times(between.saturating_mul(positions), x.elem.size() as u64)))
        }
        Op::MaxPool(_) | Op::AveragePool(_) if x.shape.len() == 5 => held(times(axes(y, 2), TAPS)),
        Op::Conv(op) => run(padded(op, x, operands.get(1).copied().flatten())),
        Op::MatMul(_) => held(times(batch(y), PAIR)),
        Op::Add(_) | Op::Sub(_) if node.fused.is_some() => run(times(count(y), x.elem.size() as u64)),
        Op::MaxPool(_) | Op::AveragePool(_) => run(times(axes(y, 2), TAPS)),
        Op::SumPool(_) | Op::Requantize(_) => Scratch {
            held: match node.picked_channels() {
                Some(_) => times(
                    operands
                        .iter()
                        .flatten()
                        .skip(1)
                        .map(|picks| plane(y, picks))
                        .max()
                        .unwrap_or(0),
                    PICKED,
                ),
                None => 0,
            },
            run: times(axes(y, 2), TAPS),
        },
        Op::Reduce(_) if x.elem == Elem::F32 => run(times(count(x), 2 * WORD)),
        // One entry for each code, and the number it is computed from.
        Op::Interpolate(_) => held(times(1 << x.elem.bits().min(16), 2 * WORD)),
        Op::Slice(_) => held(times(axes(y, 0), WORD)),
        Op::Pad(op) if op.mode != PadMode::Constant => held(times(axes(y, 0), WORD)),
        Op::IntegerResize(_) => {
            // As below, plus each element of the operand.
            let between = x.shape.iter().zip(&y.shape).map(|(from, to)| from.max(to).fixed());
            let between: Option<SmallVec<[u64; 4]>> = between.collect();
            Scratch {
                held: times(axes(y, 0), TAPS),
                run: times(between.and_then(|dims| count_of(&dims)).unwrap_or(u64::MAX), 2 * WORD),
            }
        }
        Op::Resize(op) => {
            // Axes are resized one after the other. In between, some have the operand's extent and some the result's.
            let between = x.shape.iter().zip(&y.shape).map(|(from, to)| from.max(to).fixed());
            let between: Option<SmallVec<[u64; 4]>> = between.collect();
            let between = between.and_then(|dims| count_of(&dims)).unwrap_or(u64::MAX);
            let along = |(axis, (from, to)): (usize, (&Dim, &Dim))| {
                let [from, to] = [from, to].map(|dim| dim.fixed().unwrap_or(u64::MAX) as usize);
                times(to as u64, 1 + 2 * WORD * neighbours(op, axis, [from, to]) as u64)
            };
            let held = x.shape.iter().zip(&y.shape).enumerate().map(along);
            Scratch {
                held: held.fold(0, u64::saturating_add),
                run: if op.moves() { 0 } else { times(between, WORD) },
            }
        }
        Op::ConvTranspose(_) | Op::DeformConv(_) => run(columns(&node.op, operands, y)),
        // Pre-activations, gates, products and copies of one step, and both states.
        Op::Recurrent(op) => {
            let extents = x.shape.iter().skip(1).map(|dim| dim.fixed().unwrap_or(u64::MAX));
            let step = extents.fold(1, u64::saturating_mul) / op.directions().max(1);
            run(times(step, 6 * FLOAT).saturating_add(times(extent(x, 1), WORD)))
        }
        // Each sample has two neighbours along an axis. If the number of samples depends on a region, it is at most the
        // number of elements.
        Op::RoiAlign(op) => {
            let along = |bins: u32, extent: u64| match op.sampling {
                0 => extent.saturating_add(bins.into()),
                samples => u64::from(bins).saturating_mul(samples.into()),
            };
            let samples = along(op.height, extent(x, 2)).saturating_add(along(op.width, extent(x, 3)));
            run(times(samples, 5 * WORD))
        }
        Op::GatherElements(_) | Op::GatherNd(_) | Op::Scatter(_) => run(times(x.shape.len() as u64, 4 * WORD)),
        Op::ArgReduce(op) => run(times(behind(x, op.axis), WORD)),
        Op::Cumulative(op) => run(times(behind(x, op.axis), WORD)),
        Op::TopK(op) => run(times(along(x, op.axis), 2 * WORD)),
        Op::Det(_) => run(times(
            extent(x, x.shape.len().saturating_sub(1)).saturating_pow(2),
            WORD,
        )),
        // The roots, chirps and filter for the next power of two, and as many numbers again.
        Op::Dft(op) => {
            let size = u64::from(op.length).saturating_mul(2).next_power_of_two();
            Scratch {
                held: times(size, 6 * WORD),
                run: times(size, 6 * WORD),
            }
        }
        Op::GridSample(_) => {
            let each = count(y) / extent(y, 0).max(1);
            run(times(each, FLOAT).saturating_add(times(TAPS, 1 << (2 * x.shape.len()).min(16))))
        }
        Op::Gather(_) => run(operands
            .get(1)
            .copied()
            .flatten()
            .map_or(0, |ty| times(count(ty), WORD))),
        // Every element as the widest type of its kind, and as a boolean.
        Op::Cast(op) if op.to != x.elem => run(times(count(x), WORD + 1)),
        Op::Dequantize(_) if x.elem == Elem::I64 => run(times(count(x), WORD)),
        _ => Scratch::default(),
    }
}

/// True if the reference interpreter may have to compute an integer primitive, because no fast loop takes it; see
/// [`crate::integer`]. True also where this is not certain.
fn is_plain(node: &Node, operands: &[Option<&TensorType>], is_constant: impl Fn(usize) -> bool) -> bool {
    let operand = |index: usize| operands.get(index).copied().flatten();
    let Some(x) = operand(0).filter(|x| x.elem.is_integer() && Primitive::is_defined(&node.op)) else {
        return false;
    };
    let codes = |index: usize| {
        let t = operand(index).and_then(|ty| ty.elem.int_type());
        t.is_some_and(|t| t.bits() <= 16)
    };
    let fixed = |index: usize| operand(index).is_none() || is_constant(index);
    let (fused, images) = (node.fused.is_some(), matches!(x.shape.len(), 3 | 4));
    let weights = codes(0) && codes(1) && is_constant(1) && fixed(2);
    match &node.op {
        Op::Conv(_) => !((images || x.shape.len() == 5) && weights),
        Op::Gemm(op) => {
            let columns = operand(1).and_then(|b| b.shape.get(usize::from(!op.transpose_b))?.fixed());
            let bias = operand(2).map(count);
            op.transpose_a || !weights || bias.is_some_and(|bias| bias != 1 && Some(bias) != columns)
        }
        Op::MatMul(_) | Op::Mul(_) => !(codes(0) && codes(1)),
        Op::Add(_) | Op::Sub(_) => codes(0) || operand(1).is_none_or(|other| other.elem != x.elem),
        Op::MaxPool(_) => fused || !((images || x.shape.len() == 5) && codes(0)),
        Op::AveragePool(_) => fused || !(images && codes(0)),
        Op::GlobalAveragePool(_) => fused || !codes(0),
        Op::SumPool(_) => !(images && codes(0) && fixed(1)),
        Op::Reduce(op) => {
            let dims: SmallVec<[usize; 4]> = x.shape.iter().map(|dim| dim.fixed().unwrap_or(1) as usize).collect();
            let calls = op.reduced(dims.len()).map(|reduced| runs(&dims, &reduced).len());
            op.reduction != Reduction::Sum || !codes(0) || calls != Ok(1)
        }
        Op::Lookup(_) | Op::Interpolate(_) => fused || !(codes(0) && is_constant(1)),
        Op::Clamp(_) => fused || x.elem == Elem::I64,
        Op::Requantize(_) => fused || !fixed(1),
        Op::IntegerSoftmax(_) | Op::IntegerResize(_) | Op::ShiftLeft(_) => fused,
        _ => false,
    }
}

/// For a convolution over three axes: the padded layers that one layer of the result reads, and that layer, as floats
/// or codes. For codes, their sums are included.
fn volume(op: &strait_core::op::Conv, operands: &[Option<&TensorType>], y: &TensorType) -> u64 {
    let (Some(Some(x)), Some(Some(weight))) = (operands.first(), operands.get(1)) else {
        return 0;
    };
    let read = extent(x, 1).saturating_mul(extent(weight, 2));
    let pads = |axis: usize| {
        let pad = |index: usize| op.pad.get(index).copied().map_or(0, u64::from);
        let stride = op.stride.get(axis).copied().map_or(1, u64::from);
        pad(axis).saturating_add(pad(axis + 3)).saturating_add(stride)
    };
    let plane = |axis: usize| extent(x, axis + 2).saturating_add(pads(axis));
    let read = times(read, plane(1).saturating_mul(plane(2)));
    let made = times(extent(y, 1), extent(y, 3).saturating_mul(extent(y, 4)));
    // Codes are padded as words, unless they can be used as they are.
    times(
        read.saturating_mul(2).saturating_add(made),
        FLOAT.max(y.elem.size() as u64),
    )
}

/// The matrix for one image: the kernels of all elements of a transposed convolution, or the elements that moved taps
/// read. The transposed weights are included.
fn columns(op: &Op, operands: &[Option<&TensorType>], y: &TensorType) -> u64 {
    let (Some(Some(x)), Some(Some(weight))) = (operands.first(), operands.get(1)) else {
        return 0;
    };
    let from = |ty: &TensorType, axis: usize| {
        let extents = ty.shape.iter().skip(axis).map(|dim| dim.fixed().unwrap_or(u64::MAX));
        extents.fold(1, u64::saturating_mul)
    };
    let (rows, positions) = match op {
        Op::ConvTranspose(_) => (from(weight, 1), from(x, 2)),
        _ => (extent(x, 1).saturating_mul(from(weight, 2)), from(y, 2)),
    };
    times(rows.saturating_mul(positions).saturating_add(count(weight)), FLOAT)
}

/// The extent of an axis; a negative axis counts from the end.
fn along(ty: &TensorType, axis: i64) -> u64 {
    let axis = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    usize::try_from(axis).map_or(1, |axis| extent(ty, axis))
}

/// Number of elements after an axis.
fn behind(ty: &TensorType, axis: i64) -> u64 {
    let axis = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    let first = usize::try_from(axis).map_or(0, |axis| axis + 1);
    let extents = ty.shape.iter().skip(first).map(|dim| dim.fixed().unwrap_or(u64::MAX));
    extents.fold(1, u64::saturating_mul)
}

fn extent(ty: &TensorType, axis: usize) -> u64 {
    ty.shape.get(axis).and_then(|dim| dim.fixed()).unwrap_or(1)
}

/// One image of a convolution in the layout of the kernels, if it does not have that layout already.
fn padded(op: &strait_core::op::Conv, x: &TensorType, weight: Option<&TensorType>) -> u64 {
    let words = [Some(x), weight].into_iter().flatten().any(|ty| ty.elem.size() > 1);
    let along = op.stride.last().copied().map_or(1, u64::from);
    if op.pad.iter().all(|&pad| pad == 0) && along == 1 && (x.elem == Elem::F32 || !words) {
        return 0;
    }
    let spatial = x.shape.len().saturating_sub(2);
    let extent = |(axis, dim): (usize, &Dim)| {
        let pads = [axis, axis + spatial].map(|side| op.pad.get(side).copied().map_or(0, u64::from));
        // A row is padded to a multiple of the stride.
        let rest = if axis + 1 == spatial { along - 1 } else { 0 };
        let extent = dim.fixed().unwrap_or(u64::MAX);
        extent
            .saturating_add(pads[0])
            .saturating_add(pads[1])
            .saturating_add(rest)
    };
    let plane = x
        .shape
        .iter()
        .skip(2)
        .enumerate()
        .map(extent)
        .fold(1, u64::saturating_mul);
    let channels = x.shape.get(1).and_then(|dim| dim.fixed()).unwrap_or(1);
    // Words have two bytes. The codes of the plane they are made from may be copied as well.
    times(times(channels, plane), if words { 4 } else { 1 })
}

/// The number of products in a batched product: the elements of the result over all axes but the last two.
fn batch(y: &TensorType) -> u64 {
    let axes = y.shape.len().saturating_sub(2);
    element_count(&y.shape[..axes]).unwrap_or(u64::MAX).max(1)
}

/// Number of positions along the axes of the result in which `picks` differ.
fn plane(y: &TensorType, picks: &TensorType) -> u64 {
    let apart = picks.shape.iter().position(|dim| dim.fixed() != Some(1));
    let behind = apart.map_or(2, |axis| picks.shape.len() - axis).min(y.shape.len());
    element_count(&y.shape[y.shape.len() - behind..]).unwrap_or(u64::MAX)
}

/// The sum of the extents from an axis on.
fn axes(ty: &TensorType, first: usize) -> u64 {
    let extents = ty.shape.iter().skip(first).map(|dim| dim.fixed().unwrap_or(u64::MAX));
    extents.fold(0, u64::saturating_add)
}

fn count(ty: &TensorType) -> u64 {
    element_count(&ty.shape).unwrap_or(u64::MAX)
}

fn times(count: u64, bytes: u64) -> u64 {
    count.saturating_mul(bytes)
}
