//! Tests that randomly drawn arithmetics are identified, and that arithmetics with different results are told apart.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{Numbers, draw, once, record, twice};
use strait_identify::{Answer, Family, Hypothesis, RecordedValue, Subject, identify};
use strait_requantize::{Requantization, Rounding};

/// The documentation promises that arithmetics can be told apart by this number of outputs. Among so many outputs are
/// some for which even similar arithmetics differ.
const MANY: usize = 200_000;
const SOME: usize = 20_000;

fn answer(form: &Requantization, outputs: usize, numbers: &mut Numbers) -> Answer {
    identify("drawn", &record(form, outputs, numbers)).unwrap()
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

#[test]
fn an_arithmetic_drawn_at_random_is_among_the_answers_for_sixty_of_sixty_layers() {
    for seed in 0..60 {
        let mut numbers = Numbers::new(seed + 1);
        let (form, Hypothesis { family, rounding, bits }) = draw(&mut numbers);
        let answer = answer(&form, SOME, &mut numbers);
        assert!(
            explains(&answer, family, rounding, bits),
            "{seed}: {form:?}\n{answer:?}"
        );
        assert!(!answer.refuted.is_empty());
    }
}

#[test]
fn one_rounding_and_two_are_always_told_apart() {
    for seed in 0..6 {
        let mut numbers = Numbers::new(seed + 100);
        let two = twice(&mut numbers);
        let of_two = answer(&two, MANY, &mut numbers);
        for rounding in Rounding::ALL {
            assert!(
                !explains(&of_two, Family::After, rounding, 31),
                "{seed}: {rounding} {two:?}"
            );
        }
        let nearest = [Rounding::HalfUp, Rounding::HalfAway, Rounding::HalfEven];
        let one = once(31, nearest[seed as usize % 3], &mut numbers);
        let of_one = answer(&one, MANY, &mut numbers);
        assert!(
            !explains(&of_one, Family::Twice, Rounding::HalfAway, 31),
            "{seed}: {one:?}"
        );
    }
}

#[test]
fn the_three_ties_under_factors_that_are_powers_of_two_are_always_told_apart() {
    let ties = [Rounding::HalfUp, Rounding::HalfAway, Rounding::HalfEven];
    for seed in 0..3 {
        for truth in ties {
            let mut numbers = Numbers::new(seed + 200);
            let form = once(1, truth, &mut numbers);
            let answer = answer(&form, MANY, &mut numbers);
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
    let layer = record(&form, SOME, &mut numbers);
    let answer = identify("drawn", &layer).unwrap();
    assert!(!answer.refuted.is_empty());
    for refuted in &answer.refuted {
        let witness = &refuted.witness;
        let recorded = &layer.channels[witness.channel];
        let is_it = |value: &RecordedValue| (value.accumulator, value.output) == (witness.accumulator, witness.found);
        assert!(recorded.iter().any(is_it));
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
    let mut layer = record(&form, SOME, &mut numbers);
    for value in layer.channels.iter_mut().flatten() {
        value.output = value.output.clamp(0, 90);
    }
    let answer = identify("drawn", &layer).unwrap();
    assert!(explains(&answer, Family::After, Rounding::HalfUp, 15));
    assert!(answer.explained.iter().all(|explained| explained.clamps == [true; 2]));
}
