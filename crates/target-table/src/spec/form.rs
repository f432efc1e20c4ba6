//! `[form.NAME]`: the requantizations that a target computes, each with its limits.

use super::words::{Evidence, Integer, Per};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_document::words;
use strait_requantize::decide::Wanted;
use strait_requantize::{FormKind, Rounding, Roundings, quantize};

/// One requantization that the target computes: its arithmetic with the limits of its integers, and how these come about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FormRow {
    /// The arithmetic, with its parameters. acc is the accumulator, m the multiplier, s the shift, z the zero point.
    #[serde(deserialize_with = "strait_document::choice")]
    pub kind: Arithmetic,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// The smallest and the largest accumulator.
    pub accumulator: [i64; 2],
}

/// The arithmetic of a form; acc is the accumulator, m the multiplier, s the shift, z the zero point. One with parameters is
/// written `{ steps = { } }`, and as its name alone where none of them is given: `"steps"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(transform = strait_document::names_alone))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arithmetic {
    /// round(acc / 2^s). The zero point is part of the bias, and the rest of the factor part of the weights.
    Shift {
        /// The right shift.
        shift: ShiftLimits,
        /// Rounding of the quotient.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
        rounding: Rounding,
    },
    /// round(acc · m / 2^s) + z, or with the zero point in front of the shift.
    MultiplyShift {
        /// Bits of the multiplier's magnitude.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
        bits: u8,
        /// The multiplier's highest bit is set.
        #[serde(default)]
        normalized: bool,
        /// The right shift behind the multiplication.
        shift: ShiftLimits,
        /// Rounding of the quotient.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
        rounding: Rounding,
        /// Where the output's zero point comes in.
        #[serde(default)]
        zero_point: ZeroPoint,
    },
    /// round(acc · m / 2^s) + z as gemmlowp computes it: m of 31 bits, rounded once or twice. Twice is the doubling high
    /// multiply, ties up, followed by a right shift, ties away from zero.
    Gemmlowp {
        /// Number of roundings.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingsWord"))]
        roundings: Roundings,
        /// The multiplier's highest bit is set.
        #[serde(default)]
        normalized: bool,
        /// The right shift behind the doubling high multiply; a negative one is a left shift in front of it.
        shift: ShiftLimits,
    },
    /// round(acc · m / 2^s) + z of accumulators of up to 48 bits, m reduced to 16 bits, ties up.
    SixteenByEight(RightShift),
    /// RESCALE of TOSA.
    TosaRescale {
        /// Bits of the multiplier: 15 (`scale16`) or 31 (`scale32`).
        #[cfg_attr(feature = "schema", schemars(range(min = 15, max = 31)))]
        bits: u8,
        /// Number of roundings.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingsWord"))]
        roundings: Roundings,
        /// The right shift behind the multiplication.
        shift: ShiftLimits,
    },
    /// half_even(f32(acc) · m) + z, in `f32`; with the zero point inside the rounding, half_even(f32(acc) · m + z).
    FloatScale {
        /// Bits of the significand of m; 24 where nothing is cut off.
        #[serde(default = "significand")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 24)))]
        bits: u8,
        /// Where the output's zero point comes in: behind the rounding, or inside of it.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::ZeroPointWord"))]
        zero_point: quantize::ZeroPoint,
    },
    /// half_away(f64(acc) · m) + z, in `f64`.
    Float64Scale,
    /// max(half_even(f32(acc) · m), 0) + z, in `f32`, without the max where there is no ReLU.
    AscendRequant(Scale),
    /// half_even(max(f32(acc) · m, 0) · (1 / s) + z), every operation in `f32`: a dequantization, a ReLU and a
    /// quantization.
    DequantQuant(Scale),
    /// floor(acc / 2^s), saturated to 16 bits: the first half of a path through sums of 16 bits.
    DequantS16(RightShift),
    /// half_even(f32(acc) · m) + z of 16 bits, in `f32`: the second half.
    RequantS16(Scale),
    /// The number of thresholds that acc reaches.
    Steps,
}

/// A shift and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RightShift {
    /// The right shift; a negative one is a left shift in front of the multiplication.
    pub shift: ShiftLimits,
}

/// A multiplier that is an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Bits of its significand; 24 where nothing is cut off.
    #[serde(default = "significand")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 24)))]
    pub bits: u8,
}

/// The bits of the significand of an `f32`.
fn significand() -> u8 {
    24
}

words! {
    /// Where the output's zero point comes in.
    #[derive(Default)]
    ZeroPoint {
        /// Added after the rounding.
        #[default]
        After = "after",
        /// Added before the shift, with fractional bits.
        BeforeShift = "before_shift",
        /// A constant before the shift and the zero point after it: the general fixed-point form.
        Both = "before_and_after",
    }
}

/// Smallest and largest shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        /// As LiteRT derives them from the `f32` scales in the file: multipliers of 31 bits by `frexp`, and the product of the
        /// scales by the rule of each op.
        Litert = "litert",
        /// As ONNX Runtime does: the product of the scales in `f32`.
        OnnxRuntime = "onnxruntime",
        /// The factor as a power of two times a correction in (0.5, 1].
        Correction = "correction",
        /// As for a dequantization followed by a quantization: the scale of the one times the reciprocal of the other's, in
        /// `f32`.
        DequantizeQuantize = "dequantize_quantize",
        /// The file stores the integers: the nearest ones of the factor in `f64`; of `multiply_shift` those
        /// that come nearest to the ideal function over the accumulators that can occur.
        Free = "free",
    }
}

/// The parameters of an [`Arithmetic`], in a form that is the same for all kinds.
struct Parameters {
    name: &'static str,
    kind: FormKind,
    /// Bits of the multiplier, or of the significand of an `f32`.
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
        // If a kind has no multiplier, `bits` is the width from which its rule computes the parameters.
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
    /// The kind of form that multiplies, shifts, and adds its zero point at this place.
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

    /// True if the multiplier's highest bit is set.
    pub fn is_normalized(&self) -> bool {
        self.kind.parameters().normalized
    }

    /// The smallest and the largest shift; `None` for a kind without a shift.
    pub fn shift(&self) -> Option<ShiftLimits> {
        self.kind.parameters().shift
    }

    /// The form and its limits, in the shape that the search for a requantization of this form needs.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            kind: self.form_kind(),
            // Forms that are searched for never shift to the left, so a negative limit counts as 0.
            limits: self.limits(0, self.multiplier_bits()),
            rounding: self.rounding(),
        }
    }
}
