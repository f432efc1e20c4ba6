//! Tests every form against its definition, which is written here a second time in exact integers and rationals. The
//! tests cover all accumulators of 8 and 16 bits, for all eight roundings and many parameters, and the edges of each
//! domain.

#![expect(clippy::unwrap_used, reason = "tests")]

use strait_requantize::{
    FormKind, IntType, Narrowing, Per, Requantization, Rounding, Roundings,
    form::{self, TosaInput},
};

/// `round(numerator / denominator)`, computed from the distances to both neighbours. The denominator is positive.
fn round(mode: Rounding, numerator: i128, denominator: i128) -> i128 {
    let below = numerator.div_euclid(denominator);
    let (down, up) = (numerator - below * denominator, (below + 1) * denominator - numerator);
    if down == 0 {
        return below;
    }
    let nearer = |tie: i128| match down.cmp(&up) {
        std::cmp::Ordering::Less => below,
        std::cmp::Ordering::Greater => below + 1,
        std::cmp::Ordering::Equal => tie,
    };
    let (towards_zero, away) = if numerator < 0 {
        (below + 1, below)
    } else {
        (below, below + 1)
    };
    match mode {
        Rounding::Floor => below,
        Rounding::Ceil => below + 1,
        Rounding::TowardZero => towards_zero,
        Rounding::HalfUp => nearer(below + 1),
        Rounding::HalfDown => nearer(below),
        Rounding::HalfAway => nearer(away),
        Rounding::HalfTowardZero => nearer(towards_zero),
        Rounding::HalfEven => nearer(if below % 2 == 0 { below } else { below + 1 }),
    }
}

/// An f64 of at most 2^52, rounded half to even, computed from the distances to both neighbours.
fn nearest_even(x: f64) -> i128 {
    let below = x.floor();
    let (down, up) = (x - below, below + 1.0 - x);
    let whole = below as i128;
    if down < up || (down == up && whole % 2 == 0) {
        whole
    } else {
        whole + 1
    }
}

/// `f32(a * b)`. The product of two `f32` is exact in `f64`.
fn product(a: f32, b: f32) -> f32 {
    (f64::from(a) * f64::from(b)) as f32
}

fn i32_or_none(x: i128) -> Option<i128> {
    i32::try_from(x).ok().map(i128::from)
}

fn saturate(x: i128, out: IntType) -> i32 {
    x.clamp(i128::from(out.min()), i128::from(out.max())) as i32
}

/// A form, and what its runtime computes before saturation. The result is `None` if the runtime does not define it.
struct Case {
    form: Requantization,
    define: Box<dyn Fn(i64) -> Option<i128>>,
}

impl Case {
    fn new(form: impl Into<Requantization>, define: impl Fn(i64) -> Option<i128> + 'static) -> Case {
        Case {
            form: form.into(),
            define: Box::new(define),
        }
    }

    fn expect(&self, x: i64) -> Option<i32> {
        (self.define)(x).map(|y| saturate(y, self.form.out()))
    }
}

const OUTS: [IntType; 7] = IntType::ALL;

/// Forms that multiply integers and round once, with a given rounding.
fn fixed_point() -> Vec<Case> {
    let mut cases = vec![];
    let parameters: [(i32, i64, i32, u8); 9] = [
        (1, 0, 0, 0),
        (1, 0, 3, 1),
        (1, 0, -128, 7),
        (3, 5, 10, 4),
        (255, -1000, 0, 11),
        (0, 77, 5, 3),
        (0x5555_5555, 1 << 39, -7, 40),
        (i32::MAX, -(1 << 61), 127, 62),
        (1 << 30, 1 << 29, 0, 30),
    ];
    for rounding in Rounding::ALL {
        for (i, (sc, add, zp, shift)) in parameters.into_iter().enumerate() {
            let out = OUTS[i % OUTS.len()];
            let narrowing = Narrowing {
                shift: Per::Tensor(shift),
                rounding,
                out,
            };
            let divided = move |v: i128| round(rounding, v, 1 << shift);
            let (wide_sc, wide_add, wide_zp) = (i128::from(sc), i128::from(add), i128::from(zp));
            let n = || narrowing.clone();
            cases.push(Case::new(form::ArithFolded { narrowing: n() }, move |x| {
                Some(divided(x.into()))
            }));
            cases.push(Case::new(
                form::FractionalZero {
                    sc: sc.into(),
                    zp: add.into(),
                    narrowing: n(),
                },
                move |x| Some(divided(i128::from(x) * wide_sc + wide_add)),
            ));
            cases.push(Case::new(
                form::TfLite {
                    sc: sc.into(),
                    zp,
                    narrowing: n(),
                },
                move |x| Some(divided(i128::from(x) * wide_sc) + wide_zp),
            ));
            cases.push(Case::new(
                form::Fixed {
                    sc: sc.into(),
                    add: add.into(),
                    zp,
                    narrowing: n(),
                },
                move |x| Some(divided(i128::from(x) * wide_sc + wide_add) + wide_zp),
            ));
        }
    }
    cases
}

/// gemmlowp's two functions and LiteRT's two multiplications, with the conditions under which they are defined.
fn litert() -> Vec<Case> {
    let mut cases = vec![];
    for (i, exponent) in [-31i8, -30, -9, -8, -2, -1, 0, 1, 7, 15, 29, 30]
        .into_iter()
        .enumerate()
    {
        for multiplier in [0, 1, 0x4000_0000, 0x5A82_799A, 0x7FFE_FFFF, 0x7FFF_0000, i32::MAX] {
            let zp = [0, -128, 127, 5, i32::MIN, i32::MAX][(i + multiplier as usize) % 6];
            let out = OUTS[i % OUTS.len()];
            let m = i128::from(multiplier);
            let with = |roundings| form::Gemmlowp {
                multiplier: multiplier.into(),
                exponent: exponent.into(),
                zp,
                roundings,
                out,
            };
            cases.push(Case::new(with(Roundings::Two), move |x| {
                let x = i32::try_from(x).ok()?;
                // The left shift of an i32 must not wrap.
                let shifted = i32_or_none(i128::from(x) << exponent.max(0))?;
                let nudge = if shifted * m >= 0 {
                    1i128 << 30
                } else {
                    1 - (1i128 << 30)
                };
                let high = (shifted * m + nudge) / (1i128 << 31);
                let right = -exponent.min(0);
                let mask = (1i128 << right) - 1;
                let threshold = (mask >> 1) + i128::from(high < 0);
                let result = (high >> right) + i128::from(high & mask > threshold);
                i32_or_none(i32_or_none(result)? + i128::from(zp))
            }));
            cases.push(Case::new(with(Roundings::One), move |x| {
                let x = i32::try_from(x).ok()?;
                let total = 31 - i32::from(exponent);
                let result = (i128::from(x) * m + (1i128 << (total - 1))) >> total;
                i32_or_none(i32_or_none(result)? + i128::from(zp))
            }));
            if exponent <= 7 {
                let form = form::SixteenByEight {
                    multiplier: multiplier.into(),
                    exponent: exponent.into(),
                    zp,
                    out,
                };
                cases.push(Case::new(form, move |x| {
                    if !(-(1i64 << 47)..1 << 47).contains(&x) {
                        return None;
                    }
                    let reduced = if m < 0x7FFF_0000 {
                        (m + (1 << 15)) / (1 << 16)
                    } else {
                        0x7FFF
                    };
                    let total = 15 - i32::from(exponent);
                    let result = (i128::from(x) * reduced + (1i128 << (total - 1))) >> total;
                    i32_or_none(i32_or_none(result)? + i128::from(zp))
                }));
            }
        }
    }
    cases
}

/// RESCALE, following the text of TOSA's specification.
fn tosa() -> Vec<Case> {
    let mut cases = vec![];
    for input in TosaInput::ALL {
        for out in OUTS {
            for (scale32, roundings) in [(true, Roundings::Two), (true, Roundings::One), (false, Roundings::One)] {
                for (i, shift) in [2u8, 3, 14, 30, 31, 32, 33, 40, 61, 62].into_iter().enumerate() {
                    for multiplier in [0, 1, 0x7FFF, 0x4000_0000, i32::MAX] {
                        let (low, high) = input.range();
                        let input_zp = match input {
                            TosaInput::I8 => [0, -128, 127, 5][i % 4],
                            TosaInput::U8 => [0, 255, 128, 5][i % 4],
                            TosaInput::U16 => [0, 32_768][i % 2],
                            _ => 0,
                        };
                        let output_zp = match out {
                            IntType::I8 | IntType::U8 => [out.min(), out.max(), 3][i % 3],
                            IntType::U16 => [0, 32_768][i % 2],
                            _ => 0,
                        };
                        let form = form::TosaRescale {
                            multiplier: multiplier.into(),
                            shift: shift.into(),
                            scale32,
                            roundings,
                            input,
                            input_zp,
                            output_zp,
                            out,
                        };
                        if Requantization::from(form.clone()).check().is_err() {
                            continue;
                        }
                        cases.push(Case::new(form, move |x| {
                            if x < low || x > high {
                                return None;
                            }
                            let value = i128::from(x) - i128::from(input_zp);
                            let half = 1i128 << (shift - 1);
                            let mut nudge = half;
                            if scale32 {
                                if value < -half || value >= half {
                                    return None;
                                }
                                if roundings == Roundings::Two && shift > 31 {
                                    nudge += if value >= 0 { 1 << 30 } else { -(1 << 30) };
                                }
                            }
                            let result = (value * i128::from(multiplier) + nudge) >> shift;
                            i32_or_none(i32_or_none(result)? + i128::from(output_zp))
                        }));
                    }
                }
            }
        }
    }
    cases
}

/// The forms in `f32`, computed with exact products.
fn float() -> Vec<Case> {
    let mut cases = vec![];
    let only_i32 = |x: i64| i32::try_from(x).ok();
    for (i, scale) in [1.0f32, 0.5, 0.25, 1.0 / 3.0, 0.017, 3.0e-5, 1.5, 7.77]
        .into_iter()
        .enumerate()
    {
        for zp in [0, 1, -3, 127, -128] {
            let out = [IntType::I8, IntType::U8, IntType::I16][i % 3];
            cases.push(Case::new(
                form::Float {
                    scale: scale.into(),
                    zp,
                    out,
                },
                move |x| Some(nearest_even(product(only_i32(x)? as f32, scale).into()) + i128::from(zp)),
            ));
            cases.push(Case::new(
                form::FloatZeroInside {
                    scale: scale.into(),
                    zp,
                    out,
                },
                move |x| {
                    // The sum of an f32 and a small integer is exact in f64, or the f32 is negligible beside the
                    // integer.
                    let sum = f64::from(product(only_i32(x)? as f32, scale)) + f64::from(zp);
                    Some(nearest_even((sum as f32).into()))
                },
            ));
            for relu in [false, true] {
                cases.push(Case::new(
                    form::AscendRequant {
                        scale: scale.into(),
                        offset: zp,
                        relu,
                        out,
                    },
                    move |x| {
                        let whole = nearest_even(product(only_i32(x)? as f32, scale).into());
                        Some(if relu { whole.max(0) } else { whole } + i128::from(zp))
                    },
                ));
                let quant = [0.3f32, 1.0, 20.0][i % 3];
                cases.push(Case::new(
                    form::DequantQuant {
                        deq: scale.into(),
                        relu,
                        scale: quant,
                        offset: zp,
                        out,
                    },
                    move |x| {
                        let real = product(only_i32(x)? as f32, scale);
                        let real = if relu && real < 0.0 { 0.0 } else { real };
                        let sum = f64::from(product(real, quant)) + f64::from(zp);
                        Some(nearest_even((sum as f32).into()))
                    },
                ));
            }
            if zp == 0 {
                continue;
            }
            cases.push(Case::new(
                form::AscendRequantS16 {
                    scale: scale.into(),
                    offset: zp,
                },
                move |x| {
                    let x = i16::try_from(x).ok()?;
                    Some(nearest_even(product(x.into(), scale).into()) + i128::from(zp))
                },
            ));
        }
    }
    for shift in 1..=16u8 {
        for relu in [false, true] {
            cases.push(Case::new(
                form::AscendDequantS16 {
                    shift: shift.into(),
                    relu,
                },
                move |x| {
                    let quotient = round(Rounding::Floor, only_i32(x)?.into(), 1 << shift);
                    Some(if relu { quotient.max(0) } else { quotient })
                },
            ));
        }
    }
    cases
}

/// Tests all accumulators of 16 bits, which include those of 8 bits.
fn every_small_accumulator(cases: &[Case]) {
    for case in cases {
        let channel = case.form.channel(0).unwrap();
        for x in i64::from(i16::MIN)..=i64::from(i16::MAX) {
            assert_eq!(channel.eval(x).ok(), case.expect(x), "{:?} at {x}", case.form);
        }
    }
}

/// Tests the accumulators at which results change, at both ends of the domain and beyond them, and at the ends of the
/// types.
fn every_edge(cases: &[Case], undefined_outside: bool) {
    for case in cases {
        let channel = case.form.channel(0).unwrap();
        let (low, high) = channel.domain().into_inner();
        let ends = [low, low + 1, -1, 0, 1, high - 1, high, i32::MIN.into(), i32::MAX.into()];
        let out = case.form.out();
        let steps = [out.min(), out.min() + 1, -100, -1, 0, 1, 2, 63, 64, 99, out.max()]
            .into_iter()
            .flat_map(|code| {
                let first = channel.least_reaching(code.into());
                [first - 1, first, first + 1]
            });
        for x in ends.into_iter().chain(steps).filter(|x| (low..=high).contains(x)) {
            assert_eq!(channel.eval(x).ok(), case.expect(x), "{:?} at {x}", case.form);
        }
        for x in [low - 1, high + 1] {
            let error = channel.eval(x).unwrap_err();
            assert_eq!((error.kind, error.acc, error.domain), (case.form.kind(), x, low..=high));
            if undefined_outside {
                assert_eq!(case.expect(x), None, "{:?} at {x}", case.form);
            }
        }
    }
}

#[test]
fn fixed_point_forms_are_their_definitions() {
    let cases = fixed_point();
    every_small_accumulator(&cases);
    // These functions are defined for all integers. The domain has the integers for which i64 is wide enough.
    every_edge(&cases, false);
}

#[test]
fn litert_forms_are_their_definitions() {
    let cases = litert();
    every_small_accumulator(&cases);
    every_edge(&cases, true);
}

#[test]
fn tosa_rescale_is_its_specification() {
    let cases = tosa();
    assert!(cases.len() > 1000);
    // Inputs of 8 bits are also tested with 16-bit numbers. Outside of the input's type there is no result.
    every_small_accumulator(&cases);
    every_edge(&cases, true);
}

#[test]
fn float_forms_are_their_definitions() {
    let cases = float();
    every_small_accumulator(&cases);
    every_edge(&cases, true);
}

#[test]
fn every_kind_has_a_definition_here_or_its_own_test() {
    let mut kinds: Vec<FormKind> = [fixed_point(), litert(), tosa(), float()]
        .into_iter()
        .flatten()
        .map(|case| case.form.kind())
        .chain([FormKind::Steps, FormKind::Float64])
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, FormKind::ALL);
}

#[test]
fn what_tosa_forbids_has_a_reason() {
    let legal = form::TosaRescale {
        multiplier: 1.into(),
        shift: 2.into(),
        scale32: true,
        roundings: Roundings::One,
        input: TosaInput::I32,
        input_zp: 0,
        output_zp: 0,
        out: IntType::I8,
    };
    let refused = |form: form::TosaRescale| Requantization::from(form).check().unwrap_err().to_string();
    assert_eq!(Requantization::from(legal.clone()).check(), Ok(()));
    let change = |f: &dyn Fn(&mut form::TosaRescale)| {
        let mut form = legal.clone();
        f(&mut form);
        refused(form)
    };
    for (found, expect) in [
        (change(&|f| f.input_zp = 1), "input's type"),
        (change(&|f| f.output_zp = 128), "output's type"),
        (change(&|f| (f.input, f.input_zp) = (TosaInput::U16, 5)), "input's type"),
        (change(&|f| (f.out, f.output_zp) = (IntType::I16, 1)), "output's type"),
        (change(&|f| f.input = TosaInput::I48), "48 bits"),
        (
            change(&|f| (f.scale32, f.roundings) = (false, Roundings::Two)),
            "rounds once",
        ),
        (change(&|f| (f.input, f.out) = (TosaInput::U8, IntType::U8)), "unsigned"),
        (
            change(&|f| (f.input, f.out) = (TosaInput::U8, IntType::I32)),
            "unsigned",
        ),
        (change(&|f| f.out = IntType::U8), "unsigned"),
        (change(&|f| f.out = IntType::U16), "unsigned"),
        (
            change(&|f| (f.input, f.out, f.output_zp) = (TosaInput::I8, IntType::U16, 5)),
            "output's type",
        ),
        (change(&|f| f.out = IntType::I4), "4 bits"),
        (change(&|f| f.shift = 1.into()), "2 ..= 62"),
        (change(&|f| f.shift = 63.into()), "2 ..= 62"),
        (change(&|f| f.multiplier = (-1).into()), "0 ..= 2147483647"),
        (
            change(&|f| (f.scale32, f.multiplier) = (false, 0x8000.into())),
            "0 ..= 32767",
        ),
    ] {
        assert!(found.contains(expect), "{found}");
    }
}

#[test]
fn what_the_other_runtimes_forbid_has_a_reason() {
    let float = |offset| form::AscendRequant {
        scale: 1.0.into(),
        offset,
        relu: false,
        out: IntType::I8,
    };
    let refused: [Requantization; 9] = [
        float(256).into(),
        float(-257).into(),
        form::AscendRequantS16 {
            scale: 1.0.into(),
            offset: 128,
        }
        .into(),
        form::AscendDequantS16 {
            shift: 0.into(),
            relu: false,
        }
        .into(),
        form::AscendDequantS16 {
            shift: 17.into(),
            relu: false,
        }
        .into(),
        form::DequantQuant {
            deq: 1.0.into(),
            relu: false,
            scale: f32::NAN,
            offset: 0,
            out: IntType::I8,
        }
        .into(),
        form::DequantQuant {
            deq: 1.0.into(),
            relu: false,
            scale: 1.0,
            offset: (1 << 24) + 1,
            out: IntType::I8,
        }
        .into(),
        form::SixteenByEight {
            multiplier: (-1).into(),
            exponent: 0.into(),
            zp: 0,
            out: IntType::I16,
        }
        .into(),
        form::SixteenByEight {
            multiplier: 1.into(),
            exponent: 8.into(),
            zp: 0,
            out: IntType::I16,
        }
        .into(),
    ];
    for form in refused {
        assert!(form.check().is_err(), "{form:?}");
        assert!(form.domain(0).is_empty() && form.eval(0, 0).is_err());
    }
}

#[test]
fn a_relu_inside_of_a_form_acts_on_real_zero() {
    let form = Requantization::from(form::AscendRequant {
        scale: 1.0.into(),
        offset: -100,
        relu: true,
        out: IntType::I8,
    });
    assert_eq!(
        [-5, 0, 5, 500].map(|x| form.eval(0, x)),
        [Ok(-100), Ok(-100), Ok(-95), Ok(127)]
    );
    assert_eq!(form.range(), [-100, 127]);
    // All accumulators have at least this result, so the first accumulator of the domain is the smallest one that
    // reaches it.
    assert_eq!(form.channel(0).unwrap().least_reaching(-100), i64::from(i32::MIN));
    assert!(!form.is_identity());
    let half = Requantization::from(form::AscendDequantS16 {
        shift: 1.into(),
        relu: true,
    });
    assert_eq!([-5, 5].map(|x| half.eval(0, x)), [Ok(0), Ok(2)]);
}
