//! Converts the constants of a file to tensors.

use super::external::{DataFiles, EXTERNAL};
use crate::elements::element;
use crate::proto::TensorProto;
use bytes::Bytes;
use smallvec::SmallVec;
use strait_core::shape::count_of;
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Refusal, narrow_entries, out_of_range};

/// Returns the tensor that a message describes. If the message or another file has the elements as raw bytes, the
/// tensor is a slice of these bytes. If the elements are in one of protobuf's typed lists, they are converted, because
/// the list stores them in another form.
pub(crate) fn tensor(proto: &TensorProto, files: &DataFiles) -> Result<TensorData, Refusal> {
    let invalid = |text: String| Refusal::invalid(ReasonCode::Constant, text);
    let elem =
        element(proto.data_type.into()).map_err(|name| Refusal::Unsupported(format!("its element type is {name}")))?;
    let shape = proto.dims.iter().map(|&d| u64::try_from(d));
    let shape: SmallVec<[u64; 4]> = shape
        .collect::<Result<_, _>>()
        .map_err(|_| invalid(format!("its shape is {:?}", proto.dims)))?;
    let bytes = match (proto.data_location, &proto.raw_data) {
        (0, Some(raw)) => raw.clone(),
        (0, None) => typed(proto, elem)?,
        (EXTERNAL, _) => {
            let own = count_of(&shape).and_then(|count| elem.packed_bytes(count));
            files.bytes(proto, own).map_err(invalid)?
        }
        (other, _) => return Err(invalid(format!("its data location is {other}"))),
    };
    Ok(TensorData::new(elem, &shape, bytes)?)
}

/// The elements as bytes. They are taken from the list that the format has for this element type.
fn typed(proto: &TensorProto, elem: Elem) -> Result<Bytes, Refusal> {
    let words = &proto.int32_data;
    let bytes = match elem {
        Elem::F32 => proto.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::F64 => proto.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I64 => proto.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I32 => words.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I16 => narrow_entries(words, i16::to_le_bytes)?,
        Elem::U16 => narrow_entries(words, u16::to_le_bytes)?,
        Elem::I8 => narrow_entries(words, i8::to_le_bytes)?,
        // Each entry has two elements of 4 bits, packed as in the raw bytes.
        Elem::U8 | Elem::I4 | Elem::U4 => narrow_entries(words, u8::to_le_bytes)?,
        Elem::Bool => words.iter().map(|&v| u8::from(v != 0)).collect(),
        // Each entry has the bits of a half float, not its value.
        Elem::F16 | Elem::BF16 => narrow_entries(words, u16::to_le_bytes)?,
        Elem::U64 => proto.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::U32 => (proto.uint64_data.iter())
            .map(|&v| u32::try_from(v).map_err(|_| out_of_range(v)))
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

    fn read(proto: &TensorProto) -> Result<TensorData, Refusal> {
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
            let Err(Refusal::Invalid(found)) = read(&proto) else {
                panic!("{proto:?}")
            };
            assert!(found.text.contains(text), "{}", found.text);
        }
        assert_eq!(
            read(&of(17, &[1], &[0; 1])),
            Err(Refusal::Unsupported("its element type is float8e4m3fn".into()))
        );
    }
}
