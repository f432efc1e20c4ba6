//! Tests of the errors about rows, options and overlays.

use super::{TABLE, findings};
use strait_target::Table;

#[test]
fn fusion_rows_options_and_overlays_are_checked_too() {
    let row = |text: &str| format!("{TABLE}\n{text}\n");
    let fusion = |changes: &str| {
        row(&format!(
            "[[fusion]]\nname = \"a\"\nops = [\"conv\"]\naccept = [\"shift\"]\nthen = [\"set_requantize\"]\n{changes}"
        ))
    };
    let option = "[options.mode]\ntype = \"string\"\none_of = [\"a\", \"b\"]\ndefault = \"a\"\nhelp = \"a test\"\n";
    assert!(Table::parse("t.toml", fusion("")).is_ok() && Table::parse("t.toml", row(option)).is_ok());
    let cases = [
        (
            fusion("").replace("[\"conv\"]", "[\"convolution\"]"),
            "there is no op `convolution`",
        ),
        (
            fusion("").replace("[\"shift\"]\nthen", "[\"shifty\"]\nthen"),
            "there is no form `shifty`",
        ),
        (
            fusion("").replace("set_requantize", "set_requantise"),
            "did you mean \"set_requantize\"?",
        ),
        (
            fusion("").replace("set_requantize", "burn_into_table"),
            "`burn_into_table` cannot be done to `conv`",
        ),
        (
            fusion("").replace("set_requantize", "add_in_accumulator"),
            "`add_in_accumulator` adds the other operand of the op in `with`, in front of `set_requantize`",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[]"),
            "`fusion[0].then` is empty",
        ),
        (
            fusion("").replace("[\"conv\"]", "[\"constant\"]"),
            "`set_requantize` cannot be done to `constant`",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[\"requantize_clamp\"]"),
            "`requantize_clamp` does nothing without `set_requantize`\n    then = [\"requantize_clamp\"]\n    add `set_requantize` to `then`",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[\"requantize_zero_point\"]"),
            "`requantize_zero_point` does nothing without `set_requantize`",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[\"merge_scales\"]"),
            "`merge_scales` does nothing without `set_requantize`",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[\"merge_scales\", \"set_requantize\"]"),
            "`merge_scales` makes a form of the kind `ascend_requant`, which `accept` does not have\n    \
             then = [\"merge_scales\", \"set_requantize\"]\n    the table has `relu-before-offset`",
        ),
        (
            fusion("").replace("[\"conv\"]", "[\"lookup\"]"),
            "`set_requantize` cannot be done to `lookup`\n    then = [\"set_requantize\"]\n    `burn_into_table` can",
        ),
        (
            fusion("").replace("[\"conv\"]", "[\"conv\", \"softmax\"]"),
            "`set_requantize` cannot be done to `softmax`\n    then = [\"set_requantize\"]\n    \
             nothing is fused into `softmax`: leave it out of `ops`",
        ),
        (
            fusion("")
                .replace("[\"conv\"]", "[\"constant\"]")
                .replace("set_requantize", "custom:x"),
            "`custom:x` cannot be done to `constant`",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[\"custom:x\", \"set_requantize\"]"),
            "`custom:x` decides alone what becomes of the requantization",
        ),
        (fusion("with = { op = \"constant\" }"), "there is no op `constant`"),
        (
            row("[options.on]\ntype = \"bool\"\ndefault = true\nhelp = \"a test\"\n[overlay.on.maybe]\nemit = []"),
            "an overlay that nothing switches on: `maybe` is not of type bool",
        ),
        (
            row(
                "[options.size]\ntype = \"integer\"\nmax = 5\ndefault = 1\nhelp = \"a test\"\n[overlay.size.9]\nemit = []",
            ),
            "an overlay that nothing switches on: 9 is above 5",
        ),
        (
            row(
                "[op.conv-more]\nops = [\"conv\"]\nrecipe = \"multiply_accumulate\"\nrequantize = [\"single\"]\nlimit = { kernel = { min = 4, one_of = [5, 3] } }",
            ),
            "`3` is not between the `min` and the `max` of `kernel`",
        ),
        (
            row(
                "[op.conv-more]\nops = [\"conv\"]\nrecipe = \"multiply_accumulate\"\nrequantize = [\"single\", \"single\"]",
            ),
            "`single` stands here twice",
        ),
        (
            row("[op.conv-more]\nops = [\"conv\"]\nrecipe = \"multiply_accumulate\"\nrequantize = [\"shift\"]"),
            "weights have scales by channel, and none of these forms has integers by channel",
        ),
        (
            row(
                "[op.add-more]\nops = [\"add\"]\nrecipe = { add_left_shift = { left_shift = 8 } }\ninputs = [\"single\"]\nrequantize = [\"single\"]",
            ),
            "`add_left_shift` adds operands of int32, and none of these forms makes int32",
        ),
        (
            row(
                "[op.mul-more]\nops = [\"mul\"]\nrecipe = \"multiply\"\nrequantize = [\"wide\"]\n[form.wide]\n\
                 kind = { shift = { shift = { min = 0, max = 31 }, rounding = \"half_even\" } }\noutput = [\"int16\"]\nper = [\"tensor\"]\nfrom = \"free\"",
            ),
            "the results of the row are int8, and none of these forms makes int8",
        ),
        (
            row("[op.max_pool-more]\nops = [\"max_pool\"]\nrecipe = \"max_pool\"\nrequantize = [\"single\"]"),
            "`max_pool` compares codes; of `requantize` it takes a shift alone",
        ),
        (
            row("[passes]\npassive = [\"reshape\", \"conv\"]"),
            "`conv` makes other numbers than it reads, so its result has a grid of its own",
        ),
        (
            TABLE.replacen("bits = 7,", "bits = 31,", 1),
            "`fractional`: a multiplier in front of a zero point before the shift has 1 to 30 bits, not 31",
        ),
        (
            fusion("with = { op = \"mul\", same_shape = true }"),
            "`mul` has no second operand for an accumulator: the second op is `add`",
        ),
        (
            fusion("with = { op = \"add\", other = \"int8\" }"),
            "what is added inside an accumulator has its shape: say `same_shape = true`",
        ),
        (
            fusion("with = { op = \"add\", same_shape = true }"),
            "nothing in `then` takes the second op: `add_in_accumulator` does",
        ),
        (
            fusion("").replace("[\"set_requantize\"]", "[\"requantize_clamp\", \"set_requantize\"]"),
            "`set_requantize` is done before `requantize_clamp`, and stands behind it",
        ),
        (
            row(
                "[op.matmul]\nrecipe = \"matmul_accumulate\"\nrequantize = [\"once\"]\nlimit = { rank = { one_of = [\"four\"] } }",
            ),
            "`rank` is never `\"four\"`: it is a number",
        ),
        (
            row("[op.tanh]\nrecipe = { lookup = { interpolate = { entries = 257, rounding = \"half_up\" } } }"),
            "257 entries are not on evenly spaced codes of int8",
        ),
        (
            row(
                "[op.tanh]\nrecipe = { lookup = { definition = \"litert.tanh.int8.v1\", interpolate = { entries = 17, rounding = \"half_up\" } } }",
            ),
            "entries between which lines are drawn are those of `nearest.v1`",
        ),
        (
            row("[op.pad]\nrecipe = { pass_through = { fraction = { bits = 11, rounding = \"half_up\" } } }"),
            "`resize` alone interpolates",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { mode = { one_of = [\"constnt\"] } }"),
            "`mode` is never `\"constnt\"`: it is one of `constant`",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { mode = { max = 1 } }"),
            "and has neither `min`, `max` nor `multiples_of`",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { mode = { multiples_of = 2 } }"),
            "and has neither `min`, `max` nor `multiples_of`",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { rank = { multiples_of = 4, min = 5, max = 7 } }"),
            "`rank` has no value between its `min` and its `max` that is a multiple of 4",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { rank = { multiples_of = 4, one_of = [4, 6] } }"),
            "`6` is no multiple of 4, as `multiples_of` of `rank` asks",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { rank = { multiples_of = 0 } }"),
            "`op.pad.limit.rank.multiples_of` cannot be 0",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit_of = { int4 = { rank = { max = 4 } } }"),
            "no pair of `op.pad` has weights of int4",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit_of = { int8 = { kernels = { max = 4 } } }"),
            "`pad` has nothing called `kernels` to limit",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { \"rank[0]\" = { max = 4 } }"),
            "`rank` of `pad` is one value, without positions",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { \"shape[32]\" = { max = 4 } }"),
            "`shape` never has a position 32",
        ),
        (
            row("[op.pad]\nrecipe = \"pass_through\"\nlimit = { \"shape[-1]\" = { max = 4 } }"),
            "`pad` has nothing called `shape[-1]` to limit",
        ),
        (
            row("[op.sigmoid]\nrecipe = \"lookup\"\nresults = [\"int16\"]"),
            "`types.pairs` has no activations of int16",
        ),
        (
            row("[op.sigmoid]\nrecipe = { lookup = { left_shift = 15 } }"),
            "the bits of `left_shift` of a `lookup` are what a shift of `requantize` takes off",
        ),
        (
            row("[op.sigmoid]\nrecipe = { lookup = { definition = \"litert.tanh.int8.v1\" } }"),
            "`litert.tanh.int8.v1` is no `sigmoid`",
        ),
        (
            row("[op.sigmoid]\nrecipe = { lookup = { definition = \"litert.logistic.int16.v1\" } }"),
            "`litert.logistic.int16.v1` reads int16, and the row is for activations of int8, too",
        ),
        (
            row(
                "[op.sigmoid]\nrecipe = { lookup = { definition = \"litert.logistic.int8.v1\" } }\nresults = [\"int8\"]",
            ),
            "`litert.logistic.int8.v1` makes codes of the type that it reads, and no other `results`",
        ),
        (
            row(
                "[op.sigmoid]\nrecipe = { lookup = { definition = \"litert.logistic.int8.v1\", left_shift = 15 } }\nrequantize = [\"shift\"]",
            ),
            "`litert.logistic.int8.v1` makes codes, without the bits of `left_shift` beside them",
        ),
        (
            row("[op.sigmoid]\nrecipe = { lookup = { definition = \"litert.logistic.int8.v1\" } }")
                .replace("activation = { symmetric = false", "activation = { symmetric = true"),
            "`litert.logistic.int8.v1` makes codes from -128 to 127 with the scale 0.00390625 and the zero point -128: \
             activations of int8 have to be not symmetric, with all of these codes",
        ),
        (
            row("[op.sigmoid]\nrecipe = { lookup = { left_shift = 24 } }\nrequantize = [\"shift\"]"),
            "`op.sigmoid.recipe.lookup.left_shift` cannot be 24, expected an integer from 1 to 23",
        ),
        (
            row("[op.max_pool]\nrecipe = \"max_pool\"\nresults = [\"int8\"]"),
            "`max_pool` leaves its operand's type, or one of `results` with fewer bits, behind a shift of `requantize`",
        ),
        (
            row("[op.relu]\nrecipe = \"clamp\"\nresults = [\"int8\"]"),
            "what `clamp` makes has the type of what it reads",
        ),
        (
            row(
                "[op.matmul]\nrecipe = \"matmul_accumulate\"\nrequantize = [\"once\"]\npairs = [[\"int16\", \"int8\"]]",
            ),
            "`types.pairs` does not have int16 with int8",
        ),
        (
            row("[accumulator.int16]\nbits = 40\noverflow = \"wrap\""),
            "`accumulator.int16` is for activations that `types.pairs` does not have",
        ),
        (
            fusion("when = { concat_multiple = 0 }"),
            "`fusion[0].when.concat_multiple` cannot be 0, expected an integer from 1 to",
        ),
        (
            row(&option.replace("[\"a\", \"b\"]", "[]")),
            "`options.mode.one_of` is empty",
        ),
        (fusion("weaken_to = [\"none\"]"), "there is no form `none`"),
        (
            row("")
                .replace(
                    "range = [-127, 127] }",
                    "range = [-127, 127], scale = \"power_of_two\" }",
                )
                .replace(
                    "recipe     = \"multiply_accumulate\"\nrequantize = [\"shift\", \"single\"]",
                    "recipe     = { multiply_accumulate = { weight_grid = \"shift\" } }\nrequantize = [\"shift\"]",
                ),
            "`shift` makes weight scales out of the activations', which are no powers of two as `types.weight.scale` asks",
        ),
        (
            row("[op.mish]\nrun = \"host\"\nwhy = \"a test\"\nnote = \"unseen\""),
            "`op.mish` runs on the host, where it has no `note`",
        ),
        (
            fusion("when = { requantise = \"identity\" }"),
            "there is no key `fusion[0].when.requantise`, unknown key",
        ),
        (
            fusion("when = { option = { mode = \"a\" } }"),
            "there is no option `mode`",
        ),
        (
            format!("{}{}", fusion(""), &fusion("")[TABLE.len()..]),
            "there is a fusion `a` already",
        ),
        (
            row(&option.replace("default = \"a\"", "default = \"c\"")),
            "the default of `mode`: `c` is not one of `a`, `b`",
        ),
        (
            row(&option.replace("default = \"a\"", "default = 1")),
            "the default of `mode`: `1` is not of type string",
        ),
        (
            row(&format!("{option}[overlay.mood.a]\nemit = []")),
            "an overlay for `mood`, which is no option",
        ),
        (
            row("[overlay.mood.a]\nemit = []"),
            "an overlay for `mood`, which is no option\n    [overlay.mood.a]\n    the table has no option",
        ),
        (
            row(&format!("{option}[overlay.mode.c]\nemit = []")),
            "an overlay that nothing switches on: `c` is not one of `a`, `b`",
        ),
        (
            row(&format!("{option}[overlay.mode.b]\nid = \"other\"")),
            "an overlay cannot change `id`",
        ),
        (
            row(&format!("{option}[overlay.mode.b.op.conv]\nrequantize = [\"gone\"]")),
            "there is no form `gone`",
        ),
        (
            row(&format!(
                "{option}[overlay.mode.b.form.shift.kind.shift.shift]\nmax = 99"
            )),
            "`form.shift.kind.shift.shift.max` cannot be 99",
        ),
    ];
    let mut wrong = String::new();
    for (text, expect) in cases {
        let said = findings(&text);
        if !said.contains(expect) {
            wrong += &format!("{}\ngives\n{said}\nnot\n{expect}\n\n", &text[TABLE.len()..]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn weights_that_are_rounded_twice_have_no_zero_point() {
    let twice = (
        "recipe     = \"multiply_accumulate\"\nrequantize = [\"shift\", \"single\"]",
        "recipe     = { multiply_accumulate = { weight_grid = \"max_abs_then_shift\" } }\nrequantize = [\"shift\"]",
    );
    let zeros = ("weight     = { symmetric = true", "weight     = { symmetric = false");
    assert!(TABLE.contains(twice.0) && TABLE.contains(zeros.0));
    let table = TABLE.replacen(twice.0, twice.1, 1);
    let told = "weights that are rounded to their largest magnitude first have no zero point";
    assert!(!findings(&table).contains(told), "{}", findings(&table));
    let found = findings(&table.replacen(zeros.0, zeros.1, 1));
    assert!(found.contains(told) && found.contains("weight_grid"), "{found}");
}

#[test]
fn parameters_of_recipes_and_blocks_of_sums_are_checked() {
    let row = |text: &str| format!("{TABLE}\n{text}\n");
    let block = |block: &str| {
        let whole = "int8 = { bits = 32, overflow = \"wrap\"";
        assert!(TABLE.contains(whole));
        TABLE.replacen(whole, &format!("{whole}, block = {block}"), 1)
    };
    let mean = |numbers: &str, form: &str| {
        row(&format!(
            "[op.mean]\nops = [\"reduce_mean\"]\nrecipe = {{ average_pool_reciprocal = {{ {numbers} }} }}\nrequantize = [\"{form}\"]"
        ))
    };
    for right in [
        block("{ channels = 16, bits = 20 }"),
        mean("bits = 16, rounding = \"half_up\"", "single"),
        row("[op.tanh]\nrecipe = { lookup = { rounding = \"floor\" } }"),
    ] {
        Table::parse("t.toml", right).unwrap_or_else(|findings| panic!("{findings}"));
    }
    for (text, expected) in [
        (
            mean("bits = 16", "single"),
            "`op.mean.recipe.average_pool_reciprocal.rounding` is missing",
        ),
        (
            mean("bits = 31, rounding = \"half_up\"", "single"),
            "expected an integer from 1 to 30",
        ),
        (
            mean("bits = 8, rounding = \"floor\"", "double"),
            "`average_pool_reciprocal` multiplies and shifts",
        ),
        (
            row("[op.tanh]\nrecipe = { lookup = { rounding = \"floor\", definition = \"litert.tanh.int8.v1\" } }"),
            "`litert.tanh.int8.v1` rounds in its own way",
        ),
        (
            row("[op.mean]\nops = [\"reduce_mean\"]\nrecipe = { average_pool_divide = { rounding = \"floor\" } }"),
            "there is no key `op.mean.recipe.average_pool_divide`",
        ),
        (
            row("[op.reduce_max]\nrecipe = { max_pool = { pad = \"zero_point\" } }"),
            "none of the ops of this row has windows that reach into padding",
        ),
        (
            row("[op.reduce_max]\nrecipe = { max_pool = { pad = \"zero_code\" } }"),
            "`op.reduce_max.recipe.max_pool.pad` cannot be \"zero_code\"",
        ),
        (
            block("{ channels = 16, bits = 40 }"),
            "a block of 40 bits is wider than the sum",
        ),
        (
            block("{ channels = 0, bits = 20 }"),
            "`accumulator.int8.block.channels` cannot be 0",
        ),
    ] {
        let findings = Table::parse("t.toml", text.clone()).unwrap_err().to_string();
        assert!(
            findings.contains(expected),
            "{text}\ngives\n{findings}\nnot\n{expected}"
        );
    }
}
