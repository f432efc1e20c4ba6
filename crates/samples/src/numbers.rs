//! The types of stored numbers, and their conversion to float32.

use strait_core::{Elem, F16};

/// Declares the types of numbers in a file. Each type has a Rust type in which it is stored, its code in an `.npy`
/// header (without the sign for the byte order), its name in NumPy, and its conversion to float32. Numbers that need
/// more than 24 bits are rounded to the nearest float32, with ties to even.
macro_rules! types {
    ($($(#[$doc:meta])* $name:ident($storage:ty, $code:literal, $numpy:literal, $to_f32:expr))*) => {
        /// The type of the numbers of an array in a file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NumberType {
            $($(#[$doc])* $name,)*
        }

        impl NumberType {
            const ALL: &[NumberType] = &[$(NumberType::$name),*];

            /// NumPy's code for the type, such as `f4`.
            pub(crate) fn code(self) -> &'static str {
                match self {
                    $(NumberType::$name => $code,)*
                }
            }

            /// NumPy's name of the type, such as `float32`.
            pub fn name(self) -> &'static str {
                match self {
                    $(NumberType::$name => $numpy,)*
                }
            }

            /// Number of bytes of one number.
            pub fn size(self) -> usize {
                match self {
                    $(NumberType::$name => size_of::<$storage>(),)*
                }
            }

            /// Converts the little-endian numbers in `bytes` to float32. If `bytes` and `out` have different numbers of
            /// elements, the rest of the longer one is left alone.
            pub(crate) fn to_f32(self, bytes: &[u8], out: &mut [f32]) {
                match self {
                    $(NumberType::$name => each(bytes, out, |number| $to_f32(<$storage>::from_le_bytes(number))),)*
                }
            }
        }
    };
}

types! {
    /// One byte, 0 or 1.
    Bool(u8, "b1", "bool", |x: u8| f32::from(u8::from(x != 0)))
    /// 8 bits, unsigned.
    U8(u8, "u1", "uint8", f32::from)
    /// 8 bits, signed.
    I8(i8, "i1", "int8", f32::from)
    /// 16 bits, unsigned.
    U16(u16, "u2", "uint16", f32::from)
    /// 16 bits, signed.
    I16(i16, "i2", "int16", f32::from)
    /// 32 bits, unsigned.
    U32(u32, "u4", "uint32", |x: u32| x as f32)
    /// 32 bits, signed.
    I32(i32, "i4", "int32", |x: i32| x as f32)
    /// 64 bits, unsigned.
    U64(u64, "u8", "uint64", |x: u64| x as f32)
    /// 64 bits, signed.
    I64(i64, "i8", "int64", |x: i64| x as f32)
    /// IEEE half precision.
    F16(u16, "f2", "float16", |bits: u16| F16.decode(bits))
    /// IEEE single precision.
    F32(f32, "f4", "float32", |x: f32| x)
    /// IEEE double precision.
    F64(f64, "f8", "float64", |x: f64| x as f32)
}

impl NumberType {
    /// The type that NumPy calls `code`, such as `f4`.
    pub(crate) fn of_code(code: &str) -> Option<NumberType> {
        Self::ALL.iter().copied().find(|number| number.code() == code)
    }

    /// The names of all types, for messages.
    pub(crate) fn names() -> String {
        Self::ALL
            .iter()
            .map(|number| number.name())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// True if the type can hold numbers that are not whole.
    pub fn is_float(self) -> bool {
        matches!(self, NumberType::F16 | NumberType::F32 | NumberType::F64)
    }

    /// True if every number of this type is also a number of `elem`, which is an integer type or boolean.
    pub(crate) fn fits(self, elem: Elem) -> bool {
        // For each type: the number of bits of the magnitude, and whether there is a sign.
        let range = |number: NumberType| match number {
            NumberType::Bool => Some((1, false)),
            NumberType::U8 => Some((8, false)),
            NumberType::I8 => Some((7, true)),
            NumberType::U16 => Some((16, false)),
            NumberType::I16 => Some((15, true)),
            NumberType::U32 => Some((32, false)),
            NumberType::I32 => Some((31, true)),
            NumberType::U64 => Some((64, false)),
            NumberType::I64 => Some((63, true)),
            NumberType::F16 | NumberType::F32 | NumberType::F64 => None,
        };
        match (range(self), range(NumberType::from(elem))) {
            (Some((bits, signed)), Some((most, may_be_signed))) => bits <= most && (!signed || may_be_signed),
            _ => false,
        }
    }

    /// Converts the little-endian numbers in `bytes` to `elem`. The type must [fit](Self::fits) into `elem`. If `bytes`
    /// and `out` have different numbers of elements, the rest of the longer one is left alone.
    pub(crate) fn widen(self, bytes: &[u8], elem: Elem, out: &mut [u8]) {
        let (from, to) = (self.size(), elem.size());
        if from == to && self != NumberType::Bool {
            let length = bytes.len().min(out.len());
            out[..length].copy_from_slice(&bytes[..length]);
            return;
        }
        for (number, out) in bytes.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            // Every type that fits has only whole numbers, which are in the range of the wider type.
            let whole = match self {
                NumberType::Bool => i64::from(number.iter().any(|&byte| byte != 0)),
                _ => self.to_whole(number).unwrap_or(0),
            };
            out.copy_from_slice(&whole.to_le_bytes()[..to]);
        }
    }

    /// The number in `bytes`, if the number is whole and in the range of `i64`.
    pub(crate) fn to_whole(self, bytes: &[u8]) -> Option<i64> {
        fn one<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Option<T> {
            Some(read(bytes.try_into().ok()?))
        }
        let of_float = |x: f64| (x.fract() == 0.0 && x.abs() < 9e15).then_some(x as i64);
        match self {
            NumberType::Bool | NumberType::U8 => one(bytes, |[a]| i64::from(a)),
            NumberType::I8 => one(bytes, |b| i64::from(i8::from_le_bytes(b))),
            NumberType::U16 => one(bytes, |b| i64::from(u16::from_le_bytes(b))),
            NumberType::I16 => one(bytes, |b| i64::from(i16::from_le_bytes(b))),
            NumberType::I32 => one(bytes, |b| i64::from(i32::from_le_bytes(b))),
            NumberType::U32 => one(bytes, |b| i64::from(u32::from_le_bytes(b))),
            NumberType::U64 => one(bytes, u64::from_le_bytes).and_then(|x| x.try_into().ok()),
            NumberType::I64 => one(bytes, i64::from_le_bytes),
            NumberType::F16 => one(bytes, |b| f64::from(F16.decode(u16::from_le_bytes(b)))).and_then(of_float),
            NumberType::F32 => one(bytes, |b| f64::from(f32::from_le_bytes(b))).and_then(of_float),
            NumberType::F64 => one(bytes, f64::from_le_bytes).and_then(of_float),
        }
    }
}

impl From<Elem> for NumberType {
    fn from(elem: Elem) -> NumberType {
        match elem {
            Elem::Bool => NumberType::Bool,
            // The format has no types of 4 bits, so each code is stored as a byte.
            Elem::U8 | Elem::U4 => NumberType::U8,
            Elem::I8 | Elem::I4 => NumberType::I8,
            // The format has no bfloat16, so the bits of each number are stored.
            Elem::U16 | Elem::BF16 => NumberType::U16,
            Elem::U32 => NumberType::U32,
            Elem::U64 => NumberType::U64,
            Elem::I16 => NumberType::I16,
            Elem::I32 => NumberType::I32,
            Elem::I64 => NumberType::I64,
            Elem::F16 => NumberType::F16,
            Elem::F32 => NumberType::F32,
            Elem::F64 => NumberType::F64,
        }
    }
}

fn each<const N: usize>(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; N]) -> f32) {
    let (numbers, _) = bytes.as_chunks::<N>();
    for (out, &number) in out.iter_mut().zip(numbers) {
        *out = read(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_as_the_number_it_means() {
        let cases: [(NumberType, &[u8], f32); 13] = [
            (NumberType::Bool, &[1], 1.0),
            (NumberType::U32, &[0, 0, 0, 128], (1_u32 << 31) as f32),
            (NumberType::U64, &[255; 8], u64::MAX as f32),
            (NumberType::U8, &[255], 255.0),
            (NumberType::I8, &[255], -1.0),
            (NumberType::U16, &[0, 255], 65280.0),
            (NumberType::I16, &[0, 255], -256.0),
            (NumberType::I32, &(-7i32).to_le_bytes(), -7.0),
            (NumberType::I32, &16_777_217i32.to_le_bytes(), 16_777_216.0),
            (NumberType::I64, &(1i64 << 40).to_le_bytes(), 1_099_511_600_000.0),
            (NumberType::F16, &F16.encode(0.5).to_le_bytes(), 0.5),
            (NumberType::F32, &0.1f32.to_le_bytes(), 0.1),
            (NumberType::F64, &0.1f64.to_le_bytes(), 0.1),
        ];
        for (number_type, bytes, expected) in cases {
            let mut out = [0.0];
            number_type.to_f32(bytes, &mut out);
            assert_eq!(out, [expected], "{}", number_type.name());
            assert_eq!(bytes.len(), number_type.size());
            assert_eq!(NumberType::of_code(number_type.code()), Some(number_type));
        }
    }

    #[test]
    fn a_type_fits_into_those_that_have_all_of_its_numbers() {
        use NumberType::{Bool, F32, I8, I32, I64, U8, U16, U32, U64};
        for (number, elem, expected) in [
            (I64, Elem::I64, true),
            (I32, Elem::I64, true),
            (U32, Elem::I64, true),
            (U64, Elem::I64, false),
            (I64, Elem::I32, false),
            (U32, Elem::I32, false),
            (U16, Elem::I32, true),
            (U8, Elem::I8, false),
            (I8, Elem::U8, false),
            (I8, Elem::U16, false),
            (Bool, Elem::I64, true),
            (Bool, Elem::Bool, true),
            (U8, Elem::Bool, false),
            (F32, Elem::I64, false),
        ] {
            assert_eq!(number.fits(elem), expected, "{} as {elem}", number.name());
        }
    }

    #[test]
    fn wider_numbers_are_the_same_numbers() {
        let mut out = [0; 16];
        let numbers: Vec<u8> = [-2i32, 7].iter().flat_map(|x| x.to_le_bytes()).collect();
        NumberType::I32.widen(&numbers, Elem::I64, &mut out);
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, i64>(&out), [-2, 7]);
        NumberType::U32.widen(&[0, 0, 0, 128, 255, 255, 255, 255], Elem::I64, &mut out);
        assert_eq!(
            bytemuck::pod_collect_to_vec::<u8, i64>(&out),
            [1 << 31, i64::from(u32::MAX)]
        );
        // A boolean becomes 0 or 1, whatever byte the file has for it.
        NumberType::Bool.widen(&[0, 1, 255], Elem::Bool, &mut out[..3]);
        assert_eq!(out[..3], [0, 1, 1]);
        NumberType::I64.widen(&i64::MIN.to_le_bytes(), Elem::I64, &mut out[..8]);
        assert_eq!(out[..8], i64::MIN.to_le_bytes());
    }

    #[test]
    fn only_whole_numbers_are_whole() {
        assert_eq!(NumberType::U64.to_whole(&[255; 8]), None);
        assert_eq!(NumberType::F32.to_whole(&3f32.to_le_bytes()), Some(3));
        assert_eq!(NumberType::F32.to_whole(&3.5f32.to_le_bytes()), None);
        assert_eq!(NumberType::F64.to_whole(&f64::NAN.to_le_bytes()), None);
        assert_eq!(NumberType::F64.to_whole(&1e300f64.to_le_bytes()), None);
        assert_eq!(NumberType::I16.to_whole(&[0xfe, 0xff]), Some(-2));
    }
}
