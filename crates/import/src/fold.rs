//! Constant folding while a model is read.
//!
//! Exporters compute shapes, masks and positions in the graph: `Shape` → `Gather` → `Mul` → `Concat` → `Reshape`. If
//! all shapes are known, such a chain computes a constant, and the last op needs the value of this constant. The
//! executor computes the chain with the same arithmetic that a run of the graph would use: integers in i64, f64 in f64,
//! every other float in f32. Weights larger than [`MOST_ELEMENTS`] are left to the canonicaliser, which uses the same
//! arithmetic.

use crate::numbers::has_nan;
use smallvec::SmallVec;
use strait_core::op::{Cast, Op};
use strait_core::shape::fixed_dims;
use strait_core::{Elem, Kind, TensorData, TensorType};
use strait_execute::operations;

/// Limit on the number of elements of a folded constant. The largest constants that exporters leave to be folded are
/// the relative positions of a thousand tokens to each other, and masks with as many elements.
const MOST_ELEMENTS: u64 = 1 << 21;

/// Returns the results of an op on constants. Returns `None` if a result is too large, if `may_take` refuses the number
/// of operations, or if the op is not defined for these operands. In these cases the op stays in the graph.
pub(crate) fn evaluate(
    op: &Op,
    operands: &[Option<&TensorData>],
    may_take: impl FnOnce(u64) -> bool,
) -> Option<Vec<TensorData>> {
    if operands.iter().flatten().any(|o| o.len() as u64 > MOST_ELEMENTS) || operands.iter().flatten().next().is_none() {
        return None;
    }
    let types: SmallVec<[Option<TensorType>; 3]> = operands.iter().map(|o| o.map(TensorData::tensor_type)).collect();
    let types: SmallVec<[Option<&TensorType>; 3]> = types.iter().map(Option::as_ref).collect();
    let results = op.infer(&types).ok()?;
    for result in &results {
        let shape = fixed_dims(&result.shape)?;
        if shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))? > MOST_ELEMENTS {
            return None;
        }
    }
    if !may_take(operations(op, &types, &results.iter().collect::<SmallVec<[_; 1]>>())) {
        return None;
    }
    let results = strait_execute::evaluate(op, operands).ok()?;
    // Constants in a graph are never NaN. If a model divides 0 by 0, the division stays in the graph and is done at run
    // time.
    (!results.iter().any(has_nan)).then_some(results)
}

/// The same numbers in another element type; `None` if we do not support this conversion.
pub(crate) fn convert(tensor: &TensorData, to: Elem) -> Option<TensorData> {
    if tensor.elem() == to {
        return Some(tensor.clone());
    }
    strait_execute::evaluate(&Cast { to }.into(), &[Some(tensor)])
        .ok()?
        .pop()
}

/// True if the op computes with the numbers of its operands. False if it only moves them.
pub(crate) fn computes(op: &Op) -> bool {
    match op {
        // These ops only move integers, or take positions that the reader has already widened.
        Op::If(_) | Op::Loop(_) | Op::Call(_) => false,
        Op::Select(_) | Op::Scatter(_) | Op::Recurrent(_) | Op::RoiAlign(_) => false,
        Op::Binary(_) => true,
        _ => !matches!(
            op.term().kind(),
            Kind::Rearranges | Kind::Moves | Kind::Converts | Kind::Extends | Kind::Boundary
        ),
    }
}

/// True for integer types whose ops compute in i64 instead, because the types are narrower or unsigned.
pub(crate) fn is_narrow(elem: Elem) -> bool {
    elem.int_type().is_some() || matches!(elem, Elem::U32 | Elem::U64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;
    use strait_core::op::{Add, Cast, Concat, Div, Gather, Mul, Slice, Unary, Unsqueeze};

    fn ints(values: &[i64]) -> TensorData {
        TensorData::from_values(&[values.len() as u64], values).unwrap()
    }

    fn check(op: impl Into<Op>, operands: &[&TensorData], expect: Option<&TensorData>) {
        let op = op.into();
        let operands: Vec<Option<&TensorData>> = operands.iter().map(|&o| Some(o)).collect();
        let results = evaluate(&op, &operands, |_| true);
        assert_eq!(results.as_deref().and_then(<[_]>::first), expect, "{op:?}");
    }

    #[test]
    fn shape_arithmetic_is_done_exactly() {
        let (mul, plain) = (Mul::float(), ints(&[2, 3, 4]));
        let slice = |starts, ends, steps| Slice {
            starts: smallvec![starts],
            ends: smallvec![ends],
            axes: smallvec![0],
            steps: smallvec![steps],
        };
        let scalar = TensorData::scalar(2i64);
        check(Gather { axis: 0 }, &[&plain, &ints(&[-1, 0])], Some(&ints(&[4, 2])));
        check(
            Gather { axis: 0 },
            &[&plain, &TensorData::scalar(1i64)],
            Some(&TensorData::scalar(3i64)),
        );
        check(Gather { axis: 0 }, &[&plain, &ints(&[3])], None);
        check(slice(-1, i64::MIN, -2), &[&plain], Some(&ints(&[4, 2])));
        check(Concat { axis: 0 }, &[&plain, &ints(&[9])], Some(&ints(&[2, 3, 4, 9])));
        check(Unsqueeze { axes: smallvec![0] }, &[&scalar], Some(&ints(&[2])));
        check(Add {}, &[&plain, &scalar], Some(&ints(&[4, 5, 6])));
        check(mul, &[&scalar, &plain], Some(&ints(&[4, 6, 8])));
        check(
            Unary {
                function: strait_core::op::Function::Neg,
            },
            &[&plain],
            Some(&ints(&[-2, -3, -4])),
        );
        check(Div {}, &[&ints(&[-7, 7]), &scalar], Some(&ints(&[-3, 3])));
        check(Div {}, &[&plain, &TensorData::scalar(0i64)], None);
        check(Add {}, &[&ints(&[i64::MAX]), &ints(&[1])], Some(&ints(&[i64::MIN])));
    }

    #[test]
    fn rows_of_matrices_are_joined_and_cut() {
        let a = TensorData::from_values(&[2, 2], &[1i64, 2, 3, 4]).unwrap();
        let b = TensorData::from_values(&[2, 1], &[8i64, 9]).unwrap();
        let joined = TensorData::from_values(&[2, 3], &[1i64, 2, 8, 3, 4, 9]).unwrap();
        check(Concat { axis: 1 }, &[&a, &b], Some(&joined));
        let column = Slice {
            starts: smallvec![1],
            ends: smallvec![2],
            axes: smallvec![1],
            steps: smallvec![1],
        };
        check(
            column,
            &[&a],
            Some(&TensorData::from_values(&[2, 1], &[2i64, 4]).unwrap()),
        );
        check(
            Gather { axis: 1 },
            &[&a, &ints(&[1, 1])],
            Some(&TensorData::from_values(&[2, 2], &[2i64, 2, 4, 4]).unwrap()),
        );
    }

    #[test]
    fn floats_are_truncated_and_integers_keep_their_low_bits() {
        let floats = TensorData::from_values(&[2], &[2.9f32, -2.9]).unwrap();
        check(Cast { to: Elem::I64 }, &[&floats], Some(&ints(&[2, -2])));
        check(
            Cast { to: Elem::U8 },
            &[&ints(&[257, -1])],
            Some(&TensorData::from_values(&[2], &[1u8, 255]).unwrap()),
        );
        check(
            Cast { to: Elem::F32 },
            &[&ints(&[3])],
            Some(&TensorData::from_values(&[1], &[3f32]).unwrap()),
        );
    }
}
