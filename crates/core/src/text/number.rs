//! Numbers in a text: integers, and floats that read back as the same bits.

use crate::elem::Elem;
use strait_requantize::half_float::{BF16, F16};

/// Returns the shortest decimal that reads back as the same f32, always with a point or an exponent. An infinity is
/// written as `inf` or `-inf`, and a NaN with its bits.
pub(super) fn f32_text(v: f32) -> String {
    if v.is_nan() {
        format!("nan({:#010x})", v.to_bits())
    } else {
        format!("{v:?}")
    }
}

fn f64_text(v: f64) -> String {
    if v.is_nan() {
        format!("nan({:#018x})", v.to_bits())
    } else {
        format!("{v:?}")
    }
}

fn f16_text(bits: u16) -> String {
    // The shortest decimal of the f32 with the same value also reads back as the same f16.
    match F16.decode(bits) {
        v if v.is_nan() => format!("nan({bits:#06x})"),
        v => format!("{v:?}"),
    }
}

/// Returns one element of a tensor as text. `bytes` are the `elem.size()` little-endian bytes in which the element is
/// stored at run time.
pub(super) fn element_text(elem: Elem, bytes: &[u8]) -> String {
    let mut word = [0u8; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    // `bits` has the bits of the element, followed by zeros, so each cast keeps exactly these bits.
    let bits = u64::from_le_bytes(word);
    match elem {
        Elem::F32 => f32_text(f32::from_bits(bits as u32)),
        Elem::F16 => f16_text(bits as u16),
        // The bits of a bf16 are the upper half of an f32 whose lower half is 0.
        Elem::BF16 => f32_text(f32::from_bits((bits as u32) << 16)),
        Elem::F64 => f64_text(f64::from_bits(bits)),
        Elem::I8 | Elem::I4 => (bits as i8).to_string(),
        Elem::U8 | Elem::Bool | Elem::U16 | Elem::U4 | Elem::U32 | Elem::U64 => bits.to_string(),
        Elem::I16 => (bits as i16).to_string(),
        Elem::I32 => (bits as i32).to_string(),
        Elem::I64 => (bits as i64).to_string(),
    }
}

/// A number as written in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    /// Digits, optionally with a sign, a point or an exponent; or `inf`, `-inf`.
    Decimal(String),
    /// The bits of a NaN.
    Nan(u64),
}

impl Number {
    pub(super) fn is_integer(&self) -> bool {
        matches!(self, Number::Decimal(text) if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok())
    }

    pub(super) fn integer<T: std::str::FromStr>(&self) -> Option<T> {
        match self {
            Number::Decimal(text) => text.parse().ok(),
            Number::Nan(_) => None,
        }
    }

    /// Returns the f32 that is nearest to the number. If this is [`Number::Nan`], returns the NaN with these bits.
    /// Returns `None` if the text is not a number, or if no NaN has these bits.
    pub(super) fn f32(&self) -> Option<f32> {
        match self {
            Number::Decimal(text) => decimal(text)?.parse().ok(),
            Number::Nan(bits) => u32::try_from(*bits).ok().map(f32::from_bits).filter(|v| v.is_nan()),
        }
    }

    fn f64(&self) -> Option<f64> {
        match self {
            Number::Decimal(text) => decimal(text)?.parse().ok(),
            Number::Nan(bits) => Some(f64::from_bits(*bits)).filter(|v| v.is_nan()),
        }
    }

    fn f16(&self) -> Option<u16> {
        match self {
            Number::Decimal(_) => self.f64().map(|x| F16.encode(x)),
            Number::Nan(bits) => u16::try_from(*bits).ok().filter(|&bits| F16.decode(bits).is_nan()),
        }
    }

    fn bf16(&self) -> Option<u16> {
        match self {
            Number::Decimal(_) => self.f64().map(|x| BF16.encode(x)),
            // A NaN of type bf16 is written with the bits of the f32 that has the same value.
            Number::Nan(bits) => (u32::try_from(*bits).ok())
                .filter(|bits| bits & 0xffff == 0 && f32::from_bits(*bits).is_nan())
                .map(|bits| (bits >> 16) as u16),
        }
    }

    /// Appends this number to `bytes` as an element: little-endian, as stored at run time. Returns `None` if the type
    /// cannot represent the number.
    pub(super) fn push_element(&self, elem: Elem, bytes: &mut Vec<u8>) -> Option<()> {
        match elem {
            Elem::F32 => bytes.extend(self.f32()?.to_le_bytes()),
            Elem::F16 => bytes.extend(self.f16()?.to_le_bytes()),
            Elem::BF16 => bytes.extend(self.bf16()?.to_le_bytes()),
            Elem::F64 => bytes.extend(self.f64()?.to_le_bytes()),
            Elem::I8 => bytes.extend(self.integer::<i8>()?.to_le_bytes()),
            Elem::U8 | Elem::Bool => bytes.extend(self.integer::<u8>()?.to_le_bytes()),
            Elem::I16 => bytes.extend(self.integer::<i16>()?.to_le_bytes()),
            Elem::I32 => bytes.extend(self.integer::<i32>()?.to_le_bytes()),
            Elem::I64 => bytes.extend(self.integer::<i64>()?.to_le_bytes()),
            Elem::U16 => bytes.extend(self.integer::<u16>()?.to_le_bytes()),
            Elem::U32 => bytes.extend(self.integer::<u32>()?.to_le_bytes()),
            Elem::U64 => bytes.extend(self.integer::<u64>()?.to_le_bytes()),
            Elem::I4 => bytes.extend(self.integer::<i8>().filter(|v| (-8..=7).contains(v))?.to_le_bytes()),
            Elem::U4 => bytes.extend(self.integer::<u8>().filter(|v| *v <= 15)?.to_le_bytes()),
        }
        Some(())
    }
}

/// Returns the text if it is a number in the text form. Rust also accepts other spellings, such as `infinity`, `NaN`
/// and `+1`, which are refused here.
fn decimal(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (digits == "inf" || digits.starts_with(|c: char| c.is_ascii_digit())).then_some(text)
}
