//! `[form.NAME]`: the requantizations that a target computes, each with its limits.

use super::words::{Evidence, Integer, Per};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_document::words;
use strait_requantize::decide::Wanted;
use strait_requantize::{FormKind, Rounding, Roundings, quantize};

/// One kind of requantization that the target computes: its arithmetic, the limits of its integers, and the rule that
/// computes these integers from scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FormRow {
    /// The arithmetic of the form, with its parameters. In formulas, acc is the accumulator, m the multiplier, s the shift, and
    /// z the zero point.
    #[serde(deserialize_with = "strait_document::choice")]
    pub kind: Arithmetic,
    /// The types of codes that the form can have as its result.
    pub output: Vec<Integer>,
    /// The granularities that the form's integers can have: the same integers for the whole tensor, or different ones for each
    /// output channel.
    pub per: Vec<Per>,
    /// Which clamps the requantization itself can apply to its result, so that they cost nothing.
    #[serde(default)]
    pub clamp: ClampSet,
    /// The rule that computes the form's integers from scales.
    pub from: ScaleRule,
    /// Advice for the user if the form has no integers for a factor. It is shown after the reason.
    pub help: Option<String>,
    /// The reference for this form, if it differs from the reference of the table.
    pub oracle: Option<String>,
    /// The evidence for this row, if it differs from the evidence of the table.
    pub evidence: Option<Evidence>,
    /// The accumulators for which it was shown that the form equals the reference, if this is not the form's whole domain. For
    /// a layer that can have other accumulators, the form only counts as `documented`.
    pub holds: Option<Holds>,
    /// A remark for people.
    pub note: Option<String>,
}

/// The accumulators for which it was shown that a form equals the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// The smallest and the largest accumulator.
    pub accumulator: [i64; 2],
}

/// The arithmetic of a form. In formulas, acc is the accumulator, m the multiplier, s the shift, and z the zero point. An
/// arithmetic with parameters is written `{ steps = { } }`. If no parameter is given, its name is enough: `"steps"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(transform = strait_document::names_alone))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arithmetic {
    /// round(acc / 2^s). The zero point is part of the bias, and the part of the factor that is not a power of two is part of
    /// the weights.
    Shift {
        /// The right shift.
        shift: ShiftLimits,
        /// How the quotient is rounded.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
        rounding: Rounding,
    },
    /// round(acc · m / 2^s) + z. The zero point can also be added before the shift.
    MultiplyShift {
        /// The number of bits of the multiplier's magnitude.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
        bits: u8,
        /// If true, the highest bit of the multiplier is always set.
        #[serde(default)]
        normalized: bool,
        /// The right shift after the multiplication.
        shift: ShiftLimits,
        /// How the quotient is rounded.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
        rounding: Rounding,
        /// Where the zero point of the output is added.
        #[serde(default)]
        zero_point: ZeroPoint,
    },
    /// round(acc · m / 2^s) + z as gemmlowp computes it: m has 31 bits, and the result is rounded once or twice. With two
    /// roundings, a doubling high multiply, which rounds ties up, is followed by a right shift, which rounds ties away from
    /// zero.
    Gemmlowp {
        /// The number of roundings.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingsWord"))]
        roundings: Roundings,
        /// If true, the highest bit of the multiplier is always set.
        #[serde(default)]
        normalized: bool,
        /// The right shift after the doubling high multiply. A negative one is a left shift before the multiply.
        shift: ShiftLimits,
    },
    /// round(acc · m / 2^s) + z for accumulators of up to 48 bits. m is reduced to 16 bits, and ties are rounded up.
    SixteenByEight(RightShift),
    /// RESCALE of TOSA.
    TosaRescale {
        /// The number of bits of the multiplier: 15 (`scale16`) or 31 (`scale32`).
        #[cfg_attr(feature = "schema", schemars(range(min = 15, max = 31)))]
        bits: u8,
        /// The number of roundings.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingsWord"))]
        roundings: Roundings,
        /// The right shift after the multiplication.
        shift: ShiftLimits,
    },
    /// half_even(f32(acc) · m) + z, in `f32`. If the zero point is added inside the rounding, half_even(f32(acc) · m + z).
    FloatScale {
        /// The number of bits of the significand of m. With 24 bits, nothing is cut off.
        #[serde(default = "significand")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 24)))]
        bits: u8,
        /// Where the zero point of the output is added: after the rounding, or before it.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::ZeroPointWord"))]
        zero_point: quantize::ZeroPoint,
    },
    /// half_away(f64(acc) · m) + z, in `f64`.
    Float64Scale,
    /// max(half_even(f32(acc) · m), 0) + z, in `f32`. Without a ReLU, the max is left out.
    AscendRequant(Scale),
    /// half_even(max(f32(acc) · m, 0) · (1 / s) + z), every operation in `f32`: a dequantization, a ReLU and a
    /// quantization. In this formula, s is the scale of the result and not a shift.
    DequantQuant(Scale),
    /// floor(acc / 2^s), saturated to 16 bits. This is the first step of a requantization through 16-bit sums.
    DequantS16(RightShift),
    /// half_even(f32(acc) · m) + z, in `f32`, where acc has 16 bits. This is the second step of a requantization through 16-bit
    /// sums.
    RequantS16(Scale),
    /// The result is the number of thresholds that are less than or equal to acc.
    Steps,
}

/// The parameters of an arithmetic that has only a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RightShift {
    /// The right shift. A negative one is a left shift before the multiplication.
    pub shift: ShiftLimits,
}

/// The parameters of an arithmetic whose multiplier is an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The number of bits of the multiplier's significand. With 24 bits, nothing is cut off.
    #[serde(default = "significand")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 24)))]
    pub bits: u8,
}

/// The number of bits of an `f32`'s significand.
fn significand() -> u8 {
    24
}

words! {
    /// Where the zero point of the output is added.
    #[derive(Default)]
    ZeroPoint {
        /// Added after the rounding.
        #[default]
        After = "after",
        /// Added before the shift, with fractional bits.
        BeforeShift = "before_shift",
        /// A constant is added before the shift, and the zero point after it. This is the general fixed-point form.
        Both = "before_and_after",
    }
}

/// The smallest and the largest shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShiftLimits {
    /// The smallest shift.
    #[cfg_attr(feature = "schema", schemars(range(min = -30, max = 62)))]
    pub min: i8,
    /// The largest shift.
    #[cfg_attr(feature = "schema", schemars(range(min = -30, max = 62)))]
    pub max: i8,
}

words! {
    /// Which clamps to [lo, hi] a requantization itself can apply to its result, so that they cost nothing.
    #[derive(Default)]
    ClampSet {
        /// None: a clamp is an op of its own.
        #[default]
        None = "none",
        /// Clamps from the zero point to the largest value of the type: ReLU.
        Relu = "relu",
        /// All: ReLU, ReLU6 and Clip.
        Any = "any",
    }
}

words! {
    /// The rule that computes a form's integers from scales, bit for bit.
    ScaleRule {
        /// The integers are derived from the `f32` scales in the file as LiteRT does it: multipliers have 31 bits and are
        /// computed by `frexp`, and the product of the scales is computed by a rule for each op.
        Litert = "litert",
        /// As ONNX Runtime does: scales are multiplied in `f32`.
        OnnxRuntime = "onnxruntime", // tidy: allow(names): the rule is named after the same program as a target
        /// The factor is split into a power of two and a correction in (0.5, 1].
        Correction = "correction",
        /// The factor is computed as for a dequantization followed by a quantization: the scale of the dequantization is
        /// multiplied by the reciprocal of the scale of the quantization, in `f32`.
        DequantizeQuantize = "dequantize_quantize",
        /// Strait chooses multiplier and shift, because the file for the target stores them. Usually they are the pair
        /// that is nearest to the factor, which is computed in `f64`. For `multiply_shift`, they are the pair whose results
        /// come nearest to the results with the exact factor, for all accumulators that can occur.
        Free = "free",
    }
}

/// The parameters of an [`Arithmetic`], in a form that is the same for all kinds.
struct Parameters {
    name: &'static str,
    kind: FormKind,
    /// Number of bits of the multiplier, or of the significand if the multiplier is an `f32`.
    bits: u8,
    normalized: bool,
    shift: Option<ShiftLimits>,
    rounding: Rounding,
    roundings: Roundings,
}

impl Arithmetic {
    /// The name of this kind in a table.
    pub fn name(self) -> &'static str {
        self.parameters().name
    }

    fn parameters(self) -> Parameters {
        // For a kind without a multiplier, `bits` is the width of the multiplier from which the kind's rule computes
        // the parameters.
        let plain = |name, kind, rounding| Parameters {
            name,
            kind,
            bits: 31,
            normalized: false,
            shift: None,
            rounding,
            roundings: Roundings::One,
        };
        let float = |name, kind, bits| Parameters {
            bits,
            ..plain(name, kind, Rounding::HalfEven)
        };
        let shifted = |name, kind, rounding, shift| Parameters {
            shift: Some(shift),
            ..plain(name, kind, rounding)
        };
        let both = |roundings, name, kind, rounding, shift| Parameters {
            roundings,
            ..shifted(name, kind, rounding, shift)
        };
        let (up, away) = (Rounding::HalfUp, Rounding::HalfAway);
        match self {
            Arithmetic::Shift { shift, rounding } => shifted("shift", FormKind::ArithFolded, rounding, shift),
            Arithmetic::MultiplyShift {
                bits,
                normalized,
                shift,
                rounding,
                zero_point,
            } => Parameters {
                bits,
                normalized,
                ..shifted("multiply_shift", zero_point.kind(), rounding, shift)
            },
            Arithmetic::Gemmlowp {
                roundings,
                normalized,
                shift,
            } => Parameters {
                normalized,
                ..both(roundings, "gemmlowp", FormKind::Gemmlowp, away, shift)
            },
            Arithmetic::SixteenByEight(of) => shifted("sixteen_by_eight", FormKind::SixteenByEight, up, of.shift),
            Arithmetic::TosaRescale { bits, roundings, shift } => Parameters {
                bits,
                ..both(roundings, "tosa_rescale", FormKind::TosaRescale, up, shift)
            },
            Arithmetic::FloatScale { bits, zero_point } => match zero_point {
                quantize::ZeroPoint::After => float("float_scale", FormKind::Float, bits),
                quantize::ZeroPoint::InsideRounding => float("float_scale", FormKind::FloatZeroInside, bits),
            },
            Arithmetic::Float64Scale => plain("float64_scale", FormKind::Float64, away),
            Arithmetic::AscendRequant(scale) => float("ascend_requant", FormKind::AscendRequant, scale.bits),
            Arithmetic::DequantQuant(scale) => float("dequant_quant", FormKind::DequantQuant, scale.bits),
            Arithmetic::DequantS16(of) => shifted("dequant_s16", FormKind::AscendDequantS16, Rounding::Floor, of.shift),
            Arithmetic::RequantS16(scale) => float("requant_s16", FormKind::AscendRequantS16, scale.bits),
            Arithmetic::Steps => plain("steps", FormKind::Steps, Rounding::HalfEven),
        }
    }
}

impl ZeroPoint {
    /// The kind of a form that multiplies and shifts. `self` says at which point it adds the zero point.
    fn kind(self) -> FormKind {
        match self {
            ZeroPoint::After => FormKind::TfLite,
            ZeroPoint::BeforeShift => FormKind::FractionalZero,
            ZeroPoint::Both => FormKind::Fixed,
        }
    }
}

impl FormRow {
    /// The kind of requantization that this row describes.
    pub fn form_kind(&self) -> FormKind {
        self.kind.parameters().kind
    }

    /// Number of roundings of a form that may round once or twice.
    pub fn roundings(&self) -> Roundings {
        self.kind.parameters().roundings
    }

    /// The rounding of the form. It is stated in the row, or it is the only one that the kind can have.
    pub fn rounding(&self) -> Rounding {
        self.kind.parameters().rounding
    }

    /// The width of the multiplier in bits. For an `f32`, it is the width of the significand.
    pub fn multiplier_bits(&self) -> u8 {
        self.kind.parameters().bits
    }

    /// True if the multiplier's highest bit must be set.
    pub fn is_normalized(&self) -> bool {
        self.kind.parameters().normalized
    }

    /// The smallest and the largest shift; `None` for a kind without a shift.
    pub fn shift(&self) -> Option<ShiftLimits> {
        self.kind.parameters().shift
    }

    /// The kind of the form and its limits, as the search for a requantization of this form needs them.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            kind: self.form_kind(),
            // The search only finds forms that shift to the right, so a negative limit counts as 0.
            limits: self.limits(0, self.multiplier_bits()),
            rounding: self.rounding(),
        }
    }
}
