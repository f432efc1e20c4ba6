"""Why a model loses more than five points, or 1 dB, on a target: (model, target) -> what was found. Measured, not guessed."""

# Found with ONNX Runtime, fake quantization of one thing at a time, ranges by minimum and maximum, mAP of float 35.5.
_YOLOX = (
    "the cause is the activations around SiLU, not the weights. If only the weights are in int8 (per channel), the"
    " mAP is 35.9. If only the results of the convolutions are on 8-bit grids, it is 17.4. For the products after the"
    " sigmoids alone it is 17.0, and for the sigmoids alone 35.3. Ten convolutions have results that span up to 235"
    " (-108.5 to 126.9), and their grids alone cost 12.9 points, because SiLU needs fine steps near 0. Putting the"
    " whole output on one grid costs 0.6. ONNX Runtime loses as much"
)

NOTES = {
    ("FSRCNN_x2", "generic-int8"): (
        "the causes are its weights and its PReLUs. A PReLU with a slope for each channel becomes four operations, each"
        " of which rounds to 8 bits. With 8-bit weights and float activations the PSNR is 30.6, and the same with 16-bit"
        " activations. On `ascend`, which computes the PReLUs in float, it is 30.5. In ONNX Runtime they are six"
        " operations, and it loses 1.3 dB"
    ),
    ("yolox_nano", "generic-int8"): _YOLOX,
    ("yolox_nano", "sima"): _YOLOX,
    ("yolox_nano", "ascend"): _YOLOX,
    ("mobilenet_v1_0.25_224", "sima"): (
        "the cause is the power-of-two shift after convolutions. It forces the weights onto a grid that is up to twice as"
        " coarse as the finest one, and this model is sensitive to its weights. If only the weights are in int8 (per"
        " channel), the agreement with float is already down to 73.8 %. With `requantization_mode = \"tflite\"`, which"
        " multiplies instead of shifting, top-1 is 54.0 and the agreement 72.4 %"
    ),
}
