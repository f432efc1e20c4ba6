use super::super::{
    Definition, FunctionError,
    fixed::Factor,
    interpolated::interpolated,
    tables::{EXPONENTIAL, RECIPROCAL},
};
use super::{Divisor, SoftmaxFacts};
use crate::IntType;
use crate::scales::ScaleError;
use serde::{Deserialize, Serialize};

/// LiteRT's softmax of int16 codes (`litert.softmax.int16.v1`). It interpolates in two tables of 513 entries.
///
/// With d = x − max x, which is negative or zero, and with 15 fractional bits, so that 2¹⁵ stands for 1:
///
/// - e = EXPONENTIAL(max(factor·d + 32767, −32768)), the exponential from the first table. The int16 argument covers
///   [−10, 0] in steps of 10/65535.
/// - Σ is the sum of all e. h is the number of leading zero bits of Σ as an `i32`, so Σ·2^(h − 1) lies in [2³⁰, 2³¹).
/// - r = RECIPROCAL(min(half_up(Σ·2^(h − 1) / 2¹⁴) − 2¹⁵ − 2¹⁶, 32767)), from the second table: the reciprocal of
///   Σ·2^(h − 31), which is in [1, 2).
/// - y = half_up(e·r / 2^(31 − h)) in 0 ..= 32767.
///
/// The product factor·d is rounded twice, as gemmlowp does. Domain: rows of 1 ..= 65,538 codes, so that Σ fits into
/// `i32`.
///
/// Source: the reference kernel of SOFTMAX in LiteRT, and `SoftmaxPrepare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SoftmaxInt16 {
    /// The factor that turns differences of codes into steps of 10/65535. Its exponent is at most 15, so that all
    /// shifted differences fit into `i32`.
    pub factor: Factor,
}

pub(super) const FACTS: SoftmaxFacts = SoftmaxFacts {
    elements: IntType::I16,
    symmetric: true,
    output: (1.0 / 32768.0, 0),
    range: [0, 32767],
    // With one more code, a row in which each exponential is 32767 could have a sum of 2^31.
    longest_row: 65_538,
};

/// The largest exponent of the factor. With this exponent, the largest difference of two codes still fits into i32
/// after the left shift: 65535·2^15 is below 2^31.
const MOST_EXPONENT: i8 = 15;

impl SoftmaxInt16 {
    pub(super) fn from_scales(input_scale: f32, beta: f32) -> Result<SoftmaxInt16, FunctionError> {
        let definition = Definition::LitertSoftmaxInt16;
        super::factor(definition, input_scale, beta)?;
        // The first product is rounded to f32, as in LiteRT.
        let factor = f64::from(input_scale * beta) / (10.0 / 65535.0);
        let refused = |source: ScaleError| FunctionError::Scale { definition, source };
        match Factor::of(factor) {
            Ok(factor) if factor.exponent <= MOST_EXPONENT => Ok(SoftmaxInt16 { factor }),
            Ok(_) | Err(ScaleError::TooLarge { .. }) => Err(FunctionError::Factor {
                definition,
                what: "input scale * beta * 6553.5",
                value: factor,
                above: 0.0,
                most: 32768.0,
            }),
            Err(source) => Err(refused(source)),
        }
    }

    pub(super) fn check(&self) -> Result<(), FunctionError> {
        self.factor.check(Definition::LitertSoftmaxInt16, MOST_EXPONENT)
    }

    /// Computes the exponential of a code that is `distance` below the largest code of its row. The distance is at most
    /// 65,535. The result has 15 fractional bits.
    pub(super) fn exponential(&self, distance: i32) -> i32 {
        interpolated(&EXPONENTIAL, saturated(self.factor.times(-distance) + 32767))
    }
}

/// The divisor for all exponentials of a row with the sum `sum`.
pub(super) fn divisor(sum: i32) -> Divisor {
    // The exponential of the largest code alone is nearly 2^15, so there are 1 ..= 17 leading zeros.
    let zeros = sum.leading_zeros();
    let one_and_more = ((i64::from(sum) << (zeros - 1)) + (1 << 13)) >> 14; // 2^16 ..= 2^17
    Divisor {
        reciprocal: interpolated(&RECIPROCAL, saturated(one_and_more as i32 - (1 << 15) - (1 << 16))),
        shift: (31 - zeros) as u8,
    }
}

/// The code of an exponential's share of the sum of its row.
pub(super) fn share(exponential: i32, by: Divisor) -> i32 {
    let product = i64::from(exponential) * i64::from(by.reciprocal);
    let probability = (product + (1 << (by.shift - 1))) >> by.shift;
    probability.clamp(0, 32767) as i32
}

fn saturated(code: i32) -> i16 {
    code.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}
