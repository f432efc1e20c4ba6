"""The variants of a target that the accuracy table shows side by side: its options, each away from its default alone."""

TARGET = "sima"

DEFAULT = "as it is"

# column -> options of the target
VARIANTS = {
    "folded afterwards": {"correction_folding": '"afterwards"'},
    "7 bits": {"correction_bits": "7"},
    "mode tflite": {"requantization_mode": '"tflite"'},
}

EXPLANATION = """Convolutions of `sima` end in a shift. *As it is*: weights are rounded once, on the grid that the shift
allows, and the corrections of sums, products and concatenations have 15 bits. *Folded afterwards*
(`correction_folding = "afterwards"`): weights are rounded on the finest grid of their channel, multiplied by the correction
and rounded again. *7 bits* (`correction_bits = 7`): corrections of sums, products and concatenations have 7 bits. *Mode
tflite* (`requantization_mode = "tflite"`): weights stay on the finest grid, and convolutions end in a multiplication by 31
bits and a shift. In brackets the agreement with the float model. A variant that compiles to the very same integers is
marked with =.
"""


def settings(options):
    """Options as arguments of `strait compile`."""
    return [word for name, value in options.items() for word in ("--set", f"target.options.{TARGET}.{name}={value}")]
