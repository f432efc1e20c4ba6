//! Reads fake quantization: floats are rounded to a grid and stay floats.
//!
//! TensorFlow shifts the range until zero is a step of the grid, clips to the range, and rounds halves up: ⌊(clip(x) −
//! min) / step + ½⌋ · step + min.

use strait_core::op::{Add, BinaryFunction, Clip, Function, Mul};
use strait_core::{ReasonCode, TensorData};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("FakeQuantWithMinMaxArgs", |node| {
        let min = node.float("min")?.unwrap_or(-6.0);
        let max = node.float("max")?.unwrap_or(6.0);
        let grid = Grid::nudged(&codes(node)?, min, max)?;
        one_grid(node, &grid)
    }),
    ("FakeQuantWithMinMaxVars", |node| {
        let [min, max] =
            [(1, "least number"), (2, "largest number")].map(|(position, what)| node.known_float(position, what));
        let (min, max) = (min?.unwrap_or(0.0), max?.unwrap_or(0.0));
        let grid = Grid::nudged(&codes(node)?, min, max)?;
        one_grid(node, &grid)
    }),
    ("FakeQuantWithMinMaxVarsPerChannel", by_channel),
    ("QuantizeAndDequantizeV2", |node| symmetric(node, Some([1, 2]))),
    ("QuantizeAndDequantizeV3", |node| symmetric(node, Some([1, 2]))),
    ("QuantizeAndDequantizeV4", |node| symmetric(node, Some([1, 2]))),
];

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::OperandType, text)
}

/// The smallest and the largest code.
fn codes(node: &mut Node<'_, '_>) -> Result<[f32; 2], Refusal> {
    let bits = node.int("num_bits")?.unwrap_or(8);
    if !(2..=16).contains(&bits) {
        return Err(invalid(format!("`num_bits` is {bits}")));
    }
    let least = if node.flag("narrow_range")? { 1.0 } else { 0.0 };
    Ok([least, ((1i64 << bits) - 1) as f32])
}

/// A grid: a range whose ends are steps, and in which zero is a step.
struct Grid {
    min: f32,
    max: f32,
    step: f32,
}

impl Grid {
    /// The grid of a range, computed with f32 operations in the same order as in TensorFlow.
    fn nudged(&[least, largest]: &[f32; 2], min: f32, max: f32) -> Result<Grid, Refusal> {
        if !(min.is_finite() && max.is_finite()) || min > max {
            return Err(invalid(format!("its range is {min} to {max}")));
        }
        let step = (max - min) / (largest - least);
        let zero = least - min / step;
        let zero = match zero {
            zero if zero < least => least,
            zero if zero > largest => largest,
            // If the range is only 0, the step is 0, and this is NaN.
            zero => zero.round(),
        };
        Ok(Grid {
            min: (least - zero) * step,
            max: (largest - zero) * step,
            step,
        })
    }

    /// True if the range is only 0.
    fn is_nothing(&self) -> bool {
        self.step == 0.0
    }
}

fn one_grid(node: &mut Node<'_, '_>, grid: &Grid) -> Result<(), Refusal> {
    if grid.is_nothing() {
        return node.finish(Clip { min: 0.0, max: 0.0 }, &[Arg::Operand(0)]);
    }
    let clip = Clip {
        min: grid.min,
        max: grid.max,
    };
    let clipped = node.push(clip, &[Arg::Operand(0)])?;
    let number = |value: f32| Arg::Constant(TensorData::scalar(value));
    rounded(
        node,
        &clipped,
        number(grid.min),
        number(1.0 / grid.step),
        number(grid.step),
    )
}

/// Rounds to steps counted from `min`, halves up.
fn rounded(node: &mut Node<'_, '_>, clipped: &Arg, min: Arg, inverse: Arg, step: Arg) -> Result<(), Refusal> {
    let moved = node.minus(clipped, &min)?;
    let steps = node.times(&moved, &inverse)?;
    let steps = node.shifted(&steps, 0.5)?;
    let steps = node.function(Function::Floor, &steps)?;
    let back = node.times(&steps, &step)?;
    node.finish(Add {}, &[back, min])
}

/// Fake quantization with a grid for each position of the last axis.
fn by_channel(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let codes = codes(node)?;
    let mut list = |position, what: &str| -> Result<Vec<f32>, Refusal> {
        let tensor = node
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
    let constant = |node: &Node<'_, '_>, of: fn(&Grid) -> f32| {
        let numbers = grids.iter().map(|grid| if grid.is_nothing() { 0.0 } else { of(grid) });
        Ok::<Arg, Refusal>(Arg::Constant(node.floats_of(&[count], &numbers.collect::<Vec<f32>>())?))
    };
    let (low, high) = (constant(node, |grid| grid.min)?, constant(node, |grid| grid.max)?);
    let (inverse, step) = (
        constant(node, |grid| 1.0 / grid.step)?,
        constant(node, |grid| grid.step)?,
    );
    let clipped = node.binary(BinaryFunction::Maximum, &Arg::Operand(0), &low)?;
    let clipped = node.binary(BinaryFunction::Minimum, &clipped, &high)?;
    rounded(node, &clipped, low, inverse, step)
}

/// Symmetric fake quantization with a given range: codes are round(x · scale), and are scaled back by 1 / scale.
fn symmetric(node: &mut Node<'_, '_>, range: Option<[usize; 2]>) -> Result<(), Refusal> {
    let signed = !node.has_attribute("signed_input") || node.flag("signed_input")?;
    let narrow = node.flag("narrow_range")?;
    let given = match node.op() {
        "QuantizeAndDequantizeV2" => node.has_attribute("range_given") && node.flag("range_given")?,
        _ => !node.has_attribute("range_given") || node.flag("range_given")?,
    };
    if !given {
        let text = "its range is that of the numbers that it is given; give it one, with `range_given`";
        return Err(Refusal::unsupported(text));
    }
    if node.int("axis")?.unwrap_or(-1) != -1 {
        return Err(Refusal::unsupported("it has a range for each position of an axis"));
    }
    let bits = match node.op() {
        "QuantizeAndDequantizeV3" => {
            let bits = node.known_ints(3, "number of bits")?.unwrap_or_default();
            bits.first().copied().unwrap_or(8)
        }
        _ => node.int("num_bits")?.unwrap_or(8),
    };
    if !(2..=16).contains(&bits) {
        return Err(invalid(format!("it rounds to {bits} bits")));
    }
    let mode = node.text("round_mode", "HALF_TO_EVEN")?;
    let [low, high] = range.unwrap_or([1, 2]);
    let (min, max) = (
        node.known_float(low, "least number")?,
        node.known_float(high, "largest number")?,
    );
    let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(0.0));
    let [least, largest] = match (signed, narrow) {
        (false, _) => [0.0, ((1i64 << bits) - 1) as f32],
        (true, false) => [-((1i64 << (bits - 1)) as f32), ((1i64 << (bits - 1)) - 1) as f32],
        (true, true) => [-(((1i64 << (bits - 1)) - 1) as f32), ((1i64 << (bits - 1)) - 1) as f32],
    };
    // The end of the range that needs the larger steps decides.
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
    let clipped = node.push(Clip { min, max }, &[Arg::Operand(0)])?;
    let steps = node.scaled(&clipped, scale.into())?;
    let steps = match mode {
        "HALF_TO_EVEN" => node.function(Function::Round, &steps)?,
        "HALF_UP" => {
            let moved = node.shifted(&steps, 0.5)?;
            node.function(Function::Floor, &moved)?
        }
        other => return Err(Refusal::Unsupported(format!("`round_mode` is {other}"))),
    };
    let inverse = node.number(&steps, inverse.into())?;
    node.finish(Mul::float(), &[steps, inverse])
}
