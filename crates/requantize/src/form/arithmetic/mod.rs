//! The families of arithmetic. Each form is computed by one of a few families, with its own parameters. Kernels
//! implement these families, and the decision procedures invert them.

mod affine;
mod double_product;
mod doubling;
mod float_affine;
mod float_product;
mod quotients;
mod step_count;

pub use affine::Affine;
pub use double_product::DoubleProduct;
pub use doubling::Doubling;
pub use float_affine::FloatAffine;
pub use float_product::FloatProduct;
pub(crate) use quotients::firsts;
pub use step_count::StepCount;

use super::{
    FormError, MAX_ADDEND, MAX_SHIFT,
    check::{check_scale, in_range},
};
use crate::IntType;

/// The parameters of one channel, by family. A family computes a wide integer, which [`Channel`](super::Channel) then
/// saturates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arithmetic<'a> {
    /// Multiplies, adds, shifts with one rounding, and adds.
    Affine(Affine),
    /// Multiplies, adds, shifts with two roundings, and adds.
    Doubling(Doubling),
    /// Multiplies in `f32`, rounds, and adds.
    Float(FloatProduct),
    /// Multiplies in `f64`, rounds, and adds.
    Double(DoubleProduct),
    /// Multiplies and adds in `f32`, and rounds.
    FloatAffine(FloatAffine),
    /// Counts thresholds.
    Steps(StepCount<'a>),
}

impl Arithmetic<'_> {
    /// Checks that the parameters are legal.
    pub(in crate::form) fn check(&self, channel: usize, out: IntType) -> Result<(), FormError> {
        match self {
            Arithmetic::Affine(a) => {
                check_product(channel, a.factor, a.addend)?;
                in_range("shift", channel, a.shift.into(), 0..=MAX_SHIFT.into())?;
            }
            Arithmetic::Doubling(d) => {
                check_product(channel, d.factor, d.addend)?;
                in_range("shift", channel, d.shift.into(), 32..=MAX_SHIFT.into())?;
            }
            Arithmetic::Float(f) => check_scale(channel, f.scale)?,
            // The multiplier is an integer times a power of two, so it is always legal.
            Arithmetic::Double(_) => {}
            Arithmetic::FloatAffine(f) => {
                check_scale(channel, f.factor)?;
                check_scale(channel, f.scale)?;
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

fn check_product(channel: usize, factor: i32, addend: i64) -> Result<(), FormError> {
    if factor < 0 {
        return Err(FormError::NegativeFactor { channel, factor });
    }
    if !(-MAX_ADDEND..=MAX_ADDEND).contains(&addend) {
        return Err(FormError::Addend { channel, addend });
    }
    Ok(())
}
