//! Arithmetics that are drawn at random are found again, and those that can be told apart are.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Numbers, factor, once, per, record, twice};
use strait_identify::{Answer, Family, Hypothesis, Subject, identify};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, form};

const OUTPUTS: usize = 200_000;

fn answer(form: &Requantization, numbers: &mut Numbers) -> Answer {
    identify("drawn", &record(form, OUTPUTS, numbers)).unwrap()
}

fn explains(answer: &Answer, family: Family, rounding: Rounding, bits: u8) -> bool {
    let subject = Subject::Hypothesis(Hypothesis { family, rounding, bits });
    let explained = answer.explained.iter().any(|explained| explained.subject == subject);
    assert!(
        explained || answer.refuted.iter().any(|refuted| matches!(refuted.subject, Subject::Hypothesis(h) if h.is_width_of(&Hypothesis { family, rounding, bits }))),
        "{family:?} {rounding} {bits} was not tried"
    );
    explained
}

/// An arithmetic of any family, with the hypothesis that it is.
fn draw(numbers: &mut Numbers) -> (Requantization, Hypothesis) {
    let rounding = numbers.of(&Rounding::ALL);
    let of = |family, rounding, bits| Hypothesis { family, rounding, bits };
    let scale = |numbers: &mut Numbers, spare: u32| {
        let scale = (numbers.between(1 << 23, (1 << 24) - 1) as f32) * 2f32.powi(-numbers.between(29, 36) as i32);
        f32::from_bits(scale.to_bits() >> spare << spare)
    };
    let out = numbers.of(&[IntType::I8, IntType::U8]);
    let zp = (out.min() + out.max() + 1) / 2 + numbers.between(-60, 60) as i32;
    match numbers.between(0, 6) {
        0 => {
            let shift = per(numbers, |numbers| numbers.between(3, 14) as u8);
            let narrowing = Narrowing { shift, rounding, out };
            (form::ArithFolded { narrowing }.into(), of(Family::Shift, rounding, 0))
        }
        1 => {
            let bits = numbers.of(&[1, 7, 8, 15, 16, 24, 31]);
            (once(bits, rounding, numbers), of(Family::After, rounding, bits))
        }
        2 => (twice(numbers), of(Family::Twice, Rounding::HalfAway, 31)),
        3 => {
            let bits = numbers.of(&[7, 8, 15, 16, 24, 30]);
            let parts = per(numbers, |numbers| factor(bits, numbers));
            let form = form::FractionalZero {
                sc: parts.map(|parts| parts.0),
                zp: parts.map(|parts| numbers.between(-60 << parts.1, 60 << parts.1)),
                narrowing: Narrowing {
                    shift: parts.map(|parts| parts.1),
                    rounding,
                    out: IntType::I8,
                },
            };
            // The constant makes up for the difference.
            let rounding = match rounding {
                Rounding::Floor | Rounding::Ceil | Rounding::HalfDown => Rounding::HalfUp,
                other => other,
            };
            (form.into(), of(Family::Before, rounding, bits))
        }
        4 => {
            let bits = numbers.of(&[11, 24]);
            let scale = per(numbers, |numbers| scale(numbers, 24 - u32::from(bits)));
            (
                form::Float { scale, zp, out }.into(),
                of(Family::Float, Rounding::HalfEven, bits),
            )
        }
        5 => {
            let scale = per(numbers, |numbers| scale(numbers, 0));
            let form = form::FloatZeroInside { scale, zp, out };
            (form.into(), of(Family::FloatInside, Rounding::HalfEven, 24))
        }
        _ => {
            let parts = per(numbers, |numbers| {
                (numbers.between(1 << 52, (1 << 53) - 1), -numbers.between(5, 12) as i8)
            });
            let form = form::Float64 {
                multiplier: parts.map(|parts| parts.0),
                exponent: parts.map(|parts| parts.1),
                zp,
                out,
            };
            (form.into(), of(Family::Double, Rounding::HalfAway, 53))
        }
    }
}

#[test]
fn an_arithmetic_drawn_at_random_is_among_the_answers_for_sixty_of_sixty_layers() {
    for seed in 0..60 {
        let mut numbers = Numbers::new(seed + 1);
        let (form, Hypothesis { family, rounding, bits }) = draw(&mut numbers);
        let answer = answer(&form, &mut numbers);
        assert!(
            explains(&answer, family, rounding, bits),
            "{seed}: {form:?}\n{answer:?}"
        );
        assert!(!answer.refuted.is_empty());
    }
}

#[test]
fn one_rounding_and_two_are_always_told_apart() {
    for seed in 0..30 {
        let mut numbers = Numbers::new(seed + 100);
        let two = twice(&mut numbers);
        let of_two = answer(&two, &mut numbers);
        for rounding in Rounding::ALL {
            assert!(
                !explains(&of_two, Family::After, rounding, 31),
                "{seed}: {rounding} {two:?}"
            );
        }
        let nearest = [Rounding::HalfUp, Rounding::HalfAway, Rounding::HalfEven];
        let one = once(31, nearest[seed as usize % 3], &mut numbers);
        let of_one = answer(&one, &mut numbers);
        assert!(
            !explains(&of_one, Family::Twice, Rounding::HalfAway, 31),
            "{seed}: {one:?}"
        );
    }
}

#[test]
fn the_three_ties_under_factors_that_are_powers_of_two_are_always_told_apart() {
    let ties = [Rounding::HalfUp, Rounding::HalfAway, Rounding::HalfEven];
    for seed in 0..20 {
        for truth in ties {
            let mut numbers = Numbers::new(seed + 200);
            let form = once(1, truth, &mut numbers);
            let answer = answer(&form, &mut numbers);
            for rounding in ties {
                let same = rounding == truth;
                assert_eq!(
                    explains(&answer, Family::After, rounding, 1),
                    same,
                    "{seed}: {truth}, {rounding}"
                );
            }
        }
    }
}

#[test]
fn a_witness_is_a_recorded_value_that_the_nearest_arithmetic_does_not_give() {
    let mut numbers = Numbers::new(7);
    let form = twice(&mut numbers);
    let layer = record(&form, OUTPUTS, &mut numbers);
    let answer = identify("drawn", &layer).unwrap();
    assert!(!answer.refuted.is_empty());
    for refuted in &answer.refuted {
        let witness = refuted.witness;
        let recorded = &layer.channels[witness.channel];
        assert!(recorded.contains(&(witness.accumulator, witness.found)));
        let channel = if refuted.form.channels().is_some() {
            witness.channel
        } else {
            0
        };
        let code = refuted.form.eval(channel, witness.accumulator).ok();
        assert_eq!(witness.expected, code, "nothing is clamped here");
        assert_ne!(witness.expected, Some(witness.found));
    }
}

#[test]
fn a_clamp_hides_nothing_but_what_is_behind_it() {
    let mut numbers = Numbers::new(9);
    let form = once(15, Rounding::HalfUp, &mut numbers);
    let mut layer = record(&form, OUTPUTS, &mut numbers);
    for (_, code) in layer.channels.iter_mut().flatten() {
        *code = (*code).clamp(0, 90);
    }
    let answer = identify("drawn", &layer).unwrap();
    assert!(explains(&answer, Family::After, Rounding::HalfUp, 15));
    assert!(answer.explained.iter().all(|explained| explained.clamps == [true; 2]));
}
