//! Reads operators whose result is an operand, unchanged.

use strait_core::op::Identity;
use strait_core::{Op, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Identity", identity),
    ("IdentityN", each),
    ("Snapshot", identity),
    ("StopGradient", identity),
    ("PreventGradient", identity),
    ("PlaceholderWithDefault", identity),
    ("CheckNumerics", identity),
    ("CheckNumericsV2", identity),
    ("EnsureShape", identity),
    ("Print", identity),
];

/// Makes operand 0 the result. Everything else that these operators do is only for debugging.
fn identity(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["message", "shape", "first_n", "summarize"]);
    pass(reader, 0, 0)
}

fn each(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    (0..reader.operand_count()).try_for_each(|position| pass(reader, position, position))
}

/// Makes an operand a result of the node. A constant stays a constant, and its elements are not copied.
fn pass(reader: &mut OperatorReader<'_, '_>, operand: usize, result: usize) -> Result<(), Refusal> {
    if let Some(tensor) = reader.constant(operand)? {
        reader.define_constant(result, tensor);
        return Ok(());
    }
    reader.finish_result(result, Op::from(Identity {}), &[Arg::Operand(operand)])
}

/// Reads a node of which only one operand and one result belong to branches that run: this operand becomes this result.
pub(super) fn passes(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["N"]);
    let result = (0..reader.result_count()).find(|&result| reader.has_result(result));
    match result {
        Some(result) => pass(reader, 0, result),
        None => Err(Refusal::invalid(ReasonCode::MissingTensor, "no result of it is there")),
    }
}
