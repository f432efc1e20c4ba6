//! Tests thresholds, comparisons and certificates against brute force.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{form, narrow, step};
use proptest::prelude::*;
use strait_requantize::{
    Argument, Certificate, DecideError, IntType, Per, Requantization, Rounding, Step, Thresholds, Verdict, compare,
    compose,
    decide::{Activation, Behind, compose_steps, difference, equal_on, move_behind, verdicts},
    form::{self, Arithmetic},
    thresholds::Chain,
    to_steps,
};

fn folded(shift: u8, rounding: Rounding, out: IntType) -> Requantization {
    Requantization::ArithFolded(form::ArithFolded {
        narrowing: narrow(shift, rounding, out),
    })
}

/// The verdict, found by comparing the results for every integer of the interval.
fn brute_force(before: &[Step], after: &Step, (low, high): (i64, i64)) -> Verdict {
    let chain = Chain::new(before, 0).unwrap();
    let lsb = |x| chain.eval(x).unwrap().abs_diff(after.eval(0, x).unwrap());
    let all: Vec<u32> = (low..=high).map(lsb).collect();
    let Some(max_lsb) = all.iter().copied().max().filter(|m| *m > 0) else {
        return Verdict::Exact;
    };
    let witness = low + all.iter().position(|l| *l == max_lsb).unwrap() as i64;
    let share = all.iter().filter(|l| **l > 0).count() as f64 / all.len() as f64;
    Verdict::Bounded {
        max_lsb,
        witness,
        share,
    }
}

#[test]
fn a_shift_with_other_ties_differs_at_the_ties_only() {
    let before = [Step::from(folded(4, Rounding::HalfUp, IntType::I8))];
    let after = Step::from(folded(4, Rounding::HalfEven, IntType::I8));
    // In -64 ..= 63, the ties are 8 + 16 n for n = -4 ..= 3. Every other tie is rounded in the other direction.
    let expect = Verdict::Bounded {
        max_lsb: 1,
        witness: -56,
        share: 4.0 / 128.0,
    };
    assert_eq!(
        compare(&before, &after, 0, (-64, 63)),
        Ok(brute_force(&before, &after, (-64, 63)))
    );
    assert_eq!(compare(&before, &after, 0, (-64, 63)), Ok(expect));
    assert_eq!(compare(&before, &after, 0, (9, 15)), Ok(Verdict::Exact));
}

#[test]
fn the_interval_must_lie_inside_every_domain() {
    let gemmlowp = Step::from(Requantization::Gemmlowp(form::Gemmlowp {
        multiplier: (1 << 30).into(),
        exponent: 1.into(),
        zp: 0,
        roundings: form::Roundings::Two,
        out: IntType::I32,
    }));
    let plain = Step::from(folded(0, Rounding::Floor, IntType::I32));
    let inside = (1 << 30) - 10;
    assert_eq!(
        compare(std::slice::from_ref(&plain), &gemmlowp, 0, (inside, inside + 9)),
        Ok(Verdict::Exact)
    );
    for (low, high) in [(inside, inside + 10), (-inside - 11, -inside)] {
        let outside = |r: Result<Verdict, DecideError>| matches!(r, Err(DecideError::Domain(_)));
        assert!(outside(compare(
            std::slice::from_ref(&plain),
            &gemmlowp,
            0,
            (low, high)
        )));
        assert!(outside(compare(
            std::slice::from_ref(&gemmlowp),
            &gemmlowp,
            0,
            (low, high)
        )));
        // In this chain, the result of the first step is outside of the second step's domain.
        assert!(outside(compare(
            &[plain.clone(), gemmlowp.clone()],
            &plain,
            0,
            (low, high)
        )));
    }
    assert_eq!(compare(&[], &plain, 0, (0, 1)), Err(DecideError::Empty));
    assert_eq!(
        compare(std::slice::from_ref(&plain), &plain, 0, (1, 0)),
        Err(DecideError::Interval(1, 0))
    );
    assert_eq!(
        compare(std::slice::from_ref(&plain), &gemmlowp, 0, (1, 0)),
        Err(DecideError::Interval(1, 0))
    );
}

/// Expresses the first channel of a form as `Fixed`. Returns `None` unless the form multiplies integers, rounds once
/// and has no ReLU.
fn as_fixed(form: &Requantization) -> Option<Requantization> {
    let channel = form.channel(0).ok()?;
    match channel.arithmetic() {
        Arithmetic::Affine(a) if channel.range() == [form.out().min(), form.out().max()] => Some(
            form::Fixed {
                sc: a.factor.into(),
                add: a.addend.into(),
                zp: a.zero_point,
                narrowing: narrow(a.shift, a.rounding, form.out()),
            }
            .into(),
        ),
        _ => None,
    }
}

#[test]
fn wide_results_are_decided_by_their_parameters_or_not_at_all() {
    let whole = (i64::from(i32::MIN), i64::from(i32::MAX));
    let of = |before: &Requantization, after: &Requantization, interval| {
        let (before, after) = ([before.clone().into()], Step::from(after.clone()));
        compare(&before, &after, 0, interval).unwrap()
    };
    let plain = folded(0, Rounding::Floor, IntType::I32);
    assert_eq!(of(&plain, &plain, whole), Verdict::Exact);
    assert_eq!(of(&plain, &as_fixed(&plain).unwrap(), whole), Verdict::Exact);
    let multiply = |sc: i32, shift, rounding| {
        Requantization::from(form::TfLite {
            sc: sc.into(),
            zp: 3,
            narrowing: narrow(shift, rounding, IntType::I32),
        })
    };
    // Factor and divisor have a common power of two.
    let (up, even) = (multiply(5, 2, Rounding::HalfUp), multiply(5, 2, Rounding::HalfEven));
    let inside = (-1 << 28, 1 << 28);
    assert_eq!(of(&up, &multiply(20, 4, Rounding::HalfUp), inside), Verdict::Exact);
    assert_eq!(of(&even, &multiply(20, 4, Rounding::HalfEven), inside), Verdict::Exact);
    // Every fourth accumulator is a tie, and rounding up and rounding down differ at each tie.
    let verdict = of(&up, &multiply(5, 2, Rounding::HalfDown), (0, (1 << 28) - 1));
    let ties = Verdict::Bounded {
        max_lsb: 1,
        witness: 2,
        share: 0.25,
    };
    assert_eq!(verdict, ties);
    // With a divisor of 2^40, no accumulator of 32 bits is a tie.
    let (up, even) = (
        multiply(i32::MAX, 40, Rounding::HalfUp),
        multiply(i32::MAX, 40, Rounding::HalfEven),
    );
    assert_eq!(of(&up, &even, whole), Verdict::Exact);
    // With another slope, or with ties to even, the functions are not equal, but this cannot be decided.
    assert_eq!(of(&plain, &multiply(5, 2, Rounding::HalfUp), inside), Verdict::Unknown);
    assert_eq!(
        of(
            &multiply(5, 2, Rounding::HalfUp),
            &multiply(5, 2, Rounding::HalfEven),
            inside
        ),
        Verdict::Unknown
    );
    let steps = |form: &Requantization| [Step::from(form.clone())];
    assert!(matches!(
        equal_on(&steps(&plain), &steps(&multiply(5, 2, Rounding::HalfUp)), 0, inside),
        Err(DecideError::TooManySteps { .. })
    ));
    assert!(Verdict::Unknown.max_lsb() > 1 << 30 && !Verdict::Unknown.is_exact());
}

#[test]
fn a_clamp_in_front_of_a_wide_result_is_one_behind_it() {
    let form = Requantization::from(form::TfLite {
        sc: 3.into(),
        zp: -100,
        narrowing: narrow(1, Rounding::HalfEven, IntType::I32),
    });
    let front = Step {
        form: folded(0, Rounding::Floor, IntType::I32),
        clamp: Some([0, i32::MAX]),
    };
    let behind = |clamp| Step {
        form: form.clone(),
        clamp: Some(clamp),
    };
    let interval = (-1 << 24, 1 << 24);
    let chain = [front, form.clone().into()];
    assert_eq!(
        compare(&chain, &behind([-100, i32::MAX]), 0, interval),
        Ok(Verdict::Exact)
    );
    assert_eq!(
        compare(&chain, &behind([-99, i32::MAX]), 0, interval),
        Ok(Verdict::Unknown)
    );
}

#[test]
fn a_threshold_is_an_end_of_the_interval_where_the_function_does_not_step() {
    let step = Step::from(folded(4, Rounding::Floor, IntType::I8));
    let t = Thresholds::of(&[step], 0, (-20, 40)).unwrap();
    assert_eq!((t.lowest(), t.highest(), t.steps()), (-2, 2, &[-16, 0, 16, 32][..]));
    assert_eq!(
        (
            t.reaching(-3),
            t.reaching(-2),
            t.reaching(-1),
            t.reaching(2),
            t.reaching(3)
        ),
        (-20, -20, -16, 32, 41)
    );
    assert_eq!((t.reaching(i32::MIN), t.reaching(i32::MAX)), (-20, 41));
    assert_eq!((t.eval(-17), t.eval(-16), t.eval(32), t.eval(1000)), (-2, -1, 2, 2));
}

#[test]
fn an_activation_before_the_requantization_moves_behind_it() {
    // max(acc, 0) followed by a shift becomes a fused clamp, whose lower end is the shifted zero.
    let relu = Step {
        form: folded(0, Rounding::Floor, IntType::I32),
        clamp: Some([0, i32::MAX]),
    };
    let shift = Requantization::TfLite(form::TfLite {
        sc: 3.into(),
        zp: -100,
        narrowing: narrow(9, Rounding::HalfEven, IntType::I8),
    });
    let relu_only = Activation::Clamp { low: 0, high: i64::MAX };
    let behind = move_behind(relu_only, &shift, &Per::Tensor((-1 << 24, 1 << 24)));
    assert_eq!(behind, Ok(Behind::Clamp([-100, 127])));
    let fused = Step {
        form: shift.clone(),
        clamp: Some([-100, 127]),
    };
    assert_eq!(
        compare(&[relu, shift.into()], &fused, 0, (-1 << 24, 1 << 24)),
        Ok(Verdict::Exact)
    );
}

#[test]
fn a_certificate_survives_its_text() {
    let shift: Per<u8> = [4, 5, 6].into_iter().collect();
    let before = |rounding| {
        let narrowing = strait_requantize::Narrowing {
            shift: shift.clone(),
            rounding,
            out: IntType::I8,
        };
        Step {
            form: Requantization::ArithFolded(form::ArithFolded { narrowing }),
            clamp: Some([0, 127]),
        }
    };
    let (up, even) = (before(Rounding::HalfUp), before(Rounding::HalfEven));
    let interval: Per<(i64, i64)> = [(-500, 500), (9, 15), (0, 1 << 20)].into_iter().collect();
    let good = Certificate::derive(Argument::SameAccumulator, vec![up], Some(even), interval).unwrap();
    let text = serde_json::to_string(&good).unwrap();
    assert_eq!(serde_json::from_str::<Certificate>(&text).unwrap(), good);
    assert!(serde_json::from_str::<Certificate>(&text.replace("clamp", "clump")).is_err());
    assert_eq!(good.verdict.get(1), Some(&Verdict::Exact));
    assert!(matches!(good.worst(), Verdict::Bounded { max_lsb: 1, .. }));
}

#[test]
fn two_shifts_are_one_with_an_addend_unless_ties_look_at_sign_or_parity() {
    let chain = |a: &Requantization, b: &Requantization| [a.clone().into(), b.clone().into()];
    let whole = (i64::from(i32::MIN), i64::from(i32::MAX));
    for rounding in Rounding::ALL {
        let directed = matches!(rounding, Rounding::Floor | Rounding::Ceil | Rounding::TowardZero);
        let (first, second) = (folded(7, rounding, IntType::I32), folded(5, rounding, IntType::I8));
        let plain = folded(12, rounding, IntType::I8);
        let composed = compose(&first, &second);
        assert_eq!(
            composed.is_some(),
            directed || matches!(rounding, Rounding::HalfUp | Rounding::HalfDown)
        );
        if let Some(one) = composed {
            // In the directed modes, the composed form is equal to one shift by the sum of both shifts.
            let as_plain = compare(&[one.clone().into()], &plain.clone().into(), 0, whole).unwrap();
            assert_eq!(as_plain.is_exact(), directed);
            assert_eq!(
                compare(&chain(&first, &second), &one.into(), 0, whole),
                Ok(Verdict::Exact)
            );
        }
        // In the modes that round to the nearest, no single shift is equal to both shifts.
        let verdict = compare(&chain(&first, &second), &plain.into(), 0, whole).unwrap();
        assert_eq!(verdict.is_exact(), directed);
    }
}

#[test]
fn compositions_that_are_not_one_rounding_are_refused() {
    let fixed = |sc: i32, add: i64, zp, shift, rounding| {
        Requantization::Fixed(form::Fixed {
            sc: sc.into(),
            add: add.into(),
            zp,
            narrowing: narrow(shift, rounding, IntType::I32),
        })
    };
    use Rounding::*;
    let whole = |sc, add, zp| fixed(sc, add, zp, 0, HalfEven);
    let cases = [
        // The first form does not round, so the factors are multiplied, whatever the second form's rounding is.
        (
            whole(3, 5, 7),
            fixed(11, 13, 17, 4, HalfUp),
            Some(fixed(33, 145, 17, 4, HalfUp)),
        ),
        (whole(1 << 20, 0, 0), fixed((1 << 11) + 1, 0, 0, 4, HalfUp), None),
        (whole(1, 1 << 61, 0), fixed(3, 0, 0, 4, HalfUp), None),
        // Both shifts round in the same direction.
        (
            fixed(3, 5, 7, 4, Floor),
            fixed(1, 2, 9, 3, Floor),
            Some(fixed(3, 149, 9, 7, Floor)),
        ),
        (
            fixed(3, 5, 7, 4, Ceil),
            fixed(1, 2, 9, 3, Ceil),
            Some(fixed(3, 149, 9, 7, Ceil)),
        ),
        (
            fixed(3, 5, 7, 4, TowardZero),
            fixed(1, -7, 9, 3, TowardZero),
            Some(fixed(3, 5, 9, 7, TowardZero)),
        ),
        (fixed(3, 5, 7, 4, TowardZero), fixed(1, 2, 9, 3, TowardZero), None),
        (fixed(3, 5, 7, 4, Floor), fixed(3, 2, 9, 3, Floor), None),
        // The second form has a common power of two.
        (
            fixed(3, 5, 7, 4, Floor),
            fixed(2, 2, 9, 3, Floor),
            Some(fixed(3, 133, 9, 6, Floor)),
        ),
        // The roundings are different, but each can be expressed as adding a number and rounding down.
        (
            fixed(3, 5, 7, 4, Floor),
            fixed(1, 2, 9, 3, Ceil),
            Some(fixed(3, 134, 9, 7, Ceil)),
        ),
        (
            fixed(3, 5, 7, 4, HalfUp),
            fixed(1, 2, 9, 3, HalfUp),
            Some(fixed(3, 157, 9, 7, HalfUp)),
        ),
        (fixed(3, 5, 7, 4, HalfAway), fixed(1, 2, 9, 3, HalfUp), None),
        // The second form does not round.
        (
            fixed(3, 5, 7, 4, HalfEven),
            fixed(1, 2, 9, 0, HalfUp),
            Some(fixed(3, 5, 18, 4, HalfEven)),
        ),
        (fixed(3, 5, 7, 40, Floor), fixed(1, 0, 9, 30, Floor), None),
    ];
    for (first, second, expect) in cases {
        assert_eq!(compose(&first, &second), expect, "{first:?} {second:?}");
        let Some(one) = expect else { continue };
        for x in -5000..5000 {
            let between = first.eval(0, x).unwrap();
            assert_eq!(second.eval(0, between.into()), one.eval(0, x), "{x}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn closed_form_bisection_and_brute_force_agree(
        steps in proptest::collection::vec(step(), 1..=3), low in -5000i64..5000, width in 0i64..3000, scale in 0u8..12,
    ) {
        let interval = (low << scale, (low + width) << scale);
        let chain = Chain::new(&steps, 0).unwrap();
        let closed = Thresholds::of(&steps, 0, interval);
        let bisected = Thresholds::by_bisection(interval, |x| chain.eval(x).map_err(DecideError::from));
        prop_assert_eq!(&closed, &bisected);
        if let Ok(t) = closed {
            let stride = usize::max(1, (interval.1 - interval.0) as usize / 2000);
            for x in (interval.0..=interval.1).step_by(stride) {
                prop_assert_eq!(t.eval(x), chain.eval(x).unwrap());
            }
        }
    }

    #[test]
    fn verdicts_equal_brute_force(
        before in proptest::collection::vec(step(), 1..=2), after in step(), low in -3000i64..3000, width in 0i64..2000,
    ) {
        let interval = (low, low + width);
        match compare(&before, &after, 0, interval) {
            Ok(Verdict::Unknown) => prop_assert!(after.out() == IntType::I32 || before.last().unwrap().out() == IntType::I32),
            Ok(verdict) => {
                prop_assert_eq!(&verdict, &brute_force(&before, &after, interval));
                let equal = equal_on(&before, std::slice::from_ref(&after), 0, interval);
                prop_assert_eq!(equal, Ok(verdict.is_exact()));
                let channels: Per<(i64, i64)> = [interval, (low, low), interval].into_iter().collect();
                let each = channels.map(|i| compare(&before, &after, 0, *i).unwrap());
                prop_assert_eq!(verdicts(&before, &after, &channels), Ok(each));
            }
            Err(error) => prop_assert!(matches!(error, DecideError::Domain(_)), "{}", error),
        }
    }

    #[test]
    fn near_misses_are_found(shift in 1u8..20, sc in 1i32.., zp in -128i32..128, a in common::rounding(), b in common::rounding()) {
        // The same form with two roundings, for accumulators for which it does not saturate.
        let form = |rounding| Step::from(Requantization::TfLite(form::TfLite {
            sc: sc.into(), zp, narrowing: narrow(20 + shift, rounding, IntType::I8),
        }));
        let interval = (-1500, 1500);
        let verdict = compare(&[form(a)], &form(b), 0, interval);
        prop_assert_eq!(verdict, Ok(brute_force(&[form(a)], &form(b), interval)));
    }

    #[test]
    fn one_rounding_is_the_general_form_on_the_domain(form in form()) {
        let (low, high) = form.domain(0).into_inner();
        if let Some(other) = as_fixed(&form) {
            prop_assert_eq!(other.check(), Ok(()));
            // The other form may be defined for more accumulators, or, for a plain shift, for other products.
            let (a, b) = other.domain(0).into_inner();
            let interval = (low.max(a), high.min(b));
            if form.out() == IntType::I32 {
                for x in [interval.0, interval.0 / 3, -1, 0, 1, interval.1 / 7, interval.1] {
                    let x = x.clamp(interval.0, interval.1.max(interval.0));
                    prop_assert_eq!(form.eval(0, x), other.eval(0, x));
                }
            } else {
                prop_assert_eq!(compare(&[form.clone().into()], &other.into(), 0, interval), Ok(Verdict::Exact));
            }
        }
    }

    #[test]
    fn compositions_are_exact_where_the_first_does_not_saturate(first in form(), second in form()) {
        if let Some(one) = compose(&first, &second) {
            for x in -3000..3000 {
                let x = x * 1013;
                let Ok(between) = first.eval(0, x) else { continue };
                let [low, high] = first.range();
                // The combined form may be defined where the second form is not, because the second form's runtime
                // wraps there.
                if let Ok(code) = second.eval(0, i64::from(between))
                    && between > low
                    && between < high
                {
                    prop_assert_eq!(one.eval(0, x), Ok(code));
                }
            }
        }
    }

    #[test]
    fn composed_steps_take_saturation_and_clamps_along(first in step(), second in step()) {
        let (low, high) = (-3000 * 1013, 3000 * 1013);
        if let Ok(Some(one)) = compose_steps(&first, &second, &Per::Tensor((low, high))) {
            for x in (low..=high).step_by(1013) {
                if let (Ok(between), Ok(one)) = (first.eval(0, x), one.eval(0, x)) {
                    // If the chain is defined there, too, the results are equal.
                    prop_assert_eq!(second.eval(0, between.into()).unwrap_or(one), one);
                }
            }
        }
    }

    #[test]
    fn an_activation_is_moved_or_left_out_as_brute_force_says(
        form in form(), other in form(), low in -400i64..400, width in 0i64..400, first in -500i64..500, span in 0i64..500,
    ) {
        let interval = Per::Tensor((first, first + span));
        let activation = Activation::Clamp { low, high: low + width };
        let clamped = |x: i64| x.clamp(low, low + width);
        let all = |form: &Requantization, behind: [i32; 2]| (first..=first + span).all(|x| {
            form.eval(0, clamped(x)).unwrap() == form.eval(0, x).unwrap().clamp(behind[0], behind[1])
        });
        let open = [form.out().min(), form.out().max()];
        match move_behind(activation, &form, &interval) {
            Ok(Behind::Redundant) => prop_assert!(all(&form, open)),
            Ok(Behind::Clamp(behind)) => prop_assert!(all(&form, behind) && !all(&form, open)),
            Ok(found) => prop_assert!(false, "{:?}", found),
            Err(error) => prop_assert!(matches!(error, DecideError::Domain(_)), "{}", error),
        }
        // A form with two channels that have different factors.
        let (Requantization::TfLite(a), Requantization::TfLite(b)) = (&form, &other) else { return Ok(()) };
        let of = |f: &form::TfLite| (f.sc.values()[0], f.narrowing.shift.values()[0]);
        let both = Requantization::from(form::TfLite {
            sc: [of(a).0, of(b).0].into_iter().collect(),
            zp: a.zp,
            narrowing: strait_requantize::Narrowing { shift: [of(a).1, of(b).1].into_iter().collect(), ..a.narrowing },
        });
        let whole = |behind: [i32; 2]| (0..2).all(|c| (first..=first + span).all(|x| {
            both.eval(c, clamped(x)).unwrap() == both.eval(c, x).unwrap().clamp(behind[0], behind[1])
        }));
        match move_behind(activation, &both, &interval) {
            Ok(Behind::Redundant) => prop_assert!(whole([both.out().min(), both.out().max()])),
            Ok(Behind::Clamp(behind)) => prop_assert!(whole(behind)),
            Ok(Behind::PerChannel { .. }) => {
                // If some limits are right, there are also right limits that are results of the form. So only results
                // have to be tried.
                let results: std::collections::BTreeSet<i32> =
                    (0..2).flat_map(|c| (first..=first + span).map(move |x| (c, x))).map(|(c, x)| both.eval(c, clamped(x)).unwrap()).collect();
                let ends: Vec<i32> = results.into_iter().chain([both.out().min(), both.out().max()]).collect();
                if ends.len() <= 20 {
                    let mut pairs = ends.iter().flat_map(|low| ends.iter().map(move |high| [*low, *high]));
                    prop_assert!(!pairs.any(|[low, high]| low <= high && whole([low, high])));
                }
            }
            found => prop_assert!(false, "{:?}", found),
        }
        prop_assert_eq!(move_behind(Activation::Sloped, &form, &interval), Ok(Behind::NotAClamp));
    }

    #[test]
    fn thresholds_stand_for_any_narrow_form(a in step(), b in step(), low in -100_000i64..0, high in 0i64..100_000) {
        for steps in [vec![a.clone()], vec![a, b]] {
            let intervals: Per<(i64, i64)> = [(low, high), (low / 2, high / 2), (high, high)].into_iter().collect();
            match to_steps(&steps, &intervals) {
                Ok(form) => for (c, interval) in intervals.values().iter().enumerate() {
                    let verdict = compare(&steps, &form.clone().into(), c, *interval);
                    prop_assert_eq!(verdict, Ok(Verdict::Exact));
                },
                Err(DecideError::Form(_) | DecideError::TooManySteps { .. }) => {
                    prop_assert!(steps.last().unwrap().out().bits() > 8 || steps.last().unwrap().clamp.is_some());
                }
                Err(DecideError::Domain(_)) => {}
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}

#[test]
fn functions_on_different_intervals_are_compared_where_both_are() {
    let of =
        |shift, interval| Thresholds::of(&[folded(shift, Rounding::Floor, IntType::I8).into()], 0, interval).unwrap();
    assert_eq!(difference(&of(2, (0, 100)), &of(2, (-50, 50))), Verdict::Exact);
    // The results for x = 0 ..= 3 are equal. For 4 ..= 7 they are 1 and 0, and so on.
    let expect = Verdict::Bounded {
        max_lsb: 1,
        witness: 4,
        share: 0.5,
    };
    assert_eq!(difference(&of(2, (0, 7)), &of(3, (-9, 9))), expect);
}
