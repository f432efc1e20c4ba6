//! Element types of tensors.

use crate::named::named;
use serde::{Deserialize, Serialize};
use strait_requantize::IntType;
use strait_requantize::half_float::{BF16, F16, HalfFloat};

named! {
    /// The type of one element. The tag of a type in IR bytes is its position in this list, so new types are added at
    /// the end.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Elem {
        /// 32-bit IEEE float.
        F32 = "f32",
        /// 16-bit IEEE float. Tensors are stored in this type; kernels convert the elements to f32 before they compute.
        F16 = "f16",
        /// 64-bit IEEE float. Constants can be stored and folded in this type, but layers do not compute with it.
        F64 = "f64",
        /// Signed 8-bit integer.
        I8 = "i8",
        /// Unsigned 8-bit integer.
        U8 = "u8",
        /// Signed 16-bit integer.
        I16 = "i16",
        /// Signed 32-bit integer, used for accumulators and biases.
        I32 = "i32",
        /// Signed 64-bit integer. A value with a grid is an accumulator or bias; a value without a grid is a shape or
        /// index.
        I64 = "i64",
        /// A boolean: one byte, 0 or 1.
        Bool = "bool",
        /// Unsigned 16-bit integer.
        U16 = "u16",
        /// Signed 4-bit integer. In a constant, two elements share a byte; at run time, each element has a byte of its
        /// own.
        I4 = "i4",
        /// Unsigned 4-bit integer. In a constant, two elements share a byte; at run time, each element has a byte of
        /// its own.
        U4 = "u4",
        /// bfloat16, the upper half of a 32-bit float. Tensors are stored in this type; kernels convert the elements to f32
        /// before they compute.
        #[serde(rename = "bf16")]
        BF16 = "bf16",
        /// Unsigned 32-bit integer. Models may compute with it, but it is never the type of a code.
        U32 = "u32",
        /// Unsigned 64-bit integer. Models may compute with it, but it is never the type of a code.
        U64 = "u64",
    }
}

impl Elem {
    /// Returns the tag of the type in IR bytes.
    pub fn tag(self) -> u8 {
        self as u8
    }

    /// Returns the type in which elements are stored at run time: a type of 8 bits for elements of 4 bits, and the type
    /// itself otherwise.
    pub fn storage(self) -> Elem {
        match self {
            Elem::I4 => Elem::I8,
            Elem::U4 => Elem::U8,
            Elem::F32
            | Elem::F16
            | Elem::F64
            | Elem::I8
            | Elem::U8
            | Elem::I16
            | Elem::I32
            | Elem::I64
            | Elem::Bool
            | Elem::U16
            | Elem::BF16
            | Elem::U32
            | Elem::U64 => self,
        }
    }

    /// Returns the integer type of the same width with the opposite signedness; `None` unless the width is 8 or 16
    /// bits.
    pub fn other_sign(self) -> Option<Elem> {
        Some(match self {
            Elem::I8 => Elem::U8,
            Elem::U8 => Elem::I8,
            Elem::I16 => Elem::U16,
            Elem::U16 => Elem::I16,
            _ => return None,
        })
    }

    /// Returns the number to add to codes and zero points when they are converted to `other`, a type of the same width
    /// and opposite signedness. The real numbers stay the same. For example, −128 converts u8 to i8: q − z = (q − 128)
    /// − (z − 128).
    pub fn distance_to(self, other: Elem) -> i32 {
        let least = |elem: Elem| elem.int_type().map_or(0, IntType::min);
        least(other) - least(self)
    }

    /// True if a constant of this type has two elements in a byte.
    pub fn is_packed(self) -> bool {
        self.storage() != self
    }

    /// Returns the number of bytes of a constant with `count` elements; `None` if that number does not fit in 64 bits.
    pub fn packed_bytes(self, count: u64) -> Option<u64> {
        if self.is_packed() {
            return Some(count.div_ceil(2));
        }
        count.checked_mul(self.size() as u64)
    }

    /// Returns the width of an element in bits. A boolean counts as the eight bits of its byte.
    pub fn bits(self) -> u8 {
        // The width in bits is at most 64, so it fits in a u8.
        if self.is_packed() { 4 } else { 8 * self.size() as u8 }
    }

    /// Number of bytes of one element at run time.
    pub fn size(self) -> usize {
        match self {
            Elem::I8 | Elem::U8 | Elem::Bool | Elem::I4 | Elem::U4 => 1,
            Elem::F16 | Elem::BF16 | Elem::I16 | Elem::U16 => 2,
            Elem::F32 | Elem::I32 | Elem::U32 => 4,
            Elem::F64 | Elem::I64 | Elem::U64 => 8,
        }
    }

    /// Returns the format of a 16-bit float; `None` for any other type.
    pub fn half_float(self) -> Option<HalfFloat> {
        match self {
            Elem::F16 => Some(F16),
            Elem::BF16 => Some(BF16),
            _ => None,
        }
    }

    /// True if this is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64)
    }

    /// True for types of codes, and for i64, whose elements can be accumulators, shapes or indices.
    pub fn is_integer(self) -> bool {
        self.int_type().is_some() || self == Elem::I64
    }

    /// Returns the smallest and the largest integer of the type; `None` if it is not an integer type.
    pub fn integers(self) -> Option<(i64, i64)> {
        match self.int_type() {
            Some(codes) => Some((codes.min().into(), codes.max().into())),
            None => match self {
                Elem::I64 => Some((i64::MIN, i64::MAX)),
                Elem::U32 => Some((0, u32::MAX.into())),
                // The integers are returned as i64, so the range ends at the largest i64.
                Elem::U64 => Some((0, i64::MAX)),
                _ => None,
            },
        }
    }

    /// Returns the integer type in the crate `requantize` that corresponds to this type; `None` if there is none.
    pub fn int_type(self) -> Option<IntType> {
        match self {
            Elem::I8 => Some(IntType::I8),
            Elem::U8 => Some(IntType::U8),
            Elem::I16 => Some(IntType::I16),
            Elem::I32 => Some(IntType::I32),
            Elem::U16 => Some(IntType::U16),
            Elem::I4 => Some(IntType::I4),
            Elem::U4 => Some(IntType::U4),
            Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 | Elem::I64 | Elem::U32 | Elem::U64 | Elem::Bool => None,
        }
    }
}

impl From<IntType> for Elem {
    fn from(t: IntType) -> Elem {
        match t {
            IntType::I8 => Elem::I8,
            IntType::U8 => Elem::U8,
            IntType::I16 => Elem::I16,
            IntType::I32 => Elem::I32,
            IntType::U16 => Elem::U16,
            IntType::I4 => Elem::I4,
            IntType::U4 => Elem::U4,
        }
    }
}
