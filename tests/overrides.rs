//! Tests changing the configs of a simulated graph: only what the change affects is simulated again, with the values
//! before it, and nothing else differs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_core::{ConfigId, Derivation, Grid, Module, Move, NodeId, Origin, Port, QuantParams, QuantTable};
use strait_execute::{Tensor, TensorView, reference};
use strait_kernels::Isa;
use strait_lower::{Baked, FusionPolicy, Parameters, Signs, bake, resimulate, simulate};
use strait_target::TargetSpec;
use strait_tests::integer::{InMemory, integer_under};
use strait_tests::numeric::{inputs, run};
use strait_tests::passes::target;
use strait_tests::random_graph::random_graph;

/// Every value of a run by name, including the inputs.
fn values(module: &Module, fed: &[Tensor]) -> BTreeMap<String, Tensor> {
    let graph = module.main();
    let name = |id| module.name(graph.value(id).unwrap().name).to_owned();
    let mut found: BTreeMap<String, Tensor> = BTreeMap::new();
    let views: Vec<TensorView<'_>> = fed.iter().map(Tensor::view).collect();
    let mut keep = |id, tensor: TensorView<'_>| {
        found.insert(name(id), tensor.to_tensor());
    };
    reference::run(module, module.main, &views, &mut keep).unwrap();
    found.extend(graph.inputs().iter().map(|&id| name(id)).zip(fed.iter().cloned()));
    found
}

/// True if the grid of a config is that of `root`, or is derived from it, directly or indirectly.
fn rests_on(table: &QuantTable, id: ConfigId, root: ConfigId) -> bool {
    let own = table.root(id);
    let mut masters = table.derivation(own).into_iter().flat_map(Derivation::masters);
    own == root || masters.any(|master| rests_on(table, master, root))
}

/// The module with another scale, or none, for the group of a config; `None` if that is not possible.
fn overridden(before: &Module, id: ConfigId, spec: &TargetSpec, to_float: bool) -> Option<Module> {
    let mut module = before.clone();
    let table = &mut module.main_mut().quant;
    if to_float {
        table.transition(id, Move::Dequantize).ok()?;
        return Some(module);
    }
    let root = table.root(id);
    let (scale, zero) = table.params(root)?.as_tensor()?;
    let coded = table.iter().map(|(id, _)| id).filter(|&id| table.codes(id).is_some());
    let resting: Vec<ConfigId> = coded.filter(|&id| rests_on(table, id, root)).collect();
    for resting in resting {
        table.transition(resting, Move::Unbake).unwrap();
    }
    let coarser = Grid::new(QuantParams::tensor(2.0 * scale, zero), Origin::Coarsened);
    table.transition(root, Move::Activate(coarser)).ok()?;
    bake(&mut module, spec, &mut Baked::default()).ok()?;
    Some(module)
}

/// The nodes that can see a difference, found in one pass from the inputs to the outputs.
fn behind(after: &Module, before: &Module) -> BTreeSet<NodeId> {
    let (graph, tables) = (after.main(), [&after.main().quant, &before.main().quant]);
    let differs = |node, port| {
        let [one, other] = tables.map(|table| {
            let id = table.id(node, port);
            id.map(|id| {
                (
                    table.scheme_of(node, port),
                    table.params(id),
                    table.codes(id),
                    table.state(id),
                )
            })
        });
        one != other
    };
    let mut found = BTreeSet::new();
    for id in graph.topological_order().unwrap() {
        let inputs = graph.node(id).unwrap().inputs.iter().enumerate();
        let sees = |(index, value): (usize, &Option<_>)| {
            let made = value.and_then(|value| match graph.value(value)?.def {
                strait_core::Def::Node(id, position) => Some((id, Port::Result(position.into()))),
                strait_core::Def::Input(position) => Some((NodeId::OUTSIDE, Port::Input(position as usize))),
                strait_core::Def::Data(_) => None,
            });
            differs(id, Port::Operand(index))
                || made.is_some_and(|(producer, port)| found.contains(&producer) || differs(producer, port))
        };
        if inputs.map(sees).fold(false, |any, sees| any | sees) {
            found.insert(id);
        }
    }
    found
}

#[test]
fn an_override_simulates_what_it_touches_and_that_is_all_of_the_difference() {
    let (mut overrides, mut visited, mut all, mut changed) = (0, 0, 0, 0);
    for seed in 0..12u64 {
        let float = parse(&random_graph(seed, 24)).unwrap();
        let samples = InMemory((0..2).map(|at| inputs(&float, 1000 * seed + at, 1.0)).collect());
        for name in ["generic-int8", "sima"] {
            let target = target(name).unwrap();
            let spec = target.spec();
            let before = integer_under(FusionPolicy::Exact, &float, name, &samples);
            let before = before
                .unwrap_or_else(|error| panic!("seed {seed} for {name}: {error}"))
                .annotated;
            let fed = &samples.0[0];
            let first = simulate(&before, Some(spec), Parameters::Reals).unwrap();
            let kept = values(&first, fed);
            let results = run(&first, first.main, fed, Isa::detect(), 1);
            let ids: Vec<ConfigId> = before.main().quant.iter().map(|(id, _)| id).collect();
            let mut random = SplitMix64::new(seed);
            for turn in 0..6 {
                let id = ids[(random.next_u64() >> 8) as usize % ids.len()];
                let case = format!("{id:?} of seed {seed} for {name}");
                let Some(after) = overridden(&before, id, spec, turn % 3 == 2) else {
                    continue;
                };
                let part = resimulate(&after, &before, |_| true, Some(spec), Parameters::Reals).unwrap();
                assert_eq!(
                    part.nodes.iter().copied().collect::<BTreeSet<NodeId>>(),
                    behind(&after, &before),
                    "{case}"
                );
                // The graph that runs has exactly these nodes of the model.
                let names: BTreeSet<&str> = (after.main().nodes()).map(|(_, node)| after.name(node.name)).collect();
                let (graph, module) = (part.module.main(), &part.module);
                let run_again = graph.nodes().filter(|(_, node)| names.contains(module.name(node.name)));
                assert_eq!(run_again.count(), part.nodes.len(), "{case}");
                let name = |&id: &_| module.name(graph.value(id).unwrap().name);
                let given: Vec<Tensor> = graph.inputs().iter().map(|id| kept[name(id)].clone()).collect();
                let again = run(module, module.main, &given, Isa::detect(), 1);
                let whole = simulate(&after, Some(spec), Parameters::Reals).unwrap();
                let mut expected = run(&whole, whole.main, fed, Isa::detect(), 1).into_iter();
                let mut again = again.into_iter();
                for (position, before) in results.iter().enumerate() {
                    let found = match part.outputs.contains(&position) {
                        true => again.next().unwrap(),
                        false => before.clone(),
                    };
                    let expected = expected.next().unwrap();
                    assert_eq!(
                        found.view().bytes(),
                        expected.view().bytes(),
                        "output {position}: {case}"
                    );
                    changed += usize::from(expected.view().bytes() != before.view().bytes());
                }
                overrides += 1;
                visited += part.nodes.len();
                all += after.main().nodes().count();
            }
        }
    }
    println!("{overrides} overrides run {visited} of {all} nodes; {changed} outputs change");
    assert!(overrides > 60 && 2 * visited < all && changed > 30);
}

#[test]
fn a_table_without_a_difference_leaves_nothing_to_run() {
    let float = parse(&random_graph(1, 24)).unwrap();
    let samples = InMemory(vec![inputs(&float, 1, 1.0)]);
    let module = integer_under(FusionPolicy::Exact, &float, "generic-int8", &samples)
        .unwrap()
        .annotated;
    let part = resimulate(&module, &module, |_| true, None, Parameters::Codes(Signs::Own)).unwrap();
    assert!(part.nodes.is_empty() && part.outputs.is_empty());
    assert_eq!(part.module.main().nodes().count(), 0);
}
