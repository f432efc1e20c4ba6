//! Integer functions that are more than one requantization: softmax and layer normalization over rows of codes, and
//! functions of one code.
//!
//! Each function has a [`Definition`], which is a name with a version, for example `litert.softmax.int8.v1`. The
//! meaning of a name never changes. If a function is changed so that it computes other integers, it gets another
//! version. The parameters are plain data. The beginning of the name, for example `litert`, says which program's rule
//! derives the parameters from scales. A function with legal parameters is defined on a domain, and evaluating it
//! outside of this domain is an error.
//!
//! `docs/functions.md` explains the mathematics. `docs/oracles.md` says which functions were compared with which
//! programs.
//!
//! ```
//! use strait_requantize::function::Softmax;
//!
//! let softmax = Softmax::litert_int8(0.125, 1.0)?;
//! let mut probabilities = [0; 3];
//! softmax.rows()?.eval(&[16, 8, -128], &mut probabilities)?;
//! assert_eq!(probabilities, [59, -59, -128]); // (q + 128) / 256 = 0.73, 0.27, 0
//! # Ok::<(), strait_requantize::function::FunctionError>(())
//! ```

mod exponential;
mod fixed;
mod interpolated;
mod layer_norm;
mod nearest;
mod pointwise;
mod real;
mod resampled;
mod softmax;
mod tables;
mod value;

pub use fixed::Factor;
pub use interpolated::Interpolated;
pub use layer_norm::{LayerNorm, LayerNormScales, Moments};
pub use nearest::Nearest;
pub use pointwise::{
    HardSwishInt8, LeakyRelu, LeakyReluTable, LogisticInt8, LogisticTable, Pointwise, PointwiseFacts, SigmoidInt16,
    TanhInt8,
};
pub use real::Real;
pub use resampled::{Neighbours, Resampled, Sampling, resampled};
pub use softmax::{Divisor, Softmax, SoftmaxFacts, SoftmaxInt8, SoftmaxInt16, SoftmaxRows};

use crate::{IntType, scales::ScaleError, words::words};
use std::ops::RangeInclusive;

words! {
    /// The names of all functions. Each name ends in the version. The set is closed.
    Definition {
        /// LiteRT's SOFTMAX from int8 to int8: fixed point of 32 bits.
        LitertSoftmaxInt8 = "litert.softmax.int8.v1",
        /// LiteRT's SOFTMAX from int16 to int16: two interpolated tables.
        LitertSoftmaxInt16 = "litert.softmax.int16.v1",
        /// LiteRT's LOGISTIC from int8 to int8: a table of all codes, computed in `f32`.
        LitertLogisticInt8 = "litert.logistic.int8.v1",
        /// LiteRT's TANH from int8 to int8: a table of all codes, computed in `f32`.
        LitertTanhInt8 = "litert.tanh.int8.v1",
        /// LiteRT's LOGISTIC from int16 to int16: an interpolated table.
        LitertLogisticInt16 = "litert.logistic.int16.v1",
        /// LiteRT's TANH from int16 to int16: the table of the logistic function.
        LitertTanhInt16 = "litert.tanh.int16.v1",
        /// LiteRT's HARD_SWISH from int8 to int8: fixed point of 16 bits.
        LitertHardSwishInt8 = "litert.hard_swish.int8.v1",
        /// A function of real numbers between two grids, correctly rounded.
        Nearest = "nearest.v1",
        /// LiteRT's LEAKY_RELU on int8 and int16: a requantization for each sign.
        LitertLeakyRelu = "litert.leaky_relu.v1",
        /// ONNX Runtime's QLinearLeakyRelu on uint8 and int8: a table of all codes, computed in `f32`.
        OnnxRuntimeLeakyRelu = "onnxruntime.leaky_relu.v1",
        /// ONNX Runtime's QLinearSigmoid on uint8 and int8: a table of all codes, computed in `f32`.
        OnnxRuntimeLogistic = "onnxruntime.logistic.v1",
        /// A layer normalization with exact sums. Its definition is Strait's own, not that of a runtime.
        LayerNorm = "strait.layer_norm.v1",
        /// An RMS normalization: the same as the layer normalization, but the mean is not subtracted.
        RmsNorm = "strait.rms_norm.v1",
    }
}

/// Why a function has no parameters or no result: the definition does not support the scales of the model, the
/// parameters in a file are illegal, or operands are outside of the domain.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FunctionError {
    /// The definition is another kind of function than the caller needs.
    #[error("{definition} is no {wanted}")]
    Kind {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The kind of function that the caller needed.
        wanted: &'static str,
    },
    /// The definition has no parameters for the given scales.
    #[error("{definition}: {source}")]
    Scale {
        /// The definition of the function, with its version.
        definition: Definition,
        /// Why the scales are not supported.
        source: ScaleError,
    },
    /// A factor that is derived from the scales is outside of the definition's limits.
    #[error("{definition}: {what} {value} is not above {} and at most {}", .above, .most)]
    Factor {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The name of the factor.
        what: &'static str,
        /// The value of the factor.
        value: f64,
        /// The factor has to be larger than this number.
        above: f64,
        /// The factor must not be larger than this number.
        most: f64,
    },
    /// The value of a parameter is outside of the definition's limits.
    #[error("{definition}: {field} {value} is outside {} ..= {}", .range.start(), .range.end())]
    Parameter {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The name of the parameter.
        field: &'static str,
        /// The value of the parameter.
        value: i64,
        /// The values that the definition allows.
        range: RangeInclusive<i64>,
    },
    /// A coefficient is not a finite number.
    #[error("{definition}: the coefficient {value} is not finite")]
    Coefficient {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The coefficient.
        value: f32,
    },
    /// The definition fixes the grid of the result, but the result has another grid.
    #[error("{definition}: the result has the scale {scale} and the zero point {zp}, not {} and {}", .fixed.0, .fixed.1)]
    Grid {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The scale of the result's grid.
        scale: f32,
        /// The zero point of the result's grid.
        zp: i32,
        /// The scale and zero point that the definition fixes.
        fixed: (f32, i32),
    },
    /// The function does not support a type of codes.
    #[error("{definition}: there is no function of {elements}")]
    Elements {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The type.
        elements: IntType,
    },
    /// A code is outside of the range of its type.
    #[error("{definition}: code {code} is not one of {elements}")]
    Code {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The code.
        code: i32,
        /// The type of the codes.
        elements: IntType,
    },
    /// The result for a code cannot be proven, because the function's value is too close to the middle between two
    /// results.
    #[error("{definition}: the result for code {code} is too near to a tie to be decided")]
    Undecided {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The code.
        code: i32,
    },
    /// A row has no codes, or more codes than can be summed up.
    #[error("{definition}: a row of {length} codes; 1 ..= {most} are defined")]
    Row {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The number of codes.
        length: usize,
        /// The largest number of codes that is supported.
        most: usize,
    },
    /// The numbers of codes and results differ.
    #[error("{definition}: {codes} codes and room for {results} results")]
    Lengths {
        /// The definition of the function, with its version.
        definition: Definition,
        /// The number of codes.
        codes: usize,
        /// The number of results.
        results: usize,
    },
}

/// Checks that a parameter is in its range.
fn in_range(
    definition: Definition,
    field: &'static str,
    value: impl Into<i64>,
    range: RangeInclusive<i64>,
) -> Result<(), FunctionError> {
    let value = value.into();
    if range.contains(&value) {
        return Ok(());
    }
    Err(FunctionError::Parameter {
        definition,
        field,
        value,
        range,
    })
}

/// Checks that a code is in the range of a type.
fn code_of(definition: Definition, elements: IntType, code: i32) -> Result<(), FunctionError> {
    if elements.range().contains(&code) {
        return Ok(());
    }
    Err(FunctionError::Code {
        definition,
        code,
        elements,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_have_a_version() {
        for (i, definition) in Definition::ALL.into_iter().enumerate() {
            assert_eq!(Definition::parse(definition.name()), Some(definition));
            assert!(Definition::ALL[..i].iter().all(|d| d.name() != definition.name()));
            let version = definition.name().rsplit_once(".v").map(|(_, version)| version);
            assert!(version.is_some_and(|v| v.parse::<u32>().is_ok()), "{definition}");
        }
        assert_eq!(Definition::parse("litert.softmax.int8"), None);
    }
}
