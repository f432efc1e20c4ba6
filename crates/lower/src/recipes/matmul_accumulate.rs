//! `matmul_accumulate`: computes the matrix product of two activations a and b, with the codes q_a and q_b. acc = Σ
//! (q_a − z_a)·(q_b − z_b) on the grid with the scale s_a·s_b.

use super::NodeToLower;
use super::narrow::Product;
use super::product::of_activations;

use crate::lowering::Lowering;
use strait_core::Failure;
use strait_core::op::MatMul;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let rows = lowering.operand(site, 0)?.value;
    let count = lowering.dims(rows).last().copied().unwrap_or(1);
    let op = |[a_zero, b_zero]: [i32; 2], accumulator| {
        let product = MatMul {
            a_zero,
            b_zero,
            accumulator,
        };
        product.into()
    };
    of_activations(lowering, site, count, op, Product::Matrices)
}
