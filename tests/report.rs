//! Tests what the report says about requantizations: clamps that were left out, integers that the compiler chose, and
//! integers that the runtime computes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{collections::BTreeMap, num::NonZeroUsize, path::Path};

use serde_json::Value as Json;
use strait_builtin as _;
use strait_core::{Op, Reason, ReasonCode, text};
use strait_driver::{
    config::{self, Override},
    inspect, pipeline,
    report::{self, Layer, Material, Report},
    session::{Session, Silent},
    shown::{Details, Shown},
    targets,
};
use strait_kernels::Context;
use strait_lower::{Fusion, FusionPolicy, fuse};
use strait_quantize::annotate::{Coarser, Findings, Fixpoint, place};
use strait_quantize::statistics::{Kind, Record};
use strait_quantize::{Annotation, Observation, Statistics, annotate};

/// Compiles the digits model for a built-in target, or for a table in this repository. Returns the report.
fn compiled(folder: &Path, target: &str, table: Option<&str>) -> Report {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = |path: &Path| format!("'{}'", path.display());
    let mut overrides = vec![
        Override::output(folder.join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache={}", path(&folder.join("cache")))),
        Override::set(format!("target.use=['{target}']")),
    ];
    let file = table.map(|table| format!("target.file=[{}]", path(&repository.join(table))));
    overrides.extend(file.map(Override::set));
    let loaded = config::load(&repository.join("configs/generic-int8.toml"), &overrides).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    compiled.unwrap_or_else(|stop| panic!("{stop}")).remove(0).report
}

fn layer<'a>(report: &'a Report, name: &str) -> &'a Layer {
    report.layers.iter().find(|layer| layer.name == name).unwrap()
}

#[test]
fn free_integers_are_told_with_how_near_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let report = compiled(folder.path(), "acme-npu2", Some("configs/targets/acme-npu2.toml"));
    let free = layer(&report, "/classifier/Gemm:accumulate")
        .free_integers
        .as_ref()
        .unwrap();
    assert_eq!(free.found, "optimal");
    let distance = free.distance.as_ref().unwrap();
    assert!(distance.max_lsb <= 1 && distance.share < 1e-3, "{distance:?}");
    assert!(distance.differing <= distance.accumulators, "{distance:?}");
    let line = "\nfree integers in ";
    let text = Details(&report).to_string();
    assert!(text.contains(line) && text.contains(" optimal; "), "{text}");
    assert!(report.layers.iter().all(|layer| layer.from_scales.is_none()));
    // The block's sum is added inside the accumulator of its second convolution.
    let sum = report
        .layers
        .iter()
        .find(|layer| layer.fusion.as_ref().is_some_and(|fusion| fusion.row == "residual"));
    assert!(
        sum.unwrap()
            .sources
            .iter()
            .any(|source| source == "/block/Add:accumulate")
    );
    // Codes are shifted to the left by 8. Results have 32 bits, but there are few enough accumulators to look at each.
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/targets/acme-npu2.toml");
    let text = std::fs::read_to_string(table)
        .unwrap()
        .replace("in_accumulator =", "# in_accumulator =");
    let apart = folder.path().join("sums-of-codes.toml");
    std::fs::write(&apart, text).unwrap();
    let report = compiled(folder.path(), "acme-npu2", apart.to_str());
    let operand = layer(&report, "/block/Add:operand").free_integers.as_ref().unwrap();
    assert_eq!(operand.found, "optimal");
    assert_eq!(operand.distance.as_ref().unwrap().accumulators, (127 + 128) * 256 + 1);
}

#[test]
fn what_a_runtime_makes_of_scales_is_told_with_what_could_be_gained() {
    let folder = tempfile::tempdir().unwrap();
    let report = compiled(folder.path(), "generic-int8", None);
    let of = |name: &str| layer(&report, name).from_scales.as_deref().unwrap();
    // Each convolution's sum is rounded twice, the classifier's once.
    let conv = of("/head/conv/Conv:accumulate");
    let (runtime, best) = (conv.runtime.as_ref().unwrap(), conv.best.as_ref().unwrap());
    assert_eq!((runtime.max_lsb, best.max_lsb, conv.channels), (1, 0, 32));
    assert!(
        conv.rounds_once && conv.better > 0 && best.differing < runtime.differing,
        "{conv:?}"
    );
    let gemm = of("/classifier/Gemm:accumulate");
    assert!(
        !gemm.rounds_once && gemm.runtime.as_ref().unwrap().max_lsb <= 1,
        "{gemm:?}"
    );
    // Operands of the sum are shifted to the left by 20, so that results have 32 bits. They are compared by their
    // parameters.
    let operand = of("/block/Add:operand").runtime.as_ref().unwrap();
    assert!(operand.max_lsb <= 1 && operand.accumulators > 1 << 27, "{operand:?}");
    assert!(report.layers.iter().all(|layer| layer.free_integers.is_none()));
    let text = Details(&report).to_string();
    assert!(
        text.contains(" one rounding instead of two would come nearer to the scales, off by "),
        "{text}"
    );

    // Here the details of layers are shown.
    let artifact = folder.path().join("artifact");
    let shown = inspect::open(&artifact, &[], Some("/head/conv/**")).unwrap().summary();
    let head = shown
        .layers
        .iter()
        .find(|layer| layer.name == "/head/conv/Conv:accumulate")
        .unwrap();
    assert_eq!(head.from_scales.as_ref(), Some(conv));
    let text = Shown(&shown).to_string();
    assert!(
        text.contains("the runtime's integers: off the ideal by 1 LSB on up to "),
        "{text}"
    );
    assert!(text.contains("rounded once, the best by 0 LSB"), "{text}");
}

#[test]
fn a_row_is_missed_only_where_its_option_is_on() {
    let graph = "strait 1 integer
        graph @main(%x: i8[1,1,1,2] scale=1.0 zero=0) {
          %a: i32[1,1,1,2] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
          %p: i8[1,1,1,2] scale=8.0 zero=0 = requantize(%a) {form={ascend_requant scale=0.125 offset=0 relu=0 out=i8}, axis=1}
          return %p
        }
        data @w: i8[1,1,1,1] = inline [1]
        data @b: i32[1] = inline [0]";
    for (name, times) in [("ascend", 0), ("ascend,quant_mode=high_performance", 1)] {
        let mut module = text::parse(graph).unwrap();
        let target = strait_tests::passes::target(name).unwrap();
        let main = module.main;
        let fusion = fuse(&mut module, main, target.as_ref(), FusionPolicy::Exact).unwrap();
        let report = report::build(Material {
            spec: target.spec(),
            canonical: &module,
            integer: &module,
            fusion: &fusion,
            origins: &BTreeMap::new(),
            nearness: &BTreeMap::new(),
            findings: &Findings::default(),
            rewrites: &BTreeMap::new(),
            threads: NonZeroUsize::MIN,
        });
        let row = report.fusions.rows.iter().find(|row| row.row == "dequant-s16").unwrap();
        assert_eq!(row.missed.len(), times, "{name}: {row:?}");
    }
}

/// A clamp that no accumulator reaches, and one that has an effect.
#[test]
fn a_clamp_that_is_left_out_is_told_with_its_reason() {
    let graph = "strait 1 integer
        graph @main(%x: i8[1,1,1,2] scale=1.0 zero=0) {
          %a: i32[1,1,1,2] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
          %r: i32[1,1,1,2] scale=1.0 zero=0 = clamp(%a) {min=-1000, max=1000}
          %p: i8[1,1,1,2] scale=2.0 zero=0 = requantize(%r) {form={gemmlowp multiplier=1073741824 exponent=0 zp=0 out=i8}, axis=1}
          %c: i32[1,1,1,2] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
          %s: i32[1,1,1,2] scale=1.0 zero=0 = clamp(%c) {min=0, max=100}
          %q: i8[1,1,1,2] scale=2.0 zero=0 = requantize(%s) {form={gemmlowp multiplier=1073741824 exponent=0 zp=0 out=i8}, axis=1}
          return %p, %q
        }
        data @w: i8[1,1,1,1] = inline [1]
        data @b: i32[1] = inline [0]";
    let mut module = text::parse(graph).unwrap();
    let target = strait_tests::passes::target("generic-int8").unwrap();
    let main = module.main;
    let fusion = fuse(&mut module, main, target.as_ref(), FusionPolicy::Exact).unwrap();
    let origins = BTreeMap::new();
    let report = report::build(Material {
        spec: target.spec(),
        canonical: &module,
        integer: &module,
        fusion: &fusion,
        origins: &origins,
        nearness: &BTreeMap::new(),
        findings: &Findings::default(),
        rewrites: &BTreeMap::new(),
        threads: NonZeroUsize::MIN,
    });
    let dropped = |name| layer(&report, name).fusion.as_ref().unwrap().dropped_clamp.as_ref();
    let why = dropped("a").unwrap();
    assert_eq!(why.code, "redundant-clamp");
    assert_eq!(why.text, "without the clamp to [-1000, 1000] no result is another one");
    assert_eq!(dropped("c"), None);
    let text = Details(&report).to_string();
    assert!(text.contains("requantize: exact, without its clamp\n"), "{text}");
    assert!(
        text.contains("\n  clamp left out: a: without the clamp to [-1000, 1000] "),
        "{text}"
    );
}

/// The report as text, with its lines as long as they were before they were folded.
fn unfolded(report: &Report) -> String {
    Shown(report).to_string().replace("\n  ", " ")
}

/// The reference that a classifier with `k` inputs claims to equal, and by how much its accumulators exceed the
/// evidence.
fn claimed(inputs: usize) -> (String, Option<u64>, String) {
    let gemm = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    let graph = format!(
        "strait 1 integer
        graph @lowered(%x: i8[1,{inputs}] scale=1.0 zero=0) {{
          %a: i32[1,1] scale=1.0 zero=0 = gemm(%x, @w, _) {gemm}
          %y: i8[1,1] scale=2.0 zero=0 = requantize(%a) {{form={{tf_lite sc=1073741824 zp=0 shift=40 rounding=half_away out=i8}}, axis=1}}
          return %y
        }}
        data @w: i8[1,{inputs}] = splat 64"
    );
    let mut module = text::parse(&graph).unwrap();
    let mut main = module.main().clone();
    main.name = module.names.fresh("main");
    module.graphs.push(main);
    module.main = strait_core::GraphId::new(1);
    let target = strait_tests::passes::target("generic-int8").unwrap();
    let main = module.main;
    let fusion = fuse(&mut module, main, target.as_ref(), FusionPolicy::Exact).unwrap();
    assert_eq!(fusion.fired.len(), 1);
    let report = report::build(Material {
        spec: target.spec(),
        canonical: &module,
        integer: &module,
        fusion: &fusion,
        origins: &BTreeMap::from([("a".to_owned(), "gemm".to_owned())]),
        nearness: &BTreeMap::new(),
        findings: &Findings::default(),
        rewrites: &BTreeMap::new(),
        threads: NonZeroUsize::MIN,
    });
    let past = layer(&report, "a").outside.first().map(|outside| outside.past);
    (report.evidence.claim.clone(), past, unfolded(&report))
}

/// FULLY_CONNECTED was compared below 2^20. 127 inputs of -128 with weights of 64 stay below that, 128 do not.
#[test]
fn equality_is_claimed_only_on_accumulators_that_were_compared() {
    let (claim, past, _) = claimed(127);
    assert!(claim.contains("accurate to LiteRT") && past.is_none(), "{claim}");
    for (inputs, expected) in [(128, 128 * 8192 - 1_048_575), (1024, 1024 * 8192 - 1_048_575)] {
        let (claim, past, text) = claimed(inputs);
        assert!(
            claim.starts_with("follows LiteRT") && !claim.contains("accurate"),
            "{claim}"
        );
        assert_eq!(past, Some(expected));
        let said = format!(
            "\noutside: a: accumulators reach [-{}, {}], {expected} past [-1048575, 1048575], on which form one-rounding ",
            inputs * 8192,
            inputs * 64 * 127
        );
        assert!(text.contains(&said), "{text}\n{said}");
    }
}

#[test]
fn grids_that_cost_accuracy_are_told_with_their_layers_and_what_they_cost() {
    let graph = "strait 1 float
        graph @main(%x: f32[1,2]) {
          %g: f32[1,2] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
          %h: f32[1,2] = gemm(%x, @v) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
          return %g, %h
        }
        data @w: f32[2,2] = inline [1.0,0.5,-3.9,1000.0]
        data @v: f32[2,2] = inline [1.0,0.5,0.25,1.0]";
    let mut module = text::parse(graph).unwrap();
    let target = strait_tests::passes::target("generic-int8").unwrap();
    let mut observation = Observation::default();
    for (name, numbers) in [("x", [-1.0, 1.0]), ("g", [-1000.0, 1000.0]), ("h", [1.0, 2000.0])] {
        let mut statistics = Statistics::default();
        statistics.add(0, &numbers);
        observation.insert(Kind::Elements, name, Record::Statistics(statistics));
    }
    let (settings, constraints, _) = strait_tests::passes::plain(target.spec());
    let (main, how) = (
        module.main,
        Annotation::new(target.spec(), &observation, &settings, &constraints),
    );
    place(&mut module, main, &how);
    let mut fixpoint = Fixpoint::default();
    annotate(&mut module, main, &how, &mut fixpoint).unwrap();
    let (node, made) = module
        .main()
        .nodes()
        .find(|(_, n)| matches!(n.op, Op::Gemm(_)))
        .unwrap();
    let coarser = Coarser {
        node,
        value: made.outputs[0],
        doublings: 2,
        reason: Reason::new(ReasonCode::OutsideDomain, "no form reaches further"),
    };
    let report = report::build(Material {
        spec: target.spec(),
        canonical: &module,
        integer: &module,
        fusion: &Fusion::default(),
        origins: &BTreeMap::new(),
        nearness: &BTreeMap::new(),
        findings: &Findings {
            coarser: vec![coarser],
            ..fixpoint.findings(&module, &how)
        },
        rewrites: &BTreeMap::new(),
        threads: NonZeroUsize::MIN,
    });
    let [weights, sums, coarser] = &report.lints[..] else {
        panic!("{:?}", report.lints)
    };
    assert_eq!(
        (&*weights.layer, &*weights.tensor, weights.channel),
        ("g", "w", Some(1))
    );
    let taken = weights.taken.unwrap();
    assert_eq!((taken.value, weights.code.as_str()), (1000.0, "range-given-away"));
    assert!((taken.share - 0.9961).abs() < 1e-6 && taken.steps < 0.5, "{weights:?}");
    assert_eq!(
        (&*sums.layer, &*sums.tensor, sums.channel, sums.taken.unwrap().value),
        ("h", "h", None, 2000.0)
    );
    assert_eq!((&*coarser.code, coarser.factor), ("grid-coarser", Some(4)));
    let text = unfolded(&report);
    let line = "\nlint: 1000 takes 99.6 % of this grid: layer `g`, tensor `w`, channel 1; all others share 0.5 of 254 steps, which \
                costs them 8.0 bits [range-given-away]\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("\nlint: 2000 takes 9"), "{text}");
    let line = "\nlint: the grid of layer `g`, tensor `g`, is 4 times as coarse as its range asks for, which costs 2 bits: \
                no form reaches further [grid-coarser]\n";
    assert!(text.contains(line), "{text}");
}

/// Collects the places where a value does not fit its schema, as paths with a word.
fn against(root: &Json, schema: &Json, value: &Json, path: &str, found: &mut Vec<String>) {
    let mut say = |what: &str| found.push(format!("{path}: {what}"));
    if let Some(name) = schema["$ref"].as_str() {
        let definition = root.pointer(name.trim_start_matches('#'));
        return against(root, definition.unwrap(), value, path, found);
    }
    for word in ["anyOf", "oneOf"] {
        let alternatives = schema[word].as_array();
        let fits = |alternative: &Json| {
            let mut found = Vec::new();
            against(root, alternative, value, path, &mut found);
            found.is_empty()
        };
        if alternatives.is_some_and(|all| !all.iter().any(fits)) {
            say(word);
        }
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value))
        || schema.get("const").is_some_and(|constant| constant != value)
    {
        say("word");
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    };
    let types: Vec<&str> = match &schema["type"] {
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    };
    if !types.is_empty() && !types.into_iter().any(is) {
        say("type");
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        if value.is_object() && value.get(key.as_str().unwrap()).is_none() {
            say(&format!("lacks {key}"));
        }
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        against(root, part, value, path, found);
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        against(root, &schema["items"], item, &format!("{path}/{index}"), found);
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(known), _) => against(root, known, inner, &path, found),
            (None, Json::Bool(false)) => found.push(format!("{path}: unknown")),
            (None, other) => against(root, other, inner, &path, found),
        }
    }
}

#[test]
fn reports_are_as_their_schema_says() {
    let schema = strait_report::json_schema();
    let folder = tempfile::tempdir().unwrap();
    let found = |value: &Json| {
        let mut found = Vec::new();
        against(&schema, &schema, value, "", &mut found);
        found
    };
    for (target, table) in [
        ("generic-int8", None),
        ("acme-npu2", Some("configs/targets/acme-npu2.toml")),
    ] {
        let mut report = serde_json::to_value(compiled(folder.path(), target, table)).unwrap();
        assert_eq!(found(&report), [""; 0], "{target}");
        report["layers"][0]["more"] = 1.into();
        report["layers"][1]["name"] = Json::Null;
        report["size"].as_object_mut().unwrap().remove("float_bytes");
        let expected = [
            "/layers/0/more: unknown",
            "/layers/1/name: type",
            "/size: lacks \"float_bytes\"",
        ];
        assert_eq!(found(&report), expected);
    }
}

#[test]
fn the_schema_of_reports_is_current() {
    let schema = serde_json::to_string_pretty(&strait_report::json_schema()).unwrap();
    strait_testkit::is_current("docs/strait-report-2.schema.json", &format!("{schema}\n"));
}

#[test]
fn the_schema_of_reports_of_analyses_is_current() {
    let schema = serde_json::to_string_pretty(&strait_report::analysis_schema()).unwrap();
    strait_testkit::is_current("docs/strait-analysis-1.schema.json", &format!("{schema}\n"));
}
