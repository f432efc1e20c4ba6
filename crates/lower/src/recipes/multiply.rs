//! `multiply`: computes the elementwise product. acc = (q_a − z_a)·(q_b − z_b) on the grid s_a·s_b.

use super::NodeToLower;
use super::narrow::Product;
use super::product::of_activations;

use crate::lowering::Lowering;
use strait_core::Failure;
use strait_core::op::Mul;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let op = |[a_zero, b_zero]: [i32; 2], accumulator| {
        let mul = Mul {
            a_zero,
            b_zero,
            accumulator,
        };
        mul.into()
    };
    of_activations(lowering, site, 1, op, Product::Activations)
}
