//! The arithmetic of forms.

use super::super::Effect::{Bits, Placement, Sheet};
use super::{Case, Changes, case, given};

/// The form of most layers, as gemmlowp computes it.
const GEMMLOWP: Changes = &[(
    "multiply_shift = { bits = 31, normalized = true, shift = { min = 1, max = 62 }, rounding = \"half_even\"",
    "gemmlowp = { roundings = \"one\", shift = { min = -30, max = 31 }",
)];

/// A form that no row names, of the kind that stands in it.
macro_rules! other {
    ($kind:literal, $from:literal) => {
        &[(
            "[form.plain]",
            concat!(
                "[form.other]\nkind = { ",
                $kind,
                " }\noutput = [\"int16\"]\nper = [\"tensor\"]\nfrom = \"",
                $from,
                "\"\n\n[form.plain]"
            ),
        )]
    };
}

const SIXTEEN: Changes = other!("sixteen_by_eight = { shift = { min = -7, max = 29 } }", "litert");
const TOSA: Changes = other!(
    "tosa_rescale = { bits = 31, roundings = \"one\", shift = { min = 2, max = 60 } }",
    "free"
);
const FLOAT: Changes = other!("float_scale = { bits = 20 }", "free");
const REQUANT: Changes = other!("ascend_requant = { bits = 20 }", "dequantize_quantize");
const PAIR: Changes = other!("dequant_quant = { bits = 20 }", "dequantize_quantize");
const HALF: Changes = other!("dequant_s16 = { shift = { min = 1, max = 16 } }", "dequantize_quantize");
const REST: Changes = other!("requant_s16 = { bits = 20 }", "dequantize_quantize");
const FEWER: Changes = &[("bits = 20", "bits = 11")];

pub(super) const CASES: &[Case] = &[
    case("form.NAME.kind", Bits, GEMMLOWP),
    case(
        "form.NAME.kind.shift.shift.min",
        Sheet,
        &[("shift = { shift = { min = 0", "shift = { shift = { min = 1")],
    ),
    case("form.NAME.kind.shift.shift.max", Sheet, &[("max = 31", "max = 30")]),
    case(
        "form.NAME.kind.shift.rounding",
        Sheet,
        &[(
            "max = 31 }, rounding = \"half_even\"",
            "max = 31 }, rounding = \"floor\"",
        )],
    ),
    case(
        "form.NAME.kind.multiply_shift.bits",
        Bits,
        &[("bits = 31, normalized", "bits = 15, normalized")],
    ),
    case(
        "form.NAME.kind.multiply_shift.normalized",
        Bits,
        &[("bits = 15, shift", "bits = 15, normalized = true, shift")],
    ),
    case(
        "form.NAME.kind.multiply_shift.shift.min",
        Placement,
        &[("{ min = 1, max = 62 }", "{ min = 60, max = 62 }")],
    ),
    case(
        "form.NAME.kind.multiply_shift.shift.max",
        Placement,
        &[("{ min = 1, max = 62 }", "{ min = 1, max = 33 }")],
    ),
    case(
        "form.NAME.kind.multiply_shift.rounding",
        Bits,
        &[(
            "max = 62 }, rounding = \"half_even\"",
            "max = 62 }, rounding = \"half_up\"",
        )],
    ),
    case(
        "form.NAME.kind.multiply_shift.zero_point",
        Bits,
        &[
            ("bits = 31,", "bits = 30,"),
            (
                "rounding = \"half_even\" } }",
                "rounding = \"half_even\", zero_point = \"before_shift\" } }",
            ),
            ("from     = \"litert\"", "from     = \"free\""),
        ],
    ),
    given(
        "form.NAME.kind.gemmlowp.roundings",
        Bits,
        GEMMLOWP,
        &[("\"one\"", "\"two\"")],
    ),
    given(
        "form.NAME.kind.gemmlowp.normalized",
        Sheet,
        GEMMLOWP,
        &[("\"one\",", "\"one\", normalized = true,")],
    ),
    given("form.NAME.kind.gemmlowp.shift.min", Sheet, GEMMLOWP, &[("-30", "-29")]),
    given(
        "form.NAME.kind.gemmlowp.shift.max",
        Sheet,
        GEMMLOWP,
        &[("-30, max = 31", "-30, max = 30")],
    ),
    given(
        "form.NAME.kind.sixteen_by_eight.shift.min",
        Sheet,
        SIXTEEN,
        &[("-7", "-6")],
    ),
    given(
        "form.NAME.kind.sixteen_by_eight.shift.max",
        Sheet,
        SIXTEEN,
        &[("29", "28")],
    ),
    given(
        "form.NAME.kind.tosa_rescale.bits",
        Sheet,
        TOSA,
        &[("bits = 31, roundings", "bits = 15, roundings")],
    ),
    given(
        "form.NAME.kind.tosa_rescale.roundings",
        Sheet,
        TOSA,
        &[("\"one\"", "\"two\"")],
    ),
    given(
        "form.NAME.kind.tosa_rescale.shift.min",
        Sheet,
        TOSA,
        &[("min = 2", "min = 3")],
    ),
    given(
        "form.NAME.kind.tosa_rescale.shift.max",
        Sheet,
        TOSA,
        &[("max = 60", "max = 59")],
    ),
    given("form.NAME.kind.float_scale.bits", Sheet, FLOAT, FEWER),
    given(
        "form.NAME.kind.float_scale.zero_point",
        Sheet,
        FLOAT,
        &[("bits = 20", "bits = 20, zero_point = \"inside_rounding\"")],
    ),
    given("form.NAME.kind.ascend_requant.bits", Sheet, REQUANT, FEWER),
    given("form.NAME.kind.dequant_quant.bits", Sheet, PAIR, FEWER),
    given(
        "form.NAME.kind.dequant_s16.shift.min",
        Sheet,
        HALF,
        &[("min = 1, max = 16", "min = 2, max = 16")],
    ),
    given(
        "form.NAME.kind.dequant_s16.shift.max",
        Sheet,
        HALF,
        &[("max = 16", "max = 15")],
    ),
    given("form.NAME.kind.requant_s16.bits", Sheet, REST, FEWER),
];
