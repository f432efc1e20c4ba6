//! Compares computed numbers with the expected numbers.

use super::cases::Case;
use strait_core::{BF16, Elem, F16};
use strait_execute::Tensor;

/// The element type with this name in a list of cases.
pub(crate) fn parse(name: &str) -> Option<Elem> {
    Some(match name {
        "bfloat16" => Elem::BF16,
        "float16" => Elem::F16,
        "float" => Elem::F32,
        "double" => Elem::F64,
        "bool" => Elem::Bool,
        "int8" => Elem::I8,
        "int16" => Elem::I16,
        "int32" => Elem::I32,
        "int64" => Elem::I64,
        "uint8" => Elem::U8,
        "uint16" => Elem::U16,
        "uint32" => Elem::U32,
        "uint64" => Elem::U64,
        _ => return None,
    })
}

/// The bits of each element.
pub(crate) fn bits(tensor: &Tensor) -> Vec<u64> {
    let wide = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    };
    let view = tensor.view();
    view.bytes().chunks_exact(tensor.elem().size()).map(wide).collect()
}

/// Each element as a number.
pub(crate) fn numbers(tensor: &Tensor) -> Vec<f64> {
    let real: fn(u64) -> f64 = match tensor.elem() {
        Elem::BF16 => |bits| BF16.decode(bits as u16).into(),
        Elem::F16 => |bits| F16.decode(bits as u16).into(),
        Elem::F32 => |bits| f32::from_bits(bits as u32).into(),
        Elem::F64 => f64::from_bits,
        Elem::I8 => |bits| (bits as i8).into(),
        Elem::I16 => |bits| (bits as i16).into(),
        Elem::I32 => |bits| (bits as i32).into(),
        Elem::I64 => |bits| bits as i64 as f64,
        _ => |bits| bits as f64,
    };
    bits(tensor).into_iter().map(real).collect()
}

/// A message if a computed tensor has another type or shape than the expected one.
pub(crate) fn other_type(expected: &Tensor, found: &Tensor) -> Option<String> {
    let of = |tensor: &Tensor| format!("{} {:?}", tensor.elem(), tensor.shape());
    (of(found) != of(expected)).then(|| format!("{} instead of {}", of(found), of(expected)))
}

/// Returns the positions at which a computed tensor is not as expected. If `may_differ` is true for the element type,
/// numbers may differ as far as the case allows. A NaN only matches a NaN, and an infinity only itself.
pub(crate) fn differences(case: &Case, expected: &Tensor, found: &Tensor, may_differ: fn(Elem) -> bool) -> Vec<usize> {
    let is_same: Vec<bool> = bits(expected).iter().zip(bits(found)).map(|(e, f)| *e == f).collect();
    let (expected, found, loose) = (numbers(expected), numbers(found), may_differ(expected.elem()));
    let is_equal = |(e, f): (f64, f64)| {
        let close = e.is_finite() && (e - f).abs() <= case.absolute + case.relative * e.abs();
        e == f || (e.is_nan() && f.is_nan()) || close
    };
    (0..expected.len())
        .filter(|&i| !(is_same[i] || loose && is_equal((expected[i], found[i]))))
        .collect()
}

/// A message about the first element that is not as expected.
pub(crate) fn told(differences: &[usize], expected: &Tensor, found: &Tensor) -> Option<String> {
    let &first = differences.first()?;
    let (expected, found) = (numbers(expected), numbers(found));
    Some(format!(
        "element {first} is {} instead of {}; {} of {} differ",
        found[first],
        expected[first],
        differences.len(),
        expected.len()
    ))
}
