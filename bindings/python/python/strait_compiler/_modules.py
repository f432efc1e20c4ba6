"""Exports modules of PyTorch to ONNX."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from strait_compiler import _samples
from strait_compiler._samples import Array


def is_module(model: Any) -> bool:
    """Whether the model is a ``torch.nn.Module``. PyTorch itself is only there if the caller has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def export(model: Any, samples: Any, path: Path) -> Any:
    """Exports a module with PyTorch's own exporter. Returns the samples, of which an iterator has lost none.

    The module is exported for one sample at a time, in evaluation mode; its mode and its parameters stay as they are.
    """
    if samples is None or isinstance(samples, (str, Path)):
        raise TypeError("a module is exported with the shapes of its samples: give them as arrays or tensors")
    example, samples = _first(samples)
    torch: Any = sys.modules["torch"]
    tensors = {name: torch.as_tensor(item[:1]) for name, item in example.items()}
    named = {name: tensor for name, tensor in tensors.items() if name is not None}
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            if named:
                torch.onnx.export(model, (), str(path), kwargs=named, input_names=list(named), verbose=False)
            else:
                torch.onnx.export(model, tuple(tensors.values()), str(path), verbose=False)
    finally:
        model.train(training)
    return samples


def _first(samples: Any) -> tuple[dict[str | None, Array], Any]:
    """The first batch by the names of the inputs, and samples that still have it."""
    if isinstance(samples, Iterable) and not isinstance(samples, Mapping) and not hasattr(samples, "__array__"):
        iterator = iter(samples)
        for item in iterator:
            return dict(next(_samples.batches([item]))), itertools.chain([item], iterator)
        raise ValueError("there are no samples")
    return dict(next(_samples.batches(samples))), samples
