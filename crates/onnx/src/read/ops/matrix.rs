//! Reads matrix products.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::Gemm;
use strait_import::matrix_product;

pub(super) const ROWS: &[Row] = &[
    Row::new("Gemm", 7, gemm).and(&[9, 11, 13]),
    Row::new("MatMul", 1, |reader| {
        reader.one_type([0, 1])?;
        reader.finish(matrix_product(), &[Arg::Operand(0), Arg::Operand(1)])
    })
    .and(&[9, 13]),
    Row::new("Einsum", 12, |reader| {
        let equation = reader.text("equation", "")?;
        strait_import::einsum(reader, equation)
    })
    .and(&[28]),
];

fn gemm(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = product(reader)?;
    reader.one_type([0, 1, 2])?;
    reader.finish(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
}

/// Makes the op for a matrix product with a bias from the attributes of the node.
pub(super) fn product(reader: &mut OperatorReader<'_, '_>) -> Result<Gemm, Refusal> {
    let rank = reader.rank(0)?;
    if rank != 2 {
        return Err(Refusal::invalid(
            ReasonCode::GemmRank,
            format!("a has rank {rank}, 2 is needed"),
        ));
    }
    Ok(Gemm {
        transpose_a: reader.flag("transA")?,
        transpose_b: reader.flag("transB")?,
        alpha: reader.float("alpha")?.unwrap_or(1.0),
        beta: reader.float("beta")?.unwrap_or(1.0),
        ..Gemm::canonical()
    })
}
