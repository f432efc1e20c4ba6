//! `[form.NAME]`: the requantizations that a target computes, each with its limits.

use super::words::{Evidence, Integer, Per};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use strait_document::words;
use strait_requantize::decide::{Limits, Wanted};
use strait_requantize::form::MAX_SHIFT;
use strait_requantize::{FormKind, Rounding, Roundings};

/// One requantization that the target computes: its kind, the limits of its integers, and how these come about.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FormRow {
    /// The arithmetic.
    pub kind: Arithmetic,
    /// The multiplier's width; for the kinds that have one.
    pub multiplier: Option<Multiplier>,
    /// The right shift behind the multiplication, for the kinds that multiply integers; a negative one is a left shift
    /// in front of it, which `gemmlowp`, `sixteen_by_eight` and `stages = 2` have. With `stages = 2`, the shift behind
    /// the doubling multiplication.
    pub shift: Option<ShiftLimits>,
    /// Rounding of the quotient to a whole number. With `stages = 2` it is the second rounding (the first is half up).
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
    pub rounding: Option<Rounding>,
    /// Number of roundings of `multiply_shift`, `gemmlowp` and `tosa_rescale`: 2 is the doubling high multiply followed
    /// by a rounding right shift.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2)))]
    pub stages: Option<u8>,
    /// Where the output's zero point comes in.
    pub zero_point: ZeroPoint,
    /// The types that it narrows to.
    pub output: Vec<Integer>,
    /// Granularity of the integers: the same for the whole tensor, or one set for each output channel.
    pub per: Vec<Per>,
    /// Which clamps behind it cost nothing.
    #[serde(default)]
    pub clamp: ClampSet,
    /// Which rule makes its integers out of scales.
    pub from: ScaleRule,
    /// Advice for a factor that the form has no integers for; shown behind the reason.
    pub help: Option<String>,
    /// The reference that this form equals, where it is another one than the table's.
    pub oracle: Option<String>,
    /// Evidence for the row, where it differs from the table's.
    pub evidence: Option<Evidence>,
    /// The accumulators on which equality was shown, if not on the form's whole domain. A layer that can
    /// leave them rests on a form that is `documented`.
    pub holds: Option<Holds>,
    /// A remark for people.
    pub note: Option<String>,
}

/// Accumulators on which the evidence of a form was gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// The smallest and the largest accumulator.
    pub accumulator: [i64; 2],
}

words! {
    /// The arithmetic of a form; acc is the accumulator, m the multiplier, s the shift, z the zero point.
    Arithmetic {
        /// round(acc / 2^s); the rest of the factor is folded into the weights.
        Shift = "shift",
        /// round(acc · m / 2^s), with the zero point before or after the shift.
        MultiplyShift = "multiply_shift",
        /// round(acc · m / 2^s) + z as gemmlowp computes it, once or twice rounded as `stages` says, ties up, with
        /// shifts to the left; `multiply_shift` with `stages = 2` is its second stage by another name.
        Gemmlowp = "gemmlowp",
        /// round(acc · m / 2^s) + z of accumulators of up to 48 bits, m reduced to 16 bits, ties up.
        SixteenByEight = "sixteen_by_eight",
        /// RESCALE of TOSA: m of 15 bits (`scale16`) or 31 (`scale32`), rounded once or twice as `stages` says.
        TosaRescale = "tosa_rescale",
        /// half_even(f32(acc) · m) + z, in `f32`; with z inside of the rounding, half_even(f32(acc) · m + z).
        FloatScale = "float_scale",
        /// half_away(f64(acc) · m) + z, in `f64`.
        Float64Scale = "float64_scale",
        /// max(half_even(f32(acc) · m), 0) + z, in `f32`, without the max where there is no ReLU.
        AscendRequant = "ascend_requant",
        /// half_even(max(f32(acc) · m, 0) · (1 / s) + z), every operation in `f32`: a dequantization, a ReLU and a
        /// quantization.
        DequantQuant = "dequant_quant",
        /// floor(acc / 2^s), saturated to 16 bits: the first half of a path through sums of 16 bits.
        DequantS16 = "dequant_s16",
        /// half_even(f32(acc) · m) + z of 16 bits, in `f32`: the second half.
        RequantS16 = "requant_s16",
        /// The number of thresholds that acc reaches.
        Steps = "steps",
    }
}

words! {
    /// Where the output's zero point comes in.
    ZeroPoint {
        /// Nowhere: it is part of the bias (`shift`), or of the thresholds (`steps`).
        Folded = "folded_in_bias",
        /// Added before the shift, with fractional bits.
        BeforeShift = "before_shift",
        /// Added after the rounding.
        After = "after",
        /// Added in front of the rounding, in `f32` (`float_scale`, `dequant_quant`).
        InsideRounding = "inside_rounding",
        /// A constant before the shift and the zero point after it: the general fixed-point form.
        Both = "before_and_after",
    }
}

/// A multiplier's width.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Multiplier {
    /// Bits of its magnitude; of an `f32`, of its significand (24 where nothing is cut off).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
    pub bits: u8,
    /// Its highest bit is set.
    #[serde(default)]
    pub normalized: bool,
}

/// Smallest and largest shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShiftLimits {
    /// The smallest one.
    #[cfg_attr(feature = "schema", schemars(range(min = -30, max = 62)))]
    pub min: i8,
    /// The largest one.
    #[cfg_attr(feature = "schema", schemars(range(min = -30, max = 62)))]
    pub max: i8,
}

words! {
    /// Which clamps to [lo, hi] behind a form cost nothing.
    #[derive(Default)]
    ClampSet {
        /// None; a clamp is an op of its own.
        #[default]
        None = "none",
        /// Those to the zero point and the type's largest value: ReLU.
        Relu = "relu",
        /// All: ReLU, ReLU6 and Clip.
        Any = "any",
    }
}

words! {
    /// Which rule makes a form's integers out of scales, bit for bit.
    ScaleRule {
        /// LiteRT derives them from the `f32` scales in the file: 31-bit multipliers by frexp.
        Litert = "litert",
        /// ONNX Runtime: the product of the scales in `f32`.
        OnnxRuntime = "onnxruntime",
        /// SiMa: a power of two and a correction in (0.5, 1].
        Sima = "sima", // tidy: allow(names): the rule's name, which other targets may take
        /// Ascend: scale of the dequantization times scale of the quantization, in `f32`.
        Ascend = "ascend", // tidy: allow(names): as above
        /// The file stores the integers: the nearest ones of the factor in `f64`; of `multiply_shift` those
        /// that come nearest to the ideal function over the accumulators that can occur.
        Free = "free",
    }
}

impl Arithmetic {
    /// True if its multiplier is an `f32`.
    pub(super) fn is_float(self) -> bool {
        matches!(
            self,
            Arithmetic::FloatScale | Arithmetic::AscendRequant | Arithmetic::DequantQuant | Arithmetic::RequantS16
        )
    }
}

impl FormRow {
    /// The requantization that this row describes; `None` for a combination that the check refuses.
    pub fn form_kind(&self) -> Option<FormKind> {
        let two_stages = self.stages == Some(2);
        Some(match (self.kind, self.zero_point) {
            (Arithmetic::Shift, ZeroPoint::Folded) => FormKind::ArithFolded,
            (Arithmetic::MultiplyShift, ZeroPoint::After) if two_stages => FormKind::Gemmlowp,
            (Arithmetic::MultiplyShift, ZeroPoint::After) => FormKind::TfLite,
            (Arithmetic::MultiplyShift, ZeroPoint::BeforeShift) if !two_stages => FormKind::FractionalZero,
            (Arithmetic::MultiplyShift, ZeroPoint::Both) if !two_stages => FormKind::Fixed,
            (Arithmetic::Gemmlowp, ZeroPoint::After) => FormKind::Gemmlowp,
            (Arithmetic::SixteenByEight, ZeroPoint::After) => FormKind::SixteenByEight,
            (Arithmetic::TosaRescale, ZeroPoint::After) => FormKind::TosaRescale,
            (Arithmetic::FloatScale, ZeroPoint::After) => FormKind::Float,
            (Arithmetic::Float64Scale, ZeroPoint::After) => FormKind::Float64,
            (Arithmetic::FloatScale, ZeroPoint::InsideRounding) => FormKind::FloatZeroInside,
            (Arithmetic::AscendRequant, ZeroPoint::After) => FormKind::AscendRequant,
            (Arithmetic::DequantQuant, ZeroPoint::InsideRounding) => FormKind::DequantQuant,
            (Arithmetic::DequantS16, ZeroPoint::Folded) => FormKind::AscendDequantS16,
            (Arithmetic::RequantS16, ZeroPoint::After) => FormKind::AscendRequantS16,
            (Arithmetic::Steps, ZeroPoint::Folded) => FormKind::Steps,
            _ => return None,
        })
    }

    /// Number of roundings of a form that may round once or twice.
    pub fn roundings(&self) -> Roundings {
        if self.stages == Some(2) {
            Roundings::Two
        } else {
            Roundings::One
        }
    }

    /// The rounding, that of the kind where it leaves no choice and the row says nothing.
    pub fn rounding(&self) -> Rounding {
        let default = match self.form_kind() {
            Some(FormKind::Gemmlowp | FormKind::Float64) => Rounding::HalfAway,
            Some(FormKind::SixteenByEight | FormKind::TosaRescale) => Rounding::HalfUp,
            Some(FormKind::AscendDequantS16) => Rounding::Floor,
            _ => Rounding::HalfEven,
        };
        self.rounding.unwrap_or(default)
    }

    /// The multiplier's width; 31 bits, or the 24 of an `f32`, where the row says nothing.
    pub fn multiplier_bits(&self) -> u8 {
        let default = if self.kind.is_float() { 24 } else { 31 };
        self.multiplier.as_ref().map_or(default, |m| m.bits)
    }

    /// The form with its limits, for a requantization that is to become one of it; `None` for a kind without a form.
    pub fn wanted(&self) -> Option<Wanted> {
        // A shift to the left is none that a wanted form has.
        let end = |limit: i8| u8::try_from(limit).unwrap_or(0);
        let shift = self
            .shift
            .map_or(0..=MAX_SHIFT, |limits| end(limits.min)..=end(limits.max));
        Some(Wanted {
            kind: self.form_kind()?,
            limits: Limits {
                bits: self.multiplier_bits(),
                normalized: self.multiplier.as_ref().is_some_and(|m| m.normalized),
                shift,
            },
            rounding: self.rounding(),
        })
    }
}
