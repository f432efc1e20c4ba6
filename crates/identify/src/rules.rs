//! The rules by which runtimes compute a form's integers from scales. A rule needs no search for parameters, but it can
//! only be tried if the file has scales.

use crate::vectors::{LayerScales, RecordedLayer};
use std::fmt;
use strait_requantize::{
    Per, Requantization,
    scales::{ScaleError, ascend, litert, onnx_runtime},
};

/// A rule by which a runtime computes requantization parameters from scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuntimeRule {
    /// LiteRT's convolutions on int8.
    LitertConvolution,
    /// LiteRT's convolutions on int8, in a build that rounds once.
    LitertSingleRounding,
    /// LiteRT's FULLY_CONNECTED, in `f64`.
    LitertFullyConnected,
    /// LiteRT's BATCH_MATMUL on int8, where the product of the scales is computed in `f32`.
    LitertMatrixProduct,
    /// LiteRT's convolutions on int16 activations.
    LitertSixteenByEight,
    /// ONNX Runtime's QLinearConv, QGemm and QLinearMatMul.
    OnnxRuntimeConvolution,
    /// ONNX Runtime's QLinearMul.
    OnnxRuntimeMultiplication,
    /// Ascend's requantization with all bits of the `f32` scale.
    Ascend,
    /// Ascend's requantization with 19 bits of the `f32` scale.
    AscendPacked,
}

impl RuntimeRule {
    /// All rules.
    pub const ALL: [RuntimeRule; 9] = [
        RuntimeRule::LitertConvolution,
        RuntimeRule::LitertSingleRounding,
        RuntimeRule::LitertFullyConnected,
        RuntimeRule::LitertMatrixProduct,
        RuntimeRule::LitertSixteenByEight,
        RuntimeRule::OnnxRuntimeConvolution,
        RuntimeRule::OnnxRuntimeMultiplication,
        RuntimeRule::Ascend,
        RuntimeRule::AscendPacked,
    ];

    /// Makes the form with the given zero point and with the integers that the rule computes from a layer's scales.
    /// Returns an error if the rule cannot be applied.
    pub(crate) fn form(
        self,
        layer: &RecordedLayer,
        scales: &LayerScales,
        zero: i32,
    ) -> Result<Requantization, ScaleError> {
        let &LayerScales {
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
            RuntimeRule::LitertConvolution => litert::convolution(input, weight, output, zero, layer.out),
            RuntimeRule::LitertSingleRounding => {
                litert::convolution(input, weight, output, zero, layer.out).map(litert::single_rounding)
            }
            RuntimeRule::LitertFullyConnected => litert::fully_connected_in_f64(input, weight, output, zero, layer.out),
            RuntimeRule::LitertMatrixProduct => litert::matrix_product(input, one()?, output, zero, layer.out),
            RuntimeRule::LitertSixteenByEight => litert::sixteen_by_eight(input, weight, output, zero, layer.out),
            RuntimeRule::OnnxRuntimeConvolution => onnx_runtime::convolution(input, weight, output, zero, layer.out),
            RuntimeRule::OnnxRuntimeMultiplication => {
                onnx_runtime::multiplication(input, one()?, output, zero, layer.out)
            }
            RuntimeRule::Ascend => ascend(false),
            RuntimeRule::AscendPacked => ascend(true),
        }
    }

    /// A proposed name for the row of a target's table that states this rule.
    pub fn name(self) -> &'static str {
        match self {
            RuntimeRule::LitertConvolution => "litert-convolution",
            RuntimeRule::LitertSingleRounding => "litert-single-rounding",
            RuntimeRule::LitertFullyConnected => "litert-fully-connected",
            RuntimeRule::LitertMatrixProduct => "litert-matrix-product",
            RuntimeRule::LitertSixteenByEight => "litert-sixteen-by-eight",
            RuntimeRule::OnnxRuntimeConvolution => "onnxruntime-convolution",
            RuntimeRule::OnnxRuntimeMultiplication => "onnxruntime-multiplication",
            RuntimeRule::Ascend => "ascend-requant",
            RuntimeRule::AscendPacked => "ascend-requant-packed",
        }
    }
}

impl fmt::Display for RuntimeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuntimeRule::LitertConvolution => "the integers of LiteRT's convolutions, two roundings",
            RuntimeRule::LitertSingleRounding => "the integers of LiteRT's convolutions, one rounding",
            RuntimeRule::LitertFullyConnected => "the factor of LiteRT's FULLY_CONNECTED, in f64",
            RuntimeRule::LitertMatrixProduct => "the integers of LiteRT's BATCH_MATMUL, two roundings",
            RuntimeRule::LitertSixteenByEight => "the integers of LiteRT's convolutions on int16",
            RuntimeRule::OnnxRuntimeConvolution => "the factor of ONNX Runtime's QLinearConv, in f32",
            RuntimeRule::OnnxRuntimeMultiplication => "the factor of ONNX Runtime's QLinearMul, in f32",
            RuntimeRule::Ascend => "the factor of AscendRequant, in f32",
            RuntimeRule::AscendPacked => "the factor of AscendRequant, 19 bits of it",
        })
    }
}
