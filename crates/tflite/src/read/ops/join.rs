//! Reads operators that join several tensors into one.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::Activation;
use strait_core::op::Concat;

pub(super) const ROWS: &[Row] = &[
    Row::new("CONCATENATION", 7, concatenation).on_one_grid(),
    Row::new("PACK", 5, pack).on_one_grid(),
    Row::new("TILE", 3, tile).on_one_grid(),
];

fn concatenation(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, ConcatenationOptions);
    let axis = i64::from(option!(options, axis, 0));
    let activation = option!(options, fused_activation_function, Activation::None);
    let count = reader.operand_count();
    reader.one_type(0..count)?;
    let all: Vec<Arg> = (0..count).map(Arg::Operand).collect();
    reader.finish_activated(Concat { axis }, &all, activation)
}

fn pack(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, PackOptions);
    let count = reader.operand_count();
    reader.one_type(0..count)?;
    let rank = reader.rank(0)? + 1;
    let axis = reader.axis(option!(options, axis, 0).into(), rank)? as i64;
    let mut parts = Vec::with_capacity(count);
    for position in 0..count {
        parts.push(reader.unsqueezed(&Arg::Operand(position), &[axis])?);
    }
    reader.finish(Concat { axis }, &parts)
}

fn tile(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let repeats = reader.known_ints(1, "repeats")?.unwrap_or_default();
    let (op, args) = reader.tiled(Arg::Operand(0), &repeats)?;
    reader.finish(op, &args)
}
