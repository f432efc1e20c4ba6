//! Tests of recordings with wrong values: each arithmetic is tried with several fractions of wrong values.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Numbers, drawn_of, layer, once, recorded};
use std::collections::BTreeMap;
use strait_identify::{
    Answer, ChannelAxis, Family, Hypothesis, OUTLIERS, RecordedLayer, Rereading, Subject, Tolerance, document, identify,
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

const OUTPUTS: usize = 10_000;
const FAMILIES: [Family; 7] = [
    Family::Shift,
    Family::After,
    Family::Before,
    Family::Twice,
    Family::Float,
    Family::FloatInside,
    Family::Double,
];

/// How a recorded output is wrong.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// The output is replaced by a random code.
    Any,
    /// The output is replaced by a neighbouring code.
    Beside,
    /// One bit of the output is flipped.
    Bit,
}

/// Changes this many of the outputs; returns the changed positions with their original codes.
fn damage(pairs: &mut [(i64, i32)], count: usize, how: Damage, numbers: &mut Numbers) -> BTreeMap<usize, i32> {
    let mut changed = BTreeMap::new();
    let signed = pairs.iter().any(|pair| pair.1 < 0);
    let [low, high] = if signed { [-128, 127] } else { [0, 255] };
    while changed.len() < count {
        let at = numbers.between(0, pairs.len() as i64 - 1) as usize;
        let code = pairs[at].1;
        let wrong = match how {
            Damage::Any => numbers.between(low, high) as i32,
            Damage::Beside => code + numbers.of(&[-1, 1]),
            Damage::Bit => code ^ (1 << numbers.between(0, 6)),
        };
        if wrong != code && (low..=high).contains(&i64::from(wrong)) && !changed.contains_key(&at) {
            changed.insert(at, code);
            pairs[at].1 = wrong;
        }
    }
    changed
}

/// True if the arithmetic `truth` is the best explanation of the layer, or explains it as well as the best one.
fn comes_first(answer: &Answer, truth: Hypothesis) -> bool {
    let mut subjects = answer.explained.iter().map(|explained| explained.subject);
    subjects.any(|subject| subject == Subject::Hypothesis(truth))
}

/// Draws an arithmetic of a family, changes this many outputs, and checks that the arithmetic is identified.
fn tried(family: Family, how: Damage, count: usize, seed: u64) {
    let mut numbers = Numbers::new(seed);
    let (form, truth) = drawn_of(family, &mut numbers);
    let mut pairs = recorded(&form, OUTPUTS, &mut numbers);
    let changed = damage(&mut pairs, count, how, &mut numbers);
    let damaged = layer(&form, &pairs);
    let answer = identify("damaged", &damaged).unwrap();
    let case = format!("{seed} {truth}, {how:?}, {count} changed: {form:?}");
    let first = answer.explained.first().map(|explained| explained.subject.to_string());
    assert!(
        comes_first(&answer, truth),
        "{case}, and {first:?} explains all but {:?}",
        answer.missed()
    );
    let best = &answer.explained[0];
    // A slightly different factor may produce a wrong value close to a threshold, so the number of missed values need
    // not be exactly `count`.
    let near = best.missed.abs_diff(count) <= 3 + count / 50;
    assert!(near, "{case}: {first:?} misses {}", best.missed);
    assert_eq!(best.outliers.len(), best.missed.min(OUTLIERS));
    let listed = best.outliers.iter().filter(|outlier| {
        let at = outlier.place[0] * damaged.channels.len() + outlier.place[1];
        let was = changed.get(&at);
        was.is_some_and(|&code| outlier.expected == Some(code)) && outlier.found == pairs[at].1
    });
    assert!(listed.count() + 3 >= best.outliers.len(), "{case}: {:?}", best.outliers);
}

#[test]
fn the_true_arithmetic_comes_first_and_what_was_changed_is_listed() {
    let kinds = [Damage::Any, Damage::Beside, Damage::Bit];
    for (at, family) in FAMILIES.into_iter().enumerate() {
        for (rate, count) in [1, OUTPUTS / 1000, OUTPUTS / 100].into_iter().enumerate() {
            tried(family, kinds[(at + rate) % 3], count, 5000 + (3 * at + rate) as u64);
        }
    }
}

#[test]
fn one_wrong_value_of_many_is_a_count_and_not_the_end() {
    let mut numbers = Numbers::new(77);
    let form = once(15, Rounding::HalfUp, &mut numbers);
    let mut pairs = recorded(&form, OUTPUTS, &mut numbers);
    let right = pairs[1234];
    pairs[1234].1 = if right.1 > 0 { -100 } else { 100 };
    let layer = layer(&form, &pairs);
    let answer = identify("damaged", &layer).unwrap();
    assert_eq!(answer.missed(), Some(1));
    assert!(!answer.is_exact() && !answer.is_within(Tolerance::default()));
    assert!(answer.is_within("0.1%".parse().unwrap()));
    let outlier = &answer.explained[0].outliers[0];
    assert_eq!((outlier.accumulator, outlier.expected), (right.0, Some(right.1)));
    assert_eq!(outlier.place, layer.place(1234));
    let [strict, tolerant] =
        ["0%", "0.1%"].map(|share| document("v.npz", std::slice::from_ref(&answer), share.parse().unwrap()));
    assert!(
        strict.contains(&format!("explains all but 1 of {OUTPUTS} outputs")),
        "{strict}"
    );
    assert!(
        strict.contains("it is not exact") && !strict.contains("measured"),
        "{strict}"
    );
    assert!(tolerant.contains("0.1 % are tolerated"), "{tolerant}");
    let place = format!(
        "layer/output{:?}: {} is recorded and {} computed",
        layer.place(1234),
        pairs[1234].1,
        right.1
    );
    assert!(strict.contains(&place), "{place}\n{strict}");
}

#[test]
fn a_clamp_with_wrong_values_beyond_it_is_a_clamp() {
    let mut numbers = Numbers::new(78);
    let form = once(15, Rounding::HalfEven, &mut numbers);
    let mut pairs = recorded(&form, OUTPUTS, &mut numbers);
    for pair in &mut pairs {
        pair.1 = pair.1.clamp(-20, 60);
    }
    damage(&mut pairs, OUTPUTS / 200, Damage::Any, &mut numbers);
    let answer = identify("damaged", &layer(&form, &pairs)).unwrap();
    assert_eq!(answer.ends, [-20, 60]);
    let truth = Hypothesis {
        family: Family::After,
        rounding: Rounding::HalfEven,
        bits: 15,
    };
    assert!(comes_first(&answer, truth), "{:?}", answer.explained.first());
}

#[test]
fn the_nearest_parameters_are_the_nearest() {
    // A shift by 3 that rounds down. Two values far from zero are wrong, and the search looks at their bounds first.
    let mut pairs: Vec<(i64, i32)> = (-400..400).map(|x| (x, (x >> 3) as i32)).collect();
    pairs[0].1 = 100;
    pairs[799].1 = -100;
    let layer = RecordedLayer::new("layer", IntType::I8, &[800], ChannelAxis::Second, pairs);
    let answer = identify("damaged", &layer).unwrap();
    let Some(Requantization::ArithFolded(best)) = answer.explained.first().map(|best| best.form.clone()) else {
        panic!("{:?}", answer.explained.first())
    };
    assert_eq!(
        (best.narrowing.rounding, best.narrowing.shift),
        (Rounding::Floor, Per::Tensor(3))
    );
    // Try every factor of 8 bits by brute force.
    let eight = answer
        .refuted
        .iter()
        .find(|refuted| refuted.subject.name() == "multiply-31-half-away")
        .unwrap();
    let missed = |m: i64, shift: u8, zero: i64| {
        let code = |x: i64| Rounding::HalfAway.shift_right(x * m, shift) + zero;
        layer
            .recorded
            .iter()
            .filter(|(x, y)| code(*x).clamp(-100, 100) != i64::from(*y))
            .count()
    };
    let all = (-3..=3).flat_map(|zero| (6..14).flat_map(move |shift| (1..256).map(move |m| (m, shift, zero))));
    let fewest = all.map(|(m, shift, zero)| missed(m, shift, zero)).min().unwrap();
    assert!(eight.missed <= fewest, "{} {fewest}", eight.missed);
}

#[test]
fn what_is_far_from_every_arithmetic_is_explained_by_none() {
    let mut numbers = Numbers::new(79);
    let pairs: Vec<(i64, i32)> = (0..20_000)
        .map(|_| {
            let x = numbers.between(-1000, 1000);
            (x, (120.0 * (x as f64 / 300.0).tanh()).round() as i32)
        })
        .collect();
    let layer = RecordedLayer::new("layer", IntType::I8, &[20_000], ChannelAxis::Second, pairs);
    let answer = identify("v.npz", &layer).unwrap();
    assert!(answer.explained.is_empty() && !answer.is_within("10%".parse().unwrap()));
    let text = document("v.npz", std::slice::from_ref(&answer), Tolerance::default());
    assert!(
        text.contains("nothing that is tried explains them") && !text.contains("[form."),
        "{text}"
    );
    let missed: Vec<usize> = answer.refuted.iter().map(|refuted| refuted.missed).collect();
    assert!(missed.is_sorted(), "{missed:?}");
}

#[test]
fn channels_that_stand_last_are_found_and_said_so() {
    let mut numbers = Numbers::new(80);
    let scales = (0..8).map(|at| 17_000 + 1500 * at);
    let form = Requantization::from(form::TfLite {
        sc: scales.collect(),
        zp: 3,
        narrowing: Narrowing {
            shift: Per::Tensor(23),
            rounding: Rounding::HalfUp,
            out: IntType::I8,
        },
    });
    let mut pairs = recorded(&form, 16_000, &mut numbers);
    for wrong in [0, 16] {
        damage(&mut pairs, wrong, Damage::Any, &mut numbers);
        // The layout of the outputs: [batch, height, width, channels].
        let layer = RecordedLayer::new(
            "layer",
            IntType::I8,
            &[20, 10, 10, 8],
            ChannelAxis::Second,
            pairs.clone(),
        );
        let answer = identify("v.npz", &layer).unwrap();
        assert_eq!(answer.rereadings, [Rereading::Channels(ChannelAxis::Last)]);
        assert!(!answer.is_within("10%".parse().unwrap()), "the file says otherwise");
        let text = document("v.npz", std::slice::from_ref(&answer), Tolerance::default());
        assert!(text.contains("is explained if the channels are read last"), "{text}");
        assert!(
            answer
                .explained
                .iter()
                .any(|one| one.subject.name() == "multiply-15-half-up"),
            "{text}"
        );
    }
}

#[test]
fn a_wrong_zero_point_is_found_and_said_so() {
    let mut numbers = Numbers::new(81);
    let narrowing = |rounding| Narrowing {
        shift: Per::Tensor(23),
        rounding,
        out: IntType::I8,
    };
    let (sc, zp) = (Per::Tensor(25_013), -45);
    for (name, wrong, form) in [
        (
            "multiply-15-half-up",
            0,
            form::TfLite {
                sc: sc.clone(),
                zp,
                narrowing: narrowing(Rounding::HalfUp),
            }
            .into(),
        ),
        (
            "multiply-15-half-even",
            20,
            form::TfLite {
                sc,
                zp,
                narrowing: narrowing(Rounding::HalfEven),
            }
            .into(),
        ),
        (
            "float-24",
            20,
            form::Float {
                scale: Per::Tensor(0.003_218_7),
                zp,
                out: IntType::I8,
            }
            .into(),
        ),
    ] {
        let mut pairs = recorded(&form, OUTPUTS, &mut numbers);
        damage(&mut pairs, wrong, Damage::Any, &mut numbers);
        let (stated, found) = (zp - 3, zp);
        let layer = RecordedLayer {
            zero_point: Some(stated),
            ..layer(&form, &pairs)
        };
        let answer = identify("v.npz", &layer).unwrap();
        assert_eq!(answer.rereadings, [Rereading::ZeroPoint { stated, found }], "{name}");
        assert!(answer.explained.iter().any(|one| one.subject.name() == name), "{name}");
        let text = document("v.npz", std::slice::from_ref(&answer), Tolerance::default());
        let says = format!("is explained if the zero point is {found} instead of {stated}");
        assert!(text.contains(&says), "{text}");
    }
}

#[test]
fn narrow_data_print_no_row_without_those_that_it_cannot_be_told_from() {
    for (first, last) in [(0, 0), (-2, 2), (0, 9), (-20, 20), (100, 130)] {
        let pairs: Vec<(i64, i32)> = (first..=last).map(|x| (x, ((x + 4) >> 3) as i32)).collect();
        let shape = [pairs.len()];
        let layer = RecordedLayer {
            zero_point: Some(0),
            ..RecordedLayer::new("layer", IntType::I8, &shape, ChannelAxis::Second, pairs)
        };
        let answer = identify("v.npz", &layer).unwrap();
        let text = document("v.npz", std::slice::from_ref(&answer), Tolerance::default());
        let rows = text.matches("[form.").count();
        assert!(rows > 0, "{text}");
        for row in text.split("\n\n").filter(|part| part.contains("[form.")) {
            assert!(row.contains("# cannot be told apart from "), "{first} to {last}: {row}");
        }
        assert!(rows < 2 || !text.contains("measured"), "{text}");
    }
}

#[test]
fn a_tolerance_is_a_percentage_of_at_most_ten() {
    assert_eq!("0.1%".parse::<Tolerance>().unwrap().to_string(), "0.1 %");
    for text in ["0.1", "", "%", "-1%", "11%", "nan%", "one%"] {
        let error = text.parse::<Tolerance>().unwrap_err().to_string();
        assert!(error.contains("`0.1%` for instance"), "{error}");
    }
}
