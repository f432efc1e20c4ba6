//! Reads matrix products.

use std::slice::from_ref;

use strait_core::op::{Identity, Transpose};
use strait_import::{Arg, Refusal, einsum, matrix_product};

use super::Row;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("MatMul", |node| product(node, ["transpose_a", "transpose_b"])),
    ("BatchMatMul", |node| product(node, ["adj_x", "adj_y"])),
    ("BatchMatMulV2", |node| product(node, ["adj_x", "adj_y"])),
    ("BatchMatMulV3", |node| product(node, ["adj_x", "adj_y"])),
    ("Einsum", |node| {
        node.ignore(&["N"]);
        let equation = node.text("equation", "")?;
        einsum(node, equation)
    }),
];

fn product(node: &mut Node<'_, '_>, turned: [&'static str; 2]) -> Result<(), Refusal> {
    // These attributes only concern gradients.
    node.ignore(&["grad_a", "grad_b", "grad_x", "grad_y"]);
    node.one_type([0, 1])?;
    let mut args = [Arg::Operand(0), Arg::Operand(1)];
    for (arg, key) in args.iter_mut().zip(turned) {
        if node.flag(key)? {
            *arg = last_two_turned(node, arg)?;
        }
    }
    node.finish(matrix_product(), &args)
}

/// The value with its last two axes swapped.
fn last_two_turned(node: &mut Node<'_, '_>, x: &Arg) -> Result<Arg, Refusal> {
    let rank = node.arg_type(x)?.shape.len();
    let mut permutation: Vec<u32> = (0..rank as u32).collect();
    match permutation.as_mut_slice() {
        [.., a, b] => std::mem::swap(a, b),
        // Shape inference reports what is wrong with it.
        _ => return node.push(Identity {}, from_ref(x)),
    }
    let permutation = permutation.into();
    node.push(Transpose { permutation }, from_ref(x))
}
