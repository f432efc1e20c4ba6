//! Tests that compiling again with other rules gives the same as compiling from the beginning, including certificates,
//! findings and the outputs of the simulation.

use std::num::NonZeroU32;
use std::sync::Arc;
use strait_compile::{Anew, Built, CompileError, GivenGrid, InMemory, Means, Model, Observed, Resolved, Silent};
use strait_core::text::random::SplitMix64;
use strait_core::text::{PrintOptions, parse, print};
use strait_core::{Module, NodeId, Placement, Port, QuantParams, Switches, Term, ValueId};
use strait_execute::Tensor;
use strait_lower::FusionPolicy;
use strait_quantize::ObserverChoice;
use strait_quantize::annotate::{RangeFrom, Run, Unfit};
use strait_quantize::observe::Samples;
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Alignment, Integer, Observer, WeightPer};
use strait_tests::numeric::inputs;
use strait_tests::passes::target;
use strait_tests::random_graph::{observation, random_graph};

/// The built-in targets, and one with sums inside accumulators.
const TARGETS: [&str; 4] = ["generic-int8", "sima", "ascend", "../configs/targets/acme-npu2.toml"];

/// The text of a module with all its numbers, independent of what else it stores.
fn text(module: &Module) -> String {
    let all = PrintOptions {
        inline_limit: usize::MAX,
        ..PrintOptions::default()
    };
    print(module, &all)
}

/// Everything that a compilation returns.
fn told(built: Result<&Built, &CompileError>) -> Vec<String> {
    match built {
        Err(error) => vec![error.to_string()],
        Ok(built) => vec![
            text(&built.module),
            text(&built.annotated),
            format!("{:?}", built.findings),
            format!("{:?}", (&built.origins, &built.nearness, built.own_model)),
            format!("{:?}", (&built.fusion, &built.certificates)),
        ],
    }
}

/// Fails with the first line that differs.
fn assert_same(revised: Result<&Built, &CompileError>, anew: Result<&Built, &CompileError>, case: &str) {
    for (one, other) in told(revised).iter().zip(&told(anew)) {
        let mut lines = one.lines().zip(other.lines());
        assert_eq!(lines.find(|(one, other)| one != other), None, "{case}");
        assert!(one == other, "{case}");
    }
}

/// All bits, output by output and sample by sample.
fn bits(outputs: &[Vec<Arc<Tensor>>]) -> Vec<&[u8]> {
    outputs.iter().flatten().map(|tensor| tensor.view().bytes()).collect()
}

/// Other rules for a few layers, values or operands, or for all of them.
fn changed(before: &Resolved, spec: &TargetSpec, module: &Module, random: &mut SplitMix64) -> Resolved {
    let (mut after, graph) = (before.clone(), module.main());
    let mut draw = |count: usize| (random.next_u64() >> 8) as usize % count.max(1);
    let values: Vec<ValueId> = graph.values().map(|(id, _)| id).collect();
    let nodes: Vec<(NodeId, Term)> = graph.nodes().map(|(id, node)| (id, node.op.term())).collect();
    let (value, (node, term)) = (values[draw(values.len())], nodes[draw(nodes.len())]);
    let settings = &mut after.settings;
    match draw(20) {
        0 | 1 => {
            let range = [-2.0, [1.0, 300.0, 1e10][draw(3)]];
            settings.values.entry(value).or_default().range = Some(RangeFrom::Rule(range));
        }
        2 => settings.layers.entry(node).or_default().alignment = Some(Alignment::ALL[draw(Alignment::ALL.len())]),
        // If the table has no such row, the node moves to the host.
        3 => settings.layers.entry(node).or_default().activation = Some(Activation::Codes(Integer::Int16)),
        4 => settings.layers.entry(node).or_default().activation = Some(Activation::Float32),
        5 => settings.values.entry(value).or_default().grid.symmetric = Some(true),
        6 => settings.layers.entry(node).or_default().weights.per = Some(WeightPer::Tensor),
        7 => settings.operands.entry((node, 0)).or_default().range = Some(RangeFrom::Rule([-4.0, 4.0])),
        8 => settings.layers.entry(node).or_default().simplify = Some(draw(2) == 0),
        9..12 => settings.layers.entry(node).or_default().run = Some(Run::Float("a rule says so".into())),
        12 => settings.layers.entry(node).or_default().run = Some(Run::Integer),
        13 => settings.values.entry(value).or_default().ty = Some(Integer::Int16),
        14 => {
            let weights = &mut settings.layers.entry(node).or_default().weights;
            (weights.ties, weights.unfit) = (NonZeroU32::new(2), Some([Unfit::Float, Unfit::Coarser][draw(2)]));
        }
        15 => after.fusion = [FusionPolicy::Exact, FusionPolicy::Any, FusionPolicy::Bounded(1)][draw(3)],
        16 if draw(3) == 0 => settings.default.observer = ObserverChoice::from(Observer::Mse),
        17 if spec.row_for(term, Activation::Codes(Integer::Int8)).is_some() => after.given.push(GivenGrid {
            node,
            port: [Port::Operand(0), Port::Result(0)][draw(2)],
            elem: strait_core::Elem::I8,
            params: QuantParams::tensor(0.25, 0),
            codes: None,
        }),
        // An earlier rule is removed.
        _ => {
            after.given.pop();
            settings.values.pop_first();
            settings.layers.pop_first();
            settings.layers.pop_last();
            settings.operands.pop_last();
        }
    }
    after
}

/// What the test has counted.
#[derive(Debug, Default)]
struct Seen {
    revisions: usize,
    /// For revisions that reused earlier work: the number of nodes that were annotated, and of all nodes.
    annotated: usize,
    nodes: usize,
    /// How many of those moved a node to the host.
    moved: usize,
    /// For other revisions: how many were of a model in which annotation had refused nodes, and how many refused some
    /// themselves.
    anew: [usize; 2],
    /// Rules that ask for something impossible.
    failed: usize,
    /// Nodes that simulations after revisions have run.
    simulated: usize,
    /// Nodes of all of these simulations.
    all: usize,
}

fn places(built: &Built) -> Vec<bool> {
    let nodes = built.annotated.main().nodes();
    nodes.map(|(_, node)| node.place == Placement::Accelerator).collect()
}

fn held(seed: u64, name: &str, (count, memory): (u64, Option<u64>), seen: &mut Seen) {
    let mut float = parse(&random_graph(seed, 40)).unwrap();
    let unread = float.main().values().map(|(id, _)| id);
    let unread: Vec<ValueId> = unread.filter(|&id| float.main().uses(id).next().is_none()).collect();
    let unread = unread
        .into_iter()
        .filter(|id| !float.main().is_output(*id))
        .collect::<Vec<_>>();
    unread.into_iter().for_each(|id| float.main_mut().add_output(id));
    let samples_of = |count: u64| -> Arc<dyn Samples> {
        Arc::new(InMemory(
            (0..count).map(|at| inputs(&float, 1000 * seed + at, 1.0)).collect(),
        ))
    };
    let (calibration, samples) = (samples_of(2), samples_of(count));
    let model = Model::new(float.clone(), &Switches::default()).unwrap();
    let mut means = Means::default();
    means.limits.memory = memory;
    let mut observed: Observed = model.observe(calibration, means, &Silent).unwrap();
    let mut random = SplitMix64::new(seed);
    if seed.is_multiple_of(3) {
        observed.observation = observation(&observed.model.module, &mut random);
    }
    let target = target(name).unwrap();
    let (spec, mut resolved) = (target.spec(), Resolved::new(target.spec()));
    let resolving = |resolved: &Resolved| {
        let resolved = resolved.clone();
        |_: &Module| Ok::<_, CompileError>(resolved)
    };
    // Very different ranges, for some of which there is no form.
    if seed % 3 == 1 {
        for (value, _) in observed.model.module.main().values() {
            let most = [1e-20, 1e-5, 1e10][(random.next_u64() >> 8) as usize % 3];
            if (random.next_u64() >> 8).is_multiple_of(9) {
                resolved.settings.values.entry(value).or_default().range = Some(RangeFrom::Rule([-most, most]));
            }
        }
    }
    let mut built = observed.compile(&target, resolving(&resolved), &Silent).unwrap();
    built.simulate(&samples, &Silent).unwrap();
    for turn in 0..8 {
        let case = format!("turn {turn} of seed {seed} for {name}");
        let after = changed(&resolved, spec, &built.annotated, &mut random);
        let revised = observed.revise(&built, resolving(&after), &Silent);
        let anew = observed.compile(&target, resolving(&after), &Silent);
        assert_same(revised.as_ref(), anew.as_ref(), &case);
        let (Ok(revised), Ok(anew)) = (revised, anew) else {
            seen.failed += 1;
            continue;
        };
        let found = revised.revision.unwrap();
        seen.revisions += 1;
        match found.anew {
            None => {
                seen.annotated += found.annotated;
                seen.nodes += found.nodes;
                seen.moved += usize::from(places(&revised) != places(&built));
            }
            Some(why) => seen.anew[usize::from(why == Anew::Refused)] += 1,
        }
        let simulated = revised.simulate(&samples, &Silent).unwrap();
        let whole = anew.simulate(&samples, &Silent).unwrap();
        assert!(bits(&simulated.outputs) == bits(&whole.outputs), "{case}");
        seen.simulated += simulated.nodes;
        seen.all += whole.nodes;
        (built, resolved) = (revised, after);
    }
}

#[test]
fn a_revision_makes_what_compiling_anew_makes() {
    let mut seen = Seen::default();
    for seed in 0..12 {
        for name in TARGETS {
            held(seed, name, (2, None), &mut seen);
        }
    }
    println!("{seen:?}");
    assert!(seen.revisions > 300 && 3 * seen.annotated < seen.nodes, "{seen:?}");
    assert!(seen.moved > 20 && seen.failed > 0, "{seen:?}");
    assert!(seen.anew.iter().all(|&count| count > 0), "{seen:?}");
    assert!(4 * seen.simulated < seen.all, "{seen:?}");
}

/// With little memory fewer values are kept, and a larger part of the model runs again.
#[test]
fn values_that_are_not_kept_are_made_again() {
    let (mut all, mut few) = (Seen::default(), Seen::default());
    for seed in 12..16 {
        held(seed, "generic-int8", (40, None), &mut all);
        held(seed, "generic-int8", (40, Some(1 << 19)), &mut few);
    }
    assert_eq!((all.revisions, all.all), (few.revisions, few.all));
    assert!(few.simulated > all.simulated, "{few:?} {all:?}");
}

/// The body doubles its operand in integers, and runs twice.
const LOOP: &str = "strait 1 float main=@main
graph @main(%x: f32[1,4]) stage=float {
  %y: f32[1,4] = loop @body(_, _, %x) {carried=1, trips=2}
  %z: f32[1,4] = gemm(%y, @two) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %z
}
graph @body(%n: i64[], %more: bool[], %v: f32[1,4]) stage=float {
  %w: f32[1,4] = gemm(%v, @two) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %more, %w
}
data @two: f32[4,4] = random 3";

/// A model that is already quantized.
const QUANTIZED: &str = "strait 1 float
graph @main(%x: f32[1,4] scale=0.5 zero=3 codes=i8) {
  %y: f32[1,4] scale=0.5 zero=-5 codes=i8 = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  return %y
}
data @w: f32[4,4] scale=0.5 zero=0 codes=i8 = splat 0.5";

#[test]
fn models_with_bodies_or_grids_of_their_own_are_revised_and_simulated_as_wholes() {
    for (text, anew) in [(LOOP, None), (QUANTIZED, Some(Anew::OwnGrids))] {
        let float = parse(text).unwrap();
        let sample = |at: usize| vec![Tensor::from_values(&[1, 4], &[0.25 * at as f32, 1.0, -1.5, 0.5]).unwrap()];
        let samples: Arc<dyn Samples> = Arc::new(InMemory((0..3).map(sample).collect()));
        let model = Model::new(float, &Switches::default()).unwrap();
        let observed = model.observe(samples.clone(), Means::default(), &Silent).unwrap();
        let target = target("generic-int8").unwrap();
        let resolved = Resolved::new(target.spec());
        let first = observed.compile(&target, |_| Ok::<_, CompileError>(resolved.clone()), &Silent);
        let first = first.unwrap();
        first.simulate(&samples, &Silent).unwrap();
        let last = first.annotated.main().nodes().last().unwrap().0;
        let mut other = resolved.clone();
        other.settings.layers.entry(last).or_default().run = Some(Run::Float("a rule says so".into()));
        let revised = observed
            .revise(&first, |_| Ok::<_, CompileError>(other.clone()), &Silent)
            .unwrap();
        let whole = observed
            .compile(&target, |_| Ok::<_, CompileError>(other), &Silent)
            .unwrap();
        assert_same(Ok(&revised), Ok(&whole), text);
        assert_eq!(revised.revision.unwrap().anew, anew, "{text}");
        assert_ne!(places(&revised), places(&first), "{text}");
        let [one, another] = [&revised, &whole].map(|built| built.simulate(&samples, &Silent).unwrap());
        assert!(bits(&one.outputs) == bits(&another.outputs), "{text}");
        assert_eq!(one.nodes, another.nodes, "{text}");
    }
}
