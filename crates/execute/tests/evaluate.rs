//! Evaluates ops on constants with any alignment and any number of bytes.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use strait_core::op::{Add, Cast, Concat, MatMul, Reshape, Split, Transpose};
use strait_core::{Carrier, Elem, TensorData};
use strait_execute::evaluate;

/// A copy of a tensor whose bytes begin one byte after an aligned address.
fn unaligned(tensor: &TensorData) -> TensorData {
    let bytes: Vec<u8> = [0].into_iter().chain(tensor.bytes().iter().copied()).collect();
    TensorData::new(tensor.elem(), tensor.shape(), Bytes::from(bytes).slice(1..)).unwrap()
}

fn ints(shape: &[u64], values: &[i64]) -> TensorData {
    TensorData::from_values(shape, values).unwrap()
}

#[test]
fn constants_are_computed_at_any_alignment() {
    let (a, b) = (ints(&[2], &[3, -4]), ints(&[2], &[10, 20]));
    let sum = evaluate(&Add {}.into(), &[Some(&unaligned(&a)), Some(&b)]).unwrap();
    assert_eq!(sum, [ints(&[2], &[13, 16])]);
    let joined = evaluate(&Concat { axis: 0 }.into(), &[Some(&a), Some(&unaligned(&b))]).unwrap();
    assert_eq!(joined, [ints(&[4], &[3, -4, 10, 20])]);
}

#[test]
fn a_view_shares_the_bytes_of_its_operand() {
    let a = ints(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let views = evaluate(
        &Reshape {
            shape: [3, 2].as_slice().into(),
        }
        .into(),
        &[Some(&a)],
    )
    .unwrap();
    assert_eq!(views, [ints(&[3, 2], &[1, 2, 3, 4, 5, 6])]);
    assert_eq!(views[0].bytes().as_ptr(), a.bytes().as_ptr());
}

#[test]
fn codes_of_four_bits_are_moved_one_by_one() {
    // The elements are 1, 2, 3 and −1, 0, 7. Each byte has two of them, the first in its low half.
    let a = TensorData::new(Elem::I4, &[2, 3], Bytes::from_static(&[0x21, 0xf3, 0x70])).unwrap();
    let turned = evaluate(
        &Transpose {
            permutation: [1, 0].as_slice().into(),
        }
        .into(),
        &[Some(&a)],
    )
    .unwrap();
    assert_eq!(turned[0].shape(), [3, 2]);
    assert_eq!(turned[0].bytes(), &Bytes::from_static(&[0xf1, 0x02, 0x73]));
    let flat = evaluate(
        &Reshape {
            shape: [6].as_slice().into(),
        }
        .into(),
        &[Some(&a)],
    )
    .unwrap();
    assert_eq!((flat[0].shape(), flat[0].bytes()), (&[6][..], a.bytes()));
    let wide = evaluate(&Cast { to: Elem::I4 }.into(), &[Some(&a)]).unwrap();
    assert_eq!(wide, [a]);
}

#[test]
fn an_op_with_several_results_gives_all_of_them() {
    let a = ints(&[4], &[1, 2, 3, 4]);
    let split = Split {
        axis: 0,
        sizes: [1, 3].as_slice().into(),
    };
    let parts = evaluate(&split.into(), &[Some(&a)]).unwrap();
    assert_eq!(parts, [ints(&[1], &[1]), ints(&[3], &[2, 3, 4])]);
}

fn matmul() -> MatMul {
    MatMul {
        a_zero: 0,
        b_zero: 0,
        accumulator: Carrier::I32,
    }
}

#[test]
fn products_of_many_elements_are_exact_in_small_integers() {
    let side = 96;
    let a: Vec<f32> = (0..side * side).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..side * side).map(|i| (i % 5) as f32 - 2.0).collect();
    let expect: Vec<f32> = (0..side * side)
        .map(|i| (0..side).map(|k| a[i / side * side + k] * b[k * side + i % side]).sum())
        .collect();
    let of = |values: &[f32]| TensorData::from_values(&[side as u64, side as u64], values).unwrap();
    let product = evaluate(&matmul().into(), &[Some(&of(&a)), Some(&of(&b))]).unwrap();
    assert_eq!(product, [of(&expect)]);
}

#[test]
fn operands_that_do_not_fit_are_an_error() {
    let (a, b) = (ints(&[2], &[1, 2]), ints(&[3], &[1, 2, 3]));
    assert!(evaluate(&Add {}.into(), &[Some(&a), Some(&b)]).is_err());
    assert!(evaluate(&Add {}.into(), &[Some(&a), None]).is_err());
}
