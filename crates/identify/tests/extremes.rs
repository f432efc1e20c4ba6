//! Tests with accumulators at the ends of the 64-bit range: every search ends, and an arithmetic that explains a layer
//! reproduces its outputs.
#![allow(clippy::unwrap_used, clippy::panic)]

use strait_identify::{ChannelAxis, LayerScales, RecordedLayer, identify};
use strait_requantize::{IntType, Per};

/// The ends of the 64-bit and of the 32-bit range, and values around zero.
const ACCUMULATORS: [i64; 9] = [
    i64::MIN,
    i64::MIN + 1,
    i32::MIN as i64,
    -1,
    0,
    1,
    i32::MAX as i64,
    i64::MAX - 1,
    i64::MAX,
];

/// All ascending selections of two or three of these accumulators.
fn picked() -> Vec<Vec<i64>> {
    let all = 0u32..1 << ACCUMULATORS.len();
    let some = all.filter(|set| (2..=3).contains(&set.count_ones()));
    some.map(|set| {
        let its = (0..ACCUMULATORS.len()).filter(|at| set >> at & 1 == 1);
        its.map(|at| ACCUMULATORS[at]).collect()
    })
    .collect()
}

fn layer(accumulators: &[i64], codes: &[i32], out: IntType, zero_point: Option<i32>) -> RecordedLayer {
    let pairs = accumulators.iter().copied().zip(codes.iter().copied()).collect();
    RecordedLayer {
        zero_point,
        scales: Some(LayerScales {
            input: f32::MAX,
            weight: Per::Tensor(f32::MIN_POSITIVE),
            output: 1.0,
        }),
        ..RecordedLayer::new("layer", out, &[accumulators.len()], ChannelAxis::Second, pairs)
    }
}

/// Checks that each arithmetic that explains the layer reproduces its outputs.
fn holds(layer: &RecordedLayer) {
    let answer = identify("extremes", layer).unwrap_or_else(|error| panic!("{error}"));
    let pairs = &layer.channels[0];
    let [low, high] = [pairs[0].output, pairs[pairs.len() - 1].output];
    assert_eq!(answer.range, [pairs[0].accumulator, pairs[pairs.len() - 1].accumulator]);
    for explained in &answer.explained {
        for value in pairs.iter().filter(|_| explained.missed == 0) {
            let found = explained.form.eval(0, value.accumulator).unwrap();
            assert_eq!(found.clamp(low, high), value.output, "{layer:?}: {explained:?}");
        }
    }
    assert!(answer.explained.len() + answer.refuted.len() > 0, "{layer:?}");
}

#[test]
fn every_search_takes_accumulators_at_the_ends_of_64_bits() {
    for accumulators in picked() {
        for out in [IntType::I8, IntType::U8, IntType::I16, IntType::I32] {
            let (min, max) = (out.min(), out.max());
            let middle = min / 2 + max / 2;
            for zero in [min, middle, max] {
                for codes in [
                    [min, middle, max],
                    [min, min, max],
                    [min, max, max],
                    [middle, middle + 1, middle + 1],
                ] {
                    let last = [codes[0], codes[2]];
                    let codes = if accumulators.len() == 2 { &last[..] } else { &codes };
                    holds(&layer(&accumulators, codes, out, Some(zero)));
                }
            }
        }
        let codes = if accumulators.len() == 2 {
            &[-128, 127][..]
        } else {
            &[-128, 0, 127]
        };
        holds(&layer(&accumulators, codes, IntType::I8, None));
    }
}

#[test]
fn a_single_accumulator_at_an_end_has_an_answer() {
    for accumulator in ACCUMULATORS {
        for code in [-128, 0, 127] {
            holds(&layer(&[accumulator], &[code], IntType::I8, Some(0)));
        }
    }
}
