//! Tests the bounds of accumulators, and the proof that none overflows, against all possible operands.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use strait_requantize::range::{Accumulator, Input, Order, Padding, Pairs, Pattern, Products, Repair, Summands, prove};

/// All lists whose element i is one of `choices[i]`.
fn every(choices: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![]];
    for choice in choices {
        all = (all.into_iter())
            .flat_map(|head| choice.iter().map(move |x| [&head[..], &[*x]].concat()))
            .collect();
    }
    all
}

/// The smallest and the largest sum of any subset of the summands.
fn parts(summands: &[i64]) -> (i64, i64) {
    let pick = |f: fn(i64, i64) -> i64| summands.iter().map(|s| f(*s, 0)).sum();
    (pick(i64::min), pick(i64::max))
}

fn hull(all: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap()
}

fn weights(list: &[i32], bias: i64, codes: (i64, i64)) -> Products<'_> {
    Products {
        weights: list,
        bias,
        input: Input {
            codes,
            zero_point: 0,
            padding: None,
            any_pattern: true,
        },
    }
}

#[test]
fn the_error_names_channel_pattern_and_repair() {
    let wraps = Accumulator {
        bits: 16,
        order: Order::Final,
    };
    let list = [100; 4];
    // 4 · 100 · 127 = 50800.
    let error = prove(3, &weights(&list, 0, (-128, 127)), wraps).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the sum of channel 3 reaches -51200 where the operand is -128 under positive weights and 127 under negative \
         ones, 18432 past 16 bits; a weight scale coarser by 2^1 would be enough"
    );
    let error = prove(0, &weights(&list, -1 << 20, (-128, 127)), wraps).unwrap_err();
    assert_eq!(error.repair, Repair::CoarserBias { bits: 6 });
    let many = [1; 400];
    let error = prove(0, &weights(&many, 0, (-128, 127)), wraps).unwrap_err();
    assert_eq!(error.repair, Repair::FewerProducts { of: 400, at_most: 255 });
    assert_eq!(
        prove(0, &weights(&[100, 50, -100], 0, (-128, 127)), wraps)
            .unwrap()
            .interval(),
        (-31_900, 31_850)
    );
}

#[test]
fn an_order_that_saturates_needs_more_than_the_final_sum() {
    // The sum is a small difference of two large terms.
    let list = [100, -100];
    let sum = weights(&list, 0, (400, 401));
    let of = |order| prove(0, &sum, Accumulator { bits: 16, order });
    assert_eq!(of(Order::Final).unwrap().interval(), (-100, 100));
    let error = of(Order::Any).unwrap_err();
    assert_eq!((error.extreme.value, error.extreme.realised), (40_100, true));
    assert!(
        error
            .to_string()
            .starts_with("a part of the sum of channel 0 reaches 40100")
    );
}

proptest! {
    /// For accumulators of 16 to 64 bits, tested against bounds in i128.
    #[test]
    fn a_sum_holds_in_an_accumulator_exactly_if_its_bounds_do(
        list in proptest::collection::vec(any::<i32>(), 0..6), weight_scale in 0u8..31, bias: i64, bias_scale in 0u8..64,
        low in -32_768i64..65_536, width in 0i64..70_000, zero_point in -32_768i64..65_536, bits in 16u8..=64, nudge in -2i128..3,
        final_sum: bool,
    ) {
        let list: Vec<i32> = list.iter().map(|w| w >> weight_scale).collect();
        let codes = (low, low + width);
        let input = Input { codes, zero_point, padding: None, any_pattern: true };
        let limit = (1i128 << (bits - 1)) - 1;
        let ends = |bias: i64| list.iter().fold([i128::from(bias); 2], |[low, high], &w| {
            let products = [codes.0, codes.1].map(|x| i128::from(w) * i128::from(x - zero_point));
            [low + products[0].min(products[1]), high + products[0].max(products[1])]
        });
        // Some biases bring the upper bound to the accumulator's limit, or next to it.
        let nearest = limit - ends(0)[1] + nudge;
        for bias in [bias >> bias_scale, nearest.clamp(i64::MIN.into(), i64::MAX.into()) as i64] {
            let sum = Products { weights: &list, bias, input };
            let parts = list.iter().fold([i128::from(bias.min(0)), i128::from(bias.max(0))], |[low, high], &w| {
                let products = [codes.0, codes.1].map(|x| i128::from(w) * i128::from(x - zero_point));
                [low + products[0].min(products[1]).min(0), high + products[0].max(products[1]).max(0)]
            });
            let (order, asked) = if final_sum { (Order::Final, ends(bias)) } else { (Order::Any, parts) };
            let holds = asked[0] >= -limit - 1 && asked[1] <= limit;
            match prove(0, &sum, Accumulator { bits, order }) {
                Ok(range) => {
                    prop_assert!(holds);
                    prop_assert_eq!([range.low.value, range.high.value], ends(bias));
                }
                Err(overflow) => {
                    prop_assert!(!holds, "{}", overflow);
                    prop_assert!(asked.contains(&overflow.extreme.value));
                }
            }
        }
    }

    #[test]
    fn sums_of_products_are_inside_and_reach_the_ends_that_are_realised(
        list in proptest::collection::vec(-4i32..=4, 0..5), bias in -20i64..20, low in -3i64..3, width in 0i64..3,
        zero_point in -3i64..3, pad in proptest::option::of((-5i64..5, proptest::collection::vec(any::<bool>(), 0..3))),
    ) {
        let codes = (low, low + width);
        let padding = pad.as_ref().map(|(code, taps)| Padding { code: *code, taps, interior: true });
        let input = Input { codes, zero_point, padding, any_pattern: true };
        let sum = Products { weights: &list, bias, input };
        let choices: Vec<Vec<i64>> = (0..list.len()).map(|i| {
            let outside = pad.as_ref().filter(|(_, taps)| taps.is_empty() || taps[i % taps.len()]).map(|(code, _)| *code);
            (codes.0..=codes.1).chain(outside).collect()
        }).collect();
        let summands = |x: &Vec<i64>| -> Vec<i64> {
            list.iter().zip(x).map(|(w, x)| i64::from(*w) * (x - zero_point)).chain([bias]).collect()
        };
        let all: Vec<Vec<i64>> = every(&choices).iter().map(summands).collect();
        let sums = hull(all.iter().map(|s| (s.iter().sum(), s.iter().sum())));
        // In this test, every tap may read padding or not, independently of the other taps. The bounds assume this, so
        // they are exact here.
        prop_assert_eq!(sum.range().interval(), sums);
        prop_assert_eq!(sum.partial_sums().interval(), hull(all.iter().map(|s| parts(s))));
        let widest = (codes.0 - zero_point).abs().max((codes.1 - zero_point).abs())
            .max(pad.as_ref().map_or(0, |(code, _)| (code - zero_point).abs()));
        let classical = bias.abs() + list.iter().map(|w| i64::from(w.abs()) * widest).sum::<i64>();
        let (a, b) = sum.partial_sums().interval();
        prop_assert!(-classical <= a && b <= classical);
        for extreme in [sum.range().low, sum.range().high] {
            let Pattern::BySign { positive, negative } = extreme.pattern else { panic!() };
            let of_other_layers = Products { input: Input { any_pattern: false, ..input }, ..sum };
            prop_assert!(!of_other_layers.range().low.realised && !of_other_layers.partial_sums().high.realised);
            if extreme.realised {
                prop_assert!([positive, negative].iter().all(|x| (codes.0..=codes.1).contains(x)));
                let value: i64 = list.iter().map(|w| match w.signum() {
                    0 => 0,
                    sign => i64::from(*w) * (if sign > 0 { positive } else { negative } - zero_point),
                }).sum();
                prop_assert_eq!(i128::from(value + bias), extreme.value);
            }
        }
    }

    #[test]
    fn products_of_activations_are_inside_and_reach_the_ends(
        count in 0u64..4, a in -3i64..3, b in 0i64..3, c in -3i64..3, d in 0i64..3, p in -2i64..2, q in -2i64..2,
    ) {
        let (x, y) = ((a, a + b), (c, c + d));
        let sum = Pairs { count, first: (x, p), second: (y, q), any_pattern: true };
        let one: Vec<i64> = (x.0..=x.1).flat_map(|x| (y.0..=y.1).map(move |y| (x - p) * (y - q))).collect();
        let all = every(&vec![one; count as usize]);
        prop_assert_eq!(sum.range().interval(), hull(all.iter().map(|s| (s.iter().sum(), s.iter().sum()))));
        prop_assert_eq!(sum.partial_sums().interval(), hull(all.iter().map(|s| parts(s))));
        let Pattern::Pair { first, second } = sum.range().high.pattern else { panic!() };
        prop_assert_eq!(i128::from(count as i64 * (first - p) * (second - q)), sum.range().high.value);
    }

    /// The smallest product of a number with itself is not the smallest product of two numbers.
    #[test]
    fn a_bound_that_one_operand_twice_does_not_reach_is_not_realised(low in -3i64..3, width in 1i64..4, zero in -3i64..3) {
        let codes = (low, low + width);
        let sum = Pairs { count: 1, first: (codes, zero), second: (codes, zero), any_pattern: false };
        let squares = hull((codes.0..=codes.1).map(|x| ((x - zero).pow(2), (x - zero).pow(2))));
        let range = sum.range();
        prop_assert!(range.interval().0 <= squares.0 && squares.1 <= range.interval().1);
        for (extreme, reached) in [(range.low, squares.0), (range.high, squares.1)] {
            prop_assert!(!extreme.realised || extreme.value == i128::from(reached));
        }
        let limit = Accumulator { bits: 1, order: Order::Final };
        if let Err(overflow) = prove(0, &sum, limit) {
            prop_assert!(overflow.to_string().contains("may reach"), "{}", overflow);
        }
    }

    #[test]
    fn the_repair_is_enough(
        list in proptest::collection::vec(-127i32..=127, 1..40), bias in -(1i64 << 24)..1 << 24, scale in 0u8..24,
        zero in -128i64..=127, bits in 14u8..20, any in any::<bool>(),
    ) {
        let bias = bias >> scale;
        let accumulator = Accumulator { bits, order: if any { Order::Any } else { Order::Final } };
        // The zero point is folded into the bias.
        let folded = |list: &[i32], bias: i64| bias - zero * list.iter().map(|w| i64::from(*w)).sum::<i64>();
        let Err(overflow) = prove(0, &weights(&list, folded(&list, bias), (-128, 127)), accumulator) else { return Ok(()) };
        let limit = 1i64 << (bits - 1);
        prop_assert!(overflow.extreme.value >= limit.into() || overflow.extreme.value < (-limit).into());
        match overflow.repair {
            Repair::CoarserWeights { bits } | Repair::CoarserBias { bits } => {
                let coarser = |w: f64| (w / f64::from(1u32 << bits)).round();
                let list: Vec<i32> = list.iter().map(|w| coarser((*w).into()) as i32).collect();
                let bias = folded(&list, coarser(bias as f64) as i64);
                prop_assert!(prove(0, &weights(&list, bias, (-128, 127)), accumulator).is_ok());
            }
            Repair::CoarserGrid { .. } => unreachable!("a sum of products has scales of its own"),
            Repair::FewerProducts { of, at_most } => {
                prop_assert_eq!(of, list.len() as u64);
                let list = &list[..list.len().min(at_most as usize)];
                prop_assert!(prove(0, &weights(list, 0, (-128, 127)), accumulator).is_ok());
            }
        }
    }
}

/// Long lists are added in blocks, in 32 bits where the weights are small. Some taps never read padding.
#[test]
fn long_lists_of_small_and_large_weights_have_the_bounds_of_plain_sums() {
    let small = |i: i64| (i * 7919 % 255 - 127) as i32;
    for largest in [1 << 19, (1 << 20) - 1, 1 << 20, i32::MAX, i32::MIN] {
        for count in [9, 1017, 1026, 3069] {
            let mut list: Vec<i32> = (0..count).map(small).collect();
            list[4] = largest;
            list[count as usize - 1] = largest;
            for taps in [&[true; 9][..], &[true, true, true, true, false, true, true, true, true]] {
                let padding = Padding {
                    code: 200,
                    taps,
                    interior: true,
                };
                let mut sum = weights(&list, 5, (-3, 7));
                sum.input.padding = Some(padding);
                let ends = |(i, &w): (usize, &i32)| {
                    let high: i128 = if taps[i % 9] { 200 } else { 7 };
                    [i128::from(w) * -3, i128::from(w) * high]
                };
                let all: Vec<[i128; 2]> = list.iter().enumerate().map(ends).collect();
                let plain = |f: fn(i128, i128) -> i128| all.iter().map(|&[a, b]| f(a, b)).sum::<i128>() + 5;
                let range = sum.range();
                assert_eq!(
                    (range.low.value, range.high.value),
                    (plain(i128::min), plain(i128::max))
                );
            }
        }
    }
}
