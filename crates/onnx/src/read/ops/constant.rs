//! Reads three families of operators: constants, operators whose result is constant because shapes are known, and
//! operators that do nothing outside of training.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::op::{BitCast, Cast, Expand, Identity, Reshape, ShapeOf};
use strait_core::{Dim, Elem, ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("Constant", 1, constant).and(&[9, 11, 12, 13, 19, 21, 23, 24, 25]),
    Row::new("ConstantOfShape", 9, constant_of_shape).and(&[20, 21, 23, 24, 25]),
    Row::new("Shape", 1, shape).and(&[13, 15, 19, 21, 23, 24, 25]),
    Row::new("Size", 1, |reader| {
        let extents = extents(reader, None, None)?;
        let size = extents.iter().try_fold(1i64, |n, d| n.checked_mul(*d));
        let size = size.ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "the number of elements overflows"))?;
        reader.finish_constant(TensorData::scalar(size));
        Ok(())
    })
    .and(&[13, 19, 21, 23, 24, 25]),
    Row::new("Cast", 6, cast).and(&[9, 13, 19, 21, 23, 24, 25, 28]),
    Row::new("BitCast", 26, bit_cast),
    Row::new("Identity", 1, |reader| reader.finish(Identity {}, &[Arg::Operand(0)]))
        .and(&[13, 14, 16, 19, 21, 23, 24, 25]),
    Row::new("Dropout", 7, dropout).and(&[10, 12, 13, 22]),
];

/// The largest number of elements that the result of a `ConstantOfShape` may have. The limit is needed because the
/// elements are stored one by one.
const MOST_REPEATED: u64 = 1 << 20;

/// Reads Constant. One of several attributes has the value of the constant.
fn constant(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let tensor = if let Some(tensor) = reader.tensor("value")? {
        tensor
    } else if let Some(value) = reader.float("value_float")? {
        TensorData::scalar(value)
    } else if let Some(values) = reader.floats("value_floats")? {
        TensorData::from_values(&[values.len() as u64], values)?
    } else if let Some(value) = reader.int("value_int")? {
        TensorData::scalar(value)
    } else if let Some(values) = reader.ints("value_ints")? {
        TensorData::from_values(&[values.len() as u64], values)?
    } else {
        return Err(Refusal::unsupported("it holds no tensor, numbers or lists of numbers"));
    };
    reader.finish_constant(tensor);
    Ok(())
}

/// Reads ConstantOfShape: a tensor filled with one value.
fn constant_of_shape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if let Some(shape) = reader.late_list(0)? {
        let value = reader.tensor("value")?.unwrap_or_else(|| TensorData::scalar(0f32));
        let value = reader.push(Reshape { shape: SmallVec::new() }, &[Arg::Constant(value)])?;
        let extents = reader.indices(0)?;
        return reader.finish(Expand { shape: shape.into() }, &[value, extents]);
    }
    let shape = reader.known_ints(0, "shape")?.unwrap_or_default();
    let shape: Result<Vec<u64>, _> = shape.iter().map(|&d| u64::try_from(d)).collect();
    let shape = shape.map_err(|_| Refusal::invalid(ReasonCode::Constant, "an extent is negative"))?;
    let value = reader.tensor("value")?.unwrap_or_else(|| TensorData::scalar(0f32));
    if value.len() != 1 {
        return Err(Refusal::invalid(ReasonCode::Constant, "`value` is not a single number"));
    }
    let count = shape
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(*d))
        .filter(|&n| n <= MOST_REPEATED && reader.builder.may_write(n));
    let count = count.ok_or_else(|| Refusal::Unsupported(format!("a constant of shape {shape:?} is too large")))?;
    let bytes = value.unpacked().repeat(count as usize);
    reader.finish_constant(TensorData::from_unpacked(value.elem(), &shape, bytes.into())?);
    Ok(())
}

/// Reads Shape: the shape of the operand. From operator set 15 on, `start` and `end` can take a part of it, as in a
/// slice of a Python list.
fn shape(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (start, end) = (reader.int("start")?, reader.int("end")?);
    if reader.has_open_extent(0)? {
        let all = reader.push(ShapeOf {}, &[Arg::Operand(0)])?;
        let part = reader.part(&all, 0, start.unwrap_or(0), end.unwrap_or(i64::MAX))?;
        return reader.finish(Identity {}, &[part]);
    }
    let extents = extents(reader, start, end)?;
    reader.finish_constant(TensorData::from_values(&[extents.len() as u64], &extents)?);
    Ok(())
}

/// The extents of operand 0 from axis `start` to axis `end`. These extents have to be fixed.
fn extents(reader: &mut OperatorReader<'_, '_>, start: Option<i64>, end: Option<i64>) -> Result<Vec<i64>, Refusal> {
    let shape = reader.ty(0)?.shape;
    let rank = shape.len() as i64;
    let place = |axis: i64| (if axis < 0 { axis.saturating_add(rank) } else { axis }).clamp(0, rank) as usize;
    let (start, end) = (place(start.unwrap_or(0)), place(end.unwrap_or(rank)));
    let extents = shape.iter().take(end).skip(start);
    extents
        .map(|dim| match dim {
            Dim::Fixed(extent) => {
                i64::try_from(*extent).map_err(|_| Refusal::invalid(ReasonCode::Limit, "an axis is too long"))
            }
            Dim::Named(_) => {
                let text = "the shape has a symbolic dimension; bind it to a number";
                Err(Refusal::invalid(ReasonCode::SymbolicShape, text))
            }
        })
        .collect()
}

/// The type that a cast converts to.
fn target(reader: &mut OperatorReader<'_, '_>) -> Result<Elem, Refusal> {
    let missing = || Refusal::invalid(ReasonCode::Cast, "`to` is missing");
    reader.elem("to")?.ok_or_else(missing)
}

fn cast(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    // These attributes say how numbers are rounded to 8-bit floats, which Strait does not read.
    reader.ignore(&["saturate", "round_mode"]);
    let to = target(reader)?;
    let to = computed(reader, to)?;
    reader.finish(Cast { to }, &[Arg::Operand(0)])
}

/// Reads BitCast between integers of the same width, signed or unsigned, or booleans. It becomes a conversion of
/// numbers: such a conversion keeps the low bits, which here are all the bits.
fn bit_cast(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let to = target(reader)?;
    let (x, from) = (Arg::Operand(0), reader.ty(0)?.elem);
    if from.size() != to.size() {
        let text = format!("the bits of {from}, as which its operand is computed, are not those of {to}");
        return Err(Refusal::Unsupported(text));
    }
    if !from.is_float() && !to.is_float() {
        return reader.finish(Cast { to }, &[x]);
    }
    match computed(reader, to)? {
        same if same == to => reader.finish(BitCast { to }, &[x]),
        other => {
            let number = reader.push(BitCast { to }, &[x])?;
            reader.finish(Cast { to: other }, &[number])
        }
    }
}

/// Returns the type that a value gets in the graph if it has the type `elem` in the model. Every float becomes f32.
/// Only constants of f64 stay f64, so that they are folded with full precision.
fn computed(reader: &mut OperatorReader<'_, '_>, elem: Elem) -> Result<Elem, Refusal> {
    let wide = elem == Elem::F64 && reader.constant(0)?.is_some();
    Ok(if elem.is_float() && !wide { Elem::F32 } else { elem })
}

/// Reads Dropout. Outside of training, and in training with a ratio of 0, nothing is dropped. In any other case the
/// result is random, so the node is refused.
fn dropout(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["ratio", "seed"]);
    let training = match reader.opset() {
        ..12 => None,
        _ => reader.known(2, "training mode")?,
    };
    let is_training = training.is_some_and(|mode| mode.to_i64().is_ok_and(|v| v.iter().any(|&v| v != 0)));
    if is_training && (!reader.has(1) || reader.known_float(1, "ratio")? != Some(0.0)) {
        return Err(Refusal::unsupported(
            "it is in training mode and drops elements at random",
        ));
    }
    if reader.has_result(1) {
        mask(reader)?;
    }
    reader.finish_result(0, Identity {}, &[Arg::Operand(0)])
}

/// Adds the second result of dropout, a mask of the elements that are kept. Here all elements are kept. Up to operator
/// set 9, the mask has the type of the operand.
fn mask(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let extents = reader.extents(&Arg::Operand(0))?;
    let shape: Vec<u64> = extents.iter().map(|extent| extent.unsigned_abs()).collect();
    let count = reader.room(&shape)?;
    let ones = Arg::Constant(reader.truths(&shape, &vec![true; count])?);
    match reader.opset() {
        ..10 => reader.finish_result(1, Cast { to: Elem::F32 }, &[ones]),
        _ => reader.finish_result(1, Identity {}, &[ones]),
    }
}
