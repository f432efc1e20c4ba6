//! Tests of the errors that the author of a wrong table sees. Each error has the line, the fault, and the allowed
//! values.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rows;

use strait_document::Diagnostic;
use strait_target::Table;

const TABLE: &str = include_str!("../tables/every-form.toml");
const NORM: &str =
    "ops = [\"layer_normalization\"]\nrecipe = { layer_normalization = { definition = \"litert.softmax.int8.v1\" } }";
const SOFTMAX: &str = "run = \"host\"\nwhy = \"no exponential unit\"";

/// Returns the findings of the parser in a table. For each finding, the text has the file, line and column; the message
/// and the label at the caret; the text of the line; and the help.
fn findings(text: &str) -> String {
    let Err(findings) = Table::parse("t.toml", text) else {
        return "nothing".into();
    };
    let line = |finding: &Diagnostic| {
        let json = finding.to_json();
        let part = |key: &str| json[key].as_str().unwrap_or_default().trim().to_owned();
        let place = match json["line"].as_u64() {
            Some(line) => format!("{}:{line}:{}", part("file"), json["column"]),
            None => part("file"),
        };
        let label = Some(part("label")).filter(|label| !label.is_empty());
        let label = label.map(|label| format!(", {label}")).unwrap_or_default();
        let help = finding.help.iter().map(|help| format!("\n    {help}"));
        format!(
            "{place}: {}{label}\n    {}{}",
            finding.message,
            part("text"),
            help.collect::<String>()
        )
    };
    findings.0.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The findings in the table of this test after the first `from` in it was replaced by `to`.
fn said(from: &str, to: &str) -> String {
    assert!(TABLE.contains(from), "{from:?} is not in the table");
    findings(&TABLE.replacen(from, to, 1))
}

#[test]
fn each_mistake_is_told_with_its_line_and_what_is_allowed() {
    let cases: &[(&str, &str, &str)] = &[
        // recordings
        (
            "[types]",
            "[silicon]\nfidelity = \"silicon\"\nevidence = [{ file = \"v.npz\", sha256 = \"0101010101010101010101010101010101010101010101010101010101010101\", rows = [\"form scale99\"] }]\n\n[types]",
            "there is no row that decides bits `form scale99`",
        ),
        // texts that are no table at all
        (
            "schema  = 2",
            "schema  = ",
            "t.toml:1:11: this is not TOML, string values must be quoted, expected literal string\n    schema  =",
        ),
        // keys and words
        (
            "symmetric = false }",
            "symetric = false }",
            "there is no key `types.activation.symetric`, unknown key\n    activation = { symetric = false }\n    did you mean `symmetric`?",
        ),
        (
            "kind   = \"steps\"",
            "kind   = \"step\"",
            "`form.thresholds.kind` cannot be \"step\", expected one of \"float64_scale\", \"steps\", ",
        ),
        (
            "kind   = \"steps\"",
            "kind   = \"step\"",
            "\n    kind   = \"step\"\n    did you mean \"steps\"?",
        ),
        (
            "kind   = \"steps\"",
            "kind   = { gemlowp = { roundings = \"one\" } }",
            "there is no key `form.thresholds.kind.gemlowp`, unknown key\n    kind   = { gemlowp = { roundings = \"one\" } }\n    did you mean `gemmlowp`?",
        ),
        (
            "kind   = \"steps\"",
            "kind   = { float_scale = {}, ascend_requant = {} }",
            "`form.thresholds.kind` has 2 keys, expected one key",
        ),
        (
            "kind   = \"steps\"",
            "kind   = 3",
            "`form.thresholds.kind` is an integer, expected one of \"float64_scale\", ",
        ),
        (
            "kind   = \"steps\"",
            "kind   = \"shift\"",
            "`form.thresholds.kind` cannot be \"shift\" alone: it needs `rounding` and `shift`, without its parameters\n    kind   = \"shift\"\n    { shift = { rounding = ..., shift = ... } }",
        ),
        (
            "rounding = \"half_even\"",
            "rounding = \"bankers\"",
            "`quantize.rounding` cannot be \"bankers\", expected one of \"floor\"",
        ),
        (
            "rounding = \"half_even\"",
            "observer = \"arq\"\nrounding = \"half_even\"",
            "the observer `arq` makes no ranges of integers for activations; those that do are minmax, moving_average",
        ),
        (
            "rounding = \"half_even\"",
            "observer = \"constant\"\nrounding = \"half_even\"",
            "`quantize.observer` cannot be \"constant\", expected one of",
        ),
        ("id      = \"every-form\"\n", "", "t.toml: `id` is missing"),
        (
            "evidence = \"assumed\"",
            "evidence = 3",
            "t.toml:7:12: `reference.evidence` is an integer, expected one of \"proved\", \"measured\", \"documented\", \"assumed\"",
        ),
        (
            "oracle   = \"nothing: one form of each kind, for tests\"",
            "oracle   = \"\"",
            "t.toml:6:12: `reference.oracle` is empty",
        ),
        (
            "from   = \"free\"\n",
            "from   = \"free\"\noracle = \"\"\n",
            "`form.shift.oracle` is empty",
        ),
        // the accumulators for which a form's evidence holds
        (
            "from   = \"free\"\n",
            "from   = \"free\"\nholds = { accumulator = [9, -9] }\nevidence = \"measured\"\n",
            "`shift`: no accumulator is in [9, -9]; the smaller end comes first\n    holds = { accumulator = [9, -9] }",
        ),
        (
            "from   = \"free\"\n",
            "from   = \"free\"\nholds = { accumulator = [-9, 9] }\n",
            "`shift` is `assumed`, and so nothing was shown of any accumulator\n    holds = { accumulator = [-9, 9] }",
        ),
        // which fusions are accepted
        (
            "[quantize]",
            "[fusion_default]\nmax_lsb = 2\n[quantize]",
            "`max_lsb` goes with `accept = \"bounded\"`",
        ),
        (
            "[quantize]",
            "[fusion_default]\naccept = \"bounded\"\nmax_lsb = 0\n[quantize]",
            "`fusion_default.max_lsb` cannot be 0, expected an integer from 1 to 255",
        ),
        (
            "[quantize]",
            "[[fusion]]\nname = \"two\"\nops = [\"conv\"]\nwhen = { consumers = 2 }\naccept = [\"shift\"]\nthen = [\"set_requantize\"]\n[quantize]",
            "`consumers` cannot be 2: nothing is fused into a producer whose result others read\n    when = { consumers = 2 }",
        ),
        (
            "[quantize]",
            "[[fusion]]\nname = \"free\"\nops = [\"conv\"]\nthen = [\"set_requantize\"]\n[quantize]",
            "the fusion `free` has no `accept`; only `requantize_data` and `burn_into_table` take any form\n    name = \"free\"",
        ),
        // identity
        (
            "schema  = 2",
            "schema  = 3",
            "t.toml:1:11: the table has schema 3, which is newer than this version of Strait\n    schema  = 3\n    this version reads schema 2",
        ),
        (
            "\"every-form\"",
            "\"Every_Form\"",
            "`id` cannot be \"Every_Form\", expected small letters and digits",
        ),
        (
            "\"1.0.0\"",
            "\"1.0\"",
            "`version` cannot be \"1.0\", expected three numbers",
        ),
        // types
        (
            "[[\"int8\", \"int8\"]]",
            "[[\"int8\", \"uint8\"]]",
            "t.toml:10:15: symmetric weights of uint8 hold no negative numbers",
        ),
        (
            "[[\"int8\", \"int8\"]]",
            "[[\"int8\", \"float32\"]]",
            "t.toml:10:24: `types.pairs[0][1]` cannot be \"float32\", expected one of \"int8\"",
        ),
        (
            "[[\"int8\", \"int8\"]]",
            "[[\"float16\", \"int8\"]]",
            "\"uint4\", \"float32\"\n    pairs      = [[\"float16\", \"int8\"]]\n    did you mean \"float32\"?",
        ),
        (
            "[[\"int8\", \"int8\"]]",
            "[[\"int8\", \"int8\", \"int8\"]]",
            "`types.pairs[0]` has 3 elements",
        ),
        ("\"int8\"]]", "\"int32\"]]", "weights of int32 are too wide"),
        (
            "per = [\"channel\"",
            "block = [32], per = [\"block\", \"channel\"",
            "scales by block are for weight-only layers, in a pair with \"float32\"",
        ),
        (
            "per = [\"channel\"",
            "per = [\"block\", \"channel\"",
            "`types.weight.block` is missing: scales are by block, of so many inputs",
        ),
        (
            "per = [\"channel\"",
            "block = [32], per = [\"channel\"",
            "sizes of blocks are for `per` with \"block\"",
        ),
        (
            "per = [\"channel\", \"tensor\"]",
            "per = [\"block\"]",
            "weights that are no whole blocks need \"channel\" or \"tensor\" beside \"block\"",
        ),
        (
            "[[\"int8\", \"int8\"]]",
            "[[\"int8\", \"int8\"], [\"uint8\", \"int8\"]]",
            "between activations of several types codes are requantized, and there is no row `op.requantize`",
        ),
        (
            "bias       = { int8 = \"int32\" }",
            "bias       = { int8 = \"int32\" }\nactivation_of = { uint8 = { symmetric = false } }",
            "`types.activation_of.uint8` is for a type that `types.pairs` does not have",
        ),
        (
            "range = [-127, 127]",
            "range = [-129, 127]",
            "[-129, 127] is not inside i8, [-128, 127]",
        ),
        ("range = [-127, 127]", "range = [1, 127]", "[1, 127] does not contain 0"),
        (
            "range = [-127, 127]",
            "range = [127, -127]",
            "the limits of `types.weight.range` are not in order, expected two integers, the first below the second",
        ),
        (
            "range = [-127, 127]",
            "range = [0, 0]",
            "the limits of `types.weight.range` are not in order",
        ),
        (
            "id      = \"every-form\"",
            "id = \"every-form\"\nemit = [\"pakage\"]",
            "t.toml:3:9: `emit[0]` cannot be \"pakage\", expected one of \"qdq-onnx\", \"qoperator-onnx\", \"tflite\", \"package\"\n    emit = [\"pakage\"]\n    did you mean \"package\"?",
        ),
        (
            "bias       = { int8 = \"int32\" }",
            "bias       = { int8 = \"int40\" }",
            "a bias of int40 is wider than the sum that it is added to, of 32 bits",
        ),
        (
            "bias       = { int8 = \"int32\" }",
            "bias       = {}",
            "`types.bias.int8` is missing",
        ),
        // forms
        (
            "shift = { min = 0, max = 31 }, ",
            "",
            "`form.shift.kind.shift.shift` is missing, in this table\n    kind   = { shift = { rounding = \"half_even\" } }",
        ),
        (
            "shift = { min = 0, max = 31 }",
            "shift = { min = 0, max = 63 }",
            "`form.shift.kind.shift.shift.max` cannot be 63, expected an integer from -30 to 62",
        ),
        (
            "shift = { min = 0, max = 31 }",
            "shift = { min = 9, max = 3 }",
            "no shift is at least 9 and at most 3",
        ),
        (
            "shift = { min = -8, max = 31 }",
            "shift = { min = -31, max = 31 }",
            "`form.double.kind.gemmlowp.shift.min` cannot be -31, expected an integer from -30 to 62",
        ),
        (
            "shift = { min = 0, max = 31 }",
            "shift = { min = -1, max = 31 }",
            "`shift`: shifts of this kind lie in 0 ..= 62",
        ),
        (
            "zero_point = \"before_shift\"",
            "zero_point = \"before\"",
            "`form.fractional.kind.multiply_shift.zero_point` cannot be \"before\", expected one of \"after\", \"before_shift\", \"before_and_after\"",
        ),
        (
            "{ shift = { shift = { min = 0, max = 31 }, ",
            "{ shift = { zero_point = \"after\", shift = { min = 0, max = 31 }, ",
            "there is no key `form.shift.kind.shift.zero_point`",
        ),
        (
            "roundings = \"two\"",
            "roundings = \"three\"",
            "`form.double.kind.gemmlowp.roundings` cannot be \"three\", expected one of \"one\", \"two\"",
        ),
        (
            "bits = 7,",
            "bits = 32,",
            "`form.fractional.kind.multiply_shift.bits` cannot be 32, expected an integer from 1 to 31",
        ),
        (
            "bits = 11 }",
            "bits = 25 }",
            "`form.packed.kind.float_scale.bits` cannot be 25, expected an integer from 1 to 24",
        ),
        (
            "bits = 15, roundings = \"one\"",
            "bits = 15, roundings = \"two\"",
            "`scale16`: RESCALE with a multiplier of 15 bits rounds once",
        ),
        (
            "bits = 15, roundings = \"one\"",
            "bits = 16, roundings = \"one\"",
            "`scale16`: a multiplier of RESCALE has 15 or 31 bits",
        ),
        ("output = [\"int8\"]", "output = []", "`form.shift.output` is empty"),
        (
            "per    = [\"tensor\"]",
            "per    = [\"tensor\", \"tensor\"]",
            "`tensor` stands here twice",
        ),
        (
            "clamp  = \"relu\"\nfrom   = \"dequantize_quantize\"",
            "clamp  = \"relu\"\nfrom   = \"litert\"",
            "`litert` does not make the integers of this kind; onnxruntime or dequantize_quantize or free does",
        ),
        // keys and words of older tables
        (
            "kind   = \"float64_scale\"",
            "kind   = \"float64_scale\"\nzero_point = \"after\"",
            "`form.double-precision.zero_point` is spelled otherwise since schema 2, of an older table\n    zero_point = \"after\"\n    write: kind = { multiply_shift = { zero_point",
        ),
        (
            "from   = \"correction\"",
            "from   = \"sima\"",
            "`form.fractional.from` is spelled otherwise since schema 2, of an older table\n    from   = \"sima\"\n    write: from = \"correction\"",
        ),
        (
            "recipe = \"pass_through\"",
            "recipe = \"pass_through\"\nfraction = { bits = 11, rounding = \"half_up\" }",
            "`op.resize.fraction` is spelled otherwise since schema 2, of an older table\n    fraction = { bits = 11, rounding = \"half_up\" }\n    write: recipe = { pass_through = { fraction = ",
        ),
        // ops
        (
            "[op.gemm]",
            "[op.gem]",
            "there is no op `gem`\n    [op.gem]\n    did you mean `gemm`?",
        ),
        (
            "[op.gemm]",
            "[op.dense]",
            "there is no op `dense`\n    [op.dense]\n    a row is named after its op, or lists its `ops`",
        ),
        (
            "[op.gemm]",
            "[op.dense]\nops = [\"gemm\"]\nrecipe = \"multiply_accumulate\"\nrequantize = [\"shift\"]\n\n[op.gemm]",
            "`gemm` has a row already: `op.dense`",
        ),
        (
            "[\"shift\", \"single\"]",
            "[\"shift\", \"singel\"]",
            "there is no form `singel`",
        ),
        (
            "recipe     = \"multiply_accumulate\"\nrequantize = [\"shift\", \"single\"]",
            "recipe     = { multiply_accumulate = { weight_grid = \"max_abs_then_shift\" } }\nrequantize = [\"single\"]",
            "`max_abs_then_shift` leaves a shift, and none of the forms in `requantize` is one",
        ),
        (
            "recipe     = { add_common_grid = { left_shift = 7 } }",
            "recipe     = \"multiply\"",
            "`multiply` does not lower `add`; it lowers `mul`",
        ),
        (
            "{ add_common_grid = { left_shift = 7 } }",
            "\"add_shifted\"",
            "needs a form of the kind `dequant_s16`",
        ),
        (
            "{ add_common_grid = { left_shift = 7 } }",
            "\"add_common_grid\"",
            "`op.add.recipe` cannot be \"add_common_grid\" alone: it needs `left_shift`, without its parameters\n    recipe     = \"add_common_grid\"\n    { add_common_grid = { left_shift = ... } }",
        ),
        (
            "left_shift = 7",
            "left_shift = 25",
            "`op.add.recipe.add_common_grid.left_shift` cannot be 25, expected an integer from 0 to 24",
        ),
        ("inputs     = [\"general\"]\n", "", "`op.add` needs forms in `inputs`"),
        (
            "recipe = \"pass_through\"",
            "recipe = { pass_through = { weight_grid = \"shift\" } }",
            "there is no key `op.resize.recipe.pass_through.weight_grid`, unknown key",
        ),
        (
            "recipe = \"pass_through\"\n",
            "",
            "`op.resize` needs a `recipe`, or `run = \"host\"` with `why`\n    [op.resize]\n    allowed: `pass_through`",
        ),
        (
            SOFTMAX,
            "recipe = \"softmax\"",
            "`op.softmax.recipe` cannot be \"softmax\" alone: it needs `definition`",
        ),
        (
            SOFTMAX,
            "recipe = { softmax = { definition = \"litert.softmax.int16.v1\" } }",
            "`litert.softmax.int16.v1` reads int16, and the row is for activations of int8, too\n    \
             recipe = { softmax = { definition = \"litert.softmax.int16.v1\" } }\n    `pairs` says what a row is for",
        ),
        (
            SOFTMAX,
            "recipe = { softmax = { definition = \"strait.layer_norm.v1\" } }",
            "`strait.layer_norm.v1` is no `softmax`",
        ),
        (SOFTMAX, NORM, "`litert.softmax.int8.v1` is no `layer_normalization`"),
        (
            "recipe = \"pass_through\"",
            "recipe = { softmax = { definition = \"litert.softmax.int8.v2\" } }",
            "`op.resize.recipe.softmax.definition` cannot be \"litert.softmax.int8.v2\"",
        ),
        (
            "why = \"no exponential unit\"\n",
            "",
            "`op.softmax` runs on the host and does not say `why`",
        ),
        (
            "stride            =",
            "strides           =",
            "`conv` has nothing called `strides` to limit\n    strides           = { min = 1, max = 31 }\n    did you mean `stride`?",
        ),
        (
            "{ min = 1, max = 11 }",
            "{ min = 12, max = 11 }",
            "`kernel` has no value between its `min` and its `max`",
        ),
        (
            "{ min = 1, max = 11 }",
            "{}",
            "`kernel` is limited by neither `min`, `max`, `multiples_of` nor `one_of`",
        ),
        (
            "{ min = 1, max = 11 }",
            "{ max = 11, one_of = [] }",
            "`one_of` of `kernel` is empty, and allows nothing",
        ),
    ];
    let mut wrong = String::new();
    for (from, to, expect) in cases {
        let said = said(from, to);
        if !(said.starts_with("t.toml:") && said.contains(expect)) {
            wrong += &format!("{from:?} -> {to:?} gives\n{said}\nnot\n{expect}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_finding_is_told_at_once_in_the_order_of_the_text() {
    let text = TABLE
        .replacen("\"1.0.0\"", "\"1\"", 1)
        .replacen("bits = 32", "bits = 99", 1)
        .replacen("bits = 7,", "bits = 0,", 1);
    let errors = Table::parse("t.toml", text.clone()).unwrap_err();
    let excerpts = errors.0.iter().map(|finding| finding.excerpt.as_ref().unwrap());
    let lines: Vec<usize> = excerpts.map(|excerpt| excerpt.position().unwrap().0).collect();
    assert_eq!(lines.len(), 3, "{errors}");
    assert!(lines.is_sorted());
}

#[test]
fn names_and_texts_are_plain_lines() {
    let oracle = TABLE.lines().find(|line| line.starts_with("oracle")).unwrap();
    let named = |name| format!("[op.\"{name}\"]\nops = [\"erf\"]\nrun = \"host\"\nwhy = \"a test\"\n");
    let plain = "a text of a table is one line, without control characters";
    for text in ["a\\nerror[T001]: of nobody", "\\u001b[2J", "\\u202eback to front"] {
        let found = said(oracle, &format!("oracle = \"{text}\""));
        assert!(found.contains(plain), "{found}");
        let found = findings(&format!("{TABLE}\n{}", named(text)));
        assert!(found.contains(plain), "{found}");
    }
    let found = findings(&format!("{TABLE}\n{}", named("")));
    assert!(found.contains("a name is empty"), "{found}");
}

#[test]
fn text_that_is_hostile_is_refused_without_harm() {
    let deep = format!("schema = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("#{}", "x".repeat(2 << 20));
    for text in [
        deep.as_str(),
        long.as_str(),
        "",
        "\u{0}",
        "[form.\"\"]",
        "schema = 1e400",
        "op.a.b.c = {}",
    ] {
        let error = Table::parse("t.toml", text).unwrap_err();
        assert!(!error.0.is_empty());
    }
}
