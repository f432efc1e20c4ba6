//! Schemes: all of the way from real numbers to codes, but for scale and zero point.

use super::policy::{FloatFormat, Granularity, Policy};
use crate::elem::Elem;
use std::fmt;
use strait_requantize::Rounding;

/// Policy, type, range and rounding of a config. Two configs share a grid only if their schemes are equal.
///
/// The codes of a small float are its numbers: it has no integer type and no range of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    policy: Policy,
    codes: Option<Codes>,
    rounding: Rounding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Codes {
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
        let codes = Some(Codes { elem, range });
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

    /// Rounding of real numbers to codes.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.policy, self.codes) {
            (Policy::Floating { format, .. }, _) => write!(f, "{format}")?,
            (
                _,
                Some(Codes {
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
