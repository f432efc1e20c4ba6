//! Cases for the keys of sums inside an accumulator.

use super::super::Effect::{Bits, Error};
use super::{Case, Changes, case, given};

/// Adds codes to a convolution inside its accumulator.
const IN_ACCUMULATOR: Changes = &[
    (
        "output = [\"int32\"]\nper    = [\"tensor\"]",
        "output = [\"int32\"]\nper    = [\"channel\", \"tensor\"]",
    ),
    (
        "requantize = [\"once\"]\n\n[op.global",
        "requantize = [\"once\"]\nin_accumulator = [\"general\"]\n\n[op.global",
    ),
];
/// The same, with a row that fuses them.
const RESIDUAL: Changes = &[
    IN_ACCUMULATOR[0],
    IN_ACCUMULATOR[1],
    (
        "[[fusion]]\nname      = \"sum\"",
        "[[fusion]]\nname = \"residual\"\nops = [\"conv\", \"gemm\"]\naccept = [\"once\"]\n\
         with = { op = \"add\", other = \"int8\", same_shape = true }\n\
         then = [\"add_in_accumulator\", \"set_requantize\", \"requantize_clamp\"]\n\n[[fusion]]\nname      = \"sum\"",
    ),
];
pub(super) const CASES: &[Case] = &[
    case("op.NAME.in_accumulator", Bits, IN_ACCUMULATOR),
    given(
        "fusion[].with.op",
        Error,
        RESIDUAL,
        &[("op = \"add\", other", "op = \"mul\", other")],
    ),
    given(
        "fusion[].with.other",
        Bits,
        RESIDUAL,
        &[("other = \"int8\"", "other = \"int16\"")],
    ),
    given(
        "fusion[].with.same_shape",
        Error,
        RESIDUAL,
        &[("same_shape = true", "same_shape = false")],
    ),
];
