//! Schemes: all of the way from real numbers to codes, but for scale and zero point.

use super::params::QuantParams;
use super::policy::{FloatFormat, Granularity, Policy};
use crate::elem::Elem;
use crate::shape::Dim;
use std::fmt;
use std::num::NonZeroU32;
use strait_requantize::Rounding;

/// Policy, type, range and rounding of a config. Two configs share a grid only if their schemes are equal.
///
/// The codes of a small float are its numbers: it has no integer type and no range of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    policy: Policy,
    codes: Option<CodeRange>,
    rounding: Rounding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodeRange {
    elem: Elem,
    range: [i64; 2],
}

/// Parts that do not make a scheme. The fault is that of whoever made it: a file, or a pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// A type that is no integer.
    #[error("{0} is not a type of codes")]
    Elem(Elem),
    /// A range that is not in order or not inside of the type.
    #[error("[{low}, {high}] is not a range of {elem}")]
    Range {
        /// The type.
        elem: Elem,
        /// The smallest code.
        low: i64,
        /// The largest code.
        high: i64,
    },
    /// Small floats have other constructors.
    #[error("a policy of small floats has no integer codes")]
    Floating,
}

impl Scheme {
    /// Integer codes of a linear policy.
    ///
    /// # Errors
    /// A type without integer codes, or a range that is not inside of it.
    pub fn integers(policy: Policy, elem: Elem, range: [i64; 2], rounding: Rounding) -> Result<Scheme, SchemeError> {
        if matches!(policy, Policy::Floating { .. }) {
            return Err(SchemeError::Floating);
        }
        let Some((first, last)) = elem.integers() else {
            return Err(SchemeError::Elem(elem));
        };
        let [low, high] = range;
        if low >= high || low < first || high > last {
            return Err(SchemeError::Range { elem, low, high });
        }
        let codes = Some(CodeRange { elem, range });
        Ok(Scheme {
            policy,
            codes,
            rounding,
        })
    }

    /// Small floats.
    pub fn floats(format: FloatFormat, per: Granularity, rounding: Rounding) -> Scheme {
        Scheme {
            policy: Policy::Floating { format, per },
            codes: None,
            rounding,
        }
    }

    /// The kind of grid.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The type of the codes; none for small floats.
    pub fn elem(&self) -> Option<Elem> {
        self.codes.map(|codes| codes.elem)
    }

    /// Smallest and largest code; none for small floats.
    pub fn range(&self) -> Option<[i64; 2]> {
        self.codes.map(|codes| codes.range)
    }

    /// True if numbers become integers of a fixed grid: neither small floats nor a range of each run.
    pub fn has_codes(&self) -> bool {
        self.codes.is_some() && matches!(self.policy, Policy::Linear { dynamic: false, .. })
    }

    /// True of sums, and of what is added to them: integers of 32 or 64 bits.
    pub fn is_of_sums(&self) -> bool {
        matches!(self.elem(), Some(Elem::I32 | Elem::I64))
    }

    /// Rounding of real numbers to codes.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Reason why these are no scale and zero point of a value of a shape under the scheme, as the end of a sentence about the
    /// grid; none where they are. A grid may be coarser than its scheme allows, one scale for all. The other way around it is
    /// not.
    pub fn misfit(&self, params: &QuantParams, shape: &[Dim]) -> Option<&'static str> {
        self.illegal_numbers(params)
            .or_else(|| self.illegal_parts(params, shape))
    }

    fn illegal_numbers(&self, params: &QuantParams) -> Option<&'static str> {
        let (first, last) = self.elem().and_then(Elem::integers).unwrap_or((0, 0));
        let rules = [
            (
                params.scale.all(|s| s.is_finite() && *s > 0.0),
                "has a scale that is not finite and positive",
            ),
            (
                !self.policy.has_powers_of_two() || params.scale.all(|s| is_power_of_two(*s)),
                "has a scale that is no power of two",
            ),
            (
                !self.policy.is_symmetric() || params.zero_point.all(|z| *z == 0),
                "has a zero point, but is symmetric",
            ),
            (
                params.zero_point.all(|z| (first..=last).contains(&i64::from(*z))),
                "has a zero point outside of the type",
            ),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, wrong)| wrong)
    }

    fn illegal_parts(&self, params: &QuantParams, shape: &[Dim]) -> Option<&'static str> {
        let counts = [params.scale.channels(), params.zero_point.channels()];
        if counts == [None, None] {
            let inside = params.axis.is_none_or(|axis| usize::from(axis) < shape.len());
            return (!inside).then_some("has an axis that its value lacks");
        }
        let (axis, size) = match self.policy.per() {
            Granularity::Tensor => (None, None),
            Granularity::Channel { axis } => (Some(axis), None),
            Granularity::Block { axis, size } => (Some(axis), Some(size)),
        };
        if params.axis != axis || params.block.map(NonZeroU32::get) != size {
            return Some("is along another axis, or in other blocks");
        }
        let parts = params.parts(shape);
        let fits = counts.into_iter().flatten().all(|count| parts == Some(count as u64));
        (!fits).then_some("has not as many scales as its value has parts")
    }
}

/// True of a positive one: nothing but the exponent is set, or one bit of a number below the smallest exponent.
fn is_power_of_two(scale: f32) -> bool {
    let mantissa = scale.to_bits() & 0x007f_ffff;
    mantissa.count_ones() == u32::from(!scale.is_normal())
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.policy, self.codes) {
            (Policy::Floating { format, .. }, _) => write!(f, "{format}")?,
            (
                _,
                Some(CodeRange {
                    elem,
                    range: [low, high],
                }),
            ) => write!(f, "{elem} [{low}, {high}]")?,
            // `integers` makes no linear policy without codes.
            (Policy::Linear { .. }, None) => {}
        }
        if let Policy::Linear {
            symmetric,
            power_of_two,
            dynamic,
            ..
        } = self.policy
        {
            let words = [
                (true, if symmetric { "symmetric" } else { "asymmetric" }),
                (power_of_two, "power_of_two"),
                (dynamic, "dynamic"),
            ];
            for (_, word) in words.into_iter().filter(|(holds, _)| *holds) {
                write!(f, " {word}")?;
            }
        }
        write!(f, " per {} {}", self.policy.per(), self.rounding.name())
    }
}
