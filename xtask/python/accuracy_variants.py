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
        explanation="""Convolutions of `sima` end in a shift. The columns are:

- *As it is*, the default: weights are rounded once, on the grid that the shift allows. The corrections of sums, products and
  concatenations have 15 bits.
- *Folded afterwards* (`correction_folding = "afterwards"`): weights are rounded on the finest grid of their channel, multiplied
  by the correction, and rounded again.
- *7 bits* (`correction_bits = 7`): the corrections of sums, products and concatenations have 7 bits.
- *Mode tflite* (`requantization_mode = "tflite"`): weights stay on the finest grid, and convolutions end in a multiplication by
  31 bits and a shift.

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
        },
        weight_only="16 bits",
        explanation="""The columns are:

- *As it is*, the default: activations and weights have 8 bits.
- *16 bits* (`quantize.activations.type = "int16"`): LiteRT's 16x8 mode for all layers.
- *Weight-only*: the same 8-bit weights with float activations. This is the Q/DQ file of *16 bits* without its pairs on
  activations, in ONNX Runtime.
- *16 bits in part*: some layers have 16 bits. This is for models with a configuration `configs/models/MODEL-16.toml`, whose
  rules choose the layers.
- *Weights of 4 bits* (`quantize.weights.type = "int4"`): convolutions and Gemms have 4-bit weights and 8-bit activations.
""",
    ),
    Variants(
        target="ascend",
        title="Ranges on `ascend`",
        columns={
            "IFMR": ['calibration.observer="ifmr"'],
            "HFMG": ['calibration.observer="hfmg"'],
        },
        explanation="""By default, the range of an activation is its smallest and its largest value. *IFMR* and *HFMG* (`calibration.observer`) are
the observers that AMCT uses instead. IFMR is AMCT's default.

It would be the default of `ascend`, too, if no model lost more than 0.5 points compared with minimum and maximum. But
mlperf_vww loses 0.69, mobilenet_v1_0.25_224 loses 0.60, and mlperf_resnet8 loses two of the 100 samples of ic01_eval. On the
other hand, yolox_nano gains 12.8. If activations have rare large values, as after SiLU, try IFMR first.
""",
    ),
]


def settings(assignments):
    """Assignments as arguments of `strait compile`."""
    return [word for assignment in assignments for word in ("--set", assignment)]
