//! Tests how far a row's integers are from the ideal function, and how much closer other integers would be.
#![allow(clippy::unwrap_used, clippy::panic)]

use strait_requantize::decide::{Grids, Ideal, Optimality};
use strait_requantize::{IntType, Per, Requantization, Rounding};
use strait_target::spec::{Nearness, Rescale, Scales};
use strait_target::{Options, Table, TargetSpec};

const TABLE: &str = include_str!("tables/every-form.toml");

fn spec() -> TargetSpec {
    let table = Table::parse("every-form.toml", TABLE).unwrap_or_else(|e| panic!("{e}"));
    table.spec(&Options::new()).unwrap()
}

/// Tests each kind of form whose integers the compiler chooses, with few bits, since the choice matters most there.
#[test]
fn free_integers_deviate_no_more_than_the_nearest_to_the_factor_and_sometimes_less() {
    let text = TABLE.replace("= \"correction\"", "= \"free\"");
    let text = text.replace("= [\"tensor\"]", "= [\"channel\", \"tensor\"]");
    let table = Table::parse("free.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let spec = table.spec(&Options::new()).unwrap();
    let mut better = 0;
    for (name, zero_inside) in [("fractional", true), ("fifteen", false), ("general", false)] {
        let row = &spec.form[name];
        for step in 1..=60 {
            let weight = Per::from_iter([0.0007_f32 * step as f32, 0.011]);
            let accumulators = Per::from_iter([(-900 * step, 40_000), (-3_000, 1_100 * step)]);
            let mut rescale = Rescale {
                scales: Scales::Convolution {
                    input: 0.3,
                    weight: &weight,
                    output: 0.41,
                },
                input_zero: 0,
                output_zero: -7,
                out: IntType::I8,
                accumulators: None,
            };
            let plain = row.build(&rescale).unwrap();
            assert_eq!(plain.nearness, None);
            rescale.accumulators = Some(&accumulators);
            let best = row.build(&rescale).unwrap();
            let Some(Nearness::Chosen { found, distance }) = best.nearness else {
                panic!("{name}: {:?}", best.nearness);
            };
            assert_eq!(found, Optimality::Optimal);
            let mut largest = 0;
            for channel in 0..2 {
                let grids = Grids {
                    input_zero: 0,
                    output_zero: -7,
                    zero_inside,
                    out: IntType::I8,
                };
                let factor = *rescale.scales.factor().get(channel).unwrap();
                let ideal = Ideal::new(factor, row.rounding(), grids).unwrap();
                let interval = *accumulators.get(channel).unwrap();
                let [plain, best] = [&plain.form, &best.form].map(|form| {
                    let deviation = ideal.deviation(&[form.clone().into()], channel, interval).unwrap();
                    (deviation.max_lsb, deviation.differing)
                });
                assert!(best <= plain, "{name} {step} {channel}: {best:?} {plain:?}");
                better += usize::from(best < plain);
                largest = largest.max(best.0);
            }
            assert_eq!(distance.unwrap().max_lsb, largest, "{name} {step}");
        }
    }
    assert!(better > 0);
}

/// Tests each kind of form whose integers or scale the runtime computes, at every accumulator.
#[test]
fn what_a_runtime_makes_is_held_against_the_ideal_and_against_the_best_integers() {
    let spec = spec();
    let (even, up, away) = (Rounding::HalfEven, Rounding::HalfUp, Rounding::HalfAway);
    let interval = (-9_000, 14_000);
    let accumulators = Per::Tensor(interval);
    let mut better = Vec::new();
    for (name, rounding, zero_inside, has_integers) in [
        ("fractional", even, true, true),
        ("single", up, false, true),
        ("fifteen", up, false, true),
        ("double", away, false, true),
        ("left-or-right", up, false, true),
        ("sixteen", up, false, true),
        ("double-precision", away, false, false),
        ("packed", even, false, false),
        ("single-precision", even, false, false),
        ("zero-inside", even, true, false),
        ("relu-before-offset", even, false, false),
        ("chain", even, true, false),
    ] {
        let row = &spec.form[name];
        for step in 1..=20 {
            let weight = Per::Tensor(0.0011 * step as f32);
            let rescale = Rescale {
                scales: Scales::Convolution {
                    input: 0.3,
                    weight: &weight,
                    output: 0.41,
                },
                input_zero: 0,
                output_zero: -7,
                out: IntType::I8,
                accumulators: Some(&accumulators),
            };
            let built = row.build(&rescale).unwrap();
            let derived = row.derived(&built.form, &rescale);
            let Some(Nearness::Derived { runtime, gain }) = derived else {
                panic!("{name}: {derived:?}");
            };
            let grids = Grids {
                input_zero: 0,
                output_zero: -7,
                zero_inside,
                out: IntType::I8,
            };
            let ideal = Ideal::new(*rescale.scales.factor().get(0).unwrap(), rounding, grids).unwrap();
            let differences = (interval.0..=interval.1)
                .map(|x| built.form.eval(0, x).unwrap().abs_diff(ideal.eval(x).unwrap()))
                .collect::<Vec<_>>();
            let differing = differences.iter().filter(|lsb| **lsb > 0).count() as u64;
            assert_eq!(runtime.max_lsb, *differences.iter().max().unwrap(), "{name} {step}");
            assert_eq!(
                (runtime.differing, runtime.accumulators),
                (differing, 23_001),
                "{name} {step}"
            );
            assert_eq!(runtime.share, differing as f64 / 23_001.0);
            assert_eq!(gain.is_some(), has_integers, "{name}");
            let Some(gain) = gain else { continue };
            let [runtime, best] = [runtime, gain.best].map(|d| (d.max_lsb, d.differing));
            assert_eq!((best < runtime, gain.channels), (gain.better == 1, 1), "{name} {step}");
            assert!(
                best <= runtime && gain.rounds_once == (name == "double"),
                "{name} {step}"
            );
            if gain.better > 0 && !better.contains(&name) {
                better.push(name);
            }
        }
    }
    assert!(better.contains(&"double"), "{better:?}");
}

#[test]
fn results_of_32_bits_are_compared_by_their_parameters() {
    let spec = spec();
    let most = 1 << 17;
    let accumulators = Per::Tensor((-most, most));
    let rescale = Rescale {
        scales: Scales::Ratio(0.9),
        input_zero: 0,
        output_zero: 0,
        out: IntType::I32,
        accumulators: Some(&accumulators),
    };
    // `0.9_f64` is just above 9/10, so that no result lies exactly halfway.
    let ideal = |x: i64| (0.9 * x as f64).round() as i32;
    let built = |form: &str| spec.form[form].build(&rescale).unwrap();
    let differing = |form: &Requantization| {
        let differs = |x: &i64| form.eval(0, *x).unwrap() != ideal(*x);
        (-most..=most).filter(differs).count() as u64
    };
    let double = built("double");
    let derived = spec.form["double"].derived(&double.form, &rescale);
    let Some(Nearness::Derived { runtime, .. }) = derived else {
        panic!("{derived:?}")
    };
    // The form rounds twice, which rounds a tenth of all results to the wrong side.
    assert_eq!((runtime.max_lsb, runtime.differing), (1, differing(&double.form)));
    assert!((0.09..0.11).contains(&runtime.share), "{}", runtime.share);
    let general = built("general");
    let Some(Nearness::Chosen {
        found,
        distance: Some(distance),
    }) = general.nearness
    else {
        panic!("{:?}", general.nearness)
    };
    assert_eq!((found, distance.max_lsb), (Optimality::Optimal, 0));
    assert_eq!(differing(&general.form), 0);
}
