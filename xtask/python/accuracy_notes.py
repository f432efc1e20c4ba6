"""Why a model loses more than five points, or 1 dB, on a target: (model, target) -> what was found. Measured, not guessed."""

# Found with ONNX Runtime, fake quantization of one thing at a time, ranges by minimum and maximum, mAP of float 35.5.
_YOLOX = (
    "the cause is the activations around SiLU, not the weights. If only the weights are quantized to int8 (per"
    " channel), the mAP is 35.9. If only the results of the convolutions are quantized to 8 bits, the mAP is 17.4."
    " If only the products after the sigmoids are quantized, the mAP is 17.0, and if only the sigmoids are, it is 35.3."
    " Ten convolutions have results that span up to 235 (-108.5 to 126.9). The grids of these results alone cost 12.9"
    " points, because SiLU needs fine steps near 0. Quantizing the whole output of the model with one grid costs 0.6"
    " points. With ONNX Runtime's own quantization, the model loses 21.0 points in total"
)

_FSRCNN = (
    "the causes are the weights and the PReLUs of the model. A PReLU with a slope for each channel becomes four"
    " operations, each of which rounds to 8 bits. With 8-bit weights and float or 16-bit activations, the PSNR is"
    " 30.6 dB. On `ascend`, which computes the PReLUs in float, the PSNR is 30.5 dB. In ONNX Runtime a PReLU becomes"
    " six operations, and the loss is 1.3 dB"
)

NOTES = {
    ("FSRCNN_x2", "generic-int8"): _FSRCNN,
    ("FSRCNN_x2", "onnxruntime"): _FSRCNN,
    ("yolox_nano", "generic-int8"): _YOLOX,
    ("yolox_nano", "onnxruntime"): _YOLOX,
    ("yolox_nano", "sima"): _YOLOX,
    ("yolox_nano", "ascend"): _YOLOX,
    ("mobilenet_v1_0.25_224", "sima"): (
        "the cause is that `sima` requantizes the results of convolutions by a shift, so that the factor has to be a"
        " power of two. Weights therefore get a grid that is up to twice as coarse as the finest one, and this model"
        " is sensitive to rounding of its weights. Quantizing only the weights to int8 (per channel)"
        " already reduces the agreement with the float model to 73.8 %. With `requantization_mode = \"tflite\"`,"
        " which multiplies before the shift, top-1 is 54.0 and the agreement 72.4 %"
    ),
}
