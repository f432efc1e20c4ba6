//! Requantization forms: the data ([`Requantization`]), what makes it legal ([`Requantization::check`]) and what it
//! computes ([`Requantization::eval`], or [`Channel`] for many values of one channel).

mod affine;
mod channel;
mod check;
mod doubling;
mod float;
mod steps;

pub use affine::Affine;
pub use channel::{Arithmetic, Channel};
pub use check::{FormError, MAX_ADDEND, MAX_SHIFT};
pub use doubling::Doubling;
pub use float::Float;
pub use steps::Steps;

use crate::{IntType, Per, Rounding};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive, sync::Arc};

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

/// A requantization with its parameters: from an accumulator `x` to a narrow integer. Plain data.
///
/// The set is closed: a target's own form is [`Fixed`](Requantization::Fixed) or [`Steps`](Requantization::Steps), so
/// that every form can be executed, printed and proved. `round` is the narrowing's, `s` its shift, `sat` saturates to
/// the output type. An activation behind it is a clamp of its own ([`Step`](crate::Step)).
///
/// Every form is non-decreasing on its [`domain`](Requantization::domain), which is all of `i32` for every form but
/// `Gemmlowp`, and more for those that multiply integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Requantization {
    /// `sat(round(x / 2^s))`: the factor and the zero point are folded into weights and bias.
    ArithFolded {
        /// Shift, rounding, output type.
        narrowing: Narrowing,
    },
    /// `sat(round((x * sc + zp) / 2^s))`: the zero point has fractional bits.
    FractionalZero {
        /// Factor, not negative.
        sc: Per<i32>,
        /// Zero point times `2^s`; its size is at most [`MAX_ADDEND`].
        zp: Per<i64>,
        /// Shift, rounding, output type.
        narrowing: Narrowing,
    },
    /// `sat(round(x * sc / 2^s) + zp)`: one rounding, then the zero point.
    ///
    /// With `half_up`, `sc` a 31-bit multiplier and `s = 31 - exponent` this is LiteRT's FULLY_CONNECTED (and its
    /// single-rounding builds); with `s = 15 - exponent` and a 15-bit multiplier its int16 activations.
    TfLite {
        /// Factor, not negative.
        sc: Per<i32>,
        /// Zero point of the output.
        zp: i32,
        /// Shift, rounding, output type.
        narrowing: Narrowing,
    },
    /// `sat(d(h(x * 2^e⁺ * multiplier / 2^31) / 2^e⁻) + zp)` with `e⁺ = max(exponent, 0)`, `e⁻ = max(-exponent, 0)`, `h` to
    /// the nearest with ties up, `d` to the nearest with ties away from zero.
    ///
    /// This is gemmlowp's saturating rounding doubling high multiply followed by its rounding right shift: LiteRT's
    /// CONV_2D, DEPTHWISE_CONV_2D, MUL and ADD on int8, and TOSA's double rounding.
    Gemmlowp {
        /// Mantissa with 31 fractional bits, not negative.
        multiplier: Per<i32>,
        /// The factor is `multiplier * 2^(exponent - 31)`; -31 ..= 30, to the left where it is positive.
        exponent: Per<i8>,
        /// Zero point of the output.
        zp: i32,
        /// What the result saturates to.
        out: IntType,
    },
    /// `sat(half_even(f32(x) * scale) + zp)`, the conversion and the product rounded to `f32`.
    ///
    /// This is ONNX Runtime's QLinearConv, and AscendRequant with `scale` the packed requantization scale.
    Float {
        /// Factor, finite and positive.
        scale: Per<f32>,
        /// Zero point of the output.
        zp: i32,
        /// What the result saturates to.
        out: IntType,
    },
    /// `sat(round((x * sc + add) / 2^s) + zp)`: the general fixed-point form.
    Fixed {
        /// Factor, not negative.
        sc: Per<i32>,
        /// Added before the shift; its size is at most [`MAX_ADDEND`].
        add: Per<i64>,
        /// Zero point of the output.
        zp: i32,
        /// Shift, rounding, output type.
        narrowing: Narrowing,
    },
    /// `lowest + #{t in thresholds[channel] : t <= x}`: any non-decreasing function of an `i32` into eight bits.
    Steps {
        /// Sorted, one list per channel, or a single one for all; `lowest` plus their number stays inside `out`.
        thresholds: Arc<[Arc<[i32]>]>,
        /// The value below the first threshold.
        lowest: i32,
        /// `i8` or `u8`.
        out: IntType,
    },
}

/// Which form, without its parameters: what a target's table accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormKind {
    /// [`Requantization::ArithFolded`]
    ArithFolded,
    /// [`Requantization::FractionalZero`]
    FractionalZero,
    /// [`Requantization::TfLite`]
    TfLite,
    /// [`Requantization::Gemmlowp`]
    Gemmlowp,
    /// [`Requantization::Float`]
    Float,
    /// [`Requantization::Fixed`]
    Fixed,
    /// [`Requantization::Steps`]
    Steps,
}

impl FormKind {
    /// Every kind, in the order of the declaration.
    pub const ALL: [FormKind; 7] = [
        FormKind::ArithFolded,
        FormKind::FractionalZero,
        FormKind::TfLite,
        FormKind::Gemmlowp,
        FormKind::Float,
        FormKind::Fixed,
        FormKind::Steps,
    ];

    /// The name in text forms and tables, `arith_folded` for instance.
    pub const fn name(self) -> &'static str {
        match self {
            FormKind::ArithFolded => "arith_folded",
            FormKind::FractionalZero => "fractional_zero",
            FormKind::TfLite => "tf_lite",
            FormKind::Gemmlowp => "gemmlowp",
            FormKind::Float => "float",
            FormKind::Fixed => "fixed",
            FormKind::Steps => "steps",
        }
    }

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
    /// Which form this is.
    pub fn kind(&self) -> FormKind {
        match self {
            Requantization::ArithFolded { .. } => FormKind::ArithFolded,
            Requantization::FractionalZero { .. } => FormKind::FractionalZero,
            Requantization::TfLite { .. } => FormKind::TfLite,
            Requantization::Gemmlowp { .. } => FormKind::Gemmlowp,
            Requantization::Float { .. } => FormKind::Float,
            Requantization::Fixed { .. } => FormKind::Fixed,
            Requantization::Steps { .. } => FormKind::Steps,
        }
    }

    /// What the result saturates to.
    pub fn out(&self) -> IntType {
        match self {
            Requantization::ArithFolded { narrowing }
            | Requantization::FractionalZero { narrowing, .. }
            | Requantization::TfLite { narrowing, .. }
            | Requantization::Fixed { narrowing, .. } => narrowing.out,
            Requantization::Gemmlowp { out, .. }
            | Requantization::Float { out, .. }
            | Requantization::Steps { out, .. } => *out,
        }
    }

    /// The narrowing of the forms that end in a shift.
    pub fn narrowing(&self) -> Option<&Narrowing> {
        match self {
            Requantization::ArithFolded { narrowing }
            | Requantization::FractionalZero { narrowing, .. }
            | Requantization::TfLite { narrowing, .. }
            | Requantization::Fixed { narrowing, .. } => Some(narrowing),
            _ => None,
        }
    }

    /// The number of channels, `None` where the same parameters serve any number. Of a form that
    /// [`check`](Requantization::check) refuses for its lengths, one of them.
    pub fn channels(&self) -> Option<usize> {
        match self {
            Requantization::Steps { thresholds, .. } => (thresholds.len() != 1).then_some(thresholds.len()),
            _ => self.lengths().into_iter().find_map(|(_, length)| length),
        }
    }

    /// The name and the length of each field that may have one value per channel.
    fn lengths(&self) -> Vec<(&'static str, Option<usize>)> {
        let shift = self.narrowing().map(|n| ("shift", n.shift.channels()));
        let own = match self {
            Requantization::ArithFolded { .. } | Requantization::Steps { .. } => vec![],
            Requantization::FractionalZero { sc, zp, .. } => vec![("sc", sc.channels()), ("zp", zp.channels())],
            Requantization::TfLite { sc, .. } => vec![("sc", sc.channels())],
            Requantization::Gemmlowp {
                multiplier, exponent, ..
            } => {
                vec![("multiplier", multiplier.channels()), ("exponent", exponent.channels())]
            }
            Requantization::Float { scale, .. } => vec![("scale", scale.channels())],
            Requantization::Fixed { sc, add, .. } => vec![("sc", sc.channels()), ("add", add.channels())],
        };
        own.into_iter().chain(shift).collect()
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
