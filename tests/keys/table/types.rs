//! Cases for keys that are set for single types, and for the types of a row.

use super::super::Effect::{Bits, Error};
use super::{Case, Changes, case, given};

/// Scales of one type that differ from the others.
const ACTIVATION_OF: Changes = &[(
    "bias       = ",
    "activation_of = { int8 = { symmetric = false, scale = \"any\", range = [-128, 126] } }\nbias       = ",
)];
const WEIGHT_OF: Changes = &[
    ("weight_per = \"channel\"\n", ""),
    (
        "bias       = ",
        "weight_of = { int8 = { symmetric = true, per = [\"channel\", \"tensor\"], scale = \"any\", range = [-127, 126] } }\n\
         bias       = ",
    ),
];

/// A weight-only Gemm. Weights of one type have scales by block.
const BLOCKS_OF: Changes = &[
    (
        "[[\"int8\", \"int8\"]]",
        "[[\"int8\", \"int8\"], [\"float32\", \"int4\"]]",
    ),
    (
        "bias       = ",
        "weight_of = { int4 = { symmetric = true, per = [\"block\", \"channel\"], block = [16, 8] } }\nbias       = ",
    ),
    (
        "[op.gemm]\nrecipe     = \"multiply_accumulate\"\nrequantize = [\"once\", \"plain\"]",
        "[op.gemm]\nrecipe     = \"dequantize_weights\"",
    ),
];

pub(super) const CASES: &[Case] = &[
    given(
        "types.activation_of.NAME.symmetric",
        Bits,
        ACTIVATION_OF,
        &[("int8 = { symmetric = false", "int8 = { symmetric = true")],
    ),
    given(
        "types.activation_of.NAME.scale",
        Bits,
        ACTIVATION_OF,
        &[("\"any\", range = [-128, 126]", "\"power_of_two\", range = [-128, 126]")],
    ),
    given(
        "types.activation_of.NAME.range",
        Bits,
        ACTIVATION_OF,
        &[("[-128, 126]", "[-128, 120]")],
    ),
    given(
        "types.weight_of.NAME.symmetric",
        Bits,
        WEIGHT_OF,
        &[("int8 = { symmetric = true", "int8 = { symmetric = false")],
    ),
    given(
        "types.weight_of.NAME.per",
        Bits,
        WEIGHT_OF,
        &[(
            "int8 = { symmetric = true, per = [\"channel\", \"tensor\"]",
            "int8 = { symmetric = true, per = [\"tensor\", \"channel\"]",
        )],
    ),
    given(
        "types.weight_of.NAME.block",
        Bits,
        BLOCKS_OF,
        &[("block = [16, 8]", "block = [8, 16]")],
    ),
    given(
        "types.weight_of.NAME.scale",
        Bits,
        WEIGHT_OF,
        &[("\"any\", range = [-127, 126]", "\"power_of_two\", range = [-127, 126]")],
    ),
    given(
        "types.weight_of.NAME.range",
        Bits,
        WEIGHT_OF,
        &[("[-127, 126]", "[-100, 100]")],
    ),
    case(
        "op.NAME.results",
        Error,
        &[("recipe = \"lookup\"", "recipe = \"lookup\"\nresults = [\"int16\"]")],
    ),
    case(
        "op.NAME.pairs",
        Error,
        &[(
            "recipe = \"lookup\"",
            "recipe = \"lookup\"\npairs = [[\"int16\", \"int8\"]]",
        )],
    ),
];
