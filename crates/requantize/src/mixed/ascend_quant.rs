use super::{Undefined, check_offset, check_scale};
use crate::{
    FormError, IntType, Rounding,
    quantize::{Quantization, Scaling},
};
use serde::{Deserialize, Serialize};

/// `sat(round(x * scale + offset))` in `f32`, as AscendQuant computes it. The offset is added inside the rounding. With
/// `sqrt_mode`, the formula is `sat(round(x * scale * scale + offset))`.
///
/// Domain: every `f32` except NaN. Infinities saturate. (A chip that computes in 16-bit floats gives other results.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AscendQuant {
    /// The factor: the reciprocal of the result's scale, or the square root of that reciprocal. Finite and positive.
    pub scale: f32,
    /// The number that is added before the rounding, finite.
    pub offset: f32,
    /// True if the factor is applied twice.
    #[serde(default)]
    pub sqrt_mode: bool,
    /// `half_even`, `floor`, `ceil` or `toward_zero`. The names in AscendQuant's `round_mode` are Round, Floor, Ceil
    /// and Trunc.
    pub rounding: Rounding,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl AscendQuant {
    /// The rounding modes that AscendQuant supports.
    pub const ROUNDINGS: [Rounding; 4] = [
        Rounding::HalfEven,
        Rounding::Floor,
        Rounding::Ceil,
        Rounding::TowardZero,
    ];

    /// Checks that the parameters are legal.
    pub fn check(&self) -> Result<(), FormError> {
        check_scale(0, self.scale)?;
        check_offset(self.offset)?;
        if Self::ROUNDINGS.contains(&self.rounding) {
            Ok(())
        } else {
            Err(FormError::Rounding(self.rounding))
        }
    }

    /// The code of a real number.
    pub fn eval(&self, x: f32) -> Result<i32, Undefined> {
        if x.is_nan() {
            return Err(Undefined::NotANumber);
        }
        Ok(self.quantization().eval(x))
    }

    /// This function in the general form, as a [`Quantization`]. In this form, NaN becomes the code of real zero.
    pub fn quantization(&self) -> Quantization {
        Quantization {
            scaling: if self.sqrt_mode {
                Scaling::TimesTwice(self.scale)
            } else {
                Scaling::Times(self.scale)
            },
            inside: self.offset,
            after: 0,
            rounding: self.rounding,
            out: self.out,
        }
    }
}
