//! Reads elementwise arithmetic on two or more operands.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Add, BinaryFunction, Cast, Div, Mul, Op, Pow, Sub};

pub(super) const ROWS: &[Row] = &[
    Row::new("Add", 7, |reader| binary(reader, Add {})).and(&[13, 14]),
    Row::new("Sub", 7, |reader| binary(reader, Sub {})).and(&[13, 14]),
    Row::new("Mul", 7, |reader| binary(reader, Mul::float())).and(&[13, 14]),
    Row::new("Div", 7, |reader| binary(reader, Div {})).and(&[13, 14]),
    Row::new("Pow", 7, pow).and(&[12, 13, 15]),
    Row::new("Sum", 6, |reader| reader.finish_from_left(Add {})).and(&[8, 13]),
    Row::new("Max", 6, |reader| extreme(reader, BinaryFunction::Maximum)).and(&[8, 12, 13]),
    Row::new("Min", 6, |reader| extreme(reader, BinaryFunction::Minimum)).and(&[8, 12, 13]),
    Row::new("Mod", 10, |reader| {
        let function = match reader.flag("fmod")? {
            true => BinaryFunction::Remainder,
            false => BinaryFunction::Modulo,
        };
        binary(reader, function)
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

/// Reads a maximum or minimum of any number of operands, which are combined from left to right. If there are two
/// operands and one of them is a constant number, the node becomes a clip.
fn extreme(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    if reader.operand_count() == 2 && reader.finish_as_clip(function)? {
        return Ok(());
    }
    reader.finish_from_left(function)
}
