"""Why a model loses more than five points, or 1 dB, on a target: (model, target) -> what was found. Measured, not guessed."""

# Found with ONNX Runtime, fake quantization of one thing at a time, ranges by minimum and maximum, mAP of float 35.5.
_YOLOX = (
    "the activations around SiLU, not the weights. With nothing but the weights in int8 per channel the mAP is 35.9;"
    " with nothing but the convolutions' results on 8-bit grids it is 17.4, with nothing but the products behind the"
    " sigmoids 17.0, and with the sigmoids alone 35.3. Ten convolutions have results up to 235 wide (-108.5 to 126.9),"
    " and their grids alone cost 12.9 points: SiLU needs fine steps near 0. Putting the whole output on one grid costs"
    " 0.6. ONNX Runtime loses as much"
)

NOTES = {
    ("FSRCNN_x2", "generic-int8"): (
        "its PReLUs with a slope for each channel, which are four operations that round to 8 bits each, and its weights. With"
        " weights of 8 bits between float activations the PSNR is 30.6, and with activations of 16 bits as well; on `ascend`,"
        " which computes these operations in float, it is 30.5. ONNX Runtime, for which they are six operations, loses 1.3 dB"
    ),
    ("yolox_nano", "generic-int8"): _YOLOX,
    ("yolox_nano", "sima"): _YOLOX,
    ("yolox_nano", "ascend"): _YOLOX,
    ("mobilenet_v1_0.25_224", "sima"): (
        "the power-of-two shift behind convolutions. Their weights lie on the grid that the shift allows, which is up to"
        " twice as coarse as the finest, and this model is sensitive to its weights: with nothing but the weights in int8"
        " per channel the agreement with float is 73.8 %. With `requantization_mode = \"tflite\"`, a multiplication instead"
        " of the shift, top-1 is 54.0 and the agreement 72.4 %"
    ),
}
