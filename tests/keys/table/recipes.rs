//! Cases for limits of rows, for parameters of single recipes, and for sums in blocks.

use super::super::Effect::{Bits, Error, Placement};
use super::{Case, Changes, SHIFTS, case, given};

/// Computes a ReLU by straight lines.
const LINES: Changes = &[(
    "ops    = [\"relu\", \"clip\"]\nrecipe = \"clamp\"",
    "ops    = [\"relu\", \"clip\"]\nrecipe = { lookup = { interpolate = { entries = 3, rounding = \"half_up\" } } }",
)];

/// Computes an average with a reciprocal, for which any multiplier is allowed.
const RECIPROCAL: Changes = &[
    (
        "[form.general]",
        "[form.number]\nkind = { multiply_shift = { bits = 31, shift = { min = 0, max = 46 }, rounding = \"half_even\" } }\n\
         output = [\"int8\"]\nper = [\"tensor\"]\nfrom = \"free\"\n\n[form.general]",
    ),
    (
        "\"average_pool_requantize\"\nrequantize = [\"once\"]",
        "{ average_pool_reciprocal = { bits = 3, rounding = \"half_up\" } }\nrequantize = [\"number\"]",
    ),
];

/// Sums by a left shift.
const LEFT_SHIFT: Changes = &[("add_common_grid", "add_left_shift")];

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
        "op.NAME.recipe.multiply_accumulate.weight_grid",
        Bits,
        SHIFTS,
        &[("\"max_abs\"", "\"shift\"")],
    ),
    case(
        "op.NAME.recipe.multiply_accumulate.pad",
        Placement,
        &[(
            "weight_grid = \"max_abs\"",
            "weight_grid = \"max_abs\", pad = \"zero_code\"",
        )],
    ),
    case(
        "op.NAME.recipe.add_common_grid.left_shift",
        Bits,
        &[("left_shift = 8", "left_shift = 3")],
    ),
    given(
        "op.NAME.recipe.add_left_shift.left_shift",
        Bits,
        LEFT_SHIFT,
        &[("left_shift = 8", "left_shift = 3")],
    ),
    case(
        "op.NAME.recipe.max_pool.pad",
        Error,
        &[(
            "recipe = \"max_pool\"",
            "recipe = { max_pool = { pad = \"zero_code\" } }",
        )],
    ),
    case(
        "op.NAME.recipe.lookup.rounding",
        Error,
        &[(
            "recipe = \"lookup\"",
            "recipe = { lookup = { definition = \"litert.logistic.int8.v1\", rounding = \"ceil\" } }",
        )],
    ),
    given(
        "op.NAME.recipe.lookup.interpolate.entries",
        Bits,
        LINES,
        &[("entries = 3", "entries = 5")],
    ),
    given(
        "op.NAME.recipe.lookup.interpolate.rounding",
        Bits,
        LINES,
        &[(
            "entries = 3, rounding = \"half_up\"",
            "entries = 3, rounding = \"floor\"",
        )],
    ),
    case(
        "op.NAME.recipe.lookup.definition",
        Error,
        &[(
            "recipe = \"lookup\"",
            "recipe = { lookup = { definition = \"litert.softmax.int8.v1\" } }",
        )],
    ),
    case(
        "op.NAME.recipe.lookup.left_shift",
        Error,
        &[("recipe = \"lookup\"", "recipe = { lookup = { left_shift = 15 } }")],
    ),
    case(
        "op.NAME.recipe.softmax.definition",
        Error,
        &[(
            "run = \"host\"\nwhy = \"why A\"",
            "recipe = { softmax = { definition = \"litert.softmax.int16.v1\" } }",
        )],
    ),
    case(
        "op.NAME.recipe.layer_normalization.definition",
        Error,
        &[(
            "run = \"host\"\nwhy = \"why A\"",
            "ops = [\"layer_normalization\"]\nrecipe = { layer_normalization = { definition = \"nearest.v1\" } }",
        )],
    ),
    case(
        "op.NAME.recipe.pass_through.fraction.bits",
        Error,
        &[(
            "ops    = [\"reshape\", \"flatten\"]\nrecipe = \"pass_through\"",
            "ops = [\"resize\"]\nrecipe = { pass_through = { fraction = { bits = 17, rounding = \"half_up\" } } }",
        )],
    ),
    case(
        "op.NAME.recipe.pass_through.fraction.rounding",
        Error,
        &[(
            "ops    = [\"reshape\", \"flatten\"]\nrecipe = \"pass_through\"",
            "ops = [\"resize\"]\nrecipe = { pass_through = { fraction = { bits = 11, rounding = \"up\" } } }",
        )],
    ),
    given(
        "op.NAME.recipe.average_pool_reciprocal.bits",
        Bits,
        RECIPROCAL,
        &[("reciprocal = { bits = 3", "reciprocal = { bits = 7")],
    ),
    given(
        "op.NAME.recipe.average_pool_reciprocal.rounding",
        Bits,
        RECIPROCAL,
        &[("bits = 3, rounding = \"half_up\"", "bits = 3, rounding = \"floor\"")],
    ),
    case(
        "op.NAME.recipe.requantize.left_shift",
        Error,
        &[(
            "recipe     = \"requantize\"",
            "recipe     = { requantize = { left_shift = 23 } }",
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
