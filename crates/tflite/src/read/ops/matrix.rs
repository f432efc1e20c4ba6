//! Reads operators on diagonals of matrices.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{Relation, Select};

pub(super) const ROWS: &[Row] = &[
    Row::new("MATRIX_DIAG", 1, matrix_diag),
    Row::new("MATRIX_SET_DIAG", 1, matrix_set_diag).on_one_grid(),
];

/// A matrix of booleans that is true on the diagonal.
fn diagonal(reader: &mut OperatorReader<'_, '_>, rows: i64, columns: i64) -> Result<Arg, Refusal> {
    let rows = reader.counted(&[rows.unsigned_abs(), 1], rows)?;
    let columns = reader.counted(&[1, columns.unsigned_abs()], columns)?;
    reader.compare(Relation::Equal, &rows, &columns)
}

/// Reads an operator that makes diagonal matrices: the elements along the last axis become the diagonal, and all other
/// elements are 0.
fn matrix_diag(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if reader.operand_grid(0).is_some() {
        return Err(Refusal::unsupported(
            "it puts the code 0 beside the diagonal, whatever that stands for",
        ));
    }
    let x = Arg::Operand(0);
    let Some(&extent) = reader.extents(&x)?.last() else {
        return Err(Refusal::invalid(ReasonCode::Operands, "its operand is a scalar"));
    };
    let places = diagonal(reader, extent, extent)?;
    let elem = reader.ty(0)?.elem;
    let zero = reader.number(&x, 0.0)?;
    let zero = reader.converted(&zero, elem)?;
    let columns = reader.unsqueezed(&x, &[-1])?;
    reader.finish(Select {}, &[places, columns, zero])
}

/// Reads an operator that replaces the diagonals of matrices. Operands: the matrices, and their new diagonals.
fn matrix_set_diag(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let extents = reader.extents(&Arg::Operand(0))?;
    let &[.., rows, columns] = extents.as_slice() else {
        return Err(Refusal::invalid(ReasonCode::Operands, "its operand is no matrix"));
    };
    let mut wanted = extents[..extents.len() - 1].to_vec();
    if let Some(last) = wanted.last_mut() {
        *last = rows.min(columns);
    }
    if reader.extents(&Arg::Operand(1))? != wanted {
        let text = format!("a diagonal is not of shape {wanted:?}");
        return Err(Refusal::invalid(ReasonCode::Operands, text));
    }
    let places = diagonal(reader, rows, columns)?;
    // The new diagonal runs along the shorter axis and is broadcast along the other axis. The selection then takes only
    // its elements at equal row and column.
    let axis = if rows <= columns { -1 } else { -2 };
    let new = reader.unsqueezed(&Arg::Operand(1), &[axis])?;
    reader.finish(Select {}, &[places, new, Arg::Operand(0)])
}
