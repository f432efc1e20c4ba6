//! Quantization schemes. A scheme determines how real numbers become codes, except for scale and zero point.

use super::params::QuantParams;
use super::policy::{FloatFormat, Granularity, Policy};
use crate::elem::Elem;
use crate::shape::Dim;
use std::fmt;
use std::num::NonZeroU32;
use strait_requantize::{IntType, Rounding};

/// Policy, type, range and rounding of a config. Two configs can share a grid only if their schemes are equal.
///
/// If the policy is floating, codes are small floats, and the scheme has no integer type and no range of integers.
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

/// Why no scheme can be made from the fields that a file or a pass states.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// The type is not an integer type.
    #[error("{0} is not a type of codes")]
    Elem(Elem),
    /// The smallest code is larger than the largest code, or one of the two is not in the element type.
    #[error("[{low}, {high}] is not a range of {elem}")]
    Range {
        /// The element type.
        elem: Elem,
        /// The smallest code.
        low: i64,
        /// The largest code.
        high: i64,
    },
    /// Schemes of small floats have to be made with [`Scheme::floats`].
    #[error("a policy of small floats has no integer codes")]
    Floating,
}

impl Scheme {
    /// Makes a scheme with a linear policy and integer codes.
    ///
    /// # Errors
    /// The type has no integer codes, or `range` is not within the type.
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

    /// Makes a scheme of small floats.
    pub fn floats(format: FloatFormat, per: Granularity, rounding: Rounding) -> Scheme {
        Scheme {
            policy: Policy::Floating { format, per },
            codes: None,
            rounding,
        }
    }

    /// Returns the policy, which says what kind of grid the codes are on.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the type of the codes; `None` for small floats.
    pub fn elem(&self) -> Option<Elem> {
        self.codes.map(|codes| codes.elem)
    }

    /// Returns the type of the codes for integer arithmetic; `None` for small floats, and for types that have no such
    /// arithmetic.
    pub fn int_type(self) -> Option<IntType> {
        self.elem()?.int_type()
    }

    /// Returns the smallest and the largest code; `None` for small floats.
    pub fn range(&self) -> Option<[i64; 2]> {
        self.codes.map(|codes| codes.range)
    }

    /// True if real numbers become integers on a fixed grid. False for small floats, and if each run measures the
    /// range.
    pub fn has_codes(&self) -> bool {
        self.codes.is_some() && matches!(self.policy, Policy::Linear { dynamic: false, .. })
    }

    /// True if the codes are integers of 32 or 64 bits: accumulators, or biases, which are added to accumulators.
    pub fn is_of_sums(&self) -> bool {
        matches!(self.elem(), Some(Elem::I32 | Elem::I64))
    }

    /// Returns how real numbers are rounded to codes.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Checks whether these parameters are a valid grid for a value with this shape. Returns `None` if the grid is
    /// valid. Otherwise returns the reason, as the end of a sentence whose subject is the grid. A grid may be coarser
    /// than its scheme allows (one scale for the whole tensor), but not finer.
    pub fn misfit(&self, params: &QuantParams, shape: &[Dim]) -> Option<&'static str> {
        self.illegal_numbers(params)
            .or_else(|| self.illegal_parts(params, shape))
    }

    fn illegal_numbers(&self, params: &QuantParams) -> Option<&'static str> {
        let (first, last) = self.elem().and_then(Elem::integers).unwrap_or((0, 0));
        let rules = [
            (params.has_legal_scales(), "has a scale that is not finite and positive"),
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

/// True for a positive power of two. The bits of its mantissa are all 0, or it is subnormal with a single bit set.
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
            // [`Scheme::integers`] always gives a linear policy a type and a range, so this case does not occur.
            (Policy::Linear { .. }, None) => {}
        }
        for word in self.policy.words() {
            write!(f, " {word}")?;
        }
        write!(f, " per {} {}", self.policy.per(), self.rounding.name())
    }
}
