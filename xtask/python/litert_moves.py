"""Operators of LiteRT that choose between codes on one grid, pick some of them or repeat them: operands, the operator's options,
its constants, and what the codes should be."""

import numpy as np
from litert import Tensor, options
from vectors import codes


def shape(generator):
    return tuple(int(extent) for extent in generator.integers(1, 9, int(generator.integers(1, 5))))


def repeated(generator, extents):
    """The same extents, some of them 1."""
    return tuple(1 if generator.random() < 0.3 else extent for extent in extents)


def extreme(function):
    def draw(generator, elements):
        extents = shape(generator)
        x, y = codes(generator, elements, extents), codes(generator, elements, repeated(generator, extents))
        return [x, y], options("MaximumMinimumOptions"), [], function(x, y)

    return draw


def select(generator, elements):
    extents = shape(generator)
    condition = generator.random(repeated(generator, extents)) < 0.5
    x, y = codes(generator, elements, extents), codes(generator, elements, repeated(generator, extents))
    return [Tensor(condition), x, y], options("SelectV2Options"), [], np.where(condition, x, y)


def gather(generator, elements):
    x = codes(generator, elements, shape(generator))
    axis = int(generator.integers(0, x.ndim))
    picked = generator.integers(0, x.shape[axis], int(generator.integers(1, 9)))
    return [x], options("GatherOptions", axis=axis), [picked], np.take(x, picked, axis)


def broadcast(generator, elements):
    extents = shape(generator)
    x = codes(generator, elements, repeated(generator, extents))
    return [x], options("BroadcastToOptions"), [extents], np.broadcast_to(x, extents).copy()


DRAWS = {
    "MINIMUM": extreme(np.minimum),
    "MAXIMUM": extreme(np.maximum),
    "SELECT_V2": select,
    "GATHER": gather,
    "BROADCAST_TO": broadcast,
}
