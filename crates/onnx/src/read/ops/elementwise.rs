//! Reads elementwise arithmetic on two or more operands.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{Add, Binary, BinaryFunction, Cast, Clip, Div, Identity, Mul, Op, Pow, Sub};

pub(super) const ROWS: &[Row] = &[
    Row::new("Add", 7, |reader| binary(reader, Add {})).and(&[13, 14]),
    Row::new("Sub", 7, |reader| binary(reader, Sub {})).and(&[13, 14]),
    Row::new("Mul", 7, |reader| binary(reader, Mul::float())).and(&[13, 14]),
    Row::new("Div", 7, |reader| binary(reader, Div {})).and(&[13, 14]),
    Row::new("Pow", 7, pow).and(&[12, 13, 15]),
    Row::new("Sum", 6, |reader| variadic(reader, Add {})).and(&[8, 13]),
    Row::new("Max", 6, |reader| extreme(reader, BinaryFunction::Maximum)).and(&[8, 12, 13]),
    Row::new("Min", 6, |reader| extreme(reader, BinaryFunction::Minimum)).and(&[8, 12, 13]),
    Row::new("Mod", 10, |reader| {
        let function = match reader.flag("fmod")? {
            true => BinaryFunction::Remainder,
            false => BinaryFunction::Modulo,
        };
        binary(reader, Binary { function })
    })
    .and(&[13, 28]),
];

fn binary(reader: &mut OperatorReader<'_, '_>, op: impl Into<Op>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
}

/// Reads Pow. The exponent and the base may have different types; the result has the type of the base.
fn pow(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (base, exponent) = (reader.ty(0)?.elem, reader.ty(1)?.elem);
    let exponent = match base == exponent {
        true => Arg::Operand(1),
        false => reader.push(Cast { to: base }, &[Arg::Operand(1)])?,
    };
    reader.finish(Pow {}, &[Arg::Operand(0), exponent])
}

/// Reads a function of any number of operands, which is applied from left to right.
fn variadic(reader: &mut OperatorReader<'_, '_>, op: impl Into<Op>) -> Result<(), Refusal> {
    let (count, op) = (reader.operand_count(), op.into());
    reader.one_type(0..count)?;
    let mut result = Arg::Operand(0);
    for position in 1..count.saturating_sub(1) {
        result = reader.push(op.clone(), &[result, Arg::Operand(position)])?;
    }
    match count {
        0 => Err(Refusal::invalid(ReasonCode::MissingOperand, "it has no operands")),
        1 => reader.finish(Identity {}, &[result]),
        _ => reader.finish(op, &[result, Arg::Operand(count - 1)]),
    }
}

/// Reads the maximum or minimum of any number of operands, which is computed from left to right. If one of two operands
/// is a constant number, the node becomes a clip, which targets support.
fn extreme(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    let count = reader.operand_count();
    if count == 2
        && let Some((value, bound)) = bound(reader)?
    {
        let clip = match function {
            BinaryFunction::Maximum => Clip {
                min: bound,
                max: f32::INFINITY,
            },
            _ => Clip {
                min: f32::NEG_INFINITY,
                max: bound,
            },
        };
        return reader.finish(clip, &[Arg::Operand(value)]);
    }
    variadic(reader, Binary { function })
}

/// If one of the two operands is a constant number and the other is a value, returns the position of the value, and the
/// number.
fn bound(reader: &mut OperatorReader<'_, '_>) -> Result<Option<(usize, f32)>, Refusal> {
    for (value, number) in [(0, 1), (1, 0)] {
        let rank = reader.rank(value)?;
        let Some(tensor) = reader.constant(number)? else {
            continue;
        };
        let is_value = reader.constant(value)?.is_none();
        // A number with more axes than the value would give the result more axes.
        if is_value && tensor.len() == 1 && tensor.shape().len() <= rank && tensor.elem().is_float() {
            return Ok(reader.known_float(number, "bound")?.map(|number| (value, number)));
        }
    }
    Ok(None)
}
