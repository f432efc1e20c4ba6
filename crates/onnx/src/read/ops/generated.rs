//! Reads operators whose results follow from numbers and shapes alone: windows of signal processing, identity matrices,
//! grids, ranges. Cosines and logarithms are computed by `libm`, which gives the same bits on every machine.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use std::f64::consts::PI;
use strait_core::op::Reshape;
use strait_core::{Elem, ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("Range", 11, range).and(&[27]),
    Row::new("HannWindow", 17, |reader| window(reader, [0.5, 0.5, 0.0])),
    Row::new("HammingWindow", 17, |reader| {
        window(reader, [25.0 / 46.0, 21.0 / 46.0, 0.0])
    }),
    Row::new("BlackmanWindow", 17, |reader| window(reader, [0.42, 0.5, 0.08])),
    Row::new("MelWeightMatrix", 17, mel_weight_matrix),
    Row::new("EyeLike", 9, eye_like).and(&[22]),
    Row::new("AffineGrid", 20, affine_grid),
];

/// A constant of type `elem` with these numbers, which are rounded or truncated to the type.
fn constant(reader: &mut OperatorReader<'_, '_>, elem: Elem, shape: &[u64], values: &[f64]) -> Result<(), Refusal> {
    let tensor = match elem {
        Elem::F64 => TensorData::from_values(shape, values)?,
        elem if elem.is_float() => {
            let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            TensorData::from_values(shape, &values)?
        }
        Elem::Bool => {
            let values: Vec<bool> = values.iter().map(|&value| value != 0.0).collect();
            reader.truths(shape, &values)?
        }
        elem => {
            let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
            TensorData::from_integers(elem, shape, &values)?
        }
    };
    reader.finish_constant(tensor);
    Ok(())
}

/// The type that the attribute `output_datatype` names; f32 by default.
fn output_type(reader: &mut OperatorReader<'_, '_>) -> Result<Elem, Refusal> {
    Ok(reader.elem("output_datatype")?.unwrap_or(Elem::F32))
}

/// An operand that is a single integer. The integer must be known and not negative.
fn known_count(reader: &mut OperatorReader<'_, '_>, position: usize, what: &'static str) -> Result<u64, Refusal> {
    let values = reader.known_ints(position, what)?.unwrap_or_default();
    match *values.as_slice() {
        [value] if value >= 0 => Ok(value.unsigned_abs()),
        _ => Err(Refusal::invalid(
            ReasonCode::OperandType,
            format!("its {what} is not one number that is 0 or more"),
        )),
    }
}

/// Reads a window function of signal processing: element n is a0 − a1·cos(2πn/N) + a2·cos(4πn/N), where N is the size
/// or, for a symmetric window, the size minus one.
fn window(reader: &mut OperatorReader<'_, '_>, [a0, a1, a2]: [f64; 3]) -> Result<(), Refusal> {
    let size = known_count(reader, 0, "size")?;
    let period = match reader.int("periodic")?.unwrap_or(1) {
        0 => size.saturating_sub(1),
        _ => size,
    };
    let elem = output_type(reader)?;
    let count = reader.room(&[size])?;
    let value = |n: usize| {
        let angle = 2.0 * PI * n as f64 / period.max(1) as f64;
        a0 - a1 * libm::cos(angle) + a2 * libm::cos(2.0 * angle)
    };
    let values: Vec<f64> = (0..count).map(value).collect();
    constant(reader, elem, &[size], &values)
}

/// Reads MelWeightMatrix. Each column is a triangle over the bins of a spectrum. The corners of the triangles are
/// equally spaced on the mel scale, 2595·lg(1 + f/700), and rounded down to bins.
fn mel_weight_matrix(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let mels = known_count(reader, 0, "number of bins")?;
    let length = known_count(reader, 1, "length")?;
    let rate = known_count(reader, 2, "rate")?.max(1) as f64;
    let lower = f64::from(reader.known_float(3, "lower edge")?.unwrap_or(0.0));
    let upper = f64::from(reader.known_float(4, "upper edge")?.unwrap_or(0.0));
    let elem = output_type(reader)?;
    let bins = length / 2 + 1;
    let count = reader.room(&[bins, mels])?;
    let to_mel = |frequency: f64| 2595.0 * libm::log10(1.0 + frequency / 700.0);
    let step = (to_mel(upper) - to_mel(lower)) / (mels as f64 + 2.0);
    let corner = |index: u64| {
        let frequency = 700.0 * (libm::pow(10.0, (to_mel(lower) + index as f64 * step) / 2595.0) - 1.0);
        ((length as f64 + 1.0) * frequency / rate).floor() as i64
    };
    let mut values = vec![0.0; count];
    let mut set = |bin: i64, mel: u64, value: f64| {
        let bin = u64::try_from(bin).ok().filter(|&bin| bin < bins);
        if let Some(place) = bin.and_then(|bin| values.get_mut((bin * mels + mel) as usize)) {
            *place = value;
        }
    };
    for mel in 0..mels {
        let [left, centre, right] = [mel, mel + 1, mel + 2].map(corner);
        // Bins outside of the spectrum have no weight.
        let inside = |from: i64, to: i64| from.max(0)..to.min(bins as i64);
        if left == centre {
            set(centre, mel, 1.0);
        }
        for bin in inside(left, centre.saturating_add(1)).filter(|_| left != centre) {
            set(bin, mel, (bin as f64 - left as f64) / (centre as f64 - left as f64));
        }
        for bin in inside(centre, right) {
            set(bin, mel, (right as f64 - bin as f64) / (right as f64 - centre as f64));
        }
    }
    constant(reader, elem, &[bins, mels], &values)
}

/// Reads EyeLike: a matrix with the shape of operand 0. It has ones on the diagonal that is `k` above the main
/// diagonal, and zeros elsewhere.
fn eye_like(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let elem = match reader.elem("dtype")? {
        None => reader.ty(0)?.elem,
        Some(elem) => elem,
    };
    let k = reader.int("k")?.unwrap_or(0);
    let [rows, columns] = match *reader.extents(&Arg::Operand(0))?.as_slice() {
        [both] => [both, both],
        [rows, columns] => [rows, columns],
        _ => return Err(Refusal::invalid(ReasonCode::Axis, "the operand needs rank 2")),
    };
    let shape = [rows, columns].map(i64::unsigned_abs);
    reader.room(&shape)?;
    let positions = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let values: Vec<f64> = positions
        .map(|(row, column)| f64::from(u8::from(column.checked_sub(row) == Some(k))))
        .collect();
    constant(reader, elem, &shape, &values)
}

/// Reads AffineGrid. Positions from −1 to 1, as rows (x, y, 1) or (x, y, z, 1), are multiplied by the matrix of each
/// sample.
fn affine_grid(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let size = reader.known_ints(1, "size")?.unwrap_or_default();
    let corners = reader.flag("align_corners")?;
    let spatial = match size.as_slice() {
        [_, _, spatial @ ..] if (2..=3).contains(&spatial.len()) && size.iter().all(|&extent| extent > 0) => spatial,
        _ => return Err(Refusal::invalid(ReasonCode::Axis, format!("the size is {size:?}"))),
    };
    let count = spatial
        .iter()
        .try_fold(1u64, |n, &extent| n.checked_mul(extent.unsigned_abs()));
    let count = count.ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "the grid is too large"))?;
    let width = spatial.len() as u64 + 1;
    let mut values = Vec::with_capacity(reader.room(&[count, width])?);
    for position in 0..count as i64 {
        let mut rest = position;
        // The first coordinate, x, belongs to the last axis.
        for &extent in spatial.iter().rev() {
            let index = (rest % extent) as f64;
            rest /= extent;
            values.push(match corners {
                // With `align_corners`, positions go from −1 to 1. If there is only one position, it is −1.
                true => -1.0 + 2.0 * index / (extent - 1).max(1) as f64,
                false => (2.0 * index + 1.0) / extent as f64 - 1.0,
            } as f32);
        }
        values.push(1.0);
    }
    let grid = Arg::Constant(reader.floats_of(&[count, width], &values)?);
    let columns = reader.transposed(&Arg::Operand(0), &[0, 2, 1])?;
    let rows = reader.product(&grid, &columns)?;
    let shape = [0].iter().chain(spatial).copied().chain([width as i64 - 1]).collect();
    reader.finish(Reshape { shape }, &[rows])
}

/// Reads Range: numbers in equal steps from the first number up to, but not including, the limit.
fn range(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let elem = reader.ty(0)?.elem;
    let invalid = |text: &str| Refusal::invalid(ReasonCode::OperandType, text);
    for position in 0..3 {
        if reader.has(position) && reader.constant(position)?.is_none() {
            return reader.finish(strait_core::op::Range {}, &[0, 1, 2].map(Arg::Operand));
        }
    }
    if elem.is_float() {
        let mut numbers = [0f64; 3];
        for (position, number) in numbers.iter_mut().enumerate() {
            let tensor = reader
                .known(position, "bounds or step")?
                .unwrap_or_else(|| TensorData::scalar(0f32));
            let all: Vec<f64> = match tensor.elem() {
                Elem::F64 => tensor.values::<f64>()?.to_vec(),
                _ => tensor.to_f32()?.iter().map(|&value| value.into()).collect(),
            };
            match *all.as_slice() {
                [only] if only.is_finite() => *number = only,
                _ => return Err(invalid("a bound or the step is not one finite number")),
            }
        }
        let [start, limit, step] = numbers;
        if step == 0.0 {
            return Err(invalid("the step is 0"));
        }
        let count = ((limit - start) / step).ceil().max(0.0) as u64;
        let count = reader.room(&[count])?;
        let values: Vec<f64> = (0..count).map(|n| start + n as f64 * step).collect();
        return constant(reader, elem, &[count as u64], &values);
    }
    let mut numbers = [0i64; 3];
    for (position, number) in numbers.iter_mut().enumerate() {
        let tensor = reader
            .known(position, "bounds or step")?
            .unwrap_or_else(|| TensorData::scalar(0i64));
        match *tensor.to_i64()?.as_slice() {
            [only] => *number = only,
            _ => return Err(invalid("a bound or the step is not one number")),
        }
    }
    let [start, limit, step] = numbers.map(i128::from);
    if step == 0 {
        return Err(invalid("the step is 0"));
    }
    let way = if step > 0 { limit - start } else { start - limit };
    let count = way.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
    let count = u64::try_from(count).map_err(|_| Refusal::unsupported("the range is too long"))?;
    let count = reader.room(&[count])?;
    // All values lie between start and limit, so they fit into the element type of start and limit.
    let values: Vec<i64> = (0..count as i128).map(|n| (start + n * step) as i64).collect();
    let tensor = match elem {
        Elem::I64 => reader.integers(&[count as u64], &values)?,
        elem => TensorData::from_integers(elem, &[count as u64], &values)?,
    };
    reader.finish_constant(tensor);
    Ok(())
}
