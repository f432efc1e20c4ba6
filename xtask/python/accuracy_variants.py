"""The variants of targets that the accuracy table shows side by side, each with a difference from the defaults."""

from dataclasses import dataclass

DEFAULT = "as it is"
WEIGHT_ONLY = "weight-only"


@dataclass
class Variants:
    """Variants of one target, in one table."""

    target: str
    title: str
    columns: dict  # column -> assignments that `strait compile` is given, or the suffix of a configuration of its own
    explanation: str
    weight_only: str | None = None  # the column beside which its own weights are shown with float activations
    judged: tuple | None = None  # two columns that are held against the default

    def all_columns(self):
        """Columns with the names that they have, in the order of the table."""
        for column in self.columns:
            yield column
            if column == self.weight_only:
                yield WEIGHT_ONLY


def options(target, **values):
    """Assignments to options of a target."""
    return [f"target.options.{target}.{name}={value}" for name, value in values.items()]


ALL = [
    Variants(
        target="sima",
        title="Variants of `sima`",
        columns={
            "folded afterwards": options("sima", correction_folding='"afterwards"'),
            "7 bits": options("sima", correction_bits=7),
            "mode tflite": options("sima", requantization_mode='"tflite"'),
        },
        explanation="""On `sima`, convolutions are requantized by a shift, which can only apply a power of two. The exact factor is a power of two times a
*correction* in (0.5, 1], and the correction is part of the scale of the weights. Additions, multiplications and concatenations are
requantized by a multiplication by the correction and a shift. The columns are:

- *As it is*, the default: weights are rounded once, on the finest grid for which a shift is enough. The corrections of additions,
  multiplications and concatenations have 15 bits.
- *Folded afterwards* (`correction_folding = "afterwards"`): weights are rounded on the finest grid that covers their channel,
  then multiplied by the correction, and rounded again.
- *7 bits* (`correction_bits = 7`): the corrections of additions, multiplications and concatenations have 7 bits.
- *Mode tflite* (`requantization_mode = "tflite"`): weights are rounded on the finest grid that covers their channel, and
  convolutions are requantized by a 31-bit multiplication and a shift.

The agreement with the float model is in brackets. A variant that gives exactly the same integers as the default is marked
with =.
""",
    ),
    Variants(
        target="generic-int8",
        title="Types on `generic-int8`",
        columns={
            "16 bits": ['quantize.activations.type="int16"'],
            "16 bits in part": "-16",
            "weights of 4 bits": ['quantize.weights.type="int4"'],
            "LiteRT": options("generic-int8", runtime='"litert"'),
        },
        weight_only="16 bits",
        explanation="""The columns are:

- *As it is*, the default: activations and weights have 8 bits.
- *16 bits* (`quantize.activations.type = "int16"`): all layers have 16-bit activations and 8-bit weights, as in LiteRT's 16x8 mode.
- *Weight-only*: the 8-bit weights of *16 bits* with float activations. To measure this, ONNX Runtime runs the Q/DQ file of *16 bits*,
  from which all pairs of QuantizeLinear and DequantizeLinear on activations were removed.
- *16 bits in part*: only some layers have 16-bit activations. This column is for models that have a configuration
  `configs/models/MODEL-16.toml`, whose rules choose these layers.
- *Weights of 4 bits* (`quantize.weights.type = "int4"`): convolutions and Gemms have 4-bit weights and 8-bit activations.
- *LiteRT* (`runtime = "litert"`): only arithmetic that a [TFLite file](tflite.md) can express.
""",
    ),
    Variants(
        target="ascend",
        title="Ranges on `ascend`",
        columns={
            "IFMR": ['calibration.observer="ifmr"'],
            "HFMG": ['calibration.observer="hfmg"'],
        },
        explanation="""By default, the range of an activation goes from its smallest to its largest value in the calibration samples. AMCT has two
observers that choose other ranges, *IFMR* and *HFMG*. The key `calibration.observer` selects one of them. IFMR is AMCT's default.

IFMR is not the default for `ascend` in Strait, because some models lose more than 0.5 points with IFMR compared with the range
from minimum to maximum: top-1 falls by 0.69 points for mlperf_vww, by 0.60 points for mobilenet_v1_0.25_224, and by two of the
100 samples of ic01_eval for mlperf_resnet8. But the mAP of yolox_nano rises by 12.8 points. If activations have rare large values,
as after SiLU, try IFMR first.
""",
    ),
]


OPTIMIZED = """The table `[optimize]` switches on algorithms that choose codes, biases and ranges from the calibration samples; see
[optimization](optimize.md). The columns are:

- *As it is*, the default: no algorithm.
- *Quick* (`preset = "quick"`): biases are corrected.
- *Thorough* (`preset = "thorough"`): scale moves between layers, ranges are chosen by the error at the outputs, biases are
  corrected, and the weights of an output are rounded together.
"""

WEIGHTS = """- *4 bits* and *one scale*: the weights have 4 bits and a scale for each channel, or 8 bits and one scale for the whole tensor
  (`quantize.weights.per = "tensor"`). Both are shown without algorithms and with `preset = "thorough"`.
"""


def optimized(target, more=None, explanation=""):
    """The table that shows what the algorithms of `[optimize]` do on one target."""
    columns = {f"{preset} {target}": [f'optimize.preset="{preset}"'] for preset in ("quick", "thorough")}
    both = tuple(columns)
    return Variants(target, f"Optimized for `{target}`", columns | (more or {}), OPTIMIZED + explanation, judged=both)


ALL += [
    optimized(
        "generic-int8",
        {
            "4 bits, thorough": ['quantize.weights.type="int4"', 'optimize.preset="thorough"'],
            "one scale": ['quantize.weights.per="tensor"'],
            "one scale, thorough": ['quantize.weights.per="tensor"', 'optimize.preset="thorough"'],
        },
        WEIGHTS,
    ),
    optimized("sima"),
    optimized("ascend"),
]


def settings(assignments):
    """Assignments as arguments of `strait compile`."""
    return [word for assignment in assignments for word in ("--set", assignment)]
