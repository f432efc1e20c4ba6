//! Requantization forms: the data ([`Requantization`]), what makes it legal ([`Requantization::check`]) and what it
//! computes ([`Requantization::eval`], or [`Channel`] for many values of one channel).
//!
//! One file per form; behind them are a few families of arithmetic.

mod arithmetic;
mod channel;
mod check;

mod arith_folded;
mod fixed;
mod float;
mod fractional_zero;
mod gemmlowp;
mod steps;
mod tf_lite;

pub use arith_folded::ArithFolded;
pub use arithmetic::{Affine, Arithmetic, Doubling, FloatProduct, StepCount};
pub use channel::Channel;
pub use check::{FormError, MAX_ADDEND, MAX_SHIFT};
pub use fixed::Fixed;
pub use float::Float;
pub use fractional_zero::FractionalZero;
pub use gemmlowp::Gemmlowp;
pub use steps::Steps;
pub use tf_lite::TfLite;

use crate::{IntType, Per, Rounding};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive};

/// The last stage of most forms: divide by a power of two, round, saturate to a narrow type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowing {
    /// The divisor is `2^shift`; at most [`MAX_SHIFT`].
    pub shift: Per<u8>,
    /// How the quotient becomes an integer.
    pub rounding: Rounding,
    /// What the result saturates to.
    pub out: IntType,
}

/// The closed set of forms: the enum, the kinds with their names, and who answers for which.
macro_rules! forms {
    ($($form:ident $name:literal,)*) => {
        /// A requantization with its parameters: from an accumulator `x` to a narrow integer. Plain data.
        ///
        /// The set is closed: a target's own form is [`Fixed`] or [`Steps`], so that every form can be executed, printed
        /// and proved. `round` is the narrowing's, `s` its shift, `sat` saturates to the output type. An activation
        /// behind it is a clamp of its own ([`Step`](crate::Step)).
        ///
        /// Every form is non-decreasing on its [`domain`](Requantization::domain), which is all of `i32` for every form
        /// but `Gemmlowp`, and more for those that multiply integers.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Requantization {
            $(#[doc = concat!("See [`", stringify!($form), "`](struct@", stringify!($form), ").")] $form($form),)*
        }

        /// Which form, without its parameters: what a target's table accepts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FormKind {
            $(#[doc = concat!("[`", stringify!($form), "`](struct@", stringify!($form), ")")] $form,)*
        }

        impl FormKind {
            /// Every kind, in the order of the declaration.
            pub const ALL: [FormKind; [$($name),*].len()] = [$(FormKind::$form),*];

            /// The name in text forms and tables, `arith_folded` for instance.
            pub const fn name(self) -> &'static str {
                match self {
                    $(FormKind::$form => $name,)*
                }
            }
        }

        impl Requantization {
            /// Which form this is.
            pub fn kind(&self) -> FormKind {
                match self {
                    $(Requantization::$form(_) => FormKind::$form,)*
                }
            }

            fn form(&self) -> &dyn Form {
                match self {
                    $(Requantization::$form(form) => form,)*
                }
            }
        }

        $(impl From<$form> for Requantization {
            fn from(form: $form) -> Self {
                Requantization::$form(form)
            }
        })*
    };
}

forms! {
    ArithFolded "arith_folded",
    FractionalZero "fractional_zero",
    TfLite "tf_lite",
    Gemmlowp "gemmlowp",
    Float "float",
    Fixed "fixed",
    Steps "steps",
}

/// What a form says of itself. [`Requantization`] and [`Channel`] make the rest of it.
trait Form {
    /// What the result saturates to.
    fn out(&self) -> IntType;

    /// The narrowing, of a form that ends in a shift.
    fn narrowing(&self) -> Option<&Narrowing> {
        None
    }

    /// The name of each field that may have one value per channel, and how many it has, `None` for one value for all.
    fn lengths(&self) -> Vec<(&'static str, Option<usize>)>;

    /// The parameters of one channel.
    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError>;
}

/// One channel of a form, looked up.
struct Scalars<'a> {
    arithmetic: Arithmetic<'a>,
}

impl<'a> From<Arithmetic<'a>> for Scalars<'a> {
    fn from(arithmetic: Arithmetic<'a>) -> Self {
        Scalars { arithmetic }
    }
}

/// The value of a field for a channel.
fn at<T: Copy>(field: &'static str, values: &Per<T>, channel: usize) -> Result<T, FormError> {
    values
        .get(channel)
        .copied()
        .ok_or(FormError::NoSuchChannel { field, channel })
}

impl FormKind {
    /// The inverse of [`FormKind::name`].
    pub fn parse(name: &str) -> Option<FormKind> {
        FormKind::ALL.into_iter().find(|k| k.name() == name)
    }
}

impl fmt::Display for FormKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An accumulator for which the runtime that a form describes would overflow, or a channel that the form does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: accumulator {acc} of channel {channel} is outside the domain {} ..= {}", .domain.start(), .domain.end())]
pub struct OutsideDomain {
    /// The form's kind.
    pub kind: FormKind,
    /// The channel asked for.
    pub channel: usize,
    /// The accumulator asked for.
    pub acc: i64,
    /// Where the channel is defined; empty for a channel that does not exist or whose parameters are not legal.
    pub domain: RangeInclusive<i64>,
}

impl Requantization {
    /// What the result saturates to.
    pub fn out(&self) -> IntType {
        self.form().out()
    }

    /// The narrowing of the forms that end in a shift.
    pub fn narrowing(&self) -> Option<&Narrowing> {
        self.form().narrowing()
    }

    /// The number of channels, `None` where the same parameters serve any number. Of a form that
    /// [`check`](Requantization::check) refuses for its lengths, one of them.
    pub fn channels(&self) -> Option<usize> {
        self.form().lengths().into_iter().find_map(|(_, length)| length)
    }

    /// The result for one accumulator of one channel. Never wraps and never panics: outside the domain it is an error.
    ///
    /// For many accumulators of a channel ask once for [`Requantization::channel`].
    pub fn eval(&self, channel: usize, acc: i64) -> Result<i32, OutsideDomain> {
        let domain = match self.channel(channel) {
            Ok(form) if form.domain().contains(&acc) => return Ok(form.eval_inside(acc)),
            Ok(form) => form.domain(),
            Err(_) => EMPTY,
        };
        Err(OutsideDomain {
            kind: self.kind(),
            channel,
            acc,
            domain,
        })
    }

    /// Where no intermediate result of a channel overflows: the form is defined and non-decreasing there. Empty for a
    /// channel that does not exist or whose parameters are not legal.
    pub fn domain(&self, channel: usize) -> RangeInclusive<i64> {
        self.channel(channel).map_or(EMPTY, |form| form.domain())
    }

    /// Whether the form is `sat(x)` on every channel: it keeps each accumulator that fits the output type.
    pub fn is_identity(&self) -> bool {
        let channels = self.channels().unwrap_or(1);
        channels > 0 && (0..channels).all(|c| self.channel(c).is_ok_and(|form| form.is_identity()))
    }
}

#[expect(clippy::reversed_empty_ranges, reason = "the empty domain")]
const EMPTY: RangeInclusive<i64> = 1..=0;
