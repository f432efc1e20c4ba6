use super::super::{Definition, FunctionError, fixed::Factor, in_range};
use crate::{
    IntType,
    scales::{ScaleError, positive},
};
use serde::{Deserialize, Serialize};

/// LiteRT's LEAKY_RELU on int8 and int16 (`litert.leaky_relu.v1`). With d = x − z for the operand's zero point z, and
/// z' the result's zero point:
///
/// y = sat(d·positive + z') for d ≥ 0, and sat(±(d·negative) + z') for d < 0, with the sign of the slope.
///
/// Each product is rounded twice, as in gemmlowp. The factors `positive` = s / s' and `negative` = (s·α) / s' are
/// computed in f32, from the operand's scale s, the result's scale s' and the slope α.
///
/// Source: `LeakyReluPrepare` and the reference kernel of LEAKY_RELU in LiteRT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeakyRelu {
    /// The type of operand and result, i8 or i16.
    pub elements: IntType,
    /// The factor for numbers that are not negative.
    pub positive: Factor,
    /// The factor for negative numbers, without its sign.
    pub negative: Factor,
    /// True if the slope is negative.
    pub reversed: bool,
    /// The zero point of the operand. 0 on int16.
    pub input_zp: i32,
    /// The zero point of the result. 0 on int16.
    pub zp: i32,
}

impl LeakyRelu {
    pub(super) fn from_scales(
        elements: IntType,
        (input_scale, input_zp): (f32, i32),
        alpha: f32,
        (output_scale, zp): (f32, i32),
    ) -> Result<LeakyRelu, FunctionError> {
        let definition = Definition::LitertLeakyRelu;
        let refused = |source: ScaleError| FunctionError::Scale { definition, source };
        positive("input scale", input_scale.into()).map_err(refused)?;
        positive("output scale", output_scale.into()).map_err(refused)?;
        let factor = |factor: f32| Factor::of(factor.into()).map_err(refused);
        let made = LeakyRelu {
            elements,
            positive: factor(input_scale / output_scale)?,
            negative: factor((input_scale * alpha / output_scale).abs())?,
            reversed: alpha < 0.0,
            input_zp,
            zp,
        };
        made.check()?;
        Ok(made)
    }

    pub(super) fn check(&self) -> Result<(), FunctionError> {
        let definition = Definition::LitertLeakyRelu;
        // These limits ensure that a difference of two 8-bit codes, or a 16-bit code, still fits into i32 after the
        // left shift.
        let (zero_points, most) = match self.elements {
            IntType::I8 => (-128..=127, 23),
            IntType::I16 => (0..=0, 16),
            elements => return Err(FunctionError::Elements { definition, elements }),
        };
        in_range(definition, "input zero point", self.input_zp, zero_points.clone())?;
        in_range(definition, "zero point", self.zp, zero_points)?;
        self.positive.check(definition, most)?;
        self.negative.check(definition, most)
    }

    pub(super) fn value(&self, code: i32) -> i32 {
        let x = code - self.input_zp;
        let product = if x >= 0 {
            self.positive.times(x)
        } else {
            self.negative.times(x)
        };
        let signed = if x < 0 && self.reversed {
            -i64::from(product)
        } else {
            product.into()
        };
        self.elements.saturate(signed + i64::from(self.zp))
    }
}
