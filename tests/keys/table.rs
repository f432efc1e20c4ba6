//! Cases for the keys of a target's table.

mod extends;
mod kinds;
mod passes;
mod recipes;
mod sums;
mod types;
mod versions;

use super::Effect::{self, Bits, Error, Files, Placement, Report, Sheet};
use super::{compiled, differences, unmatched};
use std::collections::BTreeMap;
use strait_document::Document as _;
use strait_target::{Origin, Registry, RegistryError, Table, TargetSpec, read_table};

const KEYS: &str = include_str!("table.toml");
const ASCEND: &str = include_str!("../../targets/ascend/target.toml");

/// Replacements of text. Each replaces the first place where the text occurs.
type Changes = &'static [(&'static str, &'static str)];

/// A key, what is changed in the table before, the change of the key itself, and where it shows.
struct Case {
    key: &'static str,
    table: &'static str,
    before: Changes,
    change: Changes,
    effect: Effect,
}

const fn case(key: &'static str, effect: Effect, change: Changes) -> Case {
    given(key, effect, &[], change)
}

const fn given(key: &'static str, effect: Effect, before: Changes, change: Changes) -> Case {
    Case {
        key,
        table: KEYS,
        before,
        change,
        effect,
    }
}

/// A case for Ascend's table without its code, which writes the package.
const fn of_ascend(key: &'static str, effect: Effect, change: Changes) -> Case {
    Case {
        table: ASCEND,
        before: &[("[\"qdq-onnx\", \"package\"]", "[\"qdq-onnx\"]")],
        ..case(key, effect, change)
    }
}

/// A form that cannot have integers for a layer.
const NO_INTEGERS: Changes = &[("shift = { min = 1, max = 62 }", "shift = { min = 1, max = 33 }")];
/// A ReLU whose range goes below zero, so that it is a clamp.
const CLAMPED: Changes = &[("symmetric = false", "symmetric = true")];
/// Scales of weights for which a shift is enough.
const SHIFTS: Changes = &[
    ("requantize = [\"once\"]", "requantize = [\"plain\"]"),
    ("accept    = [\"once\"]", "accept    = [\"plain\", \"once\"]"),
];

/// A weight-only Gemm, with scales by block.
const BLOCKS: Changes = &[
    (
        "[[\"int8\", \"int8\"]]",
        "[[\"int8\", \"int8\"], [\"float32\", \"int8\"]]",
    ),
    (
        "[\"channel\", \"tensor\"], scale",
        "[\"block\", \"channel\"], block = [16, 8], scale",
    ),
    (
        "[op.gemm]\nrecipe     = \"multiply_accumulate\"\nrequantize = [\"once\", \"plain\"]",
        "[op.gemm]\nrecipe     = \"dequantize_weights\"",
    ),
];

const CASES: &[Case] = &[
    case("schema", Error, &[("schema  = 2", "schema  = 3")]),
    case("id", Sheet, &[("id      = \"keys\"", "id      = \"other\"")]),
    case("version", Report, &[("1.0.0", "1.0.1")]),
    case("vendor", Sheet, &[("vendor A", "vendor B")]),
    case("licence", Sheet, &[("licence A", "licence B")]),
    case("docs", Sheet, &[("docs A", "docs B")]),
    case(
        "rules",
        Sheet,
        &[("emit    = []", "emit    = []\nrules   = [\"silu-to-sigmoid\"]")],
    ),
    case("emit", Files, &[("emit    = []", "emit    = [\"qdq-onnx\"]")]),
    case("reference.oracle", Report, &[("\"oracle A", "\"oracle B")]),
    case(
        "reference.evidence",
        Report,
        &[("evidence = \"measured\"", "evidence = \"assumed\"")],
    ),
    case("silicon.name", Sheet, &[("chip A", "chip B")]),
    case("silicon.firmware", Sheet, &[("firmware A", "firmware B")]),
    case("silicon.fidelity", Sheet, &[("\"derived\"", "\"silicon\"")]),
    case("silicon.evidence[].file", Sheet, &[("recorded A", "recorded B")]),
    case("silicon.evidence[].sha256", Sheet, &[("\"01234", "\"11234")]),
    case(
        "silicon.evidence[].rows",
        Error,
        &[("abcdef\" }]", "abcdef\", rows = [\"form none\"] }]")],
    ),
    case(
        "silicon.rates.multiply_adds",
        Sheet,
        &[("multiply_adds = 128", "multiply_adds = 64")],
    ),
    case("silicon.rates.elements", Sheet, &[("elements = 4", "elements = 2")]),
    case("silicon.rates.bytes", Sheet, &[("bytes = 8", "bytes = 0x10")]),
    // Types.
    case(
        "types.pairs",
        Error,
        &[("[[\"int8\", \"int8\"]]", "[[\"int16\", \"int8\"]]")],
    ),
    case("types.points", Bits, &[("\"results\"", "\"operands\"")]),
    case(
        "types.activation.symmetric",
        Bits,
        &[("symmetric = false", "symmetric = true")],
    ),
    case(
        "types.activation.scale",
        Bits,
        &[("false, scale = \"any\"", "false, scale = \"power_of_two\"")],
    ),
    case("types.activation.range", Bits, &[("[-128, 127]", "[-127, 127]")]),
    case(
        "types.weight.symmetric",
        Bits,
        &[("symmetric = true", "symmetric = false")],
    ),
    given(
        "types.weight.per",
        Bits,
        &[("weight_per = \"channel\"\n", "")],
        &[("[\"channel\", \"tensor\"], scale", "[\"tensor\", \"channel\"], scale")],
    ),
    given(
        "types.weight.block",
        Bits,
        BLOCKS,
        &[("block = [16, 8]", "block = [8, 16]")],
    ),
    case(
        "types.weight.scale",
        Bits,
        &[("], scale = \"any\"", "], scale = \"power_of_two\"")],
    ),
    case("types.weight.range", Bits, &[("[-127, 127]", "[-100, 100]")]),
    case(
        "types.bias",
        Error,
        &[("bias       = { int8 = \"int32\" }", "bias       = { int8 = \"int16\" }")],
    ),
    // Accumulators. What `overflow` does to a layer can only be seen with sums that are longer than those of the digits
    // model.
    case("accumulator.NAME.bits", Bits, &[("bits     = 32", "bits     = 40")]),
    case("accumulator.NAME.overflow", Sheet, &[("\"wrap\"", "\"saturate\"")]),
    case(
        "accumulator.NAME.oracle",
        Report,
        &[("accumulator oracle A", "accumulator oracle B")],
    ),
    case(
        "accumulator.NAME.evidence",
        Report,
        &[(
            "A\"\nevidence = \"measured\"\nnote     = \"acc",
            "A\"\nevidence = \"assumed\"\nnote     = \"acc",
        )],
    ),
    case(
        "accumulator.NAME.note",
        Sheet,
        &[("accumulator note A", "accumulator note B")],
    ),
    // Conversion between real numbers and codes.
    case(
        "quantize.rounding",
        Bits,
        &[("rounding        = \"half_even\"", "rounding        = \"half_away\"")],
    ),
    case(
        "quantize.divide",
        Bits,
        &[("\"true_division\"", "\"multiply_by_reciprocal\"")],
    ),
    case(
        "quantize.zero_point",
        Bits,
        &[("zero_point      = \"after\"", "zero_point      = \"inside_rounding\"")],
    ),
    case(
        "quantize.weight_rounding",
        Bits,
        &[("weight_rounding = \"half_even\"", "weight_rounding = \"floor\"")],
    ),
    case(
        "quantize.bias_rounding",
        Bits,
        &[("bias_rounding   = \"half_even\"", "bias_rounding   = \"floor\"")],
    ),
    case("quantize.observer", Bits, &[("\"minmax\"", "\"mse\"")]),
    case("quantize.oracle", Report, &[("quantize oracle A", "quantize oracle B")]),
    case(
        "quantize.evidence",
        Report,
        &[("\"measured\"\nnote            =", "\"assumed\"\nnote            =")],
    ),
    case("quantize.note", Report, &[("quantize note A", "quantize note B")]),
    // Forms.
    case(
        "form.NAME.output",
        Error,
        &[("output   = [\"int8\"]\nper", "output   = [\"int16\"]\nper")],
    ),
    case(
        "form.NAME.per",
        Error,
        &[("per      = [\"channel\", \"tensor\"]", "per      = [\"tensor\"]")],
    ),
    given(
        "form.NAME.clamp",
        Bits,
        CLAMPED,
        &[("clamp    = \"any\"", "clamp    = \"none\"")],
    ),
    case(
        "form.NAME.from",
        Bits,
        &[("from     = \"litert\"", "from     = \"correction\"")],
    ),
    given(
        "form.NAME.help",
        Placement,
        NO_INTEGERS,
        &[("\"help A\"", "\"help B\"")],
    ),
    case("form.NAME.oracle", Report, &[("form oracle A", "form oracle B")]),
    case(
        "form.NAME.evidence",
        Report,
        &[(
            "help A\"\noracle   = \"form oracle A\"\nevidence = \"measured\"",
            "help A\"\noracle   = \"form oracle A\"\nevidence = \"assumed\"",
        )],
    ),
    case("form.NAME.note", Sheet, &[("form note A", "form note B")]),
    given(
        "form.NAME.holds.accumulator",
        Report,
        &[(
            "note     = \"form note A\"",
            "holds = { accumulator = [-2147483648, 2147483647] }",
        )],
        &[("[-2147483648, 2147483647]", "[-9, 9]")],
    ),
    // Ops.
    case(
        "op.NAME.ops",
        Placement,
        &[("ops    = [\"relu\", \"clip\"]", "ops    = [\"clip\"]")],
    ),
    case(
        "op.NAME.run",
        Placement,
        &[(
            "[op.max_pool]\nrecipe = \"max_pool\"",
            "[op.max_pool]\nrun = \"host\"\nwhy = \"why C\"",
        )],
    ),
    given(
        "op.NAME.why",
        Placement,
        &[(
            "[op.max_pool]\nrecipe = \"max_pool\"",
            "[op.max_pool]\nrun = \"host\"\nwhy = \"why C\"",
        )],
        &[("why C", "why D")],
    ),
    case(
        "op.NAME.recipe",
        Bits,
        &[(
            "\"average_pool_requantize\"\nrequantize = [\"once\"]",
            "\"average_pool_divide\"",
        )],
    ),
    case(
        "op.NAME.requantize",
        Bits,
        &[(
            "[op.gemm]\nrecipe     = \"multiply_accumulate\"\nrequantize = [\"once\", \"plain\"]",
            "[op.gemm]\nrecipe     = { multiply_accumulate = { weight_grid = \"shift\" } }\nrequantize = [\"plain\"]",
        )],
    ),
    case(
        "op.NAME.inputs",
        Error,
        &[("inputs     = [\"general\"]", "inputs     = [\"once\"]")],
    ),
    case(
        "op.NAME.points",
        Bits,
        &[("[\"once\", \"plain\"]", "[\"once\", \"plain\"]\npoints = \"operands\"")],
    ),
    case(
        "op.NAME.accumulator",
        Placement,
        &[("[\"once\", \"plain\"]", "[\"once\", \"plain\"]\naccumulator = 16")],
    ),
    case(
        "op.NAME.weight_per",
        Bits,
        &[("weight_per = \"channel\"", "weight_per = \"tensor\"")],
    ),
    case("op.NAME.oracle", Report, &[("op oracle A", "op oracle B")]),
    case(
        "op.NAME.evidence",
        Report,
        &[(
            "op oracle A\"\nevidence   = \"measured\"",
            "op oracle A\"\nevidence   = \"assumed\"",
        )],
    ),
    case("op.NAME.note", Sheet, &[("op note A", "op note B")]),
    given(
        "op.NAME.symmetric.rank",
        Bits,
        &[("note       = \"op note A\"", "symmetric  = { rank = [4] }")],
        &[("symmetric  = { rank = [4] }", "symmetric  = { rank = [5] }")],
    ),
    given(
        "op.NAME.holds.rank",
        Report,
        &[("note       = \"op note A\"", "holds      = { rank = [4] }")],
        &[("{ rank = [4] }", "{ rank = [3] }")],
    ),
    // Fusions.
    case(
        "fusion[].name",
        Report,
        &[("name      = \"sum\"", "name      = \"total\"")],
    ),
    case(
        "fusion[].ops",
        Bits,
        &[("ops       = [\"conv\", \"gemm\"]", "ops       = [\"conv\"]")],
    ),
    case(
        "fusion[].when.requantize",
        Error,
        &[("requantize = \"identity\"", "requantize = \"other\"")],
    ),
    case(
        "fusion[].when.output",
        Bits,
        &[("output = \"int32\"", "output = \"int16\"")],
    ),
    case(
        "fusion[].when.input",
        Bits,
        &[("input = \"int8\"", "input = \"int16\"")],
    ),
    case("fusion[].when.to", Bits, &[("to = \"int8\"", "to = \"int16\"")]),
    case("fusion[].when.consumers", Error, &[("consumers = 1", "consumers = 2")]),
    case(
        "fusion[].when.concat_multiple",
        Error,
        &[("concat_multiple = 1", "concat_multiple = 0")],
    ),
    case(
        "fusion[].when.option",
        Bits,
        &[("option = { mode = 1 }", "option = { mode = 2 }")],
    ),
    case(
        "fusion[].accept",
        Bits,
        &[("accept    = [\"once\"]", "accept    = [\"plain\"]")],
    ),
    given(
        "fusion[].weaken_to",
        Report,
        &[("accept    = [\"once\"]", "accept    = [\"plain\"]")],
        &[("weaken_to = []", "weaken_to = [\"plain\"]")],
    ),
    of_ascend(
        "fusion[].then",
        Bits,
        &[("[\"merge_scales\", \"set_requantize\"", "[\"set_requantize\"")],
    ),
    case("fusion[].oracle", Report, &[("fusion oracle A", "fusion oracle B")]),
    case(
        "fusion[].evidence",
        Report,
        &[("evidence  = \"measured\"", "evidence  = \"assumed\"")],
    ),
    case("fusion[].note", Sheet, &[("fusion note A", "fusion note B")]),
    of_ascend(
        "fusion_default.accept",
        Bits,
        &[("accept  = \"bounded\"\nmax_lsb = 1", "accept  = \"exact\"")],
    ),
    given(
        "fusion_default.max_lsb",
        Sheet,
        &[("accept = \"exact\"", "accept = \"bounded\"")],
        &[("accept = \"bounded\"", "accept = \"bounded\"\nmax_lsb = 2")],
    ),
    // The host computes in one way only, and has one kind of boundary.
    case("host.default", Error, &[("\"float32\"", "\"float16\"")]),
    case(
        "host.boundary",
        Error,
        &[("\"dequantize_on_host\"", "\"dequantize_on_chip\"")],
    ),
    // A sum and its ReLU before a pool on the host.
    given(
        "host.islands",
        Placement,
        &[(
            "[op.max_pool]\nrecipe = \"max_pool\"",
            "[op.max_pool]\nrun = \"host\"\nwhy = \"why C\"",
        )],
        &[(
            "default  = \"float32\"",
            "default  = \"float32\"\nislands  = \"integer\"",
        )],
    ),
    // Options.
    case(
        "options.NAME.type",
        Error,
        &[("type    = \"integer\"", "type    = \"bool\"")],
    ),
    case(
        "options.NAME.one_of",
        Sheet,
        &[("[\"a\", \"b\"]", "[\"a\", \"b\", \"c\"]")],
    ),
    case("options.NAME.min", Error, &[("min     = 1", "min     = 2")]),
    case("options.NAME.max", Error, &[("max     = 3", "max     = 0")]),
    case("options.NAME.default", Bits, &[("default = 1", "default = 2")]),
    case("options.NAME.help", Sheet, &[("help of mode A", "help of mode B")]),
    given(
        "overlay",
        Bits,
        &[("default = \"a\"", "default = \"b\"")],
        &[(
            "[overlay.kind.b.quantize]\nrounding = \"half_even\"",
            "[overlay.kind.b.quantize]\nrounding = \"half_away\"",
        )],
    ),
];

fn changed(text: &str, changes: Changes) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in the table");
        text.replacen(from, to, 1)
    })
}

/// Reads a table from a text, with others in the same folder.
fn read(text: &str) -> Result<Table, RegistryError> {
    let folder = tempfile::tempdir().unwrap();
    extends::write_beside(folder.path());
    let file = folder.path().join("table.toml");
    std::fs::write(&file, text).unwrap();
    read_table(&file)
}

#[test]
fn every_key_of_a_table_takes_effect_or_is_refused() {
    let all = || {
        [
            CASES,
            extends::CASES,
            types::CASES,
            passes::CASES,
            kinds::CASES,
            recipes::CASES,
            sums::CASES,
        ]
        .into_iter()
        .flatten()
    };
    let keys: Vec<&str> = all().map(|case| case.key).collect();
    let mut wrong = unmatched(TargetSpec::shape(), &keys);
    let mut outcomes = BTreeMap::new();
    let mut outcome = |text: String| {
        let compile = || match read(&text) {
            Err(findings) => [(Error, findings.to_string())].into(),
            Ok(table) => {
                let target = table.id().to_owned();
                let registry = || {
                    let mut registry = Registry::default();
                    registry
                        .add_table(Origin::File("table.toml".into()), table.clone())
                        .unwrap();
                    registry
                };
                compiled(registry, &target, &[])
            }
        };
        outcomes.entry(text.clone()).or_insert_with(compile).clone()
    };
    for case in all() {
        let before = changed(case.table, case.before);
        let (one, other) = (outcome(before.clone()), outcome(changed(&before, case.change)));
        if let Some(error) = one.get(&Error) {
            wrong.push(format!(
                "`{}`: the table before the change is refused: {error}",
                case.key
            ));
        }
        let seen = differences(&one, &other);
        if !seen.contains(&case.effect) || (case.effect != Error && other.contains_key(&Error)) {
            let error = other.get(&Error).map(String::as_str).unwrap_or_default();
            wrong.push(format!(
                "`{}` changes {seen:?}, not {:?} {error}",
                case.key, case.effect
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
