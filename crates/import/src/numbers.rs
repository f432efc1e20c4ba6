//! The numbers in constants: checks whether they are finite, and converts floats of other types to f32.

use crate::refusal::Refusal;
use std::fmt::Display;
use strait_core::{Elem, ReasonCode, TensorData};

/// True if every element is finite. For integers this is always true.
pub fn is_finite(tensor: &TensorData) -> bool {
    all(tensor, f64::is_finite)
}

/// True if an element is NaN.
pub fn has_nan(tensor: &TensorData) -> bool {
    !all(tensor, |x| !x.is_nan())
}

/// True if `holds` returns true for every element; for integers the result is always true. The bytes may be unaligned,
/// so the elements are read one by one.
fn all(tensor: &TensorData, holds: impl Fn(f64) -> bool) -> bool {
    let bytes = tensor.bytes();
    match tensor.elem() {
        Elem::F32 => bytes
            .chunks_exact(4)
            .all(|b| holds(f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into())),
        elem @ (Elem::F16 | Elem::BF16) => elem.half_float().is_some_and(|format| {
            let mut pairs = bytes.chunks_exact(2);
            pairs.all(|b| holds(format.decode(u16::from_le_bytes([b[0], b[1]])).into()))
        }),
        Elem::F64 => tensor
            .values::<f64>()
            .is_ok_and(|values| values.iter().all(|&v| holds(v))),
        Elem::I8
        | Elem::U8
        | Elem::I16
        | Elem::U16
        | Elem::I32
        | Elem::U32
        | Elem::I64
        | Elem::U64
        | Elem::Bool
        | Elem::I4
        | Elem::U4 => true,
    }
}

/// The bytes of elements of a narrow type, which a file stores as 32-bit entries, one for each element.
pub fn narrow_entries<T: TryFrom<i32>, const N: usize>(
    entries: &[i32],
    bytes: impl Fn(T) -> [u8; N],
) -> Result<Vec<u8>, Refusal> {
    let mut out = Vec::with_capacity(entries.len() * N);
    for &entry in entries {
        let value = T::try_from(entry).map_err(|_| out_of_range(entry))?;
        out.extend(bytes(value));
    }
    Ok(out)
}

/// The refusal of a constant with an element that does not fit into its element type.
pub fn out_of_range(element: impl Display) -> Refusal {
    Refusal::invalid(ReasonCode::Constant, format!("its element {element} is out of range"))
}

/// Converts 16-bit floats to f32, the type in which ops compute.
pub fn widened_float(tensor: TensorData) -> TensorData {
    if !matches!(tensor.elem(), Elem::F16 | Elem::BF16) {
        return tensor;
    }
    narrowed_float(tensor)
}

/// Converts any float to f32, the type of floats in the graph.
pub fn narrowed_float(tensor: TensorData) -> TensorData {
    if tensor.elem() == Elem::F32 || !tensor.elem().is_float() {
        return tensor;
    }
    let floats = tensor
        .to_f32()
        .ok()
        .map(|values| TensorData::from_values(tensor.shape(), &values));
    // The conversion cannot fail, because the number of elements stays the same, and the type has been checked.
    floats.and_then(Result::ok).unwrap_or(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_are_found_at_any_alignment() {
        for (value, finite, nan) in [
            (1.0f32, true, false),
            (f32::NAN, false, true),
            (f32::INFINITY, false, false),
        ] {
            let bytes: Vec<u8> = [vec![0], 0f32.to_le_bytes().to_vec(), value.to_le_bytes().to_vec()].concat();
            let tensor = TensorData::new(Elem::F32, &[2], bytes::Bytes::from(bytes).slice(1..)).unwrap();
            assert_eq!((is_finite(&tensor), has_nan(&tensor)), (finite, nan));
        }
    }
}
