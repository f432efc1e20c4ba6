//! Reads fully connected layers and matrix products.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::{Activation, WeightsFormat};
use strait_core::ReasonCode;
use strait_core::op::{Gemm, Reshape};
use strait_import::matrix_product;

pub(super) const ROWS: &[Row] = &[
    Row::new("FULLY_CONNECTED", 14, fully_connected),
    Row::new("BATCH_MATMUL", 4, batch_matmul),
];

/// Reads a fully connected layer: x · wᵀ + b over the last axis of x, with weights [O, K]. All axes before the last are
/// joined into one, unless the options say that they are kept.
fn fully_connected(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, FullyConnectedOptions);
    if option!(options, weights_format, WeightsFormat::Default) != WeightsFormat::Default {
        return Err(Refusal::unsupported("its weights are shuffled for one runtime"));
    }
    let activation = option!(options, fused_activation_function, Activation::None);
    let keeps = option!(options, keep_num_dims, false);
    reader.not_hybrid(0, 1)?;
    reader.of_rank(1, 2)?;
    let rank = reader.rank(0)?;
    if keeps && rank != 2 {
        let weight = reader.transposed(&Arg::Operand(1), &[1, 0])?;
        if !reader.has(2) {
            return reader.finish_activated(matrix_product(), &[Arg::Operand(0), weight], activation);
        }
        let product = reader.product(&Arg::Operand(0), &weight)?;
        return reader.finish_activated(strait_core::op::Add {}, &[product, Arg::Operand(2)], activation);
    }
    let mut x = Arg::Operand(0);
    if rank != 2 || reader.ty(0)?.shape.last() != reader.ty(1)?.shape.last() {
        let inner = reader.extents(&Arg::Operand(1))?.get(1).copied().unwrap_or(0);
        if inner <= 0 {
            return Err(Refusal::invalid(ReasonCode::GemmInner, "its weights have no elements"));
        }
        let flat = Reshape {
            shape: [-1, inner].as_slice().into(),
        };
        x = reader.push(flat, &[x])?;
    }
    let op = Gemm {
        transpose_b: true,
        ..Gemm::canonical()
    };
    reader.finish_activated(op, &[x, Arg::Operand(1), Arg::Operand(2)], activation)
}

fn batch_matmul(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let options = options!(reader, BatchMatMulOptions);
    let turned = [option!(options, adj_x, false), option!(options, adj_y, false)];
    reader.not_hybrid(0, 1)?;
    let mut args = [Arg::Operand(0), Arg::Operand(1)];
    for (position, _) in turned.iter().enumerate().filter(|(_, turned)| **turned) {
        let rank = reader.rank(position)? as u32;
        if rank < 2 {
            return Err(Refusal::invalid(ReasonCode::MatmulRank, "an operand is no matrix"));
        }
        let permutation: Vec<u32> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        args[position] = reader.transposed(&Arg::Operand(position), &permutation)?;
    }
    reader.finish(matrix_product(), &args)
}
