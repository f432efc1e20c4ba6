"""The models of the accuracy table: their data, what happens to it before the network, and how they are scored.

The float inputs here feed ONNX Runtime; `strait` gets the same arrays as `prepare.py` wrote them and does its own
preprocessing, after the model's configuration in configs/models.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Model:
    name: str
    kind: str  # "classifier" | "anomaly" | "detector" | "enlarger"
    steps: str  # a key of STEPS
    calibration: str  # a set of prepared data: SET_x.npy below the data folder
    evaluations: dict  # name in the results -> (inputs, labels), both without `.npy`
    graph: tuple = ()  # of a frozen TensorFlow graph: input with its shape, and output, where it is cut

    @property
    def file(self):
        return f"{self.name}.{'pb' if self.graph else 'onnx'}"

    def inputs(self, prepared):
        """One batch of one per sample, as the network takes it."""
        for sample in prepared:
            yield STEPS[self.steps](sample)


def _image(convert):
    """uint8 [h,w,3] to float32 [1,3,h,w]."""
    return lambda x: np.ascontiguousarray(convert(x.astype(np.float32)).transpose(2, 0, 1)[None], np.float32)


_IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
_CAFFE_MEAN = np.array([104, 117, 123], np.float32)  # of blue, green, red

STEPS = {
    "signed unit": _image(lambda x: x / np.float32(127.5) - 1),
    "unit": _image(lambda x: x / 255),
    "none": _image(lambda x: x),
    "imagenet": _image(lambda x: (x / 255 - _IMAGENET_MEAN) / _IMAGENET_DEVIATION),
    "caffe": _image(lambda x: x[..., ::-1] - _CAFFE_MEAN),
    "vector": lambda x: x[None],  # [640] to [1,640], [1,49,10] to [1,1,49,10], [96,96,1] to [1,96,96,1]
    "whole": lambda x: x,  # the model has no batch dimension
}

_CIFAR = {name: (f"cifar10/{name}_x", f"cifar10/{name}_y") for name in ("eval_jpeg", "ic01_eval")}
_IMAGENET = {"eval": ("imagenet/eval_x", "imagenet/eval_y")}
_IMAGENET_BACKGROUND = {"eval": ("imagenet/eval_x", "imagenet/eval_y_background")}
_ARMKWS = {"eval": ("armkws/eval_x", "armkws/eval_y")}
_BEHIND_AUDIO = ("Mfcc:0[1,49,10]", "labels_softmax:0")

MODELS = {
    model.name: model
    for model in [
        Model("mobilenet_v1_0.25_224", "classifier", "signed unit", "imagenet/calib_x", _IMAGENET_BACKGROUND),
        Model("mobilenet_v2_1.0_224", "classifier", "signed unit", "imagenet/calib_x", _IMAGENET_BACKGROUND),
        Model("squeezenet1.1", "classifier", "caffe", "imagenet/calib_x", _IMAGENET),
        Model("cifar_resnet20", "classifier", "imagenet", "cifar10/calib_x", _CIFAR),
        Model("cifar_resnet56", "classifier", "imagenet", "cifar10/calib_x", _CIFAR),
        Model("mlperf_resnet8", "classifier", "none", "cifar10/calib_x", _CIFAR),
        Model("mlperf_vww", "classifier", "unit", "vww/calib_x", {"vww_eval": ("vww/eval_x", "vww/eval_y")}),
        Model("mlperf_kws", "classifier", "vector", "kws/calib_x", {"kws_mfcc_i8_eval": ("kws/eval_x", "kws/eval_y")}),
        Model("kwt1_transformer", "classifier", "whole", "kwt/calib_x", {"kwt_feat_f32_eval": ("kwt/eval_x", "kwt/eval_y")}),
        Model("mlperf_ad", "anomaly", "vector", "ad/calib_x", {"eval": ("ad/eval_x", "ad/eval_y")}),
        Model("yolox_nano", "detector", "none", "coco/calib_x", {"eval": ("coco/eval_x", "coco/eval_truth")}),
        Model("armkws_DS_CNN_S", "classifier", "vector", "armkws/calib_x", _ARMKWS, _BEHIND_AUDIO),
        Model("armkws_CNN_L", "classifier", "vector", "armkws/calib_x", _ARMKWS, _BEHIND_AUDIO),
        Model("FSRCNN_x2", "enlarger", "vector", "luminance/calib_x", {"eval": ("luminance/eval_x", "luminance/eval_y")},
              ("IteratorGetNext:0[1,96,96,1]", "NCHW_output:0")),  # fmt: skip
    ]
}
