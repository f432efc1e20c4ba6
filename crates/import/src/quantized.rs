//! Codes on grids: converts constant codes to real numbers, and records from which real numbers other codes were
//! quantized.

use crate::refusal::Refusal;
use strait_core::op::Quantize;
use strait_core::{Elem, QuantParams, ReasonCode, TensorData, ValueId};
use strait_requantize::quantize::ZeroPoint;
use strait_requantize::{Per, Rounding};

/// The op that quantizes real numbers to the codes of a grid.
pub(crate) fn quantize(grid: &QuantParams, rounding: Rounding) -> Quantize {
    Quantize {
        to: grid.codes.unwrap_or(Elem::I8),
        rounding,
        reciprocal: false,
        zero_point: ZeroPoint::After,
    }
}

/// Codes that were quantized from real numbers.
#[derive(Clone, Debug)]
pub(crate) struct Quantized {
    /// The real numbers that the codes were quantized from.
    pub(crate) real: ValueId,
    /// The grid, with the type of the codes.
    pub(crate) grid: QuantParams,
}

/// A copy of a real value, for readers that read the value rounded to a grid.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) of: ValueId,
    pub(crate) grid: QuantParams,
    pub(crate) copy: ValueId,
}

/// Returns each code q as a real number, (q − zero point) · scale, in f32. Also returns whether quantizing these real
/// numbers gives the same codes again.
pub(crate) fn dequantized(codes: &TensorData, grid: &QuantParams) -> Result<(TensorData, bool), Refusal> {
    let shape: Vec<usize> = codes.shape().iter().map(|&extent| extent as usize).collect();
    let block = grid.block.map(|block| block.get() as usize);
    let parts = strait_core::Parts::new(&shape, grid.axis.map(usize::from), block)
        .ok_or_else(|| Refusal::invalid(ReasonCode::OperandType, "its blocks do not fill its axis"))?;
    let mut is_exact = true;
    let values = codes.to_i64()?;
    let mut real = Vec::with_capacity(values.len());
    for (index, code) in values.into_iter().enumerate() {
        let part = parts.of(index);
        let (scale, zero) = (*at(&grid.scale, part), i64::from(*at(&grid.zero_point, part)));
        let centred = code.saturating_sub(zero);
        let value = centred as f32 * scale;
        is_exact &= (f64::from(value) / f64::from(scale)).round() == centred as f64;
        real.push(value);
    }
    Ok((TensorData::from_values(codes.shape(), &real)?, is_exact))
}

fn at<T>(per: &Per<T>, part: usize) -> &T {
    match per {
        Per::Tensor(value) => value,
        Per::Channel(values) => &values[part.min(values.len() - 1)],
    }
}
