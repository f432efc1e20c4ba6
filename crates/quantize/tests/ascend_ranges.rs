//! Compares Ascend's observers with a second implementation of their rules that works on the elements themselves.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use strait_quantize::observers::{GridKind, Observer};
use strait_quantize::{ObserverChoice, Statistics};
use strait_requantize::scales::of_range;
use strait_target::spec::Observer as Word;

/// What `xtask/python/ascend_ranges.py` prints: the observer, the name of the list of numbers, whether the grid is
/// symmetric, and the scale.
const EXPECTED: &[(Word, &str, bool, f64)] = &[
    (Word::Ifmr, "bell", false, 4.174_034_670e-2),
    (Word::Hfmg, "bell", false, 4.191_593_058e-2),
    (Word::Ifmr, "bell", true, 4.254_352_840e-2),
    (Word::Hfmg, "bell", true, 4.333_924_045e-2),
    (Word::Ifmr, "negative", false, 4.191_019_088e-2),
    (Word::Hfmg, "negative", false, 4.229_896_081e-2),
    (Word::Ifmr, "negative", true, 5.022_898_164e-2),
    (Word::Hfmg, "negative", true, 5.178_245_530e-2),
    (Word::Ifmr, "outlier", false, 4.101_239_038e-2),
    (Word::Hfmg, "outlier", false, 4.206_094_262e-2),
    (Word::Ifmr, "outlier", true, 6.448_818_898e-2),
    (Word::Hfmg, "outlier", true, 7.084_551_827e-2),
];

fn bell(count: usize, spread: f32) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let sum = |_| spread * (next() + next() + next() + next() + 0.1);
    (0..count).map(sum).collect()
}

fn numbers(name: &str) -> Vec<f32> {
    match name {
        "bell" => bell(20_000, 3.0),
        "negative" => bell(20_000, 3.0).into_iter().map(|x| -x - 1.0).collect(),
        _ => bell(20_000, 1.0).into_iter().chain([9.0]).collect(),
    }
}

/// The observers read histograms, not elements. So a scale may differ: for IFMR by at most one step of the factor, and
/// for HFMG by a few bins.
#[test]
fn scales_are_those_of_the_rules_on_the_elements_themselves() {
    for &(word, name, symmetric, expected) in EXPECTED {
        let mut statistics = Statistics::default();
        statistics.add(0, &numbers(name));
        let grid = GridKind {
            codes: [-128, 127],
            symmetric,
            power_of_two: false,
            float: None,
        };
        let range = ObserverChoice::from(word).range((&statistics).into(), grid).unwrap();
        let (scale, _) = of_range(range, grid.ends(), symmetric, false).unwrap();
        let apart = (f64::from(scale) / expected - 1.0).abs();
        assert!(apart < 0.012, "{word} {name} {symmetric}: {scale}, {expected}");
    }
}
