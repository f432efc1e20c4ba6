//! Reads comparisons, logical operators, and selection by a condition.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{BinaryFunction, Function, Relation, Select};
use strait_core::{Elem, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("Equal", 7, |reader| compare(reader, Relation::Equal, [0, 1])).and(&[11, 13, 19]),
    Row::new("Less", 7, |reader| compare(reader, Relation::Less, [0, 1])).and(&[9, 13]),
    Row::new("Greater", 7, |reader| compare(reader, Relation::Less, [1, 0])).and(&[9, 13]),
    Row::new("LessOrEqual", 12, |reader| {
        compare(reader, Relation::LessOrEqual, [0, 1])
    })
    .and(&[16]),
    Row::new("GreaterOrEqual", 12, |reader| {
        compare(reader, Relation::LessOrEqual, [1, 0])
    })
    .and(&[16]),
    Row::new("And", 7, |reader| bits(reader, BinaryFunction::And)),
    Row::new("Or", 7, |reader| bits(reader, BinaryFunction::Or)),
    Row::new("Xor", 7, |reader| bits(reader, BinaryFunction::Xor)),
    Row::new("BitwiseAnd", 18, |reader| bits(reader, BinaryFunction::And)),
    Row::new("BitwiseOr", 18, |reader| bits(reader, BinaryFunction::Or)),
    Row::new("BitwiseXor", 18, |reader| bits(reader, BinaryFunction::Xor)),
    Row::new("BitwiseNot", 18, |reader| {
        // All bits of −1 are ones, and so are its low bits in every narrower type.
        let ones = Arg::Constant(TensorData::scalar(-1i64));
        reader.finish(BinaryFunction::Xor, &[Arg::Operand(0), ones])
    }),
    Row::new("BitShift", 11, bit_shift).and(&[28]),
    Row::new("Not", 1, |reader| not(reader, Arg::Operand(0))),
    Row::new("Where", 9, |reader| {
        reader.finish(Select {}, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
    })
    .and(&[16]),
    Row::new("IsNaN", 9, |reader| {
        // NaN is the only number that is not equal to itself.
        let equal = reader.compare(Relation::Equal, &Arg::Operand(0), &Arg::Operand(0))?;
        not(reader, equal)
    })
    .and(&[13, 20]),
    Row::new("IsInf", 10, is_infinite).and(&[20]),
];

fn not(reader: &mut OperatorReader<'_, '_>, x: Arg) -> Result<(), Refusal> {
    let no = Arg::Constant(reader.truths(&[], &[false])?);
    reader.finish(Relation::Equal, &[x, no])
}

fn compare(reader: &mut OperatorReader<'_, '_>, relation: Relation, order: [usize; 2]) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    reader.finish(relation, &order.map(Arg::Operand))
}

fn bits(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    reader.finish(function, &[Arg::Operand(0), Arg::Operand(1)])
}

fn bit_shift(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    match reader.text("direction", "")? {
        "LEFT" => bits(reader, BinaryFunction::ShiftLeft),
        // If the number is signed, a right shift repeats the sign bit.
        "RIGHT" => match reader.ty(0)?.elem {
            Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64 => bits(reader, BinaryFunction::ShiftRightUnsigned),
            _ => bits(reader, BinaryFunction::ShiftRight),
        },
        other => Err(Refusal::Unsupported(format!("`direction` is {other}"))),
    }
}

/// Reads IsInf. If only one infinity is detected, the operand is compared with that infinity. If both are detected, the
/// magnitude of the operand is compared with infinity.
fn is_infinite(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let negative = reader.int("detect_negative")?.unwrap_or(1) != 0;
    let positive = reader.int("detect_positive")?.unwrap_or(1) != 0;
    let (x, infinity) = match (negative, positive) {
        (true, true) => (reader.function(Function::Abs, &Arg::Operand(0))?, f32::INFINITY),
        (false, true) => (Arg::Operand(0), f32::INFINITY),
        (true, false) => (Arg::Operand(0), f32::NEG_INFINITY),
        (false, false) => {
            // No element is less than itself, so this is false everywhere.
            return reader.finish(Relation::Less, &[Arg::Operand(0), Arg::Operand(0)]);
        }
    };
    let infinity = Arg::Constant(TensorData::scalar(infinity));
    reader.finish(Relation::Equal, &[x, infinity])
}
