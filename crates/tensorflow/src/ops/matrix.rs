//! Reads matrix products.

use std::slice::from_ref;

use strait_core::op::Identity;
use strait_import::{Arg, Refusal, einsum, matrix_product};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("MatMul", |reader| product(reader, ["transpose_a", "transpose_b"])),
    ("BatchMatMul", |reader| product(reader, ["adj_x", "adj_y"])),
    ("BatchMatMulV2", |reader| product(reader, ["adj_x", "adj_y"])),
    ("BatchMatMulV3", |reader| product(reader, ["adj_x", "adj_y"])),
    ("Einsum", |reader| {
        reader.ignore(&["N"]);
        let equation = reader.text("equation", "")?;
        einsum(reader, equation)
    }),
];

fn product(reader: &mut OperatorReader<'_, '_>, turned: [&'static str; 2]) -> Result<(), Refusal> {
    // These attributes only concern gradients.
    reader.ignore(&["grad_a", "grad_b", "grad_x", "grad_y"]);
    reader.one_type([0, 1])?;
    let mut args = [Arg::Operand(0), Arg::Operand(1)];
    for (arg, key) in args.iter_mut().zip(turned) {
        if reader.flag(key)? {
            *arg = last_two_turned(reader, arg)?;
        }
    }
    reader.finish(matrix_product(), &args)
}

/// A value whose last two axes are swapped.
fn last_two_turned(reader: &mut OperatorReader<'_, '_>, x: &Arg) -> Result<Arg, Refusal> {
    let rank = reader.arg_type(x)?.shape.len();
    let mut permutation: Vec<u32> = (0..rank as u32).collect();
    match permutation.as_mut_slice() {
        [.., a, b] => std::mem::swap(a, b),
        // If the operand has fewer than two axes, shape inference will report the error.
        _ => return reader.push(Identity {}, from_ref(x)),
    }
    reader.transposed(x, &permutation)
}
