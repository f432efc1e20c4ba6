"""Strait: a quantizing compiler.

A float model and a few samples go in, an integer model for one chip comes out::

    import strait_compiler as strait

    built = strait.compile("model.onnx", samples, target="generic-int8")
    y = built.run(x)["logits"]
    built.report
"""

from strait_compiler._compile import Built, analyze, compile, open, targets
from strait_compiler._errors import (
    ArtifactError,
    ConfigurationError,
    EvaluationError,
    ModelError,
    SampleError,
    StraitError,
    TargetError,
)
from strait_compiler._report import Accuracy, Gate, Layer, Remark, Report
from strait_compiler._strait import __version__

__all__ = [
    "Accuracy",
    "ArtifactError",
    "Built",
    "ConfigurationError",
    "EvaluationError",
    "Gate",
    "Layer",
    "ModelError",
    "Remark",
    "Report",
    "SampleError",
    "StraitError",
    "TargetError",
    "__version__",
    "analyze",
    "compile",
    "open",
    "targets",
]
