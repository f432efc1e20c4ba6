//! Requantization forms: the data ([`Requantization`]), what makes it legal ([`Requantization::check`]) and what it
//! computes ([`Requantization::eval`], or [`Channel`] for many values of one channel).
//!
//! One file per form; behind them are a few families of arithmetic.

mod arithmetic;
mod channel;
mod check;

mod arith_folded;
mod ascend_dequant_s16;
mod ascend_requant;
mod ascend_requant_s16;
mod dequant_quant;
mod fixed;
mod float;
mod float64;
mod float_zero_inside;
mod fractional_zero;
mod gemmlowp;
mod sixteen_by_eight;
mod steps;
mod tf_lite;
mod tosa_rescale;

pub use arith_folded::ArithFolded;
pub(crate) use arithmetic::firsts;
pub use arithmetic::{Affine, Arithmetic, DoubleProduct, Doubling, FloatAffine, FloatProduct, StepCount};
pub use ascend_dequant_s16::AscendDequantS16;
pub use ascend_requant::AscendRequant;
pub use ascend_requant_s16::AscendRequantS16;
pub use channel::Channel;
pub(crate) use check::in_range;
pub use check::{FormError, MAX_ADDEND, MAX_SHIFT};
pub use dequant_quant::DequantQuant;
pub use fixed::Fixed;
pub use float::Float;
pub use float_zero_inside::FloatZeroInside;
pub use float64::Float64;
pub use fractional_zero::FractionalZero;
pub use gemmlowp::Gemmlowp;
pub use sixteen_by_eight::SixteenByEight;
pub use steps::Steps;
pub use tf_lite::TfLite;
pub use tosa_rescale::{TosaInput, TosaRescale};

use crate::{IntType, Per, Rounding};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::{fmt, ops::RangeInclusive};

/// The last stage of most forms: divide by a power of two, round, saturate to a narrow type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowing {
    /// The divisor is `2^shift`; at most [`MAX_SHIFT`].
    pub shift: Per<u8>,
    /// Rounding of the quotient.
    pub rounding: Rounding,
    /// Integer type that the result saturates to.
    pub out: IntType,
}

impl Narrowing {
    fn select(&self, channels: &[usize]) -> Option<Narrowing> {
        let shift = self.shift.select(channels)?;
        Some(Narrowing { shift, ..self.clone() })
    }
}

/// Number of roundings of a multiplication by a fixed-point factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Roundings {
    /// Once, behind the whole shift.
    One,
    /// Twice: behind 31 bits of it and at its end.
    Two,
}

impl Roundings {
    /// The name in text forms.
    pub const fn name(self) -> &'static str {
        match self {
            Roundings::One => "one",
            Roundings::Two => "two",
        }
    }

    /// The inverse of [`Roundings::name`].
    pub fn parse(name: &str) -> Option<Roundings> {
        [Roundings::One, Roundings::Two].into_iter().find(|r| r.name() == name)
    }

    fn two() -> Roundings {
        Roundings::Two
    }

    fn are_two(&self) -> bool {
        *self == Roundings::Two
    }
}

/// Origin of a form's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The runtime derives them from the `f32` scales that its file stores, by a rule of its own: they cannot be
    /// chosen, only reproduced ([`scales`](crate::scales)).
    FromScales,
    /// The file stores them: a compiler may choose the best ones.
    Free,
}

/// The closed set of forms: the enum, the kinds with what is known of them, and who answers for which.
macro_rules! forms {
    ($($form:ident $name:literal $origin:ident $formula:literal $users:literal,)*) => {
        /// A requantization with its parameters: from an accumulator `x` to a narrow integer. Plain data.
        ///
        /// The set is closed: a target's own form is [`Fixed`] or [`Steps`], so that every form can be executed,
        /// printed and proved. `round` is the narrowing's, `s` its shift, `sat` saturates to the output type. An
        /// activation behind it is a clamp of its own ([`Step`](crate::Step)).
        ///
        /// Every form is non-decreasing on its [`domain`](Requantization::domain), which its own page states: all of
        /// `i32`, and more where integers are multiplied, unless a runtime would overflow.
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

            /// Origin of the parameters.
            pub const fn origin(self) -> Origin {
                match self {
                    $(FormKind::$form => Origin::$origin,)*
                }
            }

            /// The function in one line.
            pub const fn formula(self) -> &'static str {
                match self {
                    $(FormKind::$form => $formula,)*
                }
            }

            /// Who computes it.
            pub const fn users(self) -> &'static str {
                match self {
                    $(FormKind::$form => $users,)*
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
    ArithFolded "arith_folded" Free
        "sat(round(x / 2^s))"
        "SiMa MLA, factor and zero point folded into weights and bias",
    FractionalZero "fractional_zero" Free
        "sat(round((x * sc + zp) / 2^s))"
        "SiMa MLA, zero point before the shift",
    TfLite "tf_lite" Free
        "sat(round(x * sc / 2^s) + zp)"
        "SiMa MLA, TFLite mode",
    Gemmlowp "gemmlowp" FromScales
        "sat(half_away(half_up(x * 2^e+ * m / 2^31) / 2^e-) + zp), or sat(half_up(x * m / 2^(31-e)) + zp)"
        "LiteRT on int8, with two roundings and with one",
    SixteenByEight "sixteen_by_eight" FromScales
        "sat(half_up(x * m16 / 2^(15-e)) + zp), m16 = min((m + 2^15) >> 16, 0x7FFF)"
        "LiteRT on int16 activations",
    TosaRescale "tosa_rescale" Free
        "sat((((x - input_zp) * m + 2^(s-1) +- 2^30) >> s) + output_zp)"
        "TOSA RESCALE",
    Float "float" FromScales
        "sat(half_even(f32(x) * scale) + zp)"
        "ONNX Runtime QLinearConv",
    Float64 "float64" FromScales
        "sat(half_away(f64(x * m) * 2^(e-53)) + zp)"
        "LiteRT FULLY_CONNECTED",
    FloatZeroInside "float_zero_inside" FromScales
        "sat(half_even(f32(x) * scale + zp))"
        "ONNX Runtime QLinearMul",
    AscendRequant "ascend_requant" FromScales
        "sat(max(half_even(f32(x) * scale), 0) + offset)"
        "Ascend AscendRequant",
    AscendDequantS16 "ascend_dequant_s16" Free
        "sat16(floor(x / 2^N))"
        "Ascend S16 path, first half",
    AscendRequantS16 "ascend_requant_s16" FromScales
        "sat8(half_even(f32(x) * scale) + offset)"
        "Ascend S16 path, second half",
    DequantQuant "dequant_quant" FromScales
        "sat(half_even(max(f32(x) * deq, 0) * scale + offset))"
        "Ascend AscendDequant, ReLU and AscendQuant in a row",
    Fixed "fixed" Free
        "sat(round((x * sc + add) / 2^s) + zp)"
        "any chip that multiplies and shifts",
    Steps "steps" Free
        "lowest + #{t : t <= x}"
        "any chip that compares or looks up",
}

/// Properties that each form states. [`Requantization`] and [`Channel`] derive the others.
trait Form {
    /// Fields that all forms have.
    fn fields(&self) -> Fields<'_>;

    /// The form with these channels of its own; `None` where it does not have one of them.
    fn select(&self, channels: &[usize]) -> Option<Requantization>;

    /// Checks that the fields that belong to no channel are legal, by themselves and together.
    fn rules(&self) -> Result<(), FormError> {
        Ok(())
    }

    /// The parameters of one channel.
    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError>;
}

/// The fields that forms have in common.
struct Fields<'a> {
    /// Integer type that the result saturates to.
    out: IntType,
    /// The least result, of a form that has a ReLU in it.
    lowest: i32,
    /// Of a form that ends in a shift.
    narrowing: Option<&'a Narrowing>,
    /// The name of each field that may have one value per channel, and how many it has, `None` for one value for all.
    lengths: SmallVec<[(&'static str, Option<usize>); 3]>,
}

impl<'a> Fields<'a> {
    fn new(out: IntType) -> Self {
        Fields {
            out,
            lowest: out.min(),
            narrowing: None,
            lengths: SmallVec::new(),
        }
    }

    fn narrowed(self, narrowing: &'a Narrowing) -> Self {
        Fields {
            narrowing: Some(narrowing),
            ..self.per("shift", &narrowing.shift)
        }
    }

    fn per<T>(self, field: &'static str, values: &Per<T>) -> Self {
        self.length(field, values.channels())
    }

    fn length(mut self, field: &'static str, length: Option<usize>) -> Self {
        self.lengths.push((field, length));
        self
    }

    /// With a ReLU, if there is one, that leaves no result below the code of real zero.
    fn relu(self, relu: bool, zero: i32) -> Self {
        let lowest = if relu {
            self.out.saturate(zero.into())
        } else {
            self.lowest
        };
        Fields { lowest, ..self }
    }

    fn range(&self) -> [i32; 2] {
        [self.lowest, self.out.max()]
    }
}

/// One channel of a form, looked up: its arithmetic, and what the form confines it to.
struct Scalars<'a> {
    arithmetic: Arithmetic<'a>,
    /// The accumulators that the form takes.
    inputs: (i64, i64),
    /// The ends that the result must not leave before it saturates.
    results: Option<[i64; 2]>,
}

impl<'a> From<Arithmetic<'a>> for Scalars<'a> {
    fn from(arithmetic: Arithmetic<'a>) -> Self {
        Scalars {
            arithmetic,
            inputs: (i64::MIN, i64::MAX),
            results: None,
        }
    }
}

impl Scalars<'_> {
    fn inputs(self, (low, high): (i32, i32)) -> Self {
        self.wide_inputs((low.into(), high.into()))
    }

    fn wide_inputs(self, inputs: (i64, i64)) -> Self {
        Scalars { inputs, ..self }
    }

    /// r - zero_point, which is what the runtime has before it adds the zero point, and r, behind it, are both `i32`.
    fn results_in_i32(self, zero_point: i32) -> Self {
        let zero_point = i64::from(zero_point);
        let results = [
            i64::from(i32::MIN) + zero_point.max(0),
            i64::from(i32::MAX) + zero_point.min(0),
        ];
        Scalars {
            results: Some(results),
            ..self
        }
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
    /// Accumulators on which the channel is defined; empty for a channel that does not exist or whose parameters are
    /// not legal.
    pub domain: RangeInclusive<i64>,
}

impl Requantization {
    /// Integer type that the result saturates to.
    pub fn out(&self) -> IntType {
        self.form().fields().out
    }

    /// Between which ends the results lie: those of [`out`](Requantization::out), less what a ReLU inside of the form
    /// cuts off.
    pub fn range(&self) -> [i32; 2] {
        self.form().fields().range()
    }

    /// The narrowing of the forms that end in a shift.
    pub fn narrowing(&self) -> Option<&Narrowing> {
        self.form().fields().narrowing
    }

    /// The number of channels, `None` where the same parameters serve any number. Of a form that
    /// [`check`](Requantization::check) refuses for its lengths, one of them.
    pub fn channels(&self) -> Option<usize> {
        self.form().fields().lengths.into_iter().find_map(|(_, length)| length)
    }

    /// The form whose channel `i` is channel `channels[i]` of this one; as it is where one set of parameters serves all
    /// channels. `None` where it has no such channel.
    ///
    /// Parameters that an index picks for each position become parameters along the positions.
    pub fn select(&self, channels: &[usize]) -> Option<Requantization> {
        self.form().select(channels)
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

    /// Accumulators for which no intermediate result of a channel overflows: the form is defined and non-decreasing
    /// there. Empty for a channel that does not exist or whose parameters are not legal.
    pub fn domain(&self, channel: usize) -> RangeInclusive<i64> {
        self.channel(channel).map_or(EMPTY, |form| form.domain())
    }

    /// True if the form is `sat(x)` on every channel: it keeps each accumulator that fits the output type.
    pub fn is_identity(&self) -> bool {
        let channels = self.channels().unwrap_or(1);
        channels > 0 && (0..channels).all(|c| self.channel(c).is_ok_and(|form| form.is_identity()))
    }
}

#[expect(clippy::reversed_empty_ranges, reason = "the empty domain")]
const EMPTY: RangeInclusive<i64> = 1..=0;
