//! Tests scales, zero points and codes that are given: annotation, simulation, quantization of parameters and lowering
//! keep them as they are. A node that would need another scale says so.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use strait_builtin as _;
use strait_core::text::random::SplitMix64;
use strait_core::text::{PrintOptions, parse, print};
use strait_core::verifier::verify;
use strait_core::{
    CodesOrigin, DataId, Elem, Module, NodeId, Origin, ParameterCodes, Placement, Port, QuantParams, QuantTable,
    ReasonCode,
};
use strait_driver::config::{self, Override};
use strait_driver::session::{Session, Silent};
use strait_driver::{pipeline, targets};
use strait_kernels::Context;
use strait_lower::{Baked, FusionPolicy, LowerError, Parameters, Signs, bake, lower, simulate};
use strait_quantize::annotate::{Fixpoint, Given, RangeFrom, place, refuse};
use strait_quantize::statistics::{Kind, Record};
use strait_quantize::{Annotation, Observation, Statistics, annotate};
use strait_target::spec::{Alignment, Alignments};
use strait_tests::integer::{InMemory, integer_under};
use strait_tests::numeric::inputs;
use strait_tests::passes::{plain, target};
use strait_tests::random_graph::{observation, random_graph};

type Givens = BTreeMap<(NodeId, Port), Given>;

fn text(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

/// Everything that a table states, as if it had come with the model.
fn all_of(table: &QuantTable) -> Givens {
    // What is at inputs and outputs follows from these.
    let inside = table.iter().filter(|(_, config)| !config.port.is_border());
    let given = inside.filter_map(|(id, config)| {
        let given = Given {
            elem: config.scheme.elem()?,
            params: table.params(id)?,
            codes: table.codes(id).map(|codes| codes.data),
        };
        Some(((config.node, config.port), given))
    });
    given.collect()
}

#[test]
fn a_model_that_comes_with_all_grids_and_codes_becomes_the_same_integers_without_statistics() {
    let mut parameters = 0;
    for seed in 0..12u64 {
        let float = parse(&random_graph(seed, 20)).unwrap();
        let samples = InMemory((0..2).map(|at| inputs(&float, 1000 * seed + at, 1.0)).collect());
        for name in ["generic-int8", "sima", "ascend"] {
            let target = target(name).unwrap();
            let (spec, case) = (target.spec(), format!("seed {seed} for {name}"));
            let first = integer_under(FusionPolicy::Exact, &float, name, &samples)
                .unwrap()
                .annotated;
            let mut second = first.clone();
            second.main_mut().quant = QuantTable::default();
            let (settings, mut constraints, observation) = plain(spec);
            constraints.given = all_of(&first.main().quant);
            let how = Annotation::new(spec, &observation, &settings, &constraints);
            let main = second.main;
            annotate(&mut second, main, &how, &mut Fixpoint::default()).unwrap();
            bake(&mut second, spec, &mut Baked::default()).unwrap();
            verify(&second).unwrap_or_else(|error| panic!("{case}: {error}"));
            let table = &second.main().quant;
            for (id, config) in table.iter() {
                if config.port.is_border() {
                    let before = first.main().quant.params_of(config.node, config.port);
                    // Scales that happen to be equal are shared once they are given.
                    assert!(before.is_none() || table.params(id) == before, "{case}");
                    continue;
                }
                let given = &constraints.given[&(config.node, config.port)];
                assert_eq!(table.params(id), Some(given.params.clone()), "{case}");
                let codes = given.codes.map(|data| ParameterCodes {
                    data,
                    origin: CodesOrigin::Given,
                });
                assert_eq!(table.codes(id), codes, "{case}");
                assert_eq!(table.baked(config.node, config.port), given.codes, "{case}");
                parameters += usize::from(codes.is_some());
            }
            let of = |module: &Module| lower(module, spec).unwrap().module;
            assert_eq!(text(&of(&first)), text(&of(&second)), "{case}");
            let of = |module: &Module| simulate(module, Some(spec), Parameters::Codes(Signs::Own)).unwrap();
            assert_eq!(text(&of(&first)), text(&of(&second)), "{case}");
        }
    }
    assert!(parameters > 100, "{parameters}");
}

#[test]
fn what_is_given_stays_through_alignments_refusals_and_turns() {
    let words = Alignment::ALL;
    let (mut kept, mut refused) = (0, 0);
    for seed in 0..24u64 {
        let float = parse(&random_graph(seed, 30)).unwrap();
        let mut random = SplitMix64::new(seed);
        let observation = observation(&float, &mut random);
        for name in ["generic-int8", "sima", "ascend"] {
            let target = target(name).unwrap();
            let (spec, case) = (target.spec(), format!("seed {seed} for {name}"));
            let (mut module, main) = (float.clone(), float.main);
            let (mut settings, mut constraints, _) = plain(spec);
            let mut word = || words[(random.next_u64() >> 8) as usize % words.len()];
            settings.default.alignments = Alignments {
                activation: spec.passes.alignment.activation,
                elementwise: word(),
                concat: word(),
                pooling: word(),
                resize: word(),
                passive: word(),
                simplify: seed % 4 != 0,
                force_overlap: seed % 3 == 0,
            };
            // Every fourth scale, two or four times as large as it would be.
            let all = {
                let how = Annotation::new(spec, &observation, &settings, &constraints);
                place(&mut module, main, &how);
                let mut free = module.clone();
                annotate(&mut free, main, &how, &mut Fixpoint::default()).unwrap();
                all_of(&free.main().quant).into_iter()
            };
            let some = all.filter_map(|(place, given)| {
                let (scale, zero) = given.params.as_tensor()?;
                let factor = if random.next_u64() & 256 == 0 { 2.0 } else { 4.0 };
                let params = QuantParams::tensor(factor * scale, zero).into();
                (random.next_u64() >> 8)
                    .is_multiple_of(4)
                    .then_some((place, Given { params, ..given }))
            });
            constraints.given = some.collect();
            let how = Annotation::new(spec, &observation, &settings, &constraints);
            let (mut fixpoint, mut baked) = (Fixpoint::default(), Baked::default());
            loop {
                annotate(&mut module, main, &how, &mut fixpoint).unwrap_or_else(|error| panic!("{case}: {error}"));
                let mut again = module.clone();
                annotate(&mut again, main, &how, &mut Fixpoint::default()).unwrap();
                assert_eq!(text(&module), text(&again), "{case}");
                let lowered = bake(&mut module, spec, &mut baked).and_then(|()| lower(&module, spec));
                verify(&module).unwrap_or_else(|error| panic!("{case}: {error}"));
                let nodes = match lowered {
                    Ok(_) => break,
                    Err(LowerError::Nodes(nodes)) => nodes,
                    Err(error) => panic!("{case}: {error}"),
                };
                assert!(refuse(module.main_mut(), &how, &mut fixpoint, nodes));
            }
            let (graph, table) = (module.main(), &module.main().quant);
            for (&(id, port), given) in &constraints.given {
                match &graph.node(id).unwrap().place {
                    Placement::Host(reason) => refused += usize::from(reason.code == ReasonCode::GivenGrid),
                    Placement::Accelerator => {
                        let Some(config) = table.id(id, port) else { continue };
                        assert_eq!(
                            table.params(config),
                            Some(given.params.clone()),
                            "{port} of {id}: {case}"
                        );
                        let bias = table.derivation(config).is_some();
                        assert!(bias || table.grid(config).unwrap().origin == Origin::Given, "{case}");
                        kept += 1;
                    }
                }
            }
        }
    }
    println!("{kept} grids stay, {refused} of nodes that were refused for their sake");
    assert!(kept > 300 && refused > 20, "{kept}, {refused}");
}

/// The reasons why nodes of a graph run on the host when these scales are given, by the nodes' names.
fn reasons(lines: &str, target_name: &str, given: &[(&str, Port, Given)], range: Option<[f32; 2]>) -> String {
    let text = format!(
        "strait 1 float\ngraph @main(%x: f32[1,2]) {{\n{lines}}}\n\
         data @w: f32[2,2] = splat 1.0\ndata @b: f32[2] = splat 0.5\ndata @codes: i32[2] = splat 7\n\
         data @bytes: i8[2,2] = splat 5\ndata @long: f32[2,4] = splat 1.0\n"
    );
    let mut module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let target = target(target_name).unwrap();
    let (spec, main) = (target.spec(), module.main);
    let mut observation = Observation::default();
    for (_, value) in module.main().values() {
        let mut statistics = Statistics::default();
        statistics.add(0, &[-1.0, 0.25, 1.0]);
        observation.insert(Kind::Elements, module.name(value.name), Record::Statistics(statistics));
    }
    let (mut settings, mut constraints, _) = plain(spec);
    let node = |name: &str| {
        let mut nodes = module.main().nodes();
        nodes.find(|(_, node)| module.name(node.name) == name).unwrap()
    };
    constraints.given = given
        .iter()
        .map(|(name, port, given)| ((node(name).0, *port), given.clone()))
        .collect();
    if let (Some(range), Some((name, ..))) = (range, given.first()) {
        settings.values.entry(node(name).1.outputs[0]).or_default().range = Some(RangeFrom::Rule(range));
    }
    let how = Annotation::new(spec, &observation, &settings, &constraints);
    place(&mut module, main, &how);
    annotate(&mut module, main, &how, &mut Fixpoint::default()).unwrap();
    let told = module.main().nodes().filter_map(|(_, node)| match &node.place {
        Placement::Host(reason) => Some(format!("{}: {reason}", module.name(node.name))),
        Placement::Accelerator => None,
    });
    told.collect::<Vec<_>>().join("\n")
}

fn tensor(elem: Elem, scale: f32, zero: i32) -> Given {
    Given {
        elem,
        params: QuantParams::tensor(scale, zero).into(),
        codes: None,
    }
}

#[test]
fn who_needs_another_grid_is_refused_and_says_so() {
    let gemm = "  %y: f32[1,2] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}\n  return %y\n";
    let two = "  %y: f32[1,2] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}\n\
               \x20 %z: f32[1,4] = concat(%x, %y) {axis=1}\n\
               \x20 %v: f32[1,2] = gemm(%z, @long) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}\n  return %v\n";
    let (operand, result) = (Port::Operand, Port::Result);
    let int8 = |scale| tensor(Elem::I8, scale, 0);
    let with_codes = |given: Given, at: usize| Given {
        codes: Some(DataId::new(at)),
        ..given
    };
    for (lines, target, given, range, told) in [
        (gemm, "generic-int8", vec![("y", result(0), int8(0.5))], None, ""),
        (
            gemm,
            "generic-int8",
            vec![("y", result(0), tensor(Elem::I16, 0.5, 0))],
            None,
            "is given in i16",
        ),
        (
            gemm,
            "generic-int8",
            vec![("y", result(0), tensor(Elem::I8, 0.5, 200))],
            None,
            "the grid that is given has a zero point outside of the type",
        ),
        (
            gemm,
            "generic-int8",
            vec![("y", result(0), int8(0.5))],
            Some([0.0, 3.0]),
            "result 0 has a range by a rule, and its grid is given",
        ),
        (
            two,
            "generic-int8",
            vec![("z", operand(0), int8(0.5)), ("z", operand(1), int8(0.25))],
            None,
            "has to share a grid with another port of its node, and both are given",
        ),
        (
            gemm,
            "generic-int8",
            vec![("y", operand(0), with_codes(int8(0.5), 3))],
            None,
            "operand 0 has codes given, and is no constant",
        ),
        (
            gemm,
            "generic-int8",
            vec![("y", operand(1), with_codes(int8(0.5), 2))],
            None,
            "the codes that are given have another type, shape or range",
        ),
        (
            gemm,
            "generic-int8",
            vec![
                ("y", operand(1), with_codes(int8(0.5), 3)),
                ("y", operand(2), with_codes(tensor(Elem::I32, 0.25, 0), 2)),
            ],
            None,
            "operand 2 is given on another grid than that of the sum",
        ),
        (
            gemm,
            "ascend",
            vec![
                ("y", operand(0), int8(0.5)),
                ("y", operand(1), int8(0.5)),
                ("y", result(0), int8(0.3)),
            ],
            None,
            // A sum that is read as real numbers cannot have another scale.
            "result 0 is given in another type than that of the sum that it belongs to",
        ),
    ] {
        let found = reasons(lines, target, &given, range);
        let expected = told.is_empty() == found.is_empty() && found.contains(told);
        assert!(
            expected,
            "`{told}` is expected of {given:?} for {target}, and found is `{found}`"
        );
    }
}

/// The layers in `quantization.json` of the digits model, compiled with what is given; or the error.
fn compiled(given: Vec<config::Given>) -> Result<serde_json::Value, String> {
    let (folder, repository) = (
        tempfile::tempdir().unwrap(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
    );
    let out = folder.path().join("artifact");
    let cache = format!("calibration.cache='{}'", folder.path().join("cache").display());
    let overrides = [Override::output(out.to_string_lossy()), Override::set(cache)];
    let mut loaded = config::load(&repository.join("configs/generic-int8.toml"), &overrides).unwrap();
    loaded.given = given;
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    compiled.map_err(|stop| stop.to_string())?;
    let text = std::fs::read_to_string(out.join(strait_container::QUANTIZATION_FILE)).unwrap();
    Ok(serde_json::from_str::<serde_json::Value>(&text).unwrap()["layers"].take())
}

#[test]
fn a_program_states_grids_of_a_compilation_by_layer_and_position() {
    let given = |layer: &str, port, params| config::Given {
        layer: layer.into(),
        port,
        elem: Elem::I8,
        params,
        codes: None,
    };
    let (stem, conv) = ("/stem/norm/BatchNormalization", Port::Result(0));
    let layers = compiled(vec![given(stem, conv, QuantParams::tensor(0.125, -100))]).unwrap();
    // The layer stands for the normalization that was folded into it.
    let found = layers
        .as_array()
        .unwrap()
        .iter()
        .find(|layer| layer["name"] == "/stem/conv/Conv")
        .unwrap();
    let configs = found["configs"].as_array().unwrap();
    let result = configs.iter().find(|config| config["port"] == "result 0").unwrap();
    assert_eq!(
        (
            result["origin"].as_str(),
            result["scale"][0].as_f64(),
            result["zero_point"][0].as_i64()
        ),
        (Some("given"), Some(0.125), Some(-100))
    );
    let told = compiled(vec![given("/stem/conv/Conw", conv, QuantParams::tensor(1.0, 0))]).unwrap_err();
    assert!(
        told.contains("no such layer") && told.contains("/stem/conv/Conv"),
        "{told}"
    );
    let told = compiled(vec![given(stem, Port::Result(7), QuantParams::tensor(1.0, 0))]).unwrap_err();
    assert!(told.contains("result 7"), "{told}");
}
