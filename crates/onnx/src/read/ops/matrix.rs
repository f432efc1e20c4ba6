//! Reads matrix products.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::op::{Gemm, MatMul};
use strait_core::{Carrier, ReasonCode, WeightZero};

pub(super) const ROWS: &[Row] = &[
    Row::new("Gemm", 7, gemm).and(&[9, 11, 13]),
    Row::new("MatMul", 1, |site| {
        let op = MatMul {
            a_zero: 0,
            b_zero: 0,
            accumulator: Carrier::I32,
        };
        site.one_type([0, 1])?;
        site.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
    })
    .and(&[9, 13]),
    Row::new("Einsum", 12, |site| {
        let equation = site.text("equation", "")?;
        strait_import::einsum(site, equation)
    })
    .and(&[28]),
];

fn gemm(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let op = product(site)?;
    site.one_type([0, 1, 2])?;
    site.finish(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
}

/// The op for a matrix product with a bias, from the node's attributes.
pub(super) fn product(site: &mut NodeReader<'_, '_>) -> Result<Gemm, Refusal> {
    let rank = site.rank(0)?;
    if rank != 2 {
        return Err(Refusal::invalid(
            ReasonCode::GemmRank,
            format!("a has rank {rank}, 2 is needed"),
        ));
    }
    Ok(Gemm {
        transpose_a: site.flag("transA")?,
        transpose_b: site.flag("transB")?,
        alpha: site.float("alpha")?.unwrap_or(1.0),
        beta: site.float("beta")?.unwrap_or(1.0),
        accumulator: Carrier::I32,
        weight_zero: WeightZero::default(),
    })
}
