//! Tests rounding against its definition in words: the candidates are the two neighbours, and the mode says which of
//! them is the result.

use proptest::prelude::*;
use std::num::NonZeroU32;
use strait_requantize::Rounding;

/// `round(n / d)` for d > 0, computed from the definition, and not from floor and remainder as in the implementation.
fn defined(mode: Rounding, n: i128, d: i128) -> i128 {
    let (toward_zero, rest) = (n / d, n % d);
    if rest == 0 {
        return toward_zero;
    }
    let away = toward_zero + n.signum();
    let (below, above) = (toward_zero.min(away), toward_zero.max(away));
    let nearest = |tie: i128| {
        let (to_below, to_above) = (n - below * d, above * d - n);
        if to_below == to_above {
            tie
        } else if to_below < to_above {
            below
        } else {
            above
        }
    };
    match mode {
        Rounding::Floor => below,
        Rounding::Ceil => above,
        Rounding::TowardZero => toward_zero,
        Rounding::HalfUp => nearest(above),
        Rounding::HalfDown => nearest(below),
        Rounding::HalfAway => nearest(away),
        Rounding::HalfTowardZero => nearest(toward_zero),
        Rounding::HalfEven => nearest(if below % 2 == 0 { below } else { above }),
    }
}

#[test]
fn shifts_of_all_16_bit_values_equal_the_definition() {
    for mode in Rounding::ALL {
        for shift in 0..=18 {
            for x in i16::MIN..=i16::MAX {
                let expect = defined(mode, i128::from(x), 1 << shift);
                assert_eq!(
                    i128::from(mode.shift_right(i64::from(x), shift)),
                    expect,
                    "{mode} {x} >> {shift}"
                );
            }
        }
    }
}

#[test]
fn known_values_of_each_mode() {
    use Rounding::*;
    // The numbers n / 2 from -2.5 to 2.5.
    let expect = [
        (Floor, [-3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2]),
        (Ceil, [-2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3]),
        (TowardZero, [-2, -2, -1, -1, 0, 0, 0, 1, 1, 2, 2]),
        (HalfUp, [-2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3]),
        (HalfDown, [-3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2]),
        (HalfAway, [-3, -2, -2, -1, -1, 0, 1, 1, 2, 2, 3]),
        (HalfTowardZero, [-2, -2, -1, -1, 0, 0, 0, 1, 1, 2, 2]),
        (HalfEven, [-2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2]),
    ];
    for (mode, values) in expect {
        for (n, value) in (-5..=5).zip(values) {
            assert_eq!(mode.shift_right(n, 1), value, "{mode} {n}/2");
            assert_eq!(mode.divide(n, NonZeroU32::new(2).unwrap()), value, "{mode} {n}/2");
            assert_eq!(mode.round_f64(n as f64 / 2.0), value as f64, "{mode} {n}/2");
            assert_eq!(mode.round_f32(n as f32 / 2.0), value as f32, "{mode} {n}/2");
        }
        assert_eq!(Rounding::parse(mode.name()), Some(mode));
    }
}

#[test]
fn shifts_past_the_width_round_what_is_left_of_the_value() {
    for mode in Rounding::ALL {
        for x in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            for shift in [62, 63, 64, 65, 100, 126] {
                let expect = defined(mode, i128::from(x), 1i128 << shift);
                assert_eq!(i128::from(mode.shift_right(x, shift)), expect, "{mode} {x} >> {shift}");
            }
            assert_eq!(mode.shift_right(x, 255), mode.shift_right(x, 126));
        }
    }
}

#[test]
fn floats_next_to_a_tie_are_not_taken_for_it() {
    // In f64, -(0.5 - 2^-54) + 1 is 0.5. An implementation that computes the distance from the lower neighbour would
    // see a tie.
    let near = 0.5f64.next_down();
    assert_eq!(Rounding::HalfDown.round_f64(-near), 0.0);
    assert_eq!(Rounding::HalfAway.round_f64(-near), 0.0);
    assert_eq!(Rounding::HalfUp.round_f64(near), 0.0);
    for mode in Rounding::ALL {
        assert!(mode.round_f64(f64::NAN).is_nan() && mode.round_f32(f32::NAN).is_nan());
        assert_eq!(mode.round_f64(f64::INFINITY), f64::INFINITY);
        assert_eq!(mode.round_f32(f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(mode.round_f64(1e300), 1e300);
    }
}

proptest! {
    #[test]
    fn wide_shifts_equal_the_definition(x in -(1i128 << 118)..(1i128 << 118), shift in 0u8..118) {
        for mode in Rounding::ALL {
            prop_assert_eq!(mode.shift_right_wide(x, shift), defined(mode, x, 1 << shift));
        }
    }

    #[test]
    fn division_equals_the_definition(n: i64, d in 1u32..) {
        for mode in Rounding::ALL {
            let expect = defined(mode, i128::from(n), i128::from(d));
            prop_assert_eq!(i128::from(mode.divide(n, NonZeroU32::new(d).unwrap())), expect);
        }
    }

    #[test]
    fn small_divisions_meet_ties(n in -100i64..100, d in 1u32..20) {
        for mode in Rounding::ALL {
            let expect = defined(mode, i128::from(n), i128::from(d));
            prop_assert_eq!(i128::from(mode.divide(n, NonZeroU32::new(d).unwrap())), expect);
        }
    }

    #[test]
    fn floats_round_like_the_standard_library(bits: u64, single: u32) {
        let x = f64::from_bits(bits);
        let y = f32::from_bits(single);
        for (mode, f, g) in [
            (Rounding::Floor, f64::floor as fn(f64) -> f64, f32::floor as fn(f32) -> f32),
            (Rounding::Ceil, f64::ceil, f32::ceil),
            (Rounding::TowardZero, f64::trunc, f32::trunc),
            (Rounding::HalfAway, f64::round, f32::round),
            (Rounding::HalfEven, f64::round_ties_even, f32::round_ties_even),
        ] {
            prop_assert!(mode.round_f64(x) == f(x) || x.is_nan());
            prop_assert!(mode.round_f32(y) == g(y) || y.is_nan());
        }
    }

    #[test]
    fn floats_round_like_fractions(n in -(1i64 << 40)..(1i64 << 40), shift in 0u8..30) {
        // n / 2^shift is exact in f64.
        for mode in Rounding::ALL {
            let x = n as f64 / (1u64 << shift) as f64;
            prop_assert_eq!(mode.round_f64(x), mode.shift_right(n, shift) as f64);
        }
    }
}
