"""Marks that a file misses, each with the figure that was seen and the reason. All other files are held to the marks themselves."""

from dataclasses import dataclass

SLACK = 1.0  # decibels by which figures differ between processors


@dataclass(frozen=True)
class Miss:
    """One file and one of `qdq.MARKS`."""

    name: str  # of the case
    mark: str
    figure: float
    why: str


# ONNX rounds x / scale to even and adds the zero point; a pixel x / 127.5 - 1 lies half way between two codes of a grid from -1 to 1.
AWAY = "pixels lie half way between two codes. This target rounds these pixels away from zero, and ONNX rounds them to even, so 28 % of the pixels get another code"
EVEN = "pixels lie half way between two codes. This target adds the zero point before it rounds to even, and ONNX adds it afterwards, so 56 % of the pixels get another code"
TIES = "pixels lie half way between two codes. OpenVINO multiplies by the reciprocal of the scale, so 25 % of the pixels get another code"
SUMS = "float32 sums are rounded differently than the target's integer sums, so in each layer a few codes in 1000 differ"
LITTLE = "8 bits are hardly enough for this network (SNR of 6 to 7 dB against float), so single codes that differ have large effects"
PLAIN = "chance: against float, the SNR of the file at default settings is about that of `strait run`, and with optimizations off it is higher"
NEAR = "a TensorFlow graph has no float outputs here, so the distance from `strait run` is compared. Both outputs are 39 dB and more from it, and differ by the order of float32 sums"
NARROWED = "16-bit codes are narrowed to 8 bits in front of a convolution. Half way between two 8-bit codes, a difference of one code becomes some hundred steps of the result"
TWICE = "the target rounds one sum or product in some thousands twice, and the file rounds it once"

MISSES = [
    Miss("zoo, my_conv_tasnet.dyn", "steps", 2, TWICE),
    Miss("zoo, my_conv_tasnet", "steps", 2, TWICE),
    Miss("zoo, timm_edgenext_xx_small.dyn", "steps", 2, TWICE),
    Miss("zoo, timm_edgenext_xx_small", "steps", 2, TWICE),
    Miss("zoo, timm_volo_d1_224.dyn", "steps", 2, TWICE),
    Miss("zoo, timm_coat_tiny", "steps", 302, NARROWED),
    Miss("zoo, timm_mobileone_s0", "settings", 1.53, PLAIN),
    Miss("rows, generic-int8, functions-int16", "steps", 3, "tanh of 16 bits is interpolated between entries of a table (functions.md)"),
    Miss("FSRCNN_x2, sima", "settings", 1.04, NEAR),
    Miss("mlperf_kws, sima", "settings", 4.4, PLAIN),
    Miss("mlperf_resnet8, generic-int8", "onnxruntime", 30.0, SUMS),
    Miss("mlperf_resnet8, generic-int8", "openvino", 27.3, SUMS),
    Miss("mlperf_resnet8, sima", "openvino", 28.7, SUMS),
    Miss("cifar_resnet20, generic-int8", "openvino", 29.7, SUMS),
    Miss("armkws_DS_CNN_S, generic-int8", "onnxruntime", 27.5, SUMS),
    Miss("armkws_DS_CNN_S, generic-int8", "openvino", 27.5, SUMS),
    Miss("armkws_DS_CNN_S, sima", "openvino", 27.1, SUMS),
    Miss("cifar_resnet56, generic-int8", "onnxruntime", 29.9, SUMS),
    Miss("cifar_resnet56, generic-int8", "openvino", 27.2, SUMS),
    Miss("cifar_resnet56, sima", "openvino", 28.4, SUMS),
    Miss("squeezenet1.1, generic-int8", "onnxruntime", 29.0, SUMS),
    Miss("squeezenet1.1, generic-int8", "openvino", 27.7, SUMS),
    Miss("squeezenet1.1, sima", "openvino", 29.1, SUMS),
    Miss("mobilenet_v1_0.25_224, generic-int8", "onnxruntime", 24.5, AWAY),
    Miss("mobilenet_v1_0.25_224, generic-int8", "openvino", 23.9, AWAY),
    Miss("mobilenet_v1_0.25_224, sima", "openvino", 23.3, TIES),
    Miss("mobilenet_v1_0.25_224, ascend", "onnxruntime", 25.3, EVEN),
    Miss("mobilenet_v1_0.25_224, ascend", "openvino", 22.7, EVEN),
    Miss("mobilenet_v2_1.0_224, generic-int8", "onnxruntime", 28.2, AWAY),
    Miss("mobilenet_v2_1.0_224, generic-int8", "openvino", 22.6, AWAY),
    Miss("mobilenet_v2_1.0_224, sima", "settings", 1.1, PLAIN),
    Miss("mobilenet_v2_1.0_224, sima", "onnxruntime", 26.7, SUMS),
    Miss("mobilenet_v2_1.0_224, sima", "openvino", 25.3, TIES),
    Miss("mobilenet_v2_1.0_224, ascend", "onnxruntime", 26.2, EVEN),
    Miss("mobilenet_v2_1.0_224, ascend", "openvino", 26.2, EVEN),
    Miss("yolox_nano, generic-int8", "onnxruntime", 14.5, LITTLE),
    Miss("yolox_nano, generic-int8", "openvino", 14.5, LITTLE),
    Miss("yolox_nano, sima", "onnxruntime", 18.4, LITTLE),
    Miss("yolox_nano, sima", "openvino", 19.1, LITTLE),
    Miss("yolox_nano, ascend", "onnxruntime", 20.2, LITTLE),
    Miss("yolox_nano, ascend", "openvino", 20.3, LITTLE),
]


def of(name, mark):
    """The miss that is known, if there is one."""
    return next((miss for miss in MISSES if (miss.name, miss.mark) == (name, mark)), None)
