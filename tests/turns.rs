//! Annotation in turns: what a refusal makes anew is what annotating the whole graph again would make.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::random::SplitMix64;
use strait_core::text::{PrintOptions, parse, print};
use strait_core::{Module, NodeId, Placement, Reason, ReasonCode, Refusal};
use strait_quantize::annotate::{Placing, Progress, TypeWishes, place, refuse};
use strait_quantize::{Annotation, annotate};
use strait_target::spec::{Alignment, Alignments};
use strait_tests::random_graph::{observation, random_graph};

fn text(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

#[test]
fn a_turn_makes_what_annotating_everything_again_would_make() {
    let (mut turns, mut visited, mut nodes) = (0, 0, 0);
    let words = [Alignment::None, Alignment::Large, Alignment::Output, Alignment::Input];
    for seed in 0..24u64 {
        let float = parse(&random_graph(seed, 60)).unwrap();
        let mut random = SplitMix64::new(seed);
        let observation = observation(&float, &mut random);
        for name in ["generic-int8", "sima", "ascend"] {
            let case = format!("seed {seed} for {name}");
            let (target, _) = strait_tests::passes::target(name).unwrap();
            let (mut module, main, wishes) = (float.clone(), float.main, Placing::new());
            let spec = target.spec();
            place(&mut module, main, spec, &wishes, &TypeWishes::default());
            let mut how = Annotation::new(spec, &observation, &wishes);
            let mut word = || words[(random.next_u64() >> 8) as usize % words.len()];
            how.alignments = Alignments {
                activation: word(),
                elementwise: word(),
                concat: word(),
                pooling: word(),
                resize: word(),
                force_overlap: seed % 3 == 0,
            };
            let mut progress = Progress::default();
            annotate(&mut module, main, &how, &mut progress).unwrap();
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
                refuse(
                    module.main_mut(),
                    spec,
                    &wishes,
                    &TypeWishes::default(),
                    &mut progress,
                    vec![refusal],
                );
                let mut again = module.clone();
                annotate(&mut module, main, &how, &mut progress).unwrap();
                annotate(&mut again, main, &how, &mut Progress::default()).unwrap();
                assert_eq!(text(&module), text(&again), "{case}");
                turns += 1;
                visited += progress.visited();
                nodes += module.main().nodes().count();
            }
        }
    }
    assert!(
        turns > 200 && 2 * visited < nodes,
        "{visited} of {nodes} in {turns} turns"
    );
}
