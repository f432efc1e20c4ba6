use crate::words::words;
use std::ops::RangeInclusive;

words! {
    /// The integer types that a requantization narrows to. Wider types occur only as accumulators and are plain `i64`
    /// here.
    IntType {
        /// -128 ..= 127
        I8 = "i8",
        /// 0 ..= 255
        U8 = "u8",
        /// -32768 ..= 32767
        I16 = "i16",
        /// -2^31 ..= 2^31 - 1. This is the type of the operands of an addition after they were requantized to a common
        /// grid, and of results that stay accumulators.
        I32 = "i32",
        /// 0 ..= 65535
        U16 = "u16",
        /// -8 ..= 7
        I4 = "i4",
        /// 0 ..= 15
        U4 = "u4",
    }
}

impl IntType {
    /// The smallest value.
    pub const fn min(self) -> i32 {
        match self {
            IntType::I8 => i8::MIN as i32,
            IntType::U8 | IntType::U16 | IntType::U4 => 0,
            IntType::I16 => i16::MIN as i32,
            IntType::I32 => i32::MIN,
            IntType::I4 => -8,
        }
    }

    /// The largest value.
    pub const fn max(self) -> i32 {
        match self {
            IntType::I8 => i8::MAX as i32,
            IntType::U8 => u8::MAX as i32,
            IntType::I16 => i16::MAX as i32,
            IntType::I32 => i32::MAX,
            IntType::U16 => u16::MAX as i32,
            IntType::I4 => 7,
            IntType::U4 => 15,
        }
    }

    /// Width in bits.
    pub const fn bits(self) -> u8 {
        match self {
            IntType::I4 | IntType::U4 => 4,
            IntType::I8 | IntType::U8 => 8,
            IntType::I16 | IntType::U16 => 16,
            IntType::I32 => 32,
        }
    }

    /// All values of the type: `min()..=max()`.
    pub const fn range(self) -> RangeInclusive<i32> {
        self.min()..=self.max()
    }

    /// The value of the type that is nearest to `x`.
    pub fn saturate(self, x: i64) -> i32 {
        // After the clamp, the number is in the range of the type, so it fits into i32.
        x.clamp(i64::from(self.min()), i64::from(self.max())) as i32
    }

    /// The value of an element from its bytes, in the byte order of the machine. `None` if no type has so many bytes.
    pub fn decode(self, bytes: &[u8]) -> Option<i32> {
        let is_signed = self.min() < 0;
        Some(match *bytes {
            [a] if is_signed => i8::from_ne_bytes([a]).into(),
            [a] => a.into(),
            [a, b] if is_signed => i16::from_ne_bytes([a, b]).into(),
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_ne_bytes([a, b, c, d]),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_codes_of_their_type() {
        assert_eq!(IntType::I8.decode(&[0x80]), Some(-128));
        assert_eq!(IntType::U8.decode(&[0x80]), Some(128));
        assert_eq!(IntType::I16.decode(&(-2i16).to_ne_bytes()), Some(-2));
        assert_eq!(IntType::U16.decode(&0xfffeu16.to_ne_bytes()), Some(0xfffe));
        assert_eq!(IntType::I32.decode(&i32::MIN.to_ne_bytes()), Some(i32::MIN));
        assert_eq!(IntType::I32.decode(&[0; 3]), None);
    }

    #[test]
    fn ranges_are_those_of_the_width() {
        for t in IntType::ALL {
            assert_eq!(i64::from(t.max()) - i64::from(t.min()), (1i64 << t.bits()) - 1, "{t}");
            assert_eq!(IntType::parse(t.name()), Some(t));
            assert_eq!(t.saturate(i64::MAX), t.max());
            assert_eq!(t.saturate(i64::MIN), t.min());
            assert_eq!(t.saturate(7), 7);
        }
        assert_eq!(IntType::parse("i64"), None);
    }
}
