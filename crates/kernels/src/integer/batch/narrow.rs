use crate::simd::I32s;
use strait_requantize::IntType;

/// The element type of a kernel's output. It is a value and not a type parameter, so each kernel is compiled only once
/// for all output types. The price is one branch for each block of results. The processor always predicts this branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// The output elements are integer codes.
    Codes(IntType),
    /// The output elements are real numbers. Each result of the kernel is already the bits of such a number.
    F32,
}

impl Elements {
    /// Number of bytes of an element. Four vectors of results become this many vectors of elements.
    #[inline(always)]
    pub(crate) fn bytes(self) -> usize {
        match self {
            Elements::Codes(IntType::I8 | IntType::U8 | IntType::I4 | IntType::U4) => 1,
            Elements::Codes(IntType::I16 | IntType::U16) => 2,
            Elements::Codes(IntType::I32) | Elements::F32 => 4,
        }
    }

    /// Converts the bounds of the clamp to the vectors that [`Elements::store`] takes. `bounds` are codes, or the bits
    /// of two f32.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(crate) unsafe fn bounds<V: I32s>(self, bounds: [i32; 2]) -> [V; 2] {
        let bounds = match self {
            // A code of these types fits in a byte.
            Elements::Codes(IntType::I8 | IntType::U8 | IntType::I4 | IntType::U4) => {
                bounds.map(|code| i32::from_ne_bytes([code as u8; 4]))
            }
            Elements::Codes(IntType::I16 | IntType::U16 | IntType::I32) | Elements::F32 => bounds,
        };
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { [V::splat(bounds[0]), V::splat(bounds[1])] }
    }

    /// Saturates and clamps four vectors of results. Each vector of output elements is passed to `store` with its
    /// index.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(crate) unsafe fn store<V: I32s>(self, four: [V; 4], [low, high]: [V; 2], store: impl Fn(usize, V)) {
        let [a, b, c, d] = four;
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            match self {
                // The bounds are codes of the type, so elements of 4 bits are limited to their range, too.
                Elements::Codes(IntType::I8 | IntType::I4) => store(0, V::to_i8(four).clamp_i8(low, high)),
                Elements::Codes(IntType::U8 | IntType::U4) => store(0, V::to_u8(four).clamp_u8(low, high)),
                Elements::Codes(IntType::I16) => {
                    store(0, V::to_i16([a.min(high).max(low), b.min(high).max(low)]));
                    store(1, V::to_i16([c.min(high).max(low), d.min(high).max(low)]));
                }
                Elements::Codes(IntType::U16) => {
                    store(0, V::to_u16([a.min(high).max(low), b.min(high).max(low)]));
                    store(1, V::to_u16([c.min(high).max(low), d.min(high).max(low)]));
                }
                Elements::Codes(IntType::I32) => {
                    store(0, a.min(high).max(low));
                    store(1, b.min(high).max(low));
                    store(2, c.min(high).max(low));
                    store(3, d.min(high).max(low));
                }
                Elements::F32 => {
                    store(0, a.min_f32(high).max_f32(low));
                    store(1, b.min_f32(high).max_f32(low));
                    store(2, c.min_f32(high).max_f32(low));
                    store(3, d.min_f32(high).max_f32(low));
                }
            }
        }
    }
}
