//! Writes lists of f32 in few bytes. If all elements are integers that fit, they are written in the smallest type of integers,
//! and otherwise as they are. What is read has the same bits.

use strait_exchange::{Portable, Reader};

/// The bytes of an element, and whether it is an integer with a sign. Smaller types come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    U8,
    I8,
    I16,
    F32,
}

impl Type {
    const ALL: [Type; 4] = [Type::U8, Type::I8, Type::I16, Type::F32];

    fn holds(self, element: f32) -> bool {
        let same = |integer: f32| integer.to_bits() == element.to_bits();
        match self {
            Type::U8 => same(f32::from(element as u8)),
            Type::I8 => same(f32::from(element as i8)),
            Type::I16 => same(f32::from(element as i16)),
            Type::F32 => true,
        }
    }

    fn size(self) -> usize {
        match self {
            Type::U8 | Type::I8 => 1,
            Type::I16 => 2,
            Type::F32 => 4,
        }
    }
}

/// Appends the elements: their number, their type, and their bytes.
pub(crate) fn write(elements: &[f32], out: &mut Vec<u8>) {
    let fits = |ty: &Type| elements.iter().all(|&element| ty.holds(element));
    let ty = Type::ALL.into_iter().find(fits).unwrap_or(Type::F32);
    elements.len().write(out);
    out.push(ty as u8);
    match ty {
        Type::U8 => out.extend(elements.iter().map(|&element| element as u8)),
        Type::I8 => out.extend(elements.iter().map(|&element| element as i8 as u8)),
        Type::I16 => out.extend(elements.iter().flat_map(|&element| (element as i16).to_le_bytes())),
        Type::F32 => out.extend(elements.iter().flat_map(|element| element.to_le_bytes())),
    }
}

/// Reads the elements. `None` if the bytes do not fit.
pub(crate) fn read(from: &mut Reader<'_>) -> Option<Vec<f32>> {
    let (length, tag) = (usize::read(from)?, u8::read(from)?);
    let ty = Type::ALL.into_iter().find(|ty| *ty as u8 == tag)?;
    let bytes = from.bytes(length.checked_mul(ty.size())?)?;
    Some(match ty {
        Type::U8 => bytes.iter().map(|&byte| f32::from(byte)).collect(),
        Type::I8 => bytes.iter().map(|&byte| f32::from(byte as i8)).collect(),
        Type::I16 => {
            let two = bytes.as_chunks::<2>().0.iter();
            two.map(|&two| f32::from(i16::from_le_bytes(two))).collect()
        }
        Type::F32 => {
            let four = bytes.as_chunks::<4>().0.iter();
            four.map(|&four| f32::from_le_bytes(four)).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_bits_in_as_few_bytes_as_they_need() {
        let cases: [(&[f32], usize); 7] = [
            (&[], 0),
            (&[0.0, 255.0, 7.0], 3),
            (&[-128.0, 127.0], 2),
            (&[-129.0, 255.0], 4),
            (&[0.5], 4),
            (&[-0.0, 1.0], 8),
            (&[40000.0, f32::NAN, f32::INFINITY], 12),
        ];
        for (elements, size) in cases {
            let mut bytes = Vec::new();
            write(elements, &mut bytes);
            assert_eq!(bytes.len(), 9 + size, "{elements:?}");
            let bits = |elements: &[f32]| elements.iter().map(|element| element.to_bits()).collect::<Vec<_>>();
            let mut reader = Reader::new(&bytes);
            assert_eq!(bits(&read(&mut reader).unwrap()), bits(elements));
            assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                assert!(read(&mut Reader::new(&bytes[..cut])).is_none());
            }
        }
    }
}
