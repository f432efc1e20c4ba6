"""Vectors of LiteRT's linear interpolation of codes."""

import litert
import numpy as np
from litert import PROGRAM, Tensor, options, result
from vectors import Kernel, codes, scale, short

SAMPLINGS = {
    "asymmetric": {"alignCorners": False, "halfPixelCenters": False},
    "half pixel": {"alignCorners": False, "halfPixelCenters": True},
    "corners aligned": {"alignCorners": True, "halfPixelCenters": False},
}


def bilinear(elements, sampling):
    """Images of one channel, larger and smaller: of random extents, and twice or four times as large, where ties are."""

    def fill(generator):
        kernel = Kernel(PROGRAM, f"RESIZE_BILINEAR, {np.dtype(elements).name}, {sampling}", "resampled in 10 bits",
                        ["resampled in 11 bits", "half up"])  # fmt: skip
        for case in range(120):
            before = [int(v) for v in generator.integers(1, 14, 2)]
            after = [int(v) for v in generator.integers(1, 30, 2)]
            if case % 2:
                after = [extent * int(generator.choice([2, 4])) for extent in before]
            x = codes(generator, elements, (1, *before, 1))
            grid, zero = scale(generator), 0 if elements == np.int16 else int(generator.integers(-128, 128))
            y = litert.run("RESIZE_BILINEAR", options("ResizeBilinearOptions", **SAMPLINGS[sampling]),
                           [Tensor(x, grid, zero)], [Tensor(np.array(after, np.int32))],
                           result((1, *after, 1), elements, grid, zero))  # fmt: skip
            resize = {"from": before, "to": after, "sampling": sampling}
            kernel.add([x], [y], short(elements), grid, zero, resize=resize)
        return kernel

    return fill


KERNELS = [bilinear(elements, sampling) for elements in (np.int8, np.int16) for sampling in SAMPLINGS]
