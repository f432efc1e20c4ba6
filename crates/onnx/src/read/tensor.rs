//! Converts the constants of a file to tensors.

use super::external::{DataFiles, EXTERNAL};
use crate::elements::element;
use crate::proto::TensorProto;
use bytes::Bytes;
use smallvec::SmallVec;
use strait_core::shape::count_of;
use strait_core::{Elem, TensorData};

/// Why a constant cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TensorFault {
    /// Strait does not have the element type of the constant.
    Unsupported(String),
    /// What the file says about the constant is contradictory.
    Invalid(String),
}

/// The tensor that a message describes. Raw bytes and bytes in other files become slices of their file. Numbers in
/// typed lists are converted, because protobuf stores them in another form.
pub(crate) fn tensor(proto: &TensorProto, files: &DataFiles) -> Result<TensorData, TensorFault> {
    let invalid = TensorFault::Invalid;
    let elem = element(proto.data_type.into())
        .map_err(|name| TensorFault::Unsupported(format!("its element type is {name}")))?;
    let shape = proto.dims.iter().map(|&d| u64::try_from(d));
    let shape: SmallVec<[u64; 4]> = shape
        .collect::<Result<_, _>>()
        .map_err(|_| invalid(format!("its shape is {:?}", proto.dims)))?;
    let bytes = match (proto.data_location, &proto.raw_data) {
        (0, Some(raw)) => raw.clone(),
        (0, None) => typed(proto, elem).map_err(invalid)?,
        (EXTERNAL, _) => {
            let own = count_of(&shape).and_then(|count| elem.packed_bytes(count));
            files.bytes(proto, own).map_err(invalid)?
        }
        (other, _) => return Err(invalid(format!("its data location is {other}"))),
    };
    TensorData::new(elem, &shape, bytes).map_err(|e| invalid(e.to_string()))
}

/// The elements as bytes. They are taken from the list that the format has for this element type.
fn typed(proto: &TensorProto, elem: Elem) -> Result<Bytes, String> {
    /// Narrow numbers are stored as 32-bit entries, one number in each.
    fn narrow<T: TryFrom<i32>, const N: usize>(list: &[i32], bytes: impl Fn(T) -> [u8; N]) -> Result<Vec<u8>, String> {
        let mut out = Vec::with_capacity(list.len() * N);
        for &entry in list {
            let value = T::try_from(entry).map_err(|_| format!("its element {entry} is out of range"))?;
            out.extend(bytes(value));
        }
        Ok(out)
    }
    let words = &proto.int32_data;
    let bytes = match elem {
        Elem::F32 => proto.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::F64 => proto.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I64 => proto.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I32 => words.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I16 => narrow(words, i16::to_le_bytes)?,
        Elem::U16 => narrow(words, u16::to_le_bytes)?,
        Elem::I8 => narrow(words, i8::to_le_bytes)?,
        // Each entry has two elements of 4 bits, packed as in the raw bytes.
        Elem::U8 | Elem::I4 | Elem::U4 => narrow(words, u8::to_le_bytes)?,
        Elem::Bool => words.iter().map(|&v| u8::from(v != 0)).collect(),
        // Each entry has the bits of a half float, not its value.
        Elem::F16 | Elem::BF16 => narrow(words, u16::to_le_bytes)?,
        Elem::U64 => proto.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::U32 => (proto.uint64_data.iter())
            .map(|&v| u32::try_from(v).map_err(|_| format!("its element {v} is out of range")))
            .collect::<Result<Vec<u32>, _>>()?
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect(),
    };
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(proto: &TensorProto) -> Result<TensorData, TensorFault> {
        tensor(proto, &DataFiles::new(None))
    }

    #[test]
    fn typed_lists_and_raw_bytes_are_the_same_tensor() {
        let half = strait_core::F16.encode(-1.5);
        let cases = [
            (
                TensorProto {
                    data_type: 1,
                    float_data: vec![1.5, -2.0],
                    ..Default::default()
                },
                [1.5f32, -2.0].map(f32::to_le_bytes).concat(),
            ),
            (
                TensorProto {
                    data_type: 7,
                    int64_data: vec![-1, 2],
                    ..Default::default()
                },
                [-1i64, 2].map(i64::to_le_bytes).concat(),
            ),
            (
                TensorProto {
                    data_type: 3,
                    int32_data: vec![-1, 2],
                    ..Default::default()
                },
                vec![255, 2],
            ),
            (
                TensorProto {
                    data_type: 4,
                    int32_data: vec![65_535, 2],
                    ..Default::default()
                },
                vec![255, 255, 2, 0],
            ),
            // The entry has two codes of four bits. The first code is in the low half.
            (
                TensorProto {
                    data_type: 22,
                    int32_data: vec![0x8f],
                    ..Default::default()
                },
                vec![0x8f],
            ),
            (
                TensorProto {
                    data_type: 9,
                    int32_data: vec![0, 7],
                    ..Default::default()
                },
                vec![0, 1],
            ),
            (
                TensorProto {
                    data_type: 11,
                    double_data: vec![0.5, 4.0],
                    ..Default::default()
                },
                [0.5f64, 4.0].map(f64::to_le_bytes).concat(),
            ),
            (
                TensorProto {
                    data_type: 10,
                    int32_data: vec![half.into(), 0],
                    ..Default::default()
                },
                [half.to_le_bytes(), [0, 0]].concat(),
            ),
        ];
        for (mut proto, bytes) in cases {
            proto.dims = vec![2];
            let typed = read(&proto).unwrap();
            assert_eq!(typed.bytes(), &bytes);
            let raw = TensorProto {
                dims: vec![2],
                data_type: proto.data_type,
                raw_data: Some(bytes.into()),
                ..Default::default()
            };
            assert_eq!(read(&raw).unwrap(), typed);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let of = |data_type, dims: &[i64], bytes: &'static [u8]| TensorProto {
            data_type,
            dims: dims.to_vec(),
            raw_data: Some(Bytes::from_static(bytes)),
            ..Default::default()
        };
        for (proto, text) in [
            (of(1, &[2], &[0; 7]), "takes 8 bytes, but there are 7"),
            (of(1, &[-1], &[]), "shape is [-1]"),
            (of(1, &[i64::MAX, i64::MAX], &[]), "past the limits"),
            (
                TensorProto {
                    data_type: 3,
                    dims: vec![1],
                    int32_data: vec![128],
                    ..Default::default()
                },
                "128 is out of range",
            ),
        ] {
            let Err(TensorFault::Invalid(found)) = read(&proto) else {
                panic!("{proto:?}")
            };
            assert!(found.contains(text), "{found}");
        }
        assert_eq!(
            read(&of(17, &[1], &[0; 1])),
            Err(TensorFault::Unsupported("its element type is float8e4m3fn".into()))
        );
    }
}
