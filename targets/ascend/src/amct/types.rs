//! The types of layers that AMCT quantizes, by their names in TensorFlow, ONNX, Caffe and PyTorch.

/// Each entry has the names of a type, and the operators of the canonical model that layers of this type become.
const TYPES: &[(&[&str], &[&str])] = &[
    // TensorFlow has a type of its own for depthwise convolutions, which compute each channel by itself.
    (&["Conv2D", "Conv3D"], &["dense_conv"]),
    (&["DepthwiseConv2dNative"], &["depthwise_conv"]),
    (&["Conv", "Convolution", "Conv1d", "Conv2d", "Conv3d"], &["conv"]),
    (
        &[
            "Conv2DBackpropInput",
            "ConvTranspose",
            "Deconvolution",
            "ConvTranspose1d",
            "ConvTranspose2d",
        ],
        &["conv_transpose"],
    ),
    (&["Gemm", "InnerProduct", "Linear"], &["gemm"]),
    (&["MatMul", "BatchMatMul", "BatchMatMulV2"], &["gemm", "matmul"]),
    (&["AvgPool", "AveragePool", "AvgPool2d", "Pooling"], &["average_pool"]),
    (&["MaxPool"], &["max_pool"]),
    (&["Add", "AddV2", "Eltwise"], &["add"]),
];

/// The operators that layers of a type become. `None` if AMCT does not quantize the type.
pub(super) fn ops(layer_type: &str) -> Option<&'static [&'static str]> {
    let mut found = TYPES.iter().filter(|(names, _)| names.contains(&layer_type));
    found.next().map(|(_, ops)| *ops)
}

/// All names of types.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().flat_map(|(names, _)| names.iter().copied())
}
