//! Reads fake quantization: floats are rounded to a grid and stay floats.
//!
//! TensorFlow shifts the range [min, max] so that zero is on the grid, clips x to the range, and rounds halves up:
//! ⌊(clip(x) − min) / step + ½⌋ · step + min, where `step` is the scale of the grid.

use strait_core::op::{Add, BinaryFunction, Clip, Function, Mul};
use strait_core::{ReasonCode, TensorData};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("FakeQuantWithMinMaxArgs", |reader| {
        let min = reader.float("min")?.unwrap_or(-6.0);
        let max = reader.float("max")?.unwrap_or(6.0);
        let grid = Grid::nudged(&codes(reader)?, min, max)?;
        one_grid(reader, &grid)
    }),
    ("FakeQuantWithMinMaxVars", |reader| {
        let [min, max] =
            [(1, "least number"), (2, "largest number")].map(|(position, what)| reader.known_float(position, what));
        let (min, max) = (min?.unwrap_or(0.0), max?.unwrap_or(0.0));
        let grid = Grid::nudged(&codes(reader)?, min, max)?;
        one_grid(reader, &grid)
    }),
    ("FakeQuantWithMinMaxVarsPerChannel", by_channel),
    ("QuantizeAndDequantizeV2", |reader| symmetric(reader, Some([1, 2]))),
    ("QuantizeAndDequantizeV3", |reader| symmetric(reader, Some([1, 2]))),
    ("QuantizeAndDequantizeV4", |reader| symmetric(reader, Some([1, 2]))),
];

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::OperandType, text)
}

/// The smallest and the largest code of the operator.
fn codes(reader: &mut OperatorReader<'_, '_>) -> Result<[f32; 2], Refusal> {
    let bits = reader.int("num_bits")?.unwrap_or(8);
    if !(2..=16).contains(&bits) {
        return Err(invalid(format!("`num_bits` is {bits}")));
    }
    let least = if reader.flag("narrow_range")? { 1.0 } else { 0.0 };
    Ok([least, ((1i64 << bits) - 1) as f32])
}

/// The grid of a fake quantization. Zero and both ends of the range are multiples of the grid's step.
struct Grid {
    min: f32,
    max: f32,
    step: f32,
}

impl Grid {
    /// The grid for a range. It is computed with f32 operations in the same order as in TensorFlow.
    fn nudged(&[least, largest]: &[f32; 2], min: f32, max: f32) -> Result<Grid, Refusal> {
        if !(min.is_finite() && max.is_finite()) || min > max {
            return Err(invalid(format!("its range is {min} to {max}")));
        }
        let step = (max - min) / (largest - least);
        let zero = least - min / step;
        let zero = match zero {
            zero if zero < least => least,
            zero if zero > largest => largest,
            // If the range contains only 0, the step is 0, and this zero point is NaN.
            zero => zero.round(),
        };
        Ok(Grid {
            min: (least - zero) * step,
            max: (largest - zero) * step,
            step,
        })
    }

    /// True if the range contains only 0.
    fn is_nothing(&self) -> bool {
        self.step == 0.0
    }
}

fn one_grid(reader: &mut OperatorReader<'_, '_>, grid: &Grid) -> Result<(), Refusal> {
    if grid.is_nothing() {
        return reader.finish(Clip { min: 0.0, max: 0.0 }, &[Arg::Operand(0)]);
    }
    let clip = Clip {
        min: grid.min,
        max: grid.max,
    };
    let clipped = reader.push(clip, &[Arg::Operand(0)])?;
    let number = |value: f32| Arg::Constant(TensorData::scalar(value));
    rounded(
        reader,
        &clipped,
        number(grid.min),
        number(1.0 / grid.step),
        number(grid.step),
    )
}

/// Rounds numbers to whole steps, counted from `min`, with halves rounded up.
fn rounded(
    reader: &mut OperatorReader<'_, '_>,
    clipped: &Arg,
    min: Arg,
    inverse: Arg,
    step: Arg,
) -> Result<(), Refusal> {
    let moved = reader.minus(clipped, &min)?;
    let steps = reader.times(&moved, &inverse)?;
    let steps = reader.shifted(&steps, 0.5)?;
    let steps = reader.function(Function::Floor, &steps)?;
    let back = reader.times(&steps, &step)?;
    reader.finish(Add {}, &[back, min])
}

/// Reads a fake quantization that has a separate grid for each position along the last axis.
fn by_channel(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let codes = codes(reader)?;
    let mut list = |position, what: &str| -> Result<Vec<f32>, Refusal> {
        let tensor = reader
            .known(position, what)?
            .ok_or_else(|| invalid(format!("its {what} is missing")))?;
        Ok(tensor.to_f32()?.into_owned())
    };
    let (min, max) = (list(1, "least numbers")?, list(2, "largest numbers")?);
    if min.len() != max.len() {
        return Err(invalid(format!(
            "{} least and {} largest numbers",
            min.len(),
            max.len()
        )));
    }
    let grids: Result<Vec<Grid>, Refusal> = min
        .iter()
        .zip(&max)
        .map(|(&min, &max)| Grid::nudged(&codes, min, max))
        .collect();
    let grids = grids?;
    let count = grids.len() as u64;
    let constant = |reader: &OperatorReader<'_, '_>, of: fn(&Grid) -> f32| {
        let numbers = grids.iter().map(|grid| if grid.is_nothing() { 0.0 } else { of(grid) });
        Ok::<Arg, Refusal>(Arg::Constant(
            reader.floats_of(&[count], &numbers.collect::<Vec<f32>>())?,
        ))
    };
    let (low, high) = (constant(reader, |grid| grid.min)?, constant(reader, |grid| grid.max)?);
    let (inverse, step) = (
        constant(reader, |grid| 1.0 / grid.step)?,
        constant(reader, |grid| grid.step)?,
    );
    let clipped = reader.binary(BinaryFunction::Maximum, &Arg::Operand(0), &low)?;
    let clipped = reader.binary(BinaryFunction::Minimum, &clipped, &high)?;
    rounded(reader, &clipped, low, inverse, step)
}

/// Reads a symmetric fake quantization with a given range. The codes are round(x · scale), and the result is the codes
/// times 1 / scale.
fn symmetric(reader: &mut OperatorReader<'_, '_>, range: Option<[usize; 2]>) -> Result<(), Refusal> {
    let signed = !reader.has_attribute("signed_input") || reader.flag("signed_input")?;
    let narrow = reader.flag("narrow_range")?;
    let given = match reader.op() {
        "QuantizeAndDequantizeV2" => reader.has_attribute("range_given") && reader.flag("range_given")?,
        _ => !reader.has_attribute("range_given") || reader.flag("range_given")?,
    };
    if !given {
        let text = "its range is that of the numbers that it is given; give it one, with `range_given`";
        return Err(Refusal::unsupported(text));
    }
    if reader.int("axis")?.unwrap_or(-1) != -1 {
        return Err(Refusal::unsupported("it has a range for each position of an axis"));
    }
    let bits = match reader.op() {
        "QuantizeAndDequantizeV3" => {
            let bits = reader.known_ints(3, "number of bits")?.unwrap_or_default();
            bits.first().copied().unwrap_or(8)
        }
        _ => reader.int("num_bits")?.unwrap_or(8),
    };
    if !(2..=16).contains(&bits) {
        return Err(invalid(format!("it rounds to {bits} bits")));
    }
    let mode = reader.text("round_mode", "HALF_TO_EVEN")?;
    let [low, high] = range.unwrap_or([1, 2]);
    let (min, max) = (
        reader.known_float(low, "least number")?,
        reader.known_float(high, "largest number")?,
    );
    let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(0.0));
    let [least, largest] = match (signed, narrow) {
        (false, _) => [0.0, ((1i64 << bits) - 1) as f32],
        (true, false) => [-((1i64 << (bits - 1)) as f32), ((1i64 << (bits - 1)) - 1) as f32],
        (true, true) => [-(((1i64 << (bits - 1)) - 1) as f32), ((1i64 << (bits - 1)) - 1) as f32],
    };
    // The step has to be large enough that both ends of the range can be represented.
    let by_min = if least * min > 0.0 { least / min } else { f32::MAX };
    let by_max = if largest * max > 0.0 { largest / max } else { f32::MAX };
    let (scale, inverse, min, max) = if by_min < by_max {
        let inverse = min / least;
        (by_min, inverse, min, largest * inverse)
    } else {
        let inverse = max / largest;
        (by_max, inverse, least * inverse, max)
    };
    if !(scale.is_finite() && inverse.is_finite()) || scale == f32::MAX || min > max {
        return Err(invalid(format!("its range is {min} to {max}")));
    }
    let clipped = reader.push(Clip { min, max }, &[Arg::Operand(0)])?;
    let steps = reader.scaled(&clipped, scale.into())?;
    let steps = match mode {
        "HALF_TO_EVEN" => reader.function(Function::Round, &steps)?,
        "HALF_UP" => {
            let moved = reader.shifted(&steps, 0.5)?;
            reader.function(Function::Floor, &moved)?
        }
        other => return Err(Refusal::Unsupported(format!("`round_mode` is {other}"))),
    };
    let inverse = reader.number(&steps, inverse.into())?;
    reader.finish(Mul::float(), &[steps, inverse])
}
