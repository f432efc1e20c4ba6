//! Cases for limits of rows, for parameters of single recipes, and for sums in blocks.

use super::super::Effect::{Bits, Error, Placement};
use super::{Case, Changes, case, given};

/// Computes a ReLU with a table.
const TABLE: Changes = &[(
    "ops    = [\"relu\", \"clip\"]\nrecipe = \"clamp\"",
    "ops    = [\"relu\", \"clip\"]\nrecipe = \"lookup\"\nrounding = \"half_even\"",
)];

/// Computes a ReLU by straight lines.
const LINES: Changes = &[(
    "ops    = [\"relu\", \"clip\"]\nrecipe = \"clamp\"",
    "ops    = [\"relu\", \"clip\"]\nrecipe = \"lookup\"\ninterpolate = { entries = 3, rounding = \"half_up\" }",
)];

/// Computes an average with a reciprocal, for which any multiplier is allowed.
const RECIPROCAL: Changes = &[
    (
        "[form.general]",
        "[form.number]\nkind       = \"multiply_shift\"\nstages     = 1\nmultiplier = { bits = 31 }\nshift      = { min = 0, max = 46 }\n\
         rounding   = \"half_even\"\nzero_point = \"after\"\noutput     = [\"int8\"]\nper        = [\"tensor\"]\n\
         from       = \"free\"\n\n[form.general]",
    ),
    (
        "\"average_pool_requantize\"\nrequantize = [\"once\"]",
        "\"average_pool_reciprocal\"\nreciprocal = { bits = 3, rounding = \"half_up\" }\nrequantize = [\"number\"]",
    ),
];

/// Limits for the only type of weights.
const OF_WEIGHTS: Changes = &[(
    "[op.conv.limit]",
    "[op.conv.limit_of.int8]\nkernel  = { min = 1, max = 9 }\nwindow = { multiples_of = 1 }\nrank   = { one_of = [4] }\n\n[op.conv.limit]",
)];

/// Sums in blocks that are large enough for everything.
const BLOCK: Changes = &[(
    "overflow = \"wrap\"",
    "overflow = \"wrap\"\nblock    = { channels = 2, bits = 32 }",
)];

pub(super) const CASES: &[Case] = &[
    case(
        "op.NAME.limit.NAME.min",
        Placement,
        &[("kernel   = { min = 1", "kernel   = { min = 2")],
    ),
    case(
        "op.NAME.limit.NAME.max",
        Placement,
        &[("max = 3 }\ngrouping", "max = 2 }\ngrouping")],
    ),
    case(
        "op.NAME.limit.NAME.multiples_of",
        Placement,
        &[("kernel   = { min = 1", "\"kernel[1]\" = { multiples_of = 2, min = 1")],
    ),
    case(
        "op.NAME.limit.NAME.one_of",
        Placement,
        &[("[\"none\", \"depthwise\"]", "[\"none\"]")],
    ),
    given(
        "op.NAME.limit_of.NAME.NAME.min",
        Placement,
        OF_WEIGHTS,
        &[("kernel  = { min = 1", "kernel  = { min = 2")],
    ),
    given(
        "op.NAME.limit_of.NAME.NAME.max",
        Placement,
        OF_WEIGHTS,
        &[("max = 9 }", "max = 2 }")],
    ),
    given(
        "op.NAME.limit_of.NAME.NAME.multiples_of",
        Placement,
        OF_WEIGHTS,
        &[("multiples_of = 1", "multiples_of = 2")],
    ),
    given(
        "op.NAME.limit_of.NAME.NAME.one_of",
        Placement,
        OF_WEIGHTS,
        &[("one_of = [4]", "one_of = [3]")],
    ),
    given(
        "op.NAME.rounding",
        Bits,
        TABLE,
        &[("rounding = \"half_even\"", "rounding = \"ceil\"")],
    ),
    given(
        "op.NAME.interpolate.entries",
        Bits,
        LINES,
        &[("entries = 3", "entries = 5")],
    ),
    given(
        "op.NAME.interpolate.rounding",
        Bits,
        LINES,
        &[(
            "entries = 3, rounding = \"half_up\"",
            "entries = 3, rounding = \"floor\"",
        )],
    ),
    case(
        "op.NAME.fraction.bits",
        Error,
        &[(
            "ops    = [\"reshape\", \"flatten\"]",
            "ops    = [\"resize\"]\nfraction = { bits = 17, rounding = \"half_up\" }",
        )],
    ),
    case(
        "op.NAME.fraction.rounding",
        Error,
        &[(
            "ops    = [\"reshape\", \"flatten\"]",
            "ops    = [\"resize\"]\nfraction = { bits = 11, rounding = \"up\" }",
        )],
    ),
    given(
        "op.NAME.reciprocal.bits",
        Bits,
        RECIPROCAL,
        &[("reciprocal = { bits = 3", "reciprocal = { bits = 7")],
    ),
    given(
        "op.NAME.reciprocal.rounding",
        Bits,
        RECIPROCAL,
        &[("rounding = \"half_up\"", "rounding = \"floor\"")],
    ),
    case(
        "op.NAME.pad",
        Placement,
        &[(
            "weight_grid = \"max_abs\"",
            "weight_grid = \"max_abs\"\npad = \"zero_code\"",
        )],
    ),
    given(
        "accumulator.NAME.block.channels",
        Placement,
        &[(
            "overflow = \"wrap\"",
            "overflow = \"wrap\"\nblock    = { channels = 2, bits = 18 }",
        )],
        &[("channels = 2", "channels = 1024")],
    ),
    given(
        "accumulator.NAME.block.bits",
        Placement,
        BLOCK,
        &[("bits = 32 }\n", "bits = 16 }\n")],
    ),
];
