use super::super::{Definition, FunctionError, exponential, in_range};
use crate::{
    IntType, Rounding,
    scales::{ScaleError, positive},
};
use serde::{Deserialize, Serialize};

/// LiteRT's LOGISTIC on int8 (`litert.logistic.int8.v1`). With the operand's scale s and zero point z, the result's
/// zero point z', and each operation rounded to f32:
///
/// y = sat(half_away(256 / (1 + exp(−s·(x − z)))) + z').
///
/// LiteRT fills a table of all codes with the `expf` of its C library. Here e^x is correctly rounded to f32, unless its
/// real value lies within 10⁻⁷ ulp of the middle between two f32. The result's scale is 1/256.
///
/// Source: `LUTPopulate` and `SigmoidPrepare` in LiteRT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogisticInt8 {
    /// The scale of the operand.
    pub input_scale: f32,
    /// The zero point of the operand.
    pub input_zp: i32,
    /// The zero point of the result. LiteRT's converter writes −128.
    pub zp: i32,
}

/// LiteRT's TANH on int8 (`litert.tanh.int8.v1`). With the operand's scale s and zero point z, the result's scale s'
/// and zero point z', and each operation rounded to f32:
///
/// y = sat(half_away(tanh(s·(x − z)) · (1 / s')) + z').
///
/// As for [`LogisticInt8`], LiteRT fills a table of all codes with a function of its C library. Here tanh is rounded to
/// f32 once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TanhInt8 {
    /// The scale of the operand.
    pub input_scale: f32,
    /// The zero point of the operand.
    pub input_zp: i32,
    /// The scale of the result. LiteRT's converter writes 1/128.
    pub scale: f32,
    /// The zero point of the result.
    pub zp: i32,
}

impl LogisticInt8 {
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        check(
            Definition::LitertLogisticInt8,
            [self.input_scale, 1.0],
            [self.input_zp, self.zp],
        )
    }

    pub(super) fn value(&self, code: i32) -> i32 {
        let x = self.input_scale * (code - self.input_zp) as f32;
        let power = exponential::exp(f64::from(-x)) as f32;
        quantized(1.0 / (1.0 + power), 256.0, self.zp)
    }
}

impl TanhInt8 {
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        check(
            Definition::LitertTanhInt8,
            [self.input_scale, self.scale],
            [self.input_zp, self.zp],
        )
    }

    pub(super) fn value(&self, code: i32) -> i32 {
        let x = self.input_scale * (code - self.input_zp) as f32;
        quantized(exponential::tanh(x.into()) as f32, 1.0 / self.scale, self.zp)
    }
}

/// The code of a real number. The zero point is added in f32, before the sum saturates.
fn quantized(x: f32, inverse_scale: f32, zp: i32) -> i32 {
    let code = Rounding::HalfAway.round_f32(x * inverse_scale) + zp as f32;
    IntType::I8.saturate(code as i64)
}

fn check(definition: Definition, scales: [f32; 2], zero_points: [i32; 2]) -> Result<(), FunctionError> {
    let scale = |what, scale: f32| {
        positive(what, scale.into()).map_err(|source: ScaleError| FunctionError::Scale { definition, source })
    };
    scale("input scale", scales[0])?;
    scale("output scale", scales[1])?;
    in_range(definition, "input zero point", zero_points[0], -128..=127)?;
    in_range(definition, "zero point", zero_points[1], -128..=127)
}
