#!/usr/bin/env python3
"""Write the real TFLite models of floats with what LiteRT computes of them. Started by `cargo xtask oracles`.

One of them is hybrid: LiteRT quantizes its activations anew in each run. We read its weights as the numbers that they stand for, as
its sibling in ONNX has them, and hold it against what ONNX Runtime gave for that.
"""

import argparse
from pathlib import Path

import litert_cases
import numpy as np
from litert import OpResolverType, Tensor, computed

MODELS = {
    "mlperf_resnet8": "mlperf_resnet8_float",
    "mlperf_vww": "mlperf_vww_float",
    "mlperf_kws": "mlperf_kws_float",
    "mlperf_ad": "mlperf_ad_float",
    "mobilenet_v1_0.25_224": "mobilenet_v1_0.25_224_float",
}
HYBRID = "mlperf_kws"
SAMPLES = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    arguments = parser.parse_args()
    with litert_cases.folder(arguments.folder, __file__) as folder:
        if not folder:
            return
        for name, stem in MODELS.items():
            file = (arguments.shared / "models" / f"{stem}.tflite").read_bytes()
            samples = np.load(arguments.shared / "golden" / f"{name}.in.npy")[:SAMPLES]
            stored = np.load(arguments.shared / "golden" / f"{name}.out.npy")[:SAMPLES]
            for position, (sample, output) in enumerate(zip(samples, stored, strict=True)):
                # The sibling has the channels first.
                sample = np.ascontiguousarray(sample.transpose(0, 2, 3, 1) if sample.ndim == 4 else sample)
                if name == HYBRID:
                    results, settings = [output], ["hybrid"]
                else:
                    results, settings = computed(file, [Tensor(sample)], OpResolverType.BUILTIN_REF), []
                folder.add(f"{name}_{position}", file, (0, 0), None, [sample], results, settings)


if __name__ == "__main__":
    main()
