//! Converts constants of the format to our tensors.

use std::cell::Cell;

use bytes::Bytes;
use smallvec::SmallVec;
use strait_core::shape::count_of;
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Refusal, narrow_entries};

use crate::elements::element;
use crate::proto::{TensorProto, TensorShapeProto};

/// Limit on the total size, in bytes, of constants that are stored as a list with fewer values than the tensor has
/// elements. Such constants are filled up with a repeated value.
const MOST_BYTES: u64 = 1 << 28;

/// How many bytes of constants that have to be filled up may still be read.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Default for Budget {
    fn default() -> Self {
        Budget(Cell::new(MOST_BYTES))
    }
}

impl Budget {
    fn take(&self, bytes: u64) -> bool {
        let left = self.0.get().checked_sub(bytes);
        left.inspect(|&left| self.0.set(left)).is_some()
    }
}

/// The extents of a constant.
fn extents(shape: Option<&TensorShapeProto>) -> Result<SmallVec<[u64; 4]>, Refusal> {
    let Some(shape) = shape else {
        return Ok(SmallVec::new());
    };
    let extents: Result<_, _> = shape.dim.iter().map(|dim| u64::try_from(dim.size)).collect();
    match (extents, shape.unknown_rank) {
        (Ok(extents), false) => Ok(extents),
        _ => Err(invalid("its shape is not known")),
    }
}

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::Constant, text)
}

/// Returns the tensor that a message describes. If the elements are stored as bytes, the tensor is a slice of the file.
/// If they are stored as a list, the list may have fewer values than the tensor has elements: its last value then
/// stands for all missing elements. If the list is empty, all elements are zero.
pub(crate) fn tensor(proto: &TensorProto, budget: &Budget) -> Result<TensorData, Refusal> {
    let elem = element(proto.dtype).map_err(|name| Refusal::Unsupported(format!("its element type is {name}")))?;
    let shape = extents(proto.tensor_shape.as_ref())?;
    if !proto.tensor_content.is_empty() {
        return TensorData::new(elem, &shape, proto.tensor_content.clone()).map_err(Refusal::from);
    }
    let count = count_of(&shape).ok_or_else(|| invalid(format!("its shape {shape:?} is past the limits")))?;
    let size = elem.size();
    let whole = count.checked_mul(size as u64);
    let given = given(proto, elem)?;
    let short = whole.filter(|&whole| whole > given.len() as u64);
    if let Some(whole) = short
        && !budget.take(whole)
    {
        return Err(Refusal::Unsupported(format!(
            "a constant of shape {shape:?} is written as few values, and takes more memory than constants may that are"
        )));
    }
    let whole = whole.and_then(|whole| usize::try_from(whole).ok());
    let whole = whole.ok_or_else(|| invalid(format!("its shape {shape:?} is past the limits")))?;
    let mut bytes = given;
    let last: SmallVec<[u8; 8]> = match bytes.len().checked_sub(size) {
        Some(start) => bytes.get(start..).unwrap_or_default().into(),
        None => SmallVec::from_elem(0, size),
    };
    // If the list has more values than the tensor has elements, only the first values are used, as in TensorFlow.
    bytes.truncate(whole);
    bytes.reserve_exact(whole - bytes.len());
    while bytes.len() < whole {
        bytes.extend_from_slice(&last);
    }
    TensorData::new(elem, &shape, Bytes::from(bytes)).map_err(Refusal::from)
}

/// The elements as bytes, from the list that the message has for this element type.
fn given(proto: &TensorProto, elem: Elem) -> Result<Vec<u8>, Refusal> {
    let words = &proto.int_val;
    Ok(match elem {
        Elem::F32 => proto.float_val.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::F64 => proto.double_val.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I64 => proto.int64_val.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::U64 => proto.uint64_val.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::U32 => proto.uint32_val.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I32 => words.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Elem::I16 => narrow_entries(words, i16::to_le_bytes)?,
        Elem::U16 => narrow_entries(words, u16::to_le_bytes)?,
        Elem::I8 => narrow_entries(words, i8::to_le_bytes)?,
        Elem::U8 => narrow_entries(words, u8::to_le_bytes)?,
        Elem::Bool => proto.bool_val.iter().map(|&v| u8::from(v)).collect(),
        Elem::F16 | Elem::BF16 => narrow_entries(&proto.half_val, u16::to_le_bytes)?,
        // TensorFlow files cannot have constants of these types.
        Elem::I4 | Elem::U4 => return Err(Refusal::Unsupported(format!("its element type is {elem}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::Dim;

    fn of(dtype: i32, extents: &[i64]) -> TensorProto {
        let dim = extents.iter().map(|&size| Dim { size }).collect();
        TensorProto {
            dtype,
            tensor_shape: Some(TensorShapeProto {
                dim,
                unknown_rank: false,
            }),
            ..TensorProto::default()
        }
    }

    fn read(proto: &TensorProto) -> Result<TensorData, Refusal> {
        tensor(proto, &Budget::default())
    }

    #[test]
    fn the_last_value_of_a_list_stands_for_those_that_are_missing() {
        let mut proto = of(1, &[2, 2]);
        for (list, expect) in [
            (vec![1.5, 2.0], [1.5, 2.0, 2.0, 2.0]),
            (vec![3.0], [3.0; 4]),
            (vec![], [0.0; 4]),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0]),
        ] {
            proto.float_val = list;
            assert_eq!(&*read(&proto).unwrap().to_f32().unwrap(), expect);
        }
    }

    #[test]
    fn the_list_of_each_type_holds_what_the_content_would() {
        let half = strait_core::F16.encode(-1.5);
        let mut cases = vec![(of(2, &[1]), 0.5f64.to_le_bytes().to_vec())];
        cases[0].0.double_val = vec![0.5];
        let mut add = |dtype: i32, fill: fn(&mut TensorProto), bytes: Vec<u8>| {
            let mut proto = of(dtype, &[1]);
            fill(&mut proto);
            cases.push((proto, bytes));
        };
        add(3, |p| p.int_val = vec![-2], (-2i32).to_le_bytes().to_vec());
        add(4, |p| p.int_val = vec![200], vec![200]);
        add(5, |p| p.int_val = vec![-2], (-2i16).to_le_bytes().to_vec());
        add(6, |p| p.int_val = vec![-2], vec![254]);
        add(9, |p| p.int64_val = vec![-3], (-3i64).to_le_bytes().to_vec());
        add(10, |p| p.bool_val = vec![true], vec![1]);
        add(17, |p| p.int_val = vec![65_535], vec![255, 255]);
        add(19, |p| p.half_val = vec![0xbe00], half.to_le_bytes().to_vec());
        add(14, |p| p.half_val = vec![0x3f80], vec![0x80, 0x3f]);
        add(22, |p| p.uint32_val = vec![7], 7u32.to_le_bytes().to_vec());
        add(23, |p| p.uint64_val = vec![8], 8u64.to_le_bytes().to_vec());
        for (proto, bytes) in cases {
            let typed = read(&proto).unwrap();
            assert_eq!(typed.bytes(), &bytes);
            let content = TensorProto {
                tensor_content: bytes.into(),
                ..of(proto.dtype, &[1])
            };
            assert_eq!(read(&content).unwrap(), typed);
        }
    }

    #[test]
    fn constants_that_a_few_bytes_ask_for_share_one_budget() {
        let budget = Budget::default();
        let mut large = of(1, &[1 << 25]);
        large.float_val = vec![1.0];
        assert!(tensor(&large, &budget).is_ok());
        assert!(tensor(&large, &budget).is_ok());
        let Err(Refusal::Unsupported(text)) = tensor(&large, &budget) else {
            panic!("a third of these is past the limit")
        };
        assert!(text.contains("[33554432]"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut cut = of(1, &[2]);
        cut.tensor_content = Bytes::from_static(&[0; 7]);
        let mut range = of(6, &[1]);
        range.int_val = vec![128];
        for (proto, text) in [
            (cut, "takes 8 bytes, but there are 7"),
            (of(1, &[-1]), "shape is not known"),
            (of(1, &[i64::MAX, i64::MAX]), "past the limits"),
            (range, "128 is out of range"),
        ] {
            let Err(Refusal::Invalid(found)) = read(&proto) else {
                panic!("{proto:?}")
            };
            assert!(found.text.contains(text), "{}", found.text);
        }
        assert_eq!(
            read(&of(7, &[1])),
            Err(Refusal::Unsupported("its element type is string".into()))
        );
        assert_eq!(
            read(&of(101, &[1])),
            Err(Refusal::Unsupported(
                "its element type is a reference to a variable".into()
            ))
        );
    }
}
