//! The rules by which runtimes compute a form's integers from scales. If the file has scales, no parameters have to be
//! searched for.

use crate::vectors::{Layer, Scales};
use std::fmt;
use strait_requantize::{
    Per, Requantization,
    scales::{ScaleError, ascend, litert, onnx_runtime},
};

/// A rule by which a runtime computes requantization parameters from scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// LiteRT's convolutions on int8.
    LitertConvolution,
    /// LiteRT's convolutions on int8, in a build that rounds once.
    LitertSingleRounding,
    /// LiteRT's FULLY_CONNECTED, in `f64`.
    LitertFullyConnected,
    /// LiteRT's BATCH_MATMUL on int8, the product of the scales in `f32`.
    LitertMatrixProduct,
    /// LiteRT's convolutions on int16 activations.
    LitertSixteenByEight,
    /// ONNX Runtime's QLinearConv, QGemm and QLinearMatMul.
    OnnxRuntimeConvolution,
    /// ONNX Runtime's QLinearMul.
    OnnxRuntimeMultiplication,
    /// Ascend's requantization with the full `f32`.
    Ascend,
    /// Ascend's requantization with 19 bits of the `f32`.
    AscendPacked,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 9] = [
        Rule::LitertConvolution,
        Rule::LitertSingleRounding,
        Rule::LitertFullyConnected,
        Rule::LitertMatrixProduct,
        Rule::LitertSixteenByEight,
        Rule::OnnxRuntimeConvolution,
        Rule::OnnxRuntimeMultiplication,
        Rule::Ascend,
        Rule::AscendPacked,
    ];

    /// The form that the rule makes for a layer's scales and a zero point. An error if the rule cannot be applied.
    pub(crate) fn form(self, layer: &Layer, scales: &Scales, zero: i32) -> Result<Requantization, ScaleError> {
        let &Scales {
            input,
            ref weight,
            output,
        } = scales;
        let ascend = |packed| {
            let scales = ascend::Scales {
                input,
                weight,
                output,
                packed,
            };
            ascend::requant(&scales, zero, false, layer.out)
        };
        let one = || match weight {
            Per::Tensor(weight) => Ok(*weight),
            Per::Channel(_) => Err(ScaleError::NotPositive {
                what: "scale for all channels",
                value: 0.0,
            }),
        };
        match self {
            Rule::LitertConvolution => litert::convolution(input, weight, output, zero, layer.out),
            Rule::LitertSingleRounding => {
                litert::convolution(input, weight, output, zero, layer.out).map(litert::single_rounding)
            }
            Rule::LitertFullyConnected => litert::fully_connected_in_f64(input, weight, output, zero, layer.out),
            Rule::LitertMatrixProduct => litert::matrix_product(input, one()?, output, zero, layer.out),
            Rule::LitertSixteenByEight => litert::sixteen_by_eight(input, weight, output, zero, layer.out),
            Rule::OnnxRuntimeConvolution => onnx_runtime::convolution(input, weight, output, zero, layer.out),
            Rule::OnnxRuntimeMultiplication => onnx_runtime::multiplication(input, one()?, output, zero, layer.out),
            Rule::Ascend => ascend(false),
            Rule::AscendPacked => ascend(true),
        }
    }

    /// A name for the row of a target's table.
    pub fn name(self) -> &'static str {
        match self {
            Rule::LitertConvolution => "litert-convolution",
            Rule::LitertSingleRounding => "litert-single-rounding",
            Rule::LitertFullyConnected => "litert-fully-connected",
            Rule::LitertMatrixProduct => "litert-matrix-product",
            Rule::LitertSixteenByEight => "litert-sixteen-by-eight",
            Rule::OnnxRuntimeConvolution => "onnxruntime-convolution",
            Rule::OnnxRuntimeMultiplication => "onnxruntime-multiplication",
            Rule::Ascend => "ascend-requant",
            Rule::AscendPacked => "ascend-requant-packed",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::LitertConvolution => "the integers of LiteRT's convolutions, two roundings",
            Rule::LitertSingleRounding => "the integers of LiteRT's convolutions, one rounding",
            Rule::LitertFullyConnected => "the factor of LiteRT's FULLY_CONNECTED, in f64",
            Rule::LitertMatrixProduct => "the integers of LiteRT's BATCH_MATMUL, two roundings",
            Rule::LitertSixteenByEight => "the integers of LiteRT's convolutions on int16",
            Rule::OnnxRuntimeConvolution => "the factor of ONNX Runtime's QLinearConv, in f32",
            Rule::OnnxRuntimeMultiplication => "the factor of ONNX Runtime's QLinearMul, in f32",
            Rule::Ascend => "the factor of AscendRequant, in f32",
            Rule::AscendPacked => "the factor of AscendRequant, 19 bits of it",
        })
    }
}
