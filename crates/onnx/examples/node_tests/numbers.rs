//! Compares computed numbers with the expected numbers.

use strait_core::{BF16, Elem, F16};

/// The element type with this ONNX name, in lower case.
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

/// A difference that is larger than what is allowed.
pub(crate) struct Difference {
    pub(crate) text: String,
    /// True if only 16-bit floats differ, and by at most two steps. The expected numbers were rounded after each
    /// operation, and the computed ones only at the end.
    pub(crate) is_rounding: bool,
}

/// The first difference between computed and expected elements of one type, if there is one. Floats may differ by
/// `absolute` plus `relative` times the expected value. A NaN only matches a NaN, and an infinity only itself. Elements
/// of all other types have to be equal.
pub(crate) fn compare(
    elem: Elem,
    expected: &[u8],
    found: &[u8],
    relative: f64,
    absolute: f64,
) -> Result<(), Difference> {
    let elements = |bytes: &[u8]| -> Vec<u64> {
        let wide = |chunk: &[u8]| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(bytes)
        };
        bytes.chunks_exact(elem.size()).map(wide).collect()
    };
    let real: fn(u64) -> f64 = match elem {
        Elem::BF16 => |bits| BF16.decode(bits as u16).into(),
        Elem::F16 => |bits| F16.decode(bits as u16).into(),
        Elem::F32 => |bits| f32::from_bits(bits as u32).into(),
        Elem::F64 => f64::from_bits,
        _ => |bits| bits as f64,
    };
    let equal = |e: u64, f: u64| {
        let (bits, e, f) = (e == f, real(e), real(f));
        let close = e.is_finite() && (e - f).abs() <= absolute + relative * e.abs();
        bits || (elem.is_float() && (e == f || (e.is_nan() && f.is_nan()) || close))
    };
    let (expected, found) = (elements(expected), elements(found));
    let differences: Vec<usize> = (0..expected.len()).filter(|&i| !equal(expected[i], found[i])).collect();
    match differences.first() {
        None => Ok(()),
        Some(&first) => Err(Difference {
            text: format!(
                "element {first} is {} instead of {}; {} of {} differ",
                real(found[first]),
                real(expected[first]),
                differences.len(),
                expected.len()
            ),
            is_rounding: differences.iter().all(|&i| match elem {
                Elem::BF16 | Elem::F16 => expected[i].abs_diff(found[i]) <= 2,
                _ => false,
            }),
        }),
    }
}
