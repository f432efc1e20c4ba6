//! The types that stored numbers have, and how they become float32.

use half::f16;

/// The type of the numbers of an array in a file. All are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// 8 bits, unsigned.
    U8,
    /// 8 bits, signed.
    I8,
    /// 16 bits, unsigned.
    U16,
    /// 16 bits, signed.
    I16,
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed.
    I64,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

/// Every type with its name in the header of an `.npy` file, less the sign of the byte order, and its name in NumPy.
const TYPES: [(NumberType, &str, &str); 9] = [
    (NumberType::U8, "u1", "uint8"),
    (NumberType::I8, "i1", "int8"),
    (NumberType::U16, "u2", "uint16"),
    (NumberType::I16, "i2", "int16"),
    (NumberType::I32, "i4", "int32"),
    (NumberType::I64, "i8", "int64"),
    (NumberType::F16, "f2", "float16"),
    (NumberType::F32, "f4", "float32"),
    (NumberType::F64, "f8", "float64"),
];

impl NumberType {
    /// The type that NumPy writes as `code`, such as `f4`.
    pub(super) fn of_code(code: &str) -> Option<NumberType> {
        TYPES.iter().find(|row| row.1 == code).map(|row| row.0)
    }

    /// How NumPy writes the type, such as `f4`.
    pub(super) fn code(self) -> &'static str {
        TYPES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// How NumPy calls the type, such as `float32`.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    /// The names of all types, for messages.
    pub(super) fn names() -> String {
        TYPES.map(|row| row.2).join(", ")
    }

    /// Bytes of one number.
    pub fn size(self) -> usize {
        match self {
            NumberType::U8 | NumberType::I8 => 1,
            NumberType::U16 | NumberType::I16 | NumberType::F16 => 2,
            NumberType::I32 | NumberType::F32 => 4,
            NumberType::I64 | NumberType::F64 => 8,
        }
    }

    /// Whether it can hold anything but whole numbers.
    pub fn is_float(self) -> bool {
        matches!(self, NumberType::F16 | NumberType::F32 | NumberType::F64)
    }

    /// The numbers in `bytes` as float32, rounded to nearest even where they need more than its 24 bits. As many as both
    /// sides have.
    pub(super) fn to_f32(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            NumberType::U8 => each(bytes, out, |[a]| f32::from(a)),
            NumberType::I8 => each(bytes, out, |b| f32::from(i8::from_le_bytes(b))),
            NumberType::U16 => each(bytes, out, |b| f32::from(u16::from_le_bytes(b))),
            NumberType::I16 => each(bytes, out, |b| f32::from(i16::from_le_bytes(b))),
            NumberType::I32 => each(bytes, out, |b| i32::from_le_bytes(b) as f32),
            NumberType::I64 => each(bytes, out, |b| i64::from_le_bytes(b) as f32),
            NumberType::F16 => each(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
            NumberType::F32 => each(bytes, out, f32::from_le_bytes),
            NumberType::F64 => each(bytes, out, |b| f64::from_le_bytes(b) as f32),
        }
    }

    /// The number in `bytes` if it is whole, and in the range of `i64`.
    pub(super) fn to_whole(self, bytes: &[u8]) -> Option<i64> {
        fn one<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Option<T> {
            Some(read(bytes.try_into().ok()?))
        }
        let of_float = |x: f64| (x.fract() == 0.0 && x.abs() < 9e15).then_some(x as i64);
        match self {
            NumberType::U8 => one(bytes, |[a]| i64::from(a)),
            NumberType::I8 => one(bytes, |b| i64::from(i8::from_le_bytes(b))),
            NumberType::U16 => one(bytes, |b| i64::from(u16::from_le_bytes(b))),
            NumberType::I16 => one(bytes, |b| i64::from(i16::from_le_bytes(b))),
            NumberType::I32 => one(bytes, |b| i64::from(i32::from_le_bytes(b))),
            NumberType::I64 => one(bytes, i64::from_le_bytes),
            NumberType::F16 => one(bytes, |b| f16::from_le_bytes(b).to_f64()).and_then(of_float),
            NumberType::F32 => one(bytes, |b| f64::from(f32::from_le_bytes(b))).and_then(of_float),
            NumberType::F64 => one(bytes, f64::from_le_bytes).and_then(of_float),
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
        let cases: [(NumberType, &[u8], f32); 10] = [
            (NumberType::U8, &[255], 255.0),
            (NumberType::I8, &[255], -1.0),
            (NumberType::U16, &[0, 255], 65280.0),
            (NumberType::I16, &[0, 255], -256.0),
            (NumberType::I32, &(-7i32).to_le_bytes(), -7.0),
            (NumberType::I32, &16_777_217i32.to_le_bytes(), 16_777_216.0),
            (NumberType::I64, &(1i64 << 40).to_le_bytes(), 1_099_511_600_000.0),
            (NumberType::F16, &f16::from_f32(0.5).to_le_bytes(), 0.5),
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
    fn only_whole_numbers_are_whole() {
        assert_eq!(NumberType::F32.to_whole(&3f32.to_le_bytes()), Some(3));
        assert_eq!(NumberType::F32.to_whole(&3.5f32.to_le_bytes()), None);
        assert_eq!(NumberType::F64.to_whole(&f64::NAN.to_le_bytes()), None);
        assert_eq!(NumberType::F64.to_whole(&1e300f64.to_le_bytes()), None);
        assert_eq!(NumberType::I16.to_whole(&[0xfe, 0xff]), Some(-2));
    }
}
