use super::super::{Definition, FunctionError};
use super::leaky_relu_table::check_table;
use crate::{IntType, Rounding};
use serde::{Deserialize, Serialize};

/// ONNX Runtime's QLinearSigmoid on uint8 and int8 (`onnxruntime.logistic.v1`). With the operand's scale s and zero
/// point z, the result's scale s' and zero point z', and the polynomials P and Q:
///
/// v = s·(x − z) cut off at ±18, u = v², w = v·P(u) / Q(u) + ½, y = sat(half_even(w / s') + z').
///
/// P and Q are evaluated by Horner's rule with fused multiply-adds in f32. All other operations are rounded to f32
/// one by one.
///
/// Measured with ONNX Runtime 1.31.1: 0 of 204,800 results differ. The correctly rounded function has 1 other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogisticTable {
    /// The type of operand and result, u8 or i8.
    pub elements: IntType,
    /// The scale of the operand.
    pub input_scale: f32,
    /// The zero point of the operand.
    pub input_zp: i32,
    /// The scale of the result.
    pub scale: f32,
    /// The zero point of the result.
    pub zp: i32,
}

/// Where the operand is cut off, on both sides of zero.
const END: f32 = 18.0;

/// The coefficients of P, that of the highest power first (MlasLogisticConstants in ONNX Runtime 1.31.1).
const P: [f32; 5] = [4.370_31e-11, 1.156_273_2e-7, 6.085_749e-5, 8.513_771e-3, 2.482_879_5e-1];

/// The coefficients of Q, that of the highest power first (the same source).
const Q: [f32; 6] = [
    6.102_473_9e-13,
    5.761_021_4e-9,
    6.291_068e-6,
    1.701_988_2e-3,
    1.168_176_5e-1,
    9.931_519e-1,
];

impl LogisticTable {
    pub(super) fn check(&self) -> Result<(), FunctionError> {
        check_table(
            Definition::OnnxRuntimeLogistic,
            self.elements,
            (self.input_scale, self.input_zp),
            (self.scale, self.zp),
        )
    }

    pub(super) fn value(&self, code: i32) -> i32 {
        let x = (self.input_scale * (code - self.input_zp) as f32).clamp(-END, END);
        let horner = |highest_first: &[f32]| (highest_first.iter()).fold(0.0f32, |sum, &c| sum.mul_add(x * x, c));
        let y = horner(&P) * x / horner(&Q) + 0.5;
        // The quotient may be infinite, and then saturates.
        let code = Rounding::HalfEven.round_f32(y / self.scale) + self.zp as f32;
        self.elements.saturate(code as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::{P, Q};

    /// The coefficients as MLAS writes them, with digits that f32 cannot hold.
    #[test]
    fn coefficients_are_those_of_the_source_in_f32() {
        let p = [
            4.370_310_125_798_01e-11,
            1.156_273_244_599_42e-7,
            6.085_748_646_001_43e-5,
            8.513_771_333_047_01e-3,
            2.482_879_470_615_29e-1,
        ];
        let q = [
            6.102_473_897_556_81e-13,
            5.761_021_369_934_27e-9,
            6.291_067_850_170_4e-6,
            1.701_988_173_740_94e-3,
            1.168_176_569_044_53e-1,
            9.931_519_210_231_8e-1,
        ];
        assert_eq!(P, p.map(|c: f64| c as f32));
        assert_eq!(Q, q.map(|c: f64| c as f32));
    }
}
