use super::*;

#[test]
fn four_bits_are_packed_low_half_first_over_the_whole_tensor() {
    // A row has three elements, so the second row begins in the high half of a byte.
    let tensor = TensorData::from_integers(Elem::I4, &[2, 3], &[-8, 7, -1, 0, 1, 2]).unwrap();
    assert_eq!(tensor.bytes().as_ref(), [0x78, 0x0f, 0x21]);
    let odd = TensorData::from_integers(Elem::U4, &[3], &[15, 0, 9]).unwrap();
    assert_eq!(odd.bytes().as_ref(), [0x0f, 0x09]);
    assert_eq!((odd.len(), odd.is_empty()), (3, false));
    assert_eq!(odd.unpacked().as_ref(), [15, 0, 9]);
    let none = TensorData::from_integers(Elem::I4, &[0, 5], &[]).unwrap();
    assert_eq!(
        (none.len(), none.bytes().len(), none.to_i64().unwrap().len()),
        (0, 0, 0)
    );
}

#[test]
fn every_integer_type_gives_back_what_was_put_in() {
    for elem in Elem::ALL {
        let ends = match elem.int_type() {
            Some(t) => [i64::from(t.min()), i64::from(t.max())],
            None if elem == Elem::I64 => [i64::MIN, i64::MAX],
            None if elem == Elem::U32 => [0, u32::MAX.into()],
            None if elem == Elem::U64 => [0, i64::MAX],
            None => {
                assert!(TensorData::from_integers(elem, &[1], &[0]).is_err(), "{elem}");
                continue;
            }
        };
        for count in 1..=5 {
            let numbers: Vec<i64> = [ends[0], 1, ends[1], 0, ends[0]].into_iter().take(count).collect();
            let tensor = TensorData::from_integers(elem, &[count as u64], &numbers).unwrap();
            assert_eq!(tensor.to_i64().unwrap(), numbers, "{elem}");
            assert_eq!(Some(tensor.bytes().len() as u64), elem.packed_bytes(count as u64));
            assert_eq!(tensor.unpacked().len(), count * elem.size());
            let bits = elem
                .int_type()
                .map_or(8 * elem.size() as u8, strait_requantize::IntType::bits);
            assert_eq!(elem.bits(), bits);
            let again = TensorData::from_unpacked(elem, &[count as u64], tensor.unpacked()).unwrap();
            assert_eq!(again, tensor);
            let column = tensor.reshaped(&[count as u64, 1]).unwrap();
            assert_eq!(column.to_i64().unwrap(), numbers);
        }
        if !matches!(elem, Elem::I64 | Elem::U64) {
            for value in [ends[0] - 1, ends[1] + 1] {
                let refused = TensorData::from_integers(elem, &[1], &[value]);
                assert_eq!(refused, Err(TensorError::Range { elem, value }));
            }
        }
    }
}

#[test]
fn the_unused_half_of_the_last_byte_is_zero() {
    let odd = |bytes: &'static [u8]| TensorData::new(Elem::I4, &[3], Bytes::from_static(bytes));
    assert!(odd(&[0xff, 0x0f]).is_ok());
    let padding = TensorError::Padding {
        elem: Elem::I4,
        found: 1,
    };
    assert_eq!(odd(&[0xff, 0x1f]), Err(padding));
    assert!(matches!(odd(&[0xff]), Err(TensorError::Size { expected: 2, .. })));
}
