//! Functions of one code.

mod hard_swish;
mod leaky_relu;
mod leaky_relu_table;
mod logistic_table;
mod sigmoid_int16;
mod tables_of_floats;

pub use hard_swish::HardSwishInt8;
pub use leaky_relu::LeakyRelu;
pub use leaky_relu_table::LeakyReluTable;
pub use logistic_table::LogisticTable;
pub use sigmoid_int16::SigmoidInt16;
pub use tables_of_floats::{LogisticInt8, TanhInt8};

use super::{Definition, FunctionError, Nearest, Real, code_of, in_range};
use crate::IntType;
use serde::{Deserialize, Serialize};

/// A function of one code with its parameters, as plain data. In text and JSON, each variant has the name of its
/// definition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pointwise {
    /// LiteRT's logistic function on int8 (`litert.logistic.int8.v1`).
    #[serde(rename = "litert.logistic.int8.v1")]
    LogisticInt8(LogisticInt8),
    /// LiteRT's hyperbolic tangent on int8 (`litert.tanh.int8.v1`).
    #[serde(rename = "litert.tanh.int8.v1")]
    TanhInt8(TanhInt8),
    /// LiteRT's logistic function on int16 (`litert.logistic.int16.v1`).
    #[serde(rename = "litert.logistic.int16.v1")]
    LogisticInt16(SigmoidInt16),
    /// LiteRT's hyperbolic tangent on int16 (`litert.tanh.int16.v1`).
    #[serde(rename = "litert.tanh.int16.v1")]
    TanhInt16(SigmoidInt16),
    /// LiteRT's hard swish on int8 (`litert.hard_swish.int8.v1`).
    #[serde(rename = "litert.hard_swish.int8.v1")]
    HardSwishInt8(HardSwishInt8),
    /// LiteRT's leaky ReLU on int8 and int16 (`litert.leaky_relu.v1`).
    #[serde(rename = "litert.leaky_relu.v1")]
    LeakyRelu(LeakyRelu),
    /// ONNX Runtime's leaky ReLU on uint8 and int8 (`onnxruntime.leaky_relu.v1`).
    #[serde(rename = "onnxruntime.leaky_relu.v1")]
    LeakyReluTable(LeakyReluTable),
    /// ONNX Runtime's logistic function on uint8 and int8 (`onnxruntime.logistic.v1`).
    #[serde(rename = "onnxruntime.logistic.v1")]
    LogisticTable(LogisticTable),
    /// A function of real numbers, rounded once and correctly (`nearest.v1`).
    #[serde(rename = "nearest.v1")]
    Nearest(Nearest),
}

/// Properties of a function of one code that do not depend on its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointwiseFacts {
    /// The types of codes that the operand may have. The result has the same type. 16-bit codes have zero points of 0.
    pub elements: &'static [IntType],
    /// The scale and the zero point of the result, if the definition fixes them.
    pub output: Option<(f32, i32)>,
}

impl Definition {
    /// Returns which types and grids this definition supports, if it defines a function of one code. Returns `None` for
    /// other kinds of functions, and for the correctly rounded function, which supports any grids of any types.
    pub fn pointwise(self) -> Option<PointwiseFacts> {
        const BYTES: &[IntType] = &[IntType::I8];
        const WORDS: &[IntType] = &[IntType::I16];
        let (elements, output) = match self {
            Definition::LitertLogisticInt8 => (BYTES, Some((1.0 / 256.0, -128))),
            Definition::LitertTanhInt8 | Definition::LitertHardSwishInt8 => (BYTES, None),
            Definition::LitertLogisticInt16 | Definition::LitertTanhInt16 => (WORDS, Some((1.0 / 32768.0, 0))),
            Definition::LitertLeakyRelu => (&[IntType::I8, IntType::I16][..], None),
            Definition::OnnxRuntimeLeakyRelu | Definition::OnnxRuntimeLogistic => {
                (&[IntType::U8, IntType::I8][..], None)
            }
            Definition::Nearest
            | Definition::LitertSoftmaxInt8
            | Definition::LitertSoftmaxInt16
            | Definition::LayerNorm
            | Definition::RmsNorm => return None,
        };
        Some(PointwiseFacts { elements, output })
    }
}

impl Pointwise {
    /// Makes the function that `definition` defines for the function of real numbers, the types and the grids of
    /// `nearest`. The parameters are derived by the rule of the runtime that the definition is named after.
    ///
    /// # Errors
    /// - [`FunctionError::Kind`] if the definition does not belong to the function of real numbers in `nearest`
    /// - [`FunctionError::Elements`], [`FunctionError::Parameter`] and [`FunctionError::Grid`] if the definition does
    ///   not support these types and grids
    /// - errors of the definition
    pub fn of(definition: Definition, nearest: Nearest) -> Result<Pointwise, FunctionError> {
        let Nearest {
            elements,
            input_scale,
            input_zp,
            scale,
            zp,
            ..
        } = nearest;
        if let Some(facts) = definition.pointwise() {
            for elements in [elements, nearest.out] {
                if !facts.elements.contains(&elements) || elements != nearest.elements {
                    return Err(FunctionError::Elements { definition, elements });
                }
            }
            if elements.bits() > 8 {
                in_range(definition, "input zero point", input_zp, 0..=0)?;
            }
            if let Some(fixed) = facts.output.filter(|fixed| *fixed != (scale, zp)) {
                return Err(FunctionError::Grid {
                    definition,
                    scale,
                    zp,
                    fixed,
                });
            }
        }
        let made = match (definition, nearest.function) {
            (Definition::Nearest, _) => Pointwise::Nearest(nearest),
            (Definition::LitertLogisticInt8, Real::Sigmoid) => Pointwise::LogisticInt8(LogisticInt8 {
                input_scale,
                input_zp,
                zp,
            }),
            (Definition::LitertTanhInt8, Real::Tanh) => Pointwise::TanhInt8(TanhInt8 {
                input_scale,
                input_zp,
                scale,
                zp,
            }),
            (Definition::LitertLogisticInt16, Real::Sigmoid) => Pointwise::litert_logistic_int16(input_scale)?,
            (Definition::LitertTanhInt16, Real::Tanh) => Pointwise::litert_tanh_int16(input_scale)?,
            (Definition::LitertHardSwishInt8, Real::HardSwish) => {
                Pointwise::litert_hard_swish_int8((input_scale, input_zp), (scale, zp))?
            }
            (Definition::LitertLeakyRelu, Real::LeakyRelu { alpha }) => {
                Pointwise::litert_leaky_relu(elements, (input_scale, input_zp), alpha, (scale, zp))?
            }
            (Definition::OnnxRuntimeLeakyRelu, Real::LeakyRelu { alpha }) => {
                Pointwise::LeakyReluTable(LeakyReluTable {
                    elements,
                    alpha,
                    input_scale,
                    input_zp,
                    scale,
                    zp,
                })
            }
            (Definition::OnnxRuntimeLogistic, Real::Sigmoid) => Pointwise::LogisticTable(LogisticTable {
                elements,
                input_scale,
                input_zp,
                scale,
                zp,
            }),
            _ => {
                return Err(FunctionError::Kind {
                    definition,
                    wanted: "such function of one code",
                });
            }
        };
        made.check()?;
        Ok(made)
    }

    /// LiteRT's LOGISTIC on int16, for an operand with this scale. The operand's zero point is 0. See [`SigmoidInt16`].
    ///
    /// # Errors
    /// [`FunctionError::Scale`] and [`FunctionError::Factor`] if the scale is too large or too small.
    pub fn litert_logistic_int16(input_scale: f32) -> Result<Pointwise, FunctionError> {
        SigmoidInt16::logistic(input_scale).map(Pointwise::LogisticInt16)
    }

    /// LiteRT's TANH on int16, for an operand with this scale. The operand's zero point is 0. See [`SigmoidInt16`].
    ///
    /// # Errors
    /// [`FunctionError::Scale`] and [`FunctionError::Factor`] if the scale is too large or too small.
    pub fn litert_tanh_int16(input_scale: f32) -> Result<Pointwise, FunctionError> {
        SigmoidInt16::tanh(input_scale).map(Pointwise::TanhInt16)
    }

    /// LiteRT's HARD_SWISH on int8, from scales and zero points of operand and result. See [`HardSwishInt8`].
    ///
    /// # Errors
    /// [`FunctionError::Scale`] and [`FunctionError::Factor`] if the quotient of both scales is at least 128 or at most
    /// 2^-9; [`FunctionError::Parameter`] if a zero point is not in the range of int8.
    pub fn litert_hard_swish_int8(input: (f32, i32), output: (f32, i32)) -> Result<Pointwise, FunctionError> {
        HardSwishInt8::from_scales(input, output).map(Pointwise::HardSwishInt8)
    }

    /// LiteRT's LEAKY_RELU on int8 or int16, from the scales and zero points of operand and result. See [`LeakyRelu`].
    ///
    /// # Errors
    /// [`FunctionError::Scale`] and [`FunctionError::Parameter`] if a factor is too large; [`FunctionError::Elements`]
    /// if the type is not int8 or int16; [`FunctionError::Parameter`] if a zero point is not in the range of the type.
    pub fn litert_leaky_relu(
        elements: IntType,
        input: (f32, i32),
        alpha: f32,
        output: (f32, i32),
    ) -> Result<Pointwise, FunctionError> {
        LeakyRelu::from_scales(elements, input, alpha, output).map(Pointwise::LeakyRelu)
    }

    /// The name and the version of the function.
    pub fn definition(&self) -> Definition {
        match self {
            Pointwise::LogisticInt8(_) => Definition::LitertLogisticInt8,
            Pointwise::TanhInt8(_) => Definition::LitertTanhInt8,
            Pointwise::LogisticInt16(_) => Definition::LitertLogisticInt16,
            Pointwise::TanhInt16(_) => Definition::LitertTanhInt16,
            Pointwise::HardSwishInt8(_) => Definition::LitertHardSwishInt8,
            Pointwise::LeakyRelu(_) => Definition::LitertLeakyRelu,
            Pointwise::LeakyReluTable(_) => Definition::OnnxRuntimeLeakyRelu,
            Pointwise::LogisticTable(_) => Definition::OnnxRuntimeLogistic,
            Pointwise::Nearest(_) => Definition::Nearest,
        }
    }

    /// The type of the operand's codes.
    pub fn elements(&self) -> IntType {
        match self {
            Pointwise::LogisticInt8(_) | Pointwise::TanhInt8(_) | Pointwise::HardSwishInt8(_) => IntType::I8,
            Pointwise::LogisticInt16(_) | Pointwise::TanhInt16(_) => IntType::I16,
            Pointwise::LeakyRelu(function) => function.elements,
            Pointwise::LeakyReluTable(function) => function.elements,
            Pointwise::LogisticTable(function) => function.elements,
            Pointwise::Nearest(function) => function.elements,
        }
    }

    /// The type of the result's codes.
    pub fn out(&self) -> IntType {
        match self {
            Pointwise::Nearest(function) => function.out,
            _ => self.elements(),
        }
    }

    /// Checks that the parameters are legal.
    ///
    /// # Errors
    /// [`FunctionError::Parameter`], [`FunctionError::Scale`] and [`FunctionError::Elements`].
    pub fn check(&self) -> Result<(), FunctionError> {
        match self {
            Pointwise::LogisticInt8(function) => function.check(),
            Pointwise::TanhInt8(function) => function.check(),
            Pointwise::LogisticInt16(function) | Pointwise::TanhInt16(function) => function.check(self.definition()),
            Pointwise::HardSwishInt8(function) => function.check(),
            Pointwise::LeakyRelu(function) => function.check(),
            Pointwise::LeakyReluTable(function) => function.check(),
            Pointwise::LogisticTable(function) => function.check(),
            Pointwise::Nearest(function) => function.check(),
        }
    }

    /// The result for one code.
    ///
    /// # Errors
    /// Errors of [`Pointwise::check`]; [`FunctionError::Code`]; [`FunctionError::Undecided`].
    pub fn eval(&self, code: i32) -> Result<i32, FunctionError> {
        self.check()?;
        code_of(self.definition(), self.elements(), code)?;
        self.value(code)
    }

    /// The results for all codes of the operand's type, beginning with the smallest code: 256 for 8 bits, 65536 for 16
    /// bits.
    ///
    /// # Errors
    /// Errors of [`Pointwise::check`]; [`FunctionError::Undecided`].
    pub fn table(&self) -> Result<Vec<i32>, FunctionError> {
        self.check()?;
        self.elements().range().map(|code| self.value(code)).collect()
    }

    /// The result for a code. The code must be in the range of the type, and the parameters must be legal.
    fn value(&self, code: i32) -> Result<i32, FunctionError> {
        Ok(match self {
            Pointwise::LogisticInt8(function) => function.value(code),
            Pointwise::TanhInt8(function) => function.value(code),
            Pointwise::LogisticInt16(function) => function.logistic_of(code),
            Pointwise::TanhInt16(function) => function.tanh_of(code),
            Pointwise::HardSwishInt8(function) => function.value(code),
            Pointwise::LeakyRelu(function) => function.value(code),
            Pointwise::LeakyReluTable(function) => function.value(code),
            Pointwise::LogisticTable(function) => function.value(code),
            Pointwise::Nearest(function) => return function.value(code),
        })
    }
}
