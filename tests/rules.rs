//! Tests rules of a configuration for single operands and results, from the file to the plan.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{num::NonZeroUsize, path::Path};

use strait_builtin as _;
use strait_core::Elem;
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    inspect,
    pipeline::{self, Compiled},
    session::{Session, Silent},
    shown::Details,
    stop::Stop,
    targets,
};
use strait_kernels::Context;

/// Compiles the digits model for generic-int8 with these rules.
fn compiled(folder: &Path, rules: &str) -> Result<Compiled, Stop> {
    compiled_with(folder, rules, [])
}

/// The same, with further overrides.
fn compiled_with(folder: &Path, rules: &str, more: impl IntoIterator<Item = Override>) -> Result<Compiled, Stop> {
    let quoted = |path: &Path| format!("'{}'", path.display());
    let mut overrides = vec![
        Override::output(folder.join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache={}", quoted(&folder.join("cache")))),
        Override::set("calibration.samples=16"),
        Override::set(format!("quantize.rule=[{rules}]")),
    ];
    overrides.extend(more);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/generic-int8.toml");
    let loaded = config::load(&file, &overrides)?;
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    Ok(pipeline::compile(&loaded, targets::registry([])?, &session)?.remove(0))
}

/// Origin, scale and zero point of `PORT of LAYER`, and the type of its codes.
fn grid(compiled: &Compiled, layer: &str, port: &str) -> (String, f32, i32, String) {
    let found = inspect::quantization(&compiled.folder, Some(layer)).unwrap();
    let config = found.layers[0].configs.iter().find(|config| config.port == port);
    let config = config.unwrap_or_else(|| panic!("{layer} has no {port}"));
    let codes = found.schemes[config.scheme].codes.clone();
    (
        config.origin.clone().unwrap(),
        config.scale[0],
        config.zero_point[0],
        codes,
    )
}

/// Requantizations of codes in the plan: the type that each makes, and who reads it.
fn requantized(compiled: &Compiled) -> Vec<(Elem, Vec<String>)> {
    let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
    let (module, graph) = (opened.module(), opened.module().main());
    let named = |id| graph.node(id).map_or("", |node| module.name(node.name));
    let own = graph.nodes().filter(|(id, _)| named(*id).contains(":requantize-"));
    let found = own.map(|(_, node)| {
        let value = node.outputs[0];
        let readers = graph.uses(value).map(|at| named(at.node).to_owned());
        (graph.value(value).unwrap().ty.elem, readers.collect())
    });
    found.collect()
}

fn told(rules: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    match compiled(folder.path(), rules) {
        Err(Stop::Found(findings)) => findings.to_string(),
        other => panic!("{rules}: {:?}", other.map(|compiled| compiled.target)),
    }
}

#[test]
fn a_range_of_one_operand_is_requantized_for_that_reader_alone() {
    let folder = tempfile::tempdir().unwrap();
    let plain = compiled(folder.path(), "").unwrap();
    assert_eq!(requantized(&plain), []);
    let [stem, depthwise] = [("/stem/act/Relu", "result 0"), ("/block/depthwise/Conv", "operand 0")];
    let before = [stem, depthwise].map(|(layer, port)| grid(&plain, layer, port));

    let rule = "{ layers = ['/block/Add'], operands = [1], range = [0, 5.1], reason = 'why' }";
    let of_operand = compiled(folder.path(), rule).unwrap();
    let after = [stem, depthwise].map(|(layer, port)| grid(&of_operand, layer, port));
    assert_eq!(before, after);
    // 5.1 / 255, and 0 has the lowest code.
    let own = grid(&of_operand, "/block/Add", "operand 1");
    assert_eq!(own, ("rule".into(), 0.02, -128, "i8".into()));
    let [(elem, readers)] = &requantized(&of_operand)[..] else {
        panic!("{:?}", requantized(&of_operand))
    };
    assert!(
        *elem == Elem::I8 && readers.len() == 1 && readers[0].starts_with("/block/Add"),
        "{readers:?}"
    );
    assert_eq!(of_operand.report.rules[0].operands, ["operand 1 of /block/Add"]);
    assert_eq!(of_operand.report.rules[0].reason.as_deref(), Some("why"));

    // A later rule for the tensor overrides it, for all readers.
    let later = format!("{rule}, {{ tensors = ['/stem/act/Relu_output_0'], range = [0, 2.55] }}");
    let later = compiled(folder.path(), &later).unwrap();
    assert_eq!(requantized(&later), []);
    assert_eq!(grid(&later, "/block/Add", "operand 1").1, 0.01);
    // An earlier one applies to the other reader.
    let earlier = format!("{{ tensors = ['/stem/act/Relu_output_0'], range = [0, 2.55] }}, {rule}");
    let earlier = compiled(folder.path(), &earlier).unwrap();
    assert_eq!(requantized(&earlier).len(), 1);
    assert_eq!(grid(&earlier, "/block/Add", "operand 1").1, 0.02);
    assert_eq!(grid(&earlier, "/block/depthwise/Conv", "operand 0").1, 0.01);
}

#[test]
fn the_only_reader_of_a_value_says_how_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "{ layers = ['/block/Add'], operands = [0], range = [-2.56, 2.54] }";
    let compiled = compiled(folder.path(), rule).unwrap();
    assert_eq!(requantized(&compiled), []);
    let made = grid(&compiled, "/block/pointwise/Conv", "result 0");
    assert_eq!((made.1, made.2), (0.02, 0));
}

#[test]
fn one_operand_has_another_type_and_other_readers_do_not_see_it() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "{ layers = ['/block/depthwise/Conv'], operands = [0], activations = { type = 'int16' } }";
    let compiled = compiled(folder.path(), rule).unwrap();
    assert_eq!(grid(&compiled, "/block/depthwise/Conv", "operand 0").3, "i16");
    assert_eq!(grid(&compiled, "/block/Add", "operand 1").3, "i8");
    assert_eq!(grid(&compiled, "/stem/act/Relu", "result 0").3, "i8");
    // The 16-bit kernel writes 16 bits, which the next layer does not read.
    let expected = [
        (Elem::I16, "/block/depthwise/Conv"),
        (Elem::I8, "/block/pointwise/Conv"),
    ];
    let expected = expected.map(|(elem, layer)| (elem, vec![format!("{layer}:accumulate")]));
    assert_eq!(requantized(&compiled), expected);
}

#[test]
fn one_operand_has_no_zero_point_or_an_observer_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "{ layers = ['/block/Add'], operands = [1], activations = { symmetric = true } }";
    let symmetric = compiled(folder.path(), rule).unwrap();
    assert_eq!(grid(&symmetric, "/block/Add", "operand 1").2, 0);
    assert_eq!(grid(&symmetric, "/block/depthwise/Conv", "operand 0").2, -128);
    let rule =
        "{ layers = ['/block/Add'], operands = [1], observer = 'percentile', observer_options = { percentile = 60 } }";
    let observed = compiled(folder.path(), rule).unwrap();
    let [own, other] = [("/block/Add", "operand 1"), ("/block/depthwise/Conv", "operand 0")];
    let [own, other] = [own, other].map(|(layer, port)| grid(&observed, layer, port).1);
    assert!(own < other / 2.0, "{own} {other}");
    assert_eq!(requantized(&observed).len(), 1);
    // Setting the default explicitly changes nothing.
    let rule = "{ layers = ['/block/Add'], operands = [1], observer = 'minmax' }";
    assert_eq!(requantized(&compiled(folder.path(), rule).unwrap()), []);
}

#[test]
fn scales_are_powers_of_two_for_one_operand_for_layers_or_everywhere() {
    let is_power = |scale: f32| scale.to_bits().trailing_zeros() >= 23;
    let folder = tempfile::tempdir().unwrap();
    let scale = |rules: &str| {
        let compiled = compiled(folder.path(), rules).unwrap();
        let found = inspect::quantization(&compiled.folder, None).unwrap();
        let configs = found.layers.into_iter().flat_map(|layer| {
            let name = layer.name;
            layer.configs.into_iter().map(move |config| (name.clone(), config))
        });
        // The scales of biases and sums follow from others.
        let own = configs.filter(|(_, config)| !config.scale.is_empty() && config.port != "operand 2");
        own.map(|(name, config)| (name, config.port, config.scale.into_iter().all(is_power)))
            .collect::<Vec<_>>()
    };
    let of_one = scale("{ layers = ['/block/Add'], operands = [1], activations = { scale = 'power_of_two' } }");
    let powers: Vec<_> = of_one.iter().filter(|(.., power)| *power).collect();
    assert!(
        powers.len() == 1 && powers[0].0 == "/block/Add" && powers[0].1 == "operand 1",
        "{powers:?}"
    );
    let of_weights = scale("{ op = ['Conv', 'Gemm'], weights = { scale = 'power_of_two' } }");
    let powers = of_weights.iter().filter(|(.., power)| *power);
    assert!(powers.clone().count() == 5 && powers.clone().all(|(_, port, _)| port == "operand 1"));
    let all = "{ layers = ['**'], activations = { scale = 'power_of_two' }, weights = { scale = 'power_of_two' } }";
    assert!(scale(all).iter().all(|(.., power)| *power));
}

#[test]
fn a_result_of_a_layer_is_the_tensor_that_it_makes() {
    let folder = tempfile::tempdir().unwrap();
    let made = |rule: &str| {
        let compiled = compiled(folder.path(), rule).unwrap();
        let result = grid(&compiled, "/block/pointwise/Conv", "result 0");
        (result, requantized(&compiled))
    };
    let by_position = made("{ layers = ['/block/norm2/BatchNormalization'], results = [0], range = [-1, 1] }");
    let by_name = made("{ tensors = ['/block/norm2/BatchNormalization_output_0'], range = [-1, 1] }");
    assert_eq!(by_position, by_name);
    assert_eq!(by_position.0.0, "rule");
    // The normalization was folded into the convolution, which therefore has no result of its own.
    let told = told("{ layers = ['/block/pointwise/Conv'], results = [0], range = [-1, 1] }");
    assert!(
        told.contains("it has gone into `/block/norm2/BatchNormalization`"),
        "{told}"
    );
}

#[test]
fn a_rule_for_many_layers_serves_those_that_have_a_use_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for rules in [
        "{ layers = ['**'], weights = { type = 'int4', symmetric = true, observer = 'mse' } }",
        "{ layers = ['**'], alignment = 'output' }",
        "{ op = ['Add'], weights = { type = 'int4' }, optional = true }",
        "{ op = ['Conv'], observer = 'percentile' }, { layers = ['**'], observer_options = { percentile = 99 } }",
    ] {
        let compiled = compiled(folder.path(), rules);
        assert!(compiled.is_ok(), "{rules}: {:?}", compiled.err());
    }
}

#[test]
fn an_observer_of_what_is_clipped_looks_at_what_is_left_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let plain = compiled(folder.path(), "").unwrap();
    let relu = ("/stem/act/Relu", "result 0");
    let (origin, scale, zero, codes) = grid(&plain, relu.0, relu.1);
    assert_eq!(origin, "observed");
    for rules in [
        "{ layers = ['/stem/norm/BatchNormalization'], observer = 'minmax' }",
        "{ op = ['Conv', 'Relu'], observer = 'minmax' }",
    ] {
        let observed = compiled(folder.path(), rules).unwrap();
        let expected = ("rule".to_owned(), scale, zero, codes.clone());
        assert_eq!(grid(&observed, relu.0, relu.1), expected, "{rules}");
    }
}

#[test]
fn codes_without_a_sign_or_a_zero_point_are_not_made_of_negative_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "{ layers = ['/block/pointwise/Conv'], activations = { type = 'uint8', symmetric = true } }";
    let compiled = compiled(folder.path(), rule).unwrap();
    let layers = compiled.report.layers.iter();
    let mut found = layers.filter(|layer| layer.name == "/block/pointwise/Conv");
    let host = found.find_map(|layer| layer.host.as_ref()).unwrap();
    assert!(host.code == "range" && host.text.contains("goes below 0"), "{host:?}");
}

#[test]
fn what_cannot_be_said_of_an_operand_is_refused_with_what_can() {
    for (rule, expected) in [
        (
            "{ layers = ['/block/Add'], operands = [2], range = [0, 1] }",
            ["`/block/Add` has no operand 2", "it has 2, 0 to 1"],
        ),
        (
            "{ layers = ['/stem/conv/Conv'], operands = [1], range = [0, 1] }",
            [
                "operand 1 of `/stem/conv/Conv` holds its weights",
                "`weights` in a rule without `operands`",
            ],
        ),
        (
            "{ op = ['Conv'], operands = [2], activations = { type = 'int16' } }",
            [
                "operand 2 of `/stem/conv/Conv` is its bias",
                "follows from operand and weights",
            ],
        ),
        (
            "{ op = ['Convv'], operands = [0], range = [0, 1] }",
            ["no layer has an operator `Convv`", "near it is `conv`"],
        ),
        (
            "{ layers = ['/block/Add'], operands = [0], activations = { type = 'uint16' } }",
            [
                "has no uint16 activations for `/block/Add`",
                "int8 with int8, int16 with int8",
            ],
        ),
        (
            "{ layers = ['/block/Add'], operands = [0], activations = { type = 'float32' } }",
            ["an operand has codes of some type", "float32 is for `layers` and `op`"],
        ),
        (
            "{ layers = ['/block/Add'], operands = [0], activations = { type = 'int16' } }, \
             { layers = ['/block/Add'], operands = [1], activations = { type = 'int8' } }",
            [
                "`/block/Add` computes on one type",
                "its operand 0 and operand 1 are to have two",
            ],
        ),
        (
            "{ layers = ['/classifier/Gemm'], results = [0], activations = { type = 'uint8' } }",
            [
                "computes on int8 on the target `generic-int8`, and leaves no uint8 results",
                "that it leaves then: int8",
            ],
        ),
        (
            "{ layers = ['/block/Add'], operands = [0], activations = { symmetric = false, type = 'int16' } }",
            [
                "the zero points of int16 activations are 0 in the target `generic-int8`",
                "choose a type of activations",
            ],
        ),
        (
            "{ tensors = ['image'], activations = { type = 'uint16' } }",
            ["has no uint16 activations for `image`", "int8 with int8"],
        ),
        (
            "{ op = ['Conv'], activations = { type = 'uint8' } }, { op = ['Conv'], weights = { per = 'channel' } }",
            [
                "has no scales by channel of uint8 weights for `/stem/conv/Conv`",
                "it has \"tensor\"",
            ],
        ),
        (
            "{ op = ['Conv'], run = 'integer' }, { op = ['Conv'], activations = { type = 'float32' } }",
            [
                "`/stem/conv/Conv` is to run in integers, and to compute on activations of float32",
                "leave `run` out",
            ],
        ),
        (
            "{ layers = ['/block/Add'], weights = { type = 'int4' } }",
            [
                "nothing that the rule chooses has weights",
                "weights = { type = 'int4' }",
            ],
        ),
        (
            "{ op = ['Conv', 'MaxPool'], alignment = 'none' }",
            [
                "nothing that the rule chooses has grids that it could share",
                "choose others",
            ],
        ),
        (
            "{ op = ['Conv'], run = 'float', activations = { symmetric = true } }",
            [
                "nothing that the rule chooses is computed on codes by the target",
                "symmetric = true",
            ],
        ),
        (
            "{ layers = ['**'], run = 'float' }, { layers = ['/classifier/Gemm'], range = [-1, 1] }",
            ["nothing that the rule chooses has codes on the target", "leave it out"],
        ),
        (
            "{ layers = ['**'], run = 'float' }, { layers = ['/block/Add'], operands = [0], observer = 'mse' }",
            [
                "nothing that the rule chooses has codes on the target",
                "observer = 'mse'",
            ],
        ),
        (
            "{ op = ['Conv'], observer_options = { percentile = 99 } }",
            [
                "needs the observer \"percentile\" or \"ifmr\", and another one is used",
                "set the observer",
            ],
        ),
        (
            "{ tensors = ['/pool/MaxPool_output_0'], activations = { type = 'uint16' } }",
            ["has no uint16 activations for `/pool/MaxPool`", "int8 with int8"],
        ),
    ] {
        let told = told(rule);
        assert!(expected.iter().all(|words| told.contains(words)), "{rule}: {told}");
    }
}

#[test]
fn the_report_says_what_each_rule_and_each_key_for_all_layers_came_to() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "{ layers = ['/block/**'], activations = { type = 'int16' }, reason = 'why' }, \
                 { layers = ['/block/Add'], activations = { type = 'int8' }, run = 'integer' }, \
                 { tensors = ['/pool/MaxPool_output_0'], observer = 'mse' }, \
                 { layers = ['/nothing'], weights = { observer = 'mse' }, optional = true }";
    let of_all = Override::set("quantize.weights.type='int4'");
    let report = compiled_with(folder.path(), rules, [of_all]).unwrap().report;
    let keys = |index: usize| -> Vec<_> {
        let keys = report.rules[index].keys.iter();
        keys.map(|key| {
            (
                key.key.as_str(),
                key.value.as_str().unwrap_or_default(),
                key.of,
                key.otherwise.len(),
            )
        })
        .collect()
    };
    let block = report.rules[0].layers.len();
    assert_eq!(keys(0), [("activations.type", "int16", block, 1)]);
    let other = &report.rules[0].keys[0].otherwise[0];
    assert_eq!(
        (&*other.name, other.has.as_deref(), &*other.by),
        ("/block/Add", Some("int8"), "rule 2")
    );
    assert_eq!(keys(1), [("run", "integer", 1, 0), ("activations.type", "int8", 1, 0)]);
    assert_eq!(keys(2), [("observer", "mse", 1, 0)]);
    assert_eq!(keys(3), [("weights.observer", "mse", 0, 0)]);
    // There are no int4 weights for int16: the target's pair decides.
    let of_all = &report.quantize[0];
    let given_way: Vec<_> = of_all
        .otherwise
        .iter()
        .map(|other| (&*other.name, other.has.as_deref(), &*other.by))
        .collect();
    assert_eq!((&*of_all.key, report.quantize.len()), ("weights.type", 1));
    assert!(
        given_way.contains(&("/block/pointwise/Conv", Some("int8"), "target")),
        "{given_way:?}"
    );
    assert!(
        !given_way.iter().any(|other| other.0 == "/stem/conv/Conv"),
        "{given_way:?}"
    );
    let text = Details(&report).to_string();
    for line in [
        format!(
            "rule 1 (why): {block} layers; activations.type = \"int16\" in {} of {block} (1 by rule 2)\n",
            block - 1
        ),
        "rule 3: 1 tensor; observer = \"mse\" in 1\n".to_owned(),
        "rule 4: nothing; ".to_owned(),
        format!(
            "[quantize]: weights.type = \"int4\" in {} of {}",
            of_all.of - given_way.len(),
            of_all.of
        ),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
}

/// Number of kept files of statistics after compiling with this `[rewrite]` in the same folder.
fn observed(folder: &Path, rewrite: &str) -> (usize, Compiled) {
    let compiled = compiled_with(folder, "", [Override::set(format!("rewrite={rewrite}"))]).unwrap();
    let files = std::fs::read_dir(folder.join("cache")).unwrap();
    let of_statistics = files.filter(|file| {
        let path = file.as_ref().unwrap().path();
        path.extension().is_some_and(|extension| extension == "statistics")
    });
    (of_statistics.count(), compiled)
}

#[test]
fn without_fusions_other_values_are_observed_and_layers_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let folds = |compiled: &Compiled| {
        let rewrites = &compiled.report.rewrites;
        let found = rewrites
            .iter()
            .find(|rewrite| rewrite.rule == "batch-normalization-into-producer");
        found.map(|rewrite| (rewrite.matched, rewrite.applied))
    };
    let (one, all) = observed(folder.path(), "{}");
    let (same, _) = observed(folder.path(), "{ do_fusion = true }");
    let (two, none) = observed(folder.path(), "{ do_fusion = false }");
    let (three, some) = observed(folder.path(), "{ skip_fusion_layers = ['/stem/conv/Conv'] }");
    assert!(
        one == same && same < two && two < three,
        "{:?}",
        [one, same, two, three]
    );
    assert_eq!([&all, &none, &some].map(folds), [Some((4, 4)), None, Some((4, 3))]);
}

#[test]
fn a_rule_or_a_layer_that_there_is_not_is_told_with_the_nearest() {
    for (rewrite, parts) in [
        (
            "{ off = ['bias-into-produce'] }",
            ["no rule `bias-into-produce`", "did you mean `bias-into-producer`?"],
        ),
        (
            "{ skip_fusion_layers = ['/stem/conv'] }",
            ["`/stem/conv` matches nothing", "`/stem/conv/Conv`"],
        ),
        ("{ switch_file = 'absent.cfg' }", ["absent.cfg", "switch_file"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let told = match compiled_with(folder.path(), "", [Override::set(format!("rewrite={rewrite}"))]) {
            Err(Stop::Found(findings)) => findings.to_string(),
            other => panic!("{rewrite}: {:?}", other.map(|compiled| compiled.target)),
        };
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
}
