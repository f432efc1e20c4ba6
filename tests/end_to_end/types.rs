//! Tests the types that configurations choose.

use super::*;

/// Percentage of the samples on which float and integer model agree.
fn agreed(report: &strait_driver::report::Report) -> f64 {
    let accuracy = report.accuracy.as_ref().unwrap();
    accuracy.of("agreement").unwrap().integer.unwrap().value
}

#[test]
fn types_are_chosen_for_all_layers_or_by_rules_and_lose_little() {
    let agreement_for = |target: &str, assignments: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::new(folder.path());
        let setting = (assignments.iter()).fold(setting, |setting, assignment| setting.set(*assignment));
        let compiled = setting.compile(target).unwrap();
        let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
        let graph = opened.module().main();
        let read = |node: &strait_core::Node| graph.value(node.inputs[0]?).map(|value| value.ty.elem);
        let products = graph
            .nodes()
            .filter(|(_, node)| matches!(node.op, Op::Conv(_) | Op::Gemm(_)));
        let wide = products.filter(|(_, node)| read(node) == Some(Elem::I16)).count();
        (wide, agreed(&compiled.report))
    };
    let agreement = |assignments: &[&str]| agreement_for("generic-int8", assignments);
    let (wide, of_16) = agreement_for("sima", &["quantize.activations.type='int16'"]);
    assert!(
        wide == 5 && of_16 > 99.0,
        "{wide} products of sima on 16 bits, {of_16} %"
    );
    let (wide, of_16) = agreement(&["quantize.activations.type='int16'"]);
    assert!(wide == 5 && of_16 > 99.5, "{wide} products on 16 bits, {of_16} %");
    let (wide, mixed) = agreement(&["quantize.rule=[{ op = ['Gemm'], activations = { type = 'int16' } }]"]);
    assert!(wide == 1 && mixed > 99.0, "{wide} products on 16 bits, {mixed} %");
    let (wide, of_4) = agreement(&["quantize.weights.type='int4'"]);
    assert!(wide == 0 && of_4 > 95.0, "{wide} products on 16 bits, {of_4} %");
}

#[test]
fn weight_only_costs_next_to_nothing() {
    // For each target and weight type: the number of products on the accelerator, the least agreement, and how many
    // times smaller the artifact's tensors must be than the float model's. Ascend takes no product with 4-bit weights
    // if it has groups or an odd number of channels.
    for (target, weight, count, agreement, smaller) in [
        ("generic-int8", "int8", 5, 99.5, 3.5),
        ("generic-int8", "int4", 5, 95.0, 7.0),
        ("ascend", "int8", 5, 99.5, 3.5),
        ("ascend", "int4", 3, 95.0, 7.0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::new(folder.path()).set("quantize.activations.type='float32'");
        let compiled = setting
            .set(format!("quantize.weights.type='{weight}'"))
            .compile(target)
            .unwrap();
        let case = format!("{target} {weight}");
        assert_eq!(Artifact::open(&compiled.folder).unwrap().check().unwrap(), [], "{case}");
        let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
        let nodes = opened.module().main().nodes();
        let on_accelerator = |node: &strait_core::Node| node.place == Placement::Accelerator;
        let products = nodes.filter(|(_, node)| matches!(node.op, Op::Conv(_) | Op::Gemm(_)));
        assert_eq!(
            products.filter(|(_, node)| on_accelerator(node)).count(),
            count,
            "{case}"
        );
        let codes = compiled.report.layers.iter().filter(|layer| layer.op == "dequantize");
        let rows: Vec<&str> = codes.flat_map(|layer| &layer.rests_on).map(String::as_str).collect();
        assert!(
            rows.len() == count && rows.iter().all(|row| row.starts_with("op weights")),
            "{case}: {rows:?}"
        );
        let summary = &compiled.report.summary;
        assert_eq!((summary.accelerator, summary.conversions), (count, 0), "{case}");
        let found = agreed(&compiled.report);
        let size = fs::metadata(compiled.folder.join("model.strait")).unwrap().len();
        let tensors = &compiled.report.size;
        let ratio = tensors.float_bytes as f64 / tensors.integer_bytes as f64;
        println!("{case}: {found} % agree; model.strait has {size} bytes; tensors: {tensors:?}, 1/{ratio:.2}");
        assert!(
            found >= agreement && ratio >= smaller,
            "{case}: {found} %, 1/{ratio:.2}"
        );
    }
}

#[test]
fn weights_that_alone_have_codes_have_scales_by_block_where_they_are_whole_blocks() {
    let compile = |block: &str| {
        let folder = tempfile::tempdir().unwrap();
        let setting = ["quantize.activations.type='float32'", "quantize.weights.type='int4'"];
        let setting = setting
            .into_iter()
            .chain(block.split(' ').filter(|set| !set.is_empty()));
        let setting = setting.fold(Setting::new(folder.path()), Setting::set);
        let compiled = setting.compile("generic-int8").unwrap();
        assert_eq!(Artifact::open(&compiled.folder).unwrap().check().unwrap(), []);
        let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
        let graph = opened.module().main();
        let grids = graph.values().filter_map(|(_, value)| value.quant.as_deref());
        let blocks = grids.filter_map(|grid| Some((grid.block?.get(), grid.scale.channels()?)));
        (blocks.collect::<Vec<_>>(), agreed(&compiled.report))
    };
    let (none, by_channel) = compile("");
    let (blocks, by_block) = compile("quantize.weights.per='block' quantize.weights.block=16");
    println!("{by_channel} % by channel, {by_block} % by block: {blocks:?}");
    assert!(none.is_empty() && blocks.len() > 1, "{blocks:?}");
    assert!(
        blocks.iter().all(|&(size, scales)| size == 16 && scales > 1),
        "{blocks:?}"
    );
    assert!(
        by_block >= by_channel,
        "{by_channel} % by channel, {by_block} % by block"
    );
}

#[test]
fn a_rule_says_what_scales_of_weights_are_for_then_the_configuration_then_the_row() {
    let scales = |target: &str, sets: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let setting = sets
            .iter()
            .fold(Setting::new(folder.path()), |setting, set| setting.set(*set));
        let compiled = setting.compile(target).unwrap();
        let found = strait_driver::inspect::quantization(&compiled.folder, None).unwrap();
        let by_channel = |layer: &strait_container::QuantizedLayer| {
            let weights = layer.configs.iter().find(|config| config.port == "operand 1")?;
            Some((layer.op.clone(), weights.scale.len() > 1))
        };
        let layers = found
            .layers
            .iter()
            .filter(|layer| matches!(&*layer.op, "conv" | "gemm"));
        layers.filter_map(by_channel).collect::<BTreeSet<_>>()
    };
    let expected = |conv: bool, gemm: bool| [("conv".to_owned(), conv), ("gemm".to_owned(), gemm)].into();
    let (tensor, channel) = ("quantize.weights.per='tensor'", "quantize.weights.per='channel'");
    let rule = "quantize.rule=[{ op = ['Gemm'], weights = { per = 'channel' } }]";
    // The row of generic-int8's Gemm prefers scales per channel; Ascend's only takes one for the tensor.
    assert_eq!(scales("generic-int8", &[]), expected(true, true));
    assert_eq!(scales("generic-int8", &[tensor]), expected(false, false));
    assert_eq!(scales("generic-int8", &[tensor, rule]), expected(false, true));
    assert_eq!(scales("ascend", &[channel]), expected(true, false));
}

#[test]
fn scales_by_block_are_refused_of_codes_and_in_sizes_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |target: &str, sets: &[&str]| {
        let setting = Setting::new(folder.path());
        let setting = sets.iter().fold(setting, |setting, set| setting.set(*set));
        match setting.compile(target) {
            Err(Stop::Found(findings)) => findings.to_string(),
            other => panic!("{:?}", other.map(|compiled| compiled.target)),
        }
    };
    let (reals, by_block) = ("quantize.activations.type='float32'", "quantize.weights.per='block'");
    for (target, sets, told) in [
        (
            "generic-int8",
            &[by_block][..],
            "scales by block are for weight-only layers: no layer computes on real numbers",
        ),
        (
            "generic-int8",
            &["quantize.rule=[{ op=['Gemm'], weights={ per='block' } }]"],
            "scales by block are for weight-only layers: `",
        ),
        (
            "generic-int8",
            &[reals, by_block, "quantize.weights.block=48"],
            "the target `generic-int8` has no blocks of 48 int8 weights",
        ),
        (
            "generic-int8",
            &[
                reals,
                "quantize.rule=[{ op=['Conv'], weights={ per='block', block=128 } }]",
            ],
            "inputs, which are no whole blocks of 128",
        ),
        (
            "ascend",
            &[reals, by_block, "quantize.weights.type='int4'"],
            "the target `ascend` has no scales by block of int4 weights",
        ),
    ] {
        let found = refused(target, sets);
        assert!(found.contains(told), "{target} {sets:?}: {found}");
    }
}

#[test]
fn a_layer_that_runs_in_float_keeps_codes_of_weights_where_a_rule_asks_for_both() {
    let products = |rules: &str| {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::new(folder.path()).set(format!("quantize.rule=[{rules}]"));
        let compiled = setting.compile("generic-int8").unwrap();
        assert_eq!(
            Artifact::open(&compiled.folder).unwrap().check().unwrap(),
            [],
            "{rules}"
        );
        let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
        let (module, graph) = (opened.module(), opened.module().main());
        let products = graph.nodes().filter(|(_, node)| matches!(node.op, Op::Gemm(_)));
        let codes = products.map(|(_, node)| {
            assert_ne!(node.place, Placement::Accelerator, "{rules}");
            let (_, made) = graph.producer(node.inputs[1]?)?;
            assert!(matches!(made.op, Op::Dequantize(_)), "{rules}");
            Some(module.constant(graph, made.inputs[0]?)?.elem())
        });
        let codes: Vec<Option<Elem>> = codes.collect();
        let agreement = agreed(&compiled.report);
        assert!(agreement > 95.0, "{rules}: {agreement} %");
        codes
    };
    let [float, int8, int4] = [
        "{ op = ['Gemm'], run = 'float' }",
        "{ op = ['Gemm'], weights = { type = 'int8' } }",
        "{ op = ['Gemm'], run = 'float', weights = { type = 'int4' } }",
    ];
    assert_eq!(products(int4), [Some(Elem::I4)]);
    assert_eq!(products(&format!("{float}, {int8}")), [Some(Elem::I8)]);
    // What was set for a layer in integers does not apply to a layer in float.
    assert_eq!(products(&format!("{int8}, {float}")), [None]);
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(folder.path()).set(format!("quantize.rule=[{int4}]"));
    let Err(Stop::Found(told)) = setting.compile("sima") else {
        panic!("sima has no such pair");
    };
    let told = told.to_string();
    assert!(
        told.contains("the target `sima` has no float32 activations for `"),
        "{told}"
    );
    assert!(told.contains("int8 with int8, int16 with int8"), "{told}");
}

#[test]
fn weights_with_a_zero_point_are_chosen_by_their_type_verify_and_lose_little() {
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(folder.path());
    let setting = setting
        .set("quantize.activations.type='uint8'")
        .set("quantize.weights.type='uint8'");
    let compiled = setting.compile("generic-int8").unwrap();
    let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
    let graph = opened.module().main();
    let zeros: Vec<i32> = graph
        .nodes()
        .filter_map(|(_, node)| Some(node.op.weight_zero()?.of(0)))
        .collect();
    // The digits model has five products, whose weights have both signs.
    assert!(
        zeros.len() == 5 && zeros.iter().all(|zero| (1..255).contains(zero)),
        "{zeros:?}"
    );
    let agreement = agreed(&compiled.report);
    assert!(agreement > 95.0, "{agreement} %");
    let threads = strait_execute::Threads::one();
    let (module, certificates) = (opened.module(), &opened.model.certificates);
    let report =
        strait_verify::verify_module(module, certificates, &strait_verify::VerifyOptions::new(&threads)).unwrap();
    assert!(report.is_sound() && report.exact > 0, "{:?}", report.findings);
}

#[test]
fn a_type_that_the_table_does_not_have_is_told_with_those_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |target: &str, assignment: &str| match Setting::new(folder.path()).set(assignment).compile(target) {
        Err(Stop::Found(findings)) => findings.to_string(),
        other => panic!("{:?}", other.map(|compiled| compiled.target)),
    };
    let told = refused("sima", "quantize.activations.type='uint16'");
    assert!(told.contains("the target `sima` has no uint16 activations"), "{told}");
    assert!(told.contains("int8 with int8, int16 with int8"), "{told}");
    let rule = "quantize.rule=[{ op = ['Conv'], weights = { type = 'int16' } }]";
    let told = refused("generic-int8", rule);
    assert!(
        told.contains("the target `generic-int8` has no int16 weights for `"),
        "{told}"
    );
    assert!(
        told.contains(
            "int8 with int8, int16 with int8, int8 with int4, uint8 with uint8, float32 with int8, float32 with int4"
        ),
        "{told}"
    );
    let told = refused("sima", "quantize.activations.type='float32'");
    assert!(told.contains("the target `sima` has no float32 activations"), "{told}");
    let rule = "quantize.rule=[{ op = ['Relu'], activations = { type = 'float32' } }]";
    let told = refused("generic-int8", rule);
    assert!(
        told.contains("the target `generic-int8` has no float32 activations for `"),
        "{told}"
    );
    let told = refused("sima", "quantize.weights.scale='power_of_two'");
    assert!(
        told.contains("`sima` makes the scales of weights from those of activations"),
        "{told}"
    );
    // Each of the two rules asks for a type that exists, but there is no pair of both.
    let rules = "quantize.rule=[{ layers = ['/head/conv/Conv'], activations = { type = 'int16' } }, \
                 { op = ['Conv'], weights = { type = 'int4' } }]";
    let told = refused("generic-int8", rules);
    assert!(
        told.contains("has no int16 activations with int4 weights for `/head/conv/Conv`")
            && told.contains("the activations are those of `quantize.rule[0].activations.type`"),
        "{told}"
    );
    for (activation, weight) in [("int16", "int4"), ("uint8", "int8"), ("float32", "uint8")] {
        let types =
            format!("quantize={{ activations = {{ type = '{activation}' }}, weights = {{ type = '{weight}' }} }}");
        let told = refused("generic-int8", &types);
        let expected = format!("the target `generic-int8` has no {activation} activations with {weight} weights");
        assert!(told.contains(&expected), "{told}");
    }
    let per = "quantize={ activations = { type = 'uint8' }, weights = { per = 'channel' } }";
    let told = refused("generic-int8", per);
    assert!(told.contains("has no scales by channel of uint8 weights"), "{told}");
    // For an operand of codes, its weights have 8 bits.
    let told = refused(
        "ascend",
        "quantize.rule=[{ op = ['Conv'], weights = { type = 'int4' } }]",
    );
    assert!(told.contains("the target `ascend` has no int4 weights for `"), "{told}");
    assert!(
        told.contains("int8 with int8, float32 with int8, float32 with int4"),
        "{told}"
    );
    let told = refused(
        "generic-int8",
        "quantize.rule=[{ tensors = ['*'], activations = { type = 'float32' } }]",
    );
    assert!(told.contains("float32 is for `layers` and `op`"), "{told}");
}
