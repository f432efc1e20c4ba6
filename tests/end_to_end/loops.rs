//! Tests models with loops from end to end, as decoders have them.

use super::tokens::{Given, save};
use super::*;
use strait_samples::NumberType;

const SAMPLES: usize = 4;

/// Three steps. Each one counts, and appends a column to a sequence: the column that lies as far from the end as the
/// counter says, times the counter.
const DECODER: &str = "
    strait 1 float main=@main
    graph @step(%i: i64[], %more: bool[], %count: i64[], %sequence: f32[1,2,length]) stage=float {
      %next: i64[] = add(%count, @one)
      %at: i64[] = sub(@none, %count)
      %column: f32[1,2] = gather(%sequence, %at) {axis=2}
      %factor: f32[] = cast(%count) {to=f32}
      %scaled: f32[1,2] = mul(%column, %factor) {a_zero=0, b_zero=0}
      %wide: f32[1,2,1] = unsqueeze(%scaled) {axes=[2]}
      %longer: f32[1,2,\"length+1\"] = concat(%sequence, %wide) {axis=2}
      return %more, %next, %longer
    }
    graph @main(%x: f32[1,2,4]) {
      %h: f32[1,2,4] = matmul(%x, @w) {a_zero=0, b_zero=0}
      %counted: i64[], %y: f32[1,2,end] = loop @step(_, _, @one, %h) {carried=2, trips=3}
      return %counted, %y
    }
    data @w: f32[4,4] = inline [1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]
    data @one: i64[] = inline [1]
    data @none: i64[] = inline [0]";

#[test]
fn a_loop_that_counts_and_whose_sequence_grows_goes_the_whole_way_for_every_target() {
    let given = Given::new(DECODER);
    let numbers: Vec<f32> = (0..SAMPLES * 8).map(|at| (at % 17) as f32 / 8.0 - 1.0).collect();
    save(&given.at("samples/x.npy"), NumberType::F32, &[SAMPLES, 2, 4], &numbers);
    for target in TARGETS {
        let opened = given
            .compile(target, "")
            .unwrap_or_else(|stop| panic!("{target}: {stop}"));
        let verified = given.verified(&opened);
        assert!(verified.findings.is_empty(), "{target}: {:?}", verified.findings);
        let outputs = given.run(&opened, &[("x", "samples/x.npy")]).unwrap();
        let counted: Vec<i64> = outputs[0].view().unwrap().iter().copied().collect();
        assert_eq!(counted, [4; SAMPLES], "{target}");
        assert_eq!(outputs[1].shape(), [SAMPLES, 2, 7], "{target}");
        let found: Vec<f32> = outputs[1].view().unwrap().iter().copied().collect();
        for (row, first) in found.chunks(7).zip(numbers.chunks(4)) {
            // The appended columns are 1, 2 and 3 times the last one, the second to last, and so on.
            let expected = [row[3], 2.0 * row[3], 3.0 * row[3]];
            assert_eq!(row[4..], expected, "{target}");
            for (found, given) in row.iter().zip(first) {
                assert!((found - given).abs() < 0.02, "{target}: {found} for {given}");
            }
        }
    }
}
