//! Tests that handling a refusal, or another setting, incrementally gives the same result as doing the whole graph
//! again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::random::SplitMix64;
use strait_core::text::{PrintOptions, parse, print};
use strait_core::verifier::verify;
use strait_core::{Module, NodeId, Placement, Reason, ReasonCode, Refusal, Term, ValueId};
use strait_lower::{Baked, LowerError, Lowered, Turns, bake, lower};
use strait_quantize::annotate::{Fixpoint, RangeFrom, place, refuse};
use strait_quantize::{Annotation, Settings, annotate};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Alignment, Alignments, Integer, WeightPer};
use strait_tests::passes::plain;
use strait_tests::random_graph::{observation, random_graph};

/// The text of a graph with all its numbers, independent of what else is stored.
fn text(module: &Module) -> String {
    let all = PrintOptions {
        inline_limit: usize::MAX,
        ..PrintOptions::default()
    };
    print(module, &all)
}

/// Fails with the first line that differs.
fn assert_same(made: &str, again: &str, case: &str) {
    let mut lines = made.lines().zip(again.lines());
    assert_eq!(lines.find(|(made, again)| made != again), None, "{case}");
    assert_eq!(made.len(), again.len(), "{case}");
}

/// The built-in targets, and one with sums inside accumulators.
const TARGETS: [&str; 4] = ["generic-int8", "sima", "ascend", "../configs/targets/acme-npu2.toml"];

#[test]
fn a_turn_makes_what_annotating_everything_again_would_make() {
    let (mut turns, mut visited, mut nodes) = (0, 0, 0);
    let words = Alignment::ALL;
    for seed in 0..24u64 {
        let float = parse(&random_graph(seed, 60)).unwrap();
        let mut random = SplitMix64::new(seed);
        let observation = observation(&float, &mut random);
        for name in TARGETS {
            let case = format!("seed {seed} for {name}");
            let target = strait_tests::passes::target(name).unwrap();
            let (mut module, main, spec) = (float.clone(), float.main, target.spec());
            let (mut settings, constraints, _) = plain(spec);
            let mut word = || words[(random.next_u64() >> 8) as usize % words.len()];
            settings.default.alignments = Alignments {
                activation: word(),
                elementwise: word(),
                concat: word(),
                pooling: word(),
                resize: word(),
                passive: word(),
                simplify: seed % 4 != 0,
                force_overlap: seed % 3 == 0,
            };
            let how = Annotation::new(spec, &observation, &settings, &constraints);
            place(&mut module, main, &how);
            let mut fixpoint = Fixpoint::default();
            annotate(&mut module, main, &how, &mut fixpoint).unwrap();
            for _ in 0..4 {
                let on_target = module
                    .main()
                    .nodes()
                    .filter(|(_, node)| node.place == Placement::Accelerator);
                let left: Vec<NodeId> = on_target.map(|(id, _)| id).collect();
                if left.is_empty() {
                    break;
                }
                let chosen = left[(random.next_u64() >> 8) as usize % left.len()];
                let refusal: Refusal = (chosen, Reason::new(ReasonCode::Range, "")).into();
                refuse(module.main_mut(), &how, &mut fixpoint, vec![refusal]);
                let mut again = module.clone();
                annotate(&mut module, main, &how, &mut fixpoint).unwrap();
                annotate(&mut again, main, &how, &mut Fixpoint::default()).unwrap();
                assert_same(&text(&module), &text(&again), &case);
                verify(&module).unwrap();
                turns += 1;
                visited += fixpoint.visited();
                nodes += module.main().nodes().count();
            }
        }
    }
    assert!(
        turns > 200 && 2 * visited < nodes,
        "{visited} of {nodes} in {turns} turns"
    );
}

const INT16: Activation = Activation::Codes(Integer::Int16);

/// Other settings for a few values or nodes.
fn revised(before: &Settings, spec: &TargetSpec, module: &Module, random: &mut SplitMix64) -> Settings {
    let mut after = before.clone();
    let graph = module.main();
    let mut draw = |count: usize| (random.next_u64() >> 8) as usize % count.max(1);
    let values: Vec<ValueId> = graph.values().map(|(id, _)| id).collect();
    let nodes: Vec<(NodeId, Term)> = (graph.nodes())
        .filter(|(_, node)| node.place == Placement::Accelerator)
        .map(|(id, node)| (id, node.op.term()))
        .collect();
    let value = values[draw(values.len())];
    let kind = draw(8);
    let Some(&(node, term)) = nodes.get(draw(nodes.len())) else {
        return after;
    };
    match kind {
        0 => {
            let range = [-2.0, [1.0, 300.0][draw(2)]];
            after.values.entry(value).or_default().range = Some(RangeFrom::Rule(range));
        }
        1 => {
            let word = Alignment::ALL[draw(Alignment::ALL.len())];
            after.layers.entry(node).or_default().alignment = Some(word);
        }
        2 if spec.row_for(term, INT16).is_some() => {
            after.layers.entry(node).or_default().activation = Some(INT16);
        }
        3 => after.values.entry(value).or_default().grid.symmetric = Some(true),
        4 => after.layers.entry(node).or_default().weights.per = Some(WeightPer::Tensor),
        5 => after.operands.entry((node, 0)).or_default().range = Some(RangeFrom::Rule([-4.0, 4.0])),
        6 => after.layers.entry(node).or_default().simplify = Some(draw(2) == 0),
        // An earlier setting is removed.
        _ => {
            after.values.pop_first();
            after.layers.pop_first();
            after.layers.pop_last();
        }
    }
    after
}

#[test]
fn a_revision_makes_what_annotating_everything_again_would_make() {
    let (mut revisions, mut visited, mut nodes) = (0, 0, 0);
    for seed in 0..16u64 {
        let float = parse(&random_graph(seed, 60)).unwrap();
        let mut random = SplitMix64::new(seed);
        let observation = observation(&float, &mut random);
        for name in TARGETS {
            let case = format!("seed {seed} for {name}");
            let target = strait_tests::passes::target(name).unwrap();
            let (mut module, main, spec) = (float.clone(), float.main, target.spec());
            let (mut settings, constraints, _) = plain(spec);
            let how = Annotation::new(spec, &observation, &settings, &constraints);
            let mut fixpoint = place(&mut module, main, &how);
            annotate(&mut module, main, &how, &mut fixpoint).unwrap();
            for _ in 0..8 {
                let revised = revised(&settings, spec, &module, &mut random);
                let [before, after] =
                    [&settings, &revised].map(|settings| Annotation::new(spec, &observation, settings, &constraints));
                let mut again = float.clone();
                let mut anew = place(&mut again, main, &after);
                let (mut made, mut next) = (again.clone(), anew.clone());
                annotate(&mut again, main, &after, &mut anew).unwrap();
                next.revise((&mut made, main), (&module, &fixpoint), [&before, &after]);
                annotate(&mut made, main, &after, &mut next).unwrap();
                // If passes refuse nodes, how far they get depends on the whole graph.
                if fixpoint.refusals() + next.refusals() == 0 {
                    assert_same(&text(&made), &text(&again), &case);
                    verify(&made).unwrap();
                    revisions += 1;
                    visited += next.visited();
                    nodes += made.main().nodes().count();
                }
                (module, fixpoint, settings) = (again, anew, revised);
            }
        }
    }
    assert!(
        revisions > 300 && 3 * visited < nodes,
        "{visited} of {nodes} in {revisions} revisions"
    );
}

/// The lowered graph as text, or the nodes that were refused.
fn told(lowered: Result<Lowered, LowerError>) -> Result<String, Vec<Refusal>> {
    match lowered {
        Ok(done) => Ok(format!("{}{:?}{:?}", text(&done.module), done.nearness, done.origins)),
        Err(LowerError::Nodes(refused)) => Err(refused),
        Err(LowerError::Ours(defect)) => panic!("{defect}"),
    }
}

/// A random node on the accelerator that is refused, either for itself or because a scale would have to be larger.
fn random_refusal(module: &Module, random: &mut SplitMix64) -> Option<Refusal> {
    let mut draw = |count: usize| (random.next_u64() >> 8) as usize % count.max(1);
    let nodes = module.main().nodes();
    let nodes = nodes.filter(|(_, node)| node.place == Placement::Accelerator);
    let nodes: Vec<NodeId> = nodes.map(|(id, _)| id).collect();
    let node = *nodes.get(draw(nodes.len()))?;
    Some(Refusal {
        doublings: draw(3) as u32,
        ..(node, Reason::new(ReasonCode::Range, "")).into()
    })
}

/// Places, annotates and lowers a graph with random refusals in addition to those of the recipes. If no scale becomes
/// larger, each turn is compared with doing everything again; otherwise only its lowering. Returns how many nodes later
/// turns tried, and how many there were.
fn held(seed: u64, name: &str) -> [usize; 2] {
    let case = format!("seed {seed} for {name}");
    let float = parse(&random_graph(seed, 60)).unwrap();
    let mut random = SplitMix64::new(seed);
    let observation = observation(&float, &mut random);
    let target = strait_tests::passes::target(name).unwrap();
    let spec = target.spec();
    let (mut settings, constraints, _) = plain(spec);
    // Very different ranges, for some of which there is no form.
    for (value, _) in float.main().values() {
        let most = [1e-20, 1e-5, 1e10][(random.next_u64() >> 8) as usize % 3];
        if (random.next_u64() >> 8).is_multiple_of(5) {
            settings.values.entry(value).or_default().range = Some(RangeFrom::Rule([-most, most]));
        }
    }
    let how = Annotation::new(spec, &observation, &settings, &constraints);
    let (mut module, main, coarser) = (float.clone(), float.main, seed.is_multiple_of(2));
    let mut fixpoint = place(&mut module, main, &how);
    let (mut turns, mut work, mut first) = (Turns::default(), [0, 0], true);
    for turn in 0.. {
        let placed = module.clone();
        annotate(&mut module, main, &how, &mut fixpoint).unwrap();
        verify(&module).unwrap();
        turns.touch(fixpoint.touched());
        let done = told(turns.lower(&mut module, spec));
        if !first {
            work[0] += turns.visited();
            work[1] += module.main().nodes().count();
        }
        first &= done.is_ok();
        let mut again = if coarser { module.clone() } else { placed };
        if !coarser {
            annotate(&mut again, main, &how, &mut Fixpoint::default()).unwrap();
        }
        let baked = bake(&mut again, spec, &mut Baked::default());
        assert_eq!(text(&module), text(&again), "{case}, turn {turn}");
        assert_eq!(
            done,
            told(baked.and_then(|()| lower(&again, spec))),
            "{case}, turn {turn}"
        );
        let mut refused = done.err().unwrap_or_default();
        if turn < 4 {
            refused.extend(random_refusal(&module, &mut random));
        }
        if refused.is_empty() {
            return work;
        }
        if !coarser {
            refused.iter_mut().for_each(|refusal| refusal.doublings = 0);
        }
        let mut again = module.clone();
        let refuse = |module: &mut Module, fixpoint: &mut Fixpoint| {
            refuse(module.main_mut(), &how, fixpoint, refused.clone());
        };
        refuse(&mut module, &mut fixpoint);
        if !coarser {
            // Without earlier progress, the whole graph is settled again.
            refuse(&mut again, &mut Fixpoint::default());
            assert_same(&text(&module), &text(&again), &case);
        }
    }
    work
}

#[test]
fn a_refusal_redoes_what_it_touches_as_doing_everything_again_would() {
    let mut work = [0, 0];
    for seed in 0..16 {
        for name in TARGETS {
            let [tried, all] = held(seed, name);
            work = [work[0] + tried, work[1] + all];
        }
    }
    let [tried, all] = work;
    assert!(all > 5000 && 3 * tried < all, "{tried} of {all}");
}
