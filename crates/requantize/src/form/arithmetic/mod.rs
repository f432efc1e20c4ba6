//! The few families of arithmetic behind the forms: what a kernel implements, and what the decision procedures invert.

mod affine;
mod doubling;
mod float_product;
mod step_count;

pub use affine::Affine;
pub use doubling::Doubling;
pub use float_product::FloatProduct;
pub use step_count::StepCount;

use super::{FormError, MAX_ADDEND, MAX_SHIFT};
use crate::IntType;

/// One channel's scalars. Each family computes a wide integer that [`Channel`](super::Channel) then saturates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arithmetic<'a> {
    /// Multiply, add, shift with one rounding, add.
    Affine(Affine),
    /// Multiply and shift with two roundings.
    Doubling(Doubling),
    /// Multiply in `f32`.
    Float(FloatProduct),
    /// Count thresholds.
    Steps(StepCount<'a>),
}

impl Arithmetic<'_> {
    /// Whether the scalars are legal.
    pub(in crate::form) fn check(&self, channel: usize, out: IntType) -> Result<(), FormError> {
        match self {
            Arithmetic::Affine(a) => {
                if a.factor < 0 {
                    return Err(FormError::NegativeFactor {
                        channel,
                        factor: a.factor,
                    });
                }
                if !(-MAX_ADDEND..=MAX_ADDEND).contains(&a.addend) {
                    return Err(FormError::Addend {
                        channel,
                        addend: a.addend,
                    });
                }
                if a.shift > MAX_SHIFT {
                    return Err(FormError::Shift {
                        channel,
                        shift: a.shift,
                    });
                }
            }
            Arithmetic::Doubling(d) => {
                if d.multiplier < 0 {
                    return Err(FormError::NegativeFactor {
                        channel,
                        factor: d.multiplier,
                    });
                }
                if d.left_shift > 30 || d.right_shift > 31 {
                    let exponent = i16::from(d.left_shift) - i16::from(d.right_shift);
                    return Err(FormError::Exponent { channel, exponent });
                }
            }
            Arithmetic::Float(f) => {
                if !(f.scale.is_finite() && f.scale > 0.0) {
                    return Err(FormError::Scale {
                        channel,
                        scale: f.scale,
                    });
                }
            }
            Arithmetic::Steps(s) => {
                if out.bits() > 8 {
                    return Err(FormError::StepsOut { out });
                }
                let count = s.thresholds.len();
                let inside = s.lowest >= out.min()
                    && i64::try_from(count).is_ok_and(|n| n <= i64::from(out.max()) - i64::from(s.lowest));
                if !inside {
                    return Err(FormError::Codes {
                        channel,
                        count,
                        lowest: s.lowest,
                        out,
                    });
                }
                if let Some(i) = s.thresholds.windows(2).position(|pair| pair[0] > pair[1]) {
                    return Err(FormError::Unsorted { channel, index: i + 1 });
                }
            }
        }
        Ok(())
    }
}
