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
        explanation="""Convolutions of `sima` end in a shift. *As it is*: weights are rounded once, on the grid that the shift
allows, and the corrections of sums, products and concatenations have 15 bits. *Folded afterwards*
(`correction_folding = "afterwards"`): weights are rounded on the finest grid of their channel, multiplied by the correction
and rounded again. *7 bits* (`correction_bits = 7`): corrections of sums, products and concatenations have 7 bits. *Mode
tflite* (`requantization_mode = "tflite"`): weights stay on the finest grid, and convolutions end in a multiplication by 31
bits and a shift. In brackets the agreement with the float model. A variant that compiles to the very same integers is
marked with =.
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
        explanation="""*16 bits* (`quantize.activations.type = "int16"`): LiteRT's 16x8 mode throughout. *Weight-only*: the
same weights of 8 bits between float activations, which is the Q/DQ file of the former without its pairs on activations, in
ONNX Runtime. *16 bits in part*: for models with a configuration `configs/models/MODEL-16.toml`, whose rules choose layers.
*Weights of 4 bits* (`quantize.weights.type = "int4"`): of convolutions and Gemms, with activations of 8 bits.
""",
    ),
    Variants(
        target="ascend",
        title="Ranges on `ascend`",
        columns={
            "IFMR": ['calibration.observer="ifmr"'],
            "HFMG": ['calibration.observer="hfmg"'],
        },
        explanation="""*IFMR* and *HFMG* (`calibration.observer`): AMCT's own ranges of activations, in place of the smallest and
the largest value. IFMR is AMCT's default. It would be the one of `ascend`, too, if it took no more than 0.5 points from any
model against minimum and maximum. It takes 0.69 from mlperf_vww and 0.60 from mobilenet_v1_0.25_224, and two of the 100 samples
of ic01_eval from mlperf_resnet8, though it gives yolox_nano 12.8. Where activations have rare large values, as behind SiLU, it is the one
to try first.
""",
    ),
]


def settings(assignments):
    """Assignments as arguments of `strait compile`."""
    return [word for assignment in assignments for word in ("--set", assignment)]
