//! Requantization forms: their parameters as data ([`Requantization`]), the check whether parameters are legal
//! ([`Requantization::check`]), and the function that a form computes ([`Requantization::eval`], or [`Channel`] for
//! many accumulators of one channel).
//!
//! Each form has a file of its own. The module `arithmetic` contains the few families of arithmetic that compute all
//! forms.

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
pub use check::{FormError, MAX_ADDEND, MAX_SHIFT};
pub(crate) use check::{check_scale, in_range};
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

use crate::{IntType, Per, Rounding, words::words};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::ops::RangeInclusive;

/// The last stage of most forms: division by a power of two, rounding, saturation to a narrow type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowing {
    /// The divisor is `2^shift`. The shift is at most [`MAX_SHIFT`].
    pub shift: Per<u8>,
    /// How the quotient is rounded.
    pub rounding: Rounding,
    /// The integer type to which the result saturates.
    pub out: IntType,
}

impl Narrowing {
    /// Makes the parameters of a channel that computes `round((x·factor + addend) / 2^shift) + zero_point`.
    fn scalars(
        &self,
        channel: usize,
        factor: i32,
        addend: i64,
        zero_point: i32,
    ) -> Result<Scalars<'static>, FormError> {
        let arithmetic = Arithmetic::Affine(Affine {
            factor,
            addend,
            shift: at("shift", &self.shift, channel)?,
            rounding: self.rounding,
            zero_point,
        });
        Ok(arithmetic.into())
    }
}

words! {
    /// The number of roundings in a multiplication by a fixed-point factor.
    Roundings {
        /// Once, after the whole shift.
        One = "one",
        /// Twice: after the first 31 bits of the shift, and at its end.
        Two = "two",
    }
}

impl Roundings {
    fn two() -> Roundings {
        Roundings::Two
    }

    fn are_two(&self) -> bool {
        *self == Roundings::Two
    }
}

/// Declares the closed set of forms. Generates the enum of forms, the enum of their kinds with the properties of each
/// kind, the fields of each form's text, and the function that finds the implementation of a form.
macro_rules! forms {
    (($d:tt) $($form:ident $name:literal $formula:literal [$($fields:tt)*],)*) => {
        /// Calls a macro with all forms. Each form comes with the fields that its text consists of, in the order of the
        /// text. The fields behind a `+` belong to the form's narrowing.
        #[macro_export]
        macro_rules! each_form {
            ($d then:ident) => {
                $d then! { $($form [$($fields)*])* }
            };
        }

        /// A requantization with its parameters: it turns an accumulator `x` into a narrow integer. It is plain data.
        ///
        /// The set of forms is closed. If a target has a form of its own, its table uses [`Fixed`] or [`Steps`] for it.
        /// So every form can be executed, printed and proven. In the formulas, `round` is the narrowing's rounding, `s`
        /// is its shift, and `sat` saturates to the output type. An activation after the form is a separate clamp
        /// ([`Step`](crate::Step)).
        ///
        /// On its [`domain`](Requantization::domain), a form never gives a smaller result for a larger accumulator. The
        /// documentation of each form states its domain. Domains contain all of `i32`, or more for integer
        /// multiplications, except for accumulators that would make a runtime overflow.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Requantization {
            $(#[doc = concat!("See [`", stringify!($form), "`](struct@", stringify!($form), ").")] $form($form),)*
        }

        words! {
            /// The kind of a form, without its parameters. A target's table lists the kinds that the target accepts.
            FormKind {
                $(#[doc = concat!("[`", stringify!($form), "`](struct@", stringify!($form), ")")] $form = $name,)*
            }
        }

        impl FormKind {
            /// The formula of this kind, in one line.
            pub const fn formula(self) -> &'static str {
                match self {
                    $(FormKind::$form => $formula,)*
                }
            }
        }

        impl Requantization {
            /// The kind of this form.
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

            fn form_mut(&mut self) -> &mut dyn Form {
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
    ($)
    ArithFolded "arith_folded"
        "sat(round(x / 2^s))"
        [+ narrowing { shift rounding out }],
    FractionalZero "fractional_zero"
        "sat(round((x * sc + zp) / 2^s))"
        [sc zp + narrowing { shift rounding out }],
    TfLite "tf_lite"
        "sat(round(x * sc / 2^s) + zp)"
        [sc zp + narrowing { shift rounding out }],
    Gemmlowp "gemmlowp"
        "sat(half_away(half_up(x * 2^e+ * m / 2^31) / 2^e-) + zp), or sat(half_up(x * m / 2^(31-e)) + zp)"
        [multiplier exponent zp roundings out],
    SixteenByEight "sixteen_by_eight"
        "sat(half_up(x * m16 / 2^(15-e)) + zp), m16 = min((m + 2^15) >> 16, 0x7FFF)"
        [multiplier exponent zp out],
    TosaRescale "tosa_rescale"
        "sat((((x - input_zp) * m + 2^(s-1) +- 2^30) >> s) + output_zp)"
        [multiplier shift scale32 roundings input input_zp output_zp out],
    Float "float"
        "sat(half_even(f32(x) * scale) + zp)"
        [scale zp out],
    Float64 "float64"
        "sat(half_away(f64(x * m) * 2^(e-53)) + zp)"
        [multiplier exponent zp out],
    FloatZeroInside "float_zero_inside"
        "sat(half_even(f32(x) * scale + zp))"
        [scale zp out],
    AscendRequant "ascend_requant"
        "sat(max(half_even(f32(x) * scale), 0) + offset)"
        [scale offset relu out],
    AscendDequantS16 "ascend_dequant_s16"
        "sat16(floor(x / 2^N))"
        [shift relu],
    AscendRequantS16 "ascend_requant_s16"
        "sat8(half_even(f32(x) * scale) + offset)"
        [scale offset],
    DequantQuant "dequant_quant"
        "sat(half_even(max(f32(x) * deq, 0) * scale + offset))"
        [deq relu scale offset out],
    Fixed "fixed"
        "sat(round((x * sc + add) / 2^s) + zp)"
        [sc add zp + narrowing { shift rounding out }],
    Steps "steps"
        "lowest + #{t : t <= x}"
        [by hand],
}

/// What an implementation of a form provides. [`Requantization`] and [`Channel`] derive everything else from these
/// functions.
trait Form {
    /// The integer type to which the result saturates.
    fn out(&self) -> IntType;

    /// The smallest result. If the form includes a ReLU, this is the code of real zero.
    fn lowest(&self) -> i32 {
        self.out().min()
    }

    /// The fields that are common to all forms.
    fn fields(&self) -> Fields<'_>;

    /// Keeps only the parameters of these channels, in this order. A parameter that is shared by all channels does not
    /// change. Returns `None` if one of the channels does not exist.
    fn select(&mut self, channels: &[usize]) -> Option<()>;

    /// Checks the fields that do not depend on the channel, each by itself and in combination.
    fn rules(&self) -> Result<(), FormError> {
        Ok(())
    }

    /// The parameters of one channel.
    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError>;
}

/// The smallest result of a form. If the form has a ReLU, `zero` is the code of real zero.
fn lowest_with_relu(out: IntType, zero: Option<i32>) -> i32 {
    zero.map_or(out.min(), |zero| out.saturate(zero.into()))
}

/// The fields that forms have in common.
#[derive(Default)]
struct Fields<'a> {
    /// The code of real zero in the result. `None` if the form does not state it.
    zero: Option<i32>,
    /// The narrowing, if the form ends in a shift.
    narrowing: Option<&'a Narrowing>,
    shift: Option<Shift<'a>>,
    /// The integer factor by which hardware multiplies.
    factor: Option<&'a Per<i32>>,
    scale: Option<&'a Per<f32>>,
    /// The fields that may have one value for each channel, each with its name and its number of values. The number is
    /// `None` if a single value is used for all channels.
    lengths: SmallVec<[(&'static str, Option<usize>); 3]>,
}

/// The field with the shifts of a form, by the direction of the shifts.
#[derive(Clone, Copy)]
enum Shift<'a> {
    Right(&'a Per<u8>),
    Left(&'a Per<i8>),
}

impl<'a> Fields<'a> {
    fn narrowed(self, narrowing: &'a Narrowing) -> Self {
        Fields {
            narrowing: Some(narrowing),
            ..self.shifted("shift", Shift::Right(&narrowing.shift))
        }
    }

    fn shifted(self, field: &'static str, shift: Shift<'a>) -> Self {
        let fields = match shift {
            Shift::Right(places) => self.per(field, places),
            Shift::Left(places) => self.per(field, places),
        };
        Fields {
            shift: Some(shift),
            ..fields
        }
    }

    fn multiplied(self, field: &'static str, factor: &'a Per<i32>) -> Self {
        Fields {
            factor: Some(factor),
            ..self.per(field, factor)
        }
    }

    fn scaled(self, field: &'static str, scale: &'a Per<f32>) -> Self {
        Fields {
            scale: Some(scale),
            ..self.per(field, scale)
        }
    }

    fn zero(self, zero: i32) -> Self {
        Fields {
            zero: Some(zero),
            ..self
        }
    }

    fn per<T>(self, field: &'static str, values: &Per<T>) -> Self {
        self.length(field, values.channels())
    }

    fn length(mut self, field: &'static str, length: Option<usize>) -> Self {
        self.lengths.push((field, length));
        self
    }
}

/// One channel of a form: its arithmetic, and the accumulators and results that the form supports.
struct Scalars<'a> {
    arithmetic: Arithmetic<'a>,
    /// The accumulators that the form supports.
    inputs: (i64, i64),
    /// The interval in which the result must lie before it saturates.
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

    /// Requires that the result fits into `i32` both before and after the runtime adds the zero point.
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

/// The value of a field in a channel.
fn at<T: Copy>(field: &'static str, values: &Per<T>, channel: usize) -> Result<T, FormError> {
    values
        .get(channel)
        .copied()
        .ok_or(FormError::NoSuchChannel { field, channel })
}

/// The error for an accumulator outside of a form's domain, or for a channel that the form does not have. Such an
/// accumulator would lead to an overflow in the runtime whose arithmetic the form reproduces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: accumulator {acc} of channel {channel} is outside the domain {} ..= {}", .domain.start(), .domain.end())]
pub struct OutsideDomain {
    /// The form's kind.
    pub kind: FormKind,
    /// The requested channel.
    pub channel: usize,
    /// The accumulator.
    pub acc: i64,
    /// The accumulators for which the channel is defined. Empty if the channel does not exist or its parameters are not
    /// legal.
    pub domain: RangeInclusive<i64>,
}

impl Requantization {
    /// The integer type to which the result saturates.
    pub fn out(&self) -> IntType {
        self.form().out()
    }

    /// Returns the smallest and the largest result. They are the ends of the type [`out`](Requantization::out), but if
    /// the form includes a ReLU, the smallest result is the code of real zero.
    pub fn range(&self) -> [i32; 2] {
        [self.form().lowest(), self.form().out().max()]
    }

    /// The code of real zero in the result. `None` if the form does not state it, for example because the zero point is
    /// a part of the number that is added to the accumulator.
    pub fn zero_point(&self) -> Option<i32> {
        self.form().fields().zero
    }

    /// Returns the number of bits by which a channel shifts to the right, negative for a left shift. Returns `None` for
    /// forms that do not shift.
    pub fn right_shift(&self, channel: usize) -> Option<i16> {
        match self.form().fields().shift? {
            Shift::Right(places) => places.get(channel).map(|&places| places.into()),
            Shift::Left(places) => places.get(channel).map(|&places| -i16::from(places)),
        }
    }

    /// The integer factor by which hardware multiplies in a channel. `None` for forms without such a factor.
    pub fn factor(&self, channel: usize) -> Option<i32> {
        self.form().fields().factor?.get(channel).copied()
    }

    /// The f32 factor of a channel. `None` for forms without such a factor.
    pub fn scale(&self, channel: usize) -> Option<f32> {
        self.form().fields().scale?.get(channel).copied()
    }

    /// The narrowing, if the form ends in a shift.
    pub fn narrowing(&self) -> Option<&Narrowing> {
        self.form().fields().narrowing
    }

    /// Returns the number of channels, or `None` if one set of parameters is used for any number of channels. If the
    /// fields disagree about the number of channels, returns one of their numbers. [`check`](Requantization::check)
    /// refuses such a form.
    pub fn channels(&self) -> Option<usize> {
        self.form().fields().lengths.into_iter().find_map(|(_, length)| length)
    }

    /// Makes a form whose channel `i` is channel `channels[i]` of this form. If the form has one set of parameters for
    /// all channels, returns the same form. If a channel does not exist, returns `None`.
    ///
    /// This is used if an index selects a channel for each position. The resulting form then has one channel for each
    /// position.
    pub fn select(&self, channels: &[usize]) -> Option<Requantization> {
        let mut form = self.clone();
        form.form_mut().select(channels)?;
        Some(form)
    }

    /// Computes the result for one accumulator of one channel. The computation never wraps and never panics. For an
    /// accumulator outside of the domain, returns an error.
    ///
    /// For many accumulators of a channel, use [`Requantization::channel`].
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

    /// The accumulators for which the form is defined: no intermediate result of the channel overflows. Among them, a
    /// larger accumulator never gives a smaller result. The range is empty if the channel does not exist or its
    /// parameters are not legal.
    pub fn domain(&self, channel: usize) -> RangeInclusive<i64> {
        self.channel(channel).map_or(EMPTY, |form| form.domain())
    }

    /// True if the form is `sat(x)` on every channel. It then does not change accumulators that fit into the output
    /// type.
    pub fn is_identity(&self) -> bool {
        let channels = self.channels().unwrap_or(1);
        channels > 0 && (0..channels).all(|c| self.channel(c).is_ok_and(|form| form.is_identity()))
    }
}

#[expect(clippy::reversed_empty_ranges, reason = "the empty domain")]
const EMPTY: RangeInclusive<i64> = 1..=0;
