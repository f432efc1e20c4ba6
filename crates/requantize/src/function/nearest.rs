use super::{Definition, FunctionError, Real, in_range};
use crate::{
    IntType, Rounding,
    scales::{ScaleError, positive},
};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The correctly rounded function (`nearest.v1`): y = sat(⟨f(s·(x − z)) / s'⟩ + z'). Here f is the function of real
/// numbers, s and z are the scale and the zero point of the operand, s' and z' are those of the result, and ⟨ ⟩ rounds
/// to an integer as `rounding` says. The quotient is a real number, so it is rounded only once.
///
/// To round, the value of f is compared with the numbers halfway between two codes. The value is exact if f is a
/// quotient or a root. For other functions, the distance of the value from 0, from 1 or from the operand is known to
/// about 13 digits. If these digits do not decide the result for a code, evaluating that code is an error. No such code
/// is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nearest {
    /// The function of real numbers.
    pub function: Real,
    /// The type of the operand's codes, with at most 16 bits.
    pub elements: IntType,
    /// The scale of the operand.
    pub input_scale: f32,
    /// The zero point of the operand, one of its codes.
    pub input_zp: i32,
    /// The type of the result's codes, with at most 16 bits.
    pub out: IntType,
    /// The scale of the result.
    pub scale: f32,
    /// The zero point of the result, one of its codes.
    pub zp: i32,
    /// How the quotient is rounded.
    pub rounding: Rounding,
}

impl Nearest {
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let definition = Definition::Nearest;
        let scale = |what, scale: f32| {
            positive(what, scale.into()).map_err(|source: ScaleError| FunctionError::Scale { definition, source })
        };
        scale("input scale", self.input_scale)?;
        scale("output scale", self.scale)?;
        if let Some(value) = self.function.coefficients().find(|value| !value.is_finite()) {
            return Err(FunctionError::Coefficient { definition, value });
        }
        for elements in [self.elements, self.out] {
            if elements.bits() > 16 {
                return Err(FunctionError::Elements { definition, elements });
            }
        }
        let codes = |elements: IntType| elements.min().into()..=elements.max().into();
        in_range(definition, "input zero point", self.input_zp, codes(self.elements))?;
        in_range(definition, "zero point", self.zp, codes(self.out))
    }

    pub(super) fn value(&self, code: i32) -> Result<i32, FunctionError> {
        let undecided = FunctionError::Undecided {
            definition: Definition::Nearest,
            code,
        };
        // The product is exact: the scale has 24 bits, and the difference of two codes has 17 bits.
        let value = self
            .function
            .at(f64::from(self.input_scale) * f64::from(code - self.input_zp));
        let scale = f64::from(self.scale);
        // If the value lies more than one code outside of the type's range, the result saturates, and the exact value
        // does not matter.
        let ends = [self.out.min(), self.out.max()].map(|end| f64::from(end - self.zp));
        let below = (value.nearest() / scale).floor().clamp(ends[0] - 2.0, ends[1] + 2.0);
        if below < ends[0] - 1.0 || below > ends[1] + 1.0 {
            return Ok(self.out.saturate(below as i64 + i64::from(self.zp)));
        }
        // The rounded quotient is off by at most one. To correct it, the exact value is compared with multiples of half
        // of the scale. These multiples are exact in f64, because the scale has 24 bits and `halves` at most 19.
        let with = |halves: f64| value.compare(halves / 2.0 * scale).ok_or(undecided.clone());
        let below = if with(2.0 * below)? == Ordering::Less {
            below - 1.0
        } else if with(2.0 * below + 2.0)? == Ordering::Less {
            below
        } else {
            below + 1.0
        };
        let up = with(2.0 * below)? != Ordering::Equal
            && self
                .rounding
                .goes_up(with(2.0 * below + 1.0)?, below < 0.0, below % 2.0 != 0.0);
        Ok(self.out.saturate(below as i64 + i64::from(up) + i64::from(self.zp)))
    }
}
