//! Reads the second result of `MaxPool`, which has the positions of the largest elements.
//!
//! The elements of each window are gathered along a new axis. Along this axis, the index of the largest element is
//! computed, and a table gives the position for this index. If windows do not overlap, as many elements are gathered as
//! the operand has. In place of a padding element, the window's first element that is not padding is gathered. If this
//! element is the largest, it occurs several times in the window, but all of its occurrences have the same position in
//! the table.

use crate::read::row::{Arg, OperatorReader, Refusal};
use smallvec::SmallVec;
use strait_core::op::{ArgReduce, Extreme, Gather, MaxPool, Op, Reshape};
use strait_core::{ReasonCode, TensorData, TensorType};

/// Adds the second result, which has the positions. Positions count over the whole tensor. Within a plane, the last
/// axis varies fastest, or the first axis if `columns` is true.
pub(super) fn finish(reader: &mut OperatorReader<'_, '_>, op: &MaxPool, columns: bool) -> Result<(), Refusal> {
    let (x, ty) = (Arg::Operand(0), reader.ty(0)?);
    let extents = reader.extents(&x)?;
    let pooled = Op::from(op.clone()).infer(&[Some(&ty)])?;
    let pooled = pooled.first().and_then(TensorType::dims).unwrap_or_default();
    let (Some((&[batch, channels], plane)), Some((_, windows))) =
        (extents.split_first_chunk::<2>(), pooled.split_first_chunk::<2>())
    else {
        return Err(Refusal::invalid(
            ReasonCode::PoolRank,
            "the operand has no spatial axes",
        ));
    };
    let table = table(reader, op, plane, windows, columns)?;
    let planes = [batch, channels, 1].map(i64::unsigned_abs);
    let count = reader.room(&planes)? as i64;
    let size: i64 = plane.iter().product();

    let flat = reader.reshaped(&x, &[0, 0, -1])?;
    let axis = 2;
    let elements = reader.push(Gather { axis }, &[flat, Arg::Constant(table.sources)])?;
    let largest = ArgReduce {
        extreme: Extreme::Maximum,
        axis: 3,
        keep_dims: false,
        last: false,
    };
    let tap = reader.push(largest, &[elements])?;
    let entry = reader.plus(&tap, &Arg::Constant(table.rows))?;
    let place = reader.push(Gather { axis: 0 }, &[Arg::Constant(table.places), entry])?;
    let planes: Vec<i64> = (0..count).map(|plane| plane * size).collect();
    let planes = reader.integers(&[batch.unsigned_abs(), channels.unsigned_abs(), 1], &planes)?;
    let place = reader.plus(&place, &Arg::Constant(planes))?;
    let shape = pooled.iter().map(|&extent| extent as i64).collect();
    reader.finish_result(1, Reshape { shape }, &[place])
}

/// Constants for one plane. Their rows are the windows, and their columns are the elements of a window.
struct Table {
    /// The position of each element in the plane: `[windows, elements]`.
    sources: TensorData,
    /// The same positions as one list, counted as in the second result of the operator.
    places: TensorData,
    /// The index in `places` of the first element of each window: `[windows]`.
    rows: TensorData,
}

fn table(
    reader: &mut OperatorReader<'_, '_>,
    op: &MaxPool,
    plane: &[i64],
    windows: &[u64],
    columns: bool,
) -> Result<Table, Refusal> {
    let large = || Refusal::invalid(ReasonCode::Limit, "its windows are too large");
    let product = |extents: &[u64]| extents.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent));
    let taps: SmallVec<[u64; 3]> = op.size.iter().map(|&extent| extent.into()).collect();
    let (count, width) = (product(windows).ok_or_else(large)?, product(&taps).ok_or_else(large)?);
    reader.room(&[count, width, 2])?;
    let axes = plane.iter().enumerate().map(|(axis, &extent)| {
        let step = [op.stride[axis], op.dilation[axis], op.pad[axis]].map(i128::from);
        Axis::new(extent, windows[axis], taps[axis], step)
    });
    let axes: Vec<Axis> = axes
        .collect::<Option<_>>()
        .ok_or_else(|| Refusal::unsupported("a window has nothing but padding, which has no place"))?;
    // Counts a position over all axes. `order` begins with the axis that varies slowest.
    let counted = |places: &[i64], order: &mut dyn Iterator<Item = usize>| {
        order.fold(0, |sum, axis| sum * plane[axis] + places[axis])
    };
    let (mut sources, mut places) = (Vec::new(), Vec::new());
    for window in 0..count {
        let window = coordinates(window, windows);
        let windows = || {
            axes.iter()
                .zip(&window)
                .map(|(axis, &window)| &axis.windows[window as usize])
        };
        let first: SmallVec<[i64; 3]> = windows().map(|window| window.first).collect();
        for tap in 0..width {
            let tap = coordinates(tap, &taps);
            let inside = windows().zip(&tap).map(|(window, &tap)| window.places[tap as usize]);
            let place = inside.collect::<Option<SmallVec<[i64; 3]>>>();
            let place = place.unwrap_or_else(|| first.clone());
            let source = counted(&place, &mut (0..plane.len()));
            sources.push(source);
            places.push(match columns {
                true => counted(&place, &mut (0..plane.len()).rev()),
                false => source,
            });
        }
    }
    let rows: Vec<i64> = (0..count).map(|window| (window * width) as i64).collect();
    Ok(Table {
        sources: reader.integers(&[count, width], &sources)?,
        places: reader.integers(&[places.len() as u64], &places)?,
        rows: reader.integers(&[count], &rows)?,
    })
}

/// The windows along one axis.
struct Axis {
    windows: Vec<Window>,
}

/// The elements of one window along one axis.
struct Window {
    /// The position of each element on the axis; `None` if the element is padding.
    places: Vec<Option<i64>>,
    /// The first position of the window that is not padding.
    first: i64,
}

impl Axis {
    /// The windows along an axis; `None` if some window consists only of padding.
    fn new(extent: i64, windows: u64, taps: u64, [stride, dilation, pad]: [i128; 3]) -> Option<Axis> {
        let place = |window: u64, tap: u64| {
            let place = i128::from(window) * stride + i128::from(tap) * dilation - pad;
            i64::try_from(place).ok().filter(|place| (0..extent).contains(place))
        };
        let window = |window: u64| {
            let places: Vec<Option<i64>> = (0..taps).map(|tap| place(window, tap)).collect();
            let first = places.iter().flatten().next().copied()?;
            Some(Window { places, first })
        };
        let windows = (0..windows).map(window).collect::<Option<_>>()?;
        Some(Axis { windows })
    }
}

/// The position of an element along each axis, from its row-major index.
fn coordinates(index: u64, extents: &[u64]) -> SmallVec<[u64; 3]> {
    let mut rest = index;
    let mut coordinates: SmallVec<[u64; 3]> = SmallVec::new();
    for &extent in extents.iter().rev() {
        coordinates.insert(0, rest % extent);
        rest /= extent;
    }
    coordinates
}
