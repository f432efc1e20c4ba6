//! Compares the requantization of 64-bit accumulators with the definition of the form, for every form that multiplies
//! in integers or in f64, on its whole domain and on every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Isa, KernelError,
    integer::{Epilogue, InRegisters, Loops, PerChannel, standard},
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};
use support::{Numbers, finish};

fn run(kernel: &dyn Loops, isa: Isa, extents: [usize; 3], accumulators: &[i64]) -> Vec<u8> {
    let count = accumulators.len() * usize::from(kernel.out().bits().div_ceil(8));
    let mut out = vec![0xA5; count + 2];
    kernel
        .requantize_wide(&Context::with_isa(isa), extents, accumulators, &mut out[1..=count])
        .unwrap();
    assert_eq!(
        (out[0], out[count + 1]),
        (0xA5, 0xA5),
        "a byte outside of the output was written"
    );
    out[1..=count].to_vec()
}

fn check(form: &Requantization, clamp: Option<[i32; 2]>, extents: [usize; 3], accumulators: &[i64]) {
    let kernel = standard(form, clamp).unwrap();
    let channel = |i: usize| form.channels().map_or(0, |channels| i / extents[2].max(1) % channels);
    let wanted = finish(form, clamp, accumulators, channel);
    for isa in Isa::available() {
        assert!(
            run(&*kernel, isa, extents, accumulators) == wanted,
            "{form:?} on {}",
            isa.name()
        );
    }
}

/// Accumulators at which an error of rounding or saturation would show: the accumulators at which the result changes,
/// their neighbours, powers of two, and the smallest and the largest accumulator of the domain.
fn boundaries(form: &Requantization, numbers: &mut Numbers) -> Vec<i64> {
    let channel = form.channel(0).unwrap();
    let domain = channel.domain();
    let mut values = vec![*domain.start(), domain.start() + 1, domain.end() - 1, *domain.end(), 0];
    values.extend(
        (0..63)
            .flat_map(|s| [-1_i64, 1].map(|sign| sign << s))
            .flat_map(|v| [v - 1, v, v + 1]),
    );
    for code in [form.out().min(), -129, -100, -1, 0, 1, 100, 127, form.out().max()] {
        let step = channel.least_reaching(code.into());
        values.extend([step - 1, step, step + 1]);
    }
    values.extend((0..60).map(|spread| numbers.next().cast_signed() >> spread));
    values.retain(|x| domain.contains(x));
    values
}

const OUTS: [IntType; 4] = [IntType::I8, IntType::U8, IntType::I16, IntType::I32];

/// Forms with many parameters, including shift 0 and the largest shift.
fn parameters(numbers: &mut Numbers) -> Vec<Requantization> {
    let mut list: Vec<Requantization> = vec![];
    for (exponent, out) in form::SixteenByEight::EXPONENTS.flat_map(|e| OUTS.map(|out| (e, out))) {
        for multiplier in [
            0,
            1 << 30,
            0x5A82_799A,
            0x7FFE_FFFF,
            i32::MAX,
            (numbers.next() >> 33) as i32,
        ] {
            list.push(
                form::SixteenByEight {
                    multiplier: multiplier.into(),
                    exponent: exponent.into(),
                    zp: [0, 3, -128, 255, i32::MAX, i32::MIN][numbers.below(6)],
                    out,
                }
                .into(),
            );
        }
    }
    for (shift, out) in form::TosaRescale::SHIFTS.flat_map(|s| OUTS.map(|out| (s, out))) {
        for multiplier in [0, 1, 1 << 14, 20_001, 0x7FFF] {
            list.push(
                form::TosaRescale {
                    multiplier: multiplier.into(),
                    shift: shift.into(),
                    scale32: false,
                    roundings: form::Roundings::One,
                    input: form::TosaInput::I48,
                    input_zp: 0,
                    output_zp: if out == IntType::I8 {
                        [-128, 0, 127][numbers.below(3)]
                    } else {
                        0
                    },
                    out,
                }
                .into(),
            );
        }
    }
    for (rounding, shift) in Rounding::ALL.into_iter().flat_map(|r| (0..=62).map(move |s| (r, s))) {
        for out in OUTS {
            let any = (numbers.next() >> 33) as i32;
            let factors = [0, 1, 2, 3, 127, 20_000, 1 << 30, i32::MAX, any];
            let addends = [0, 1, -1, 1 << 32, -(1 << 40), i64::from(any), (1 << 61) - 1, -(1 << 61)];
            list.push(
                form::Fixed {
                    sc: factors[numbers.below(factors.len())].into(),
                    add: addends[numbers.below(addends.len())].into(),
                    zp: [0, 3, -128, i32::MAX, i32::MIN][numbers.below(5)],
                    narrowing: Narrowing {
                        shift: shift.into(),
                        rounding,
                        out,
                    },
                }
                .into(),
            );
        }
    }
    for (exponent, out) in form::Float64::EXPONENTS
        .step_by(3)
        .flat_map(|e| OUTS.map(|out| (e, out)))
    {
        for multiplier in [1 << 52, 0x0015_5555_5555_5555, (1 << 53) - 1] {
            list.push(
                form::Float64 {
                    multiplier: multiplier.into(),
                    exponent: exponent.into(),
                    zp: [0, 3, -128, 255, i32::MAX, i32::MIN][numbers.below(6)],
                    out,
                }
                .into(),
            );
        }
    }
    for exponent in -31..=30 {
        for roundings in [form::Roundings::One, form::Roundings::Two] {
            list.push(
                form::Gemmlowp {
                    multiplier: [1 << 30, 0x5A82_799A, i32::MAX][numbers.below(3)].into(),
                    exponent: exponent.into(),
                    zp: [0, 3, -128][numbers.below(3)],
                    roundings,
                    out: OUTS[numbers.below(4)],
                }
                .into(),
            );
        }
    }
    list.retain(|form| form.check().is_ok());
    list
}

#[test]
fn every_parameter_is_the_definition_at_every_boundary() {
    let mut numbers = Numbers::new(41);
    let forms = parameters(&mut numbers);
    assert!(forms.len() > 3500, "{}", forms.len());
    for form in forms {
        let values = boundaries(&form, &mut numbers);
        check(&form, None, [1, 1, values.len()], &values);
    }
}

#[test]
fn outside_of_its_domain_a_form_is_that_of_the_nearer_end() {
    let mut numbers = Numbers::new(42);
    for form in parameters(&mut numbers) {
        let (low, high) = form.domain(0).into_inner();
        let values: Vec<i64> = [i64::MIN, i64::MAX, low - 1, high + 1]
            .into_iter()
            .chain((0..40).map(|_| numbers.next().cast_signed()))
            .collect();
        let inside: Vec<i64> = values.iter().map(|&x| x.clamp(low, high)).collect();
        let kernel = standard(&form, None).unwrap();
        let wanted = finish(&form, None, &inside, |_| 0);
        for isa in Isa::available() {
            assert!(
                run(&*kernel, isa, [1, 1, values.len()], &values) == wanted,
                "{form:?} on {}",
                isa.name()
            );
        }
    }
}

/// The two forms with 48-bit inputs, for this number of channels.
fn forms(channels: Option<usize>) -> [Requantization; 2] {
    fn per<T>(channels: Option<usize>, value: impl Fn(usize) -> T) -> Per<T> {
        channels.map_or_else(|| Per::Tensor(value(0)), |channels| (0..channels).map(&value).collect())
    }
    [
        form::SixteenByEight {
            multiplier: per(channels, |c| 1_500_000_001 + 200_000 * c as i32),
            exponent: per(channels, |c| -22 + (c % 3) as i8),
            zp: 5,
            out: IntType::I16,
        }
        .into(),
        form::TosaRescale {
            multiplier: per(channels, |c| 20_001 + 2 * c as i32),
            shift: per(channels, |c| 44 + (c % 3) as u8),
            scale32: false,
            roundings: form::Roundings::One,
            input: form::TosaInput::I48,
            input_zp: 0,
            output_zp: -3,
            out: IntType::I8,
        }
        .into(),
    ]
}

#[test]
fn rows_of_every_length_and_layout_are_the_definition() {
    let mut numbers = Numbers::new(43);
    let x: Vec<i64> = (0..3 * 3 * 130).map(|_| numbers.next().cast_signed() >> 24).collect();
    let clamp = Some([-100, 99]);
    for length in 0..=130 {
        for form in forms(None) {
            check(&form, clamp, [1, 1, length], &x[..length]);
        }
        for form in forms(Some(3)) {
            check(&form, clamp, [2, 3, length], &x[..6 * length]);
        }
        if length > 0 {
            for form in forms(Some(length)) {
                check(&form, clamp, [3, length, 1], &x[..3 * length]);
            }
        }
    }
    let long: Vec<i64> = (0..200_000).map(|_| numbers.next().cast_signed() >> 24).collect();
    for form in forms(None) {
        check(&form, None, [1, 1, long.len()], &long);
    }
}

/// Forms that compute in f32 or with thresholds are only defined on i32.
#[test]
fn a_form_of_32_bits_takes_more_as_its_nearer_end() {
    let mut numbers = Numbers::new(44);
    let extremes = [
        i64::MIN,
        -(1 << 31) - 1,
        -(1 << 31),
        -1,
        0,
        (1 << 31) - 1,
        1 << 31,
        i64::MAX,
    ];
    let values: Vec<i64> = extremes
        .into_iter()
        .chain((0..300).map(|i| numbers.next().cast_signed() >> (i % 60)))
        .collect();
    for channels in [0, 3] {
        for form in support::forms(channels, 1 << 30, &mut numbers) {
            let channels = channels.max(1);
            let all = values.repeat(channels);
            let channel = |i: usize| i / values.len();
            let inside = |(i, &x): (usize, &i64)| {
                let (low, high) = form.domain(channel(i)).into_inner();
                x.clamp(low, high)
            };
            let inside: Vec<i64> = all.iter().enumerate().map(inside).collect();
            let wanted = finish(&form, Some([-90, 101]), &inside, channel);
            for loops in support::loops(&form, Some([-90, 101])) {
                for isa in Isa::available() {
                    let found = run(&*loops, isa, [1, channels, values.len()], &all);
                    assert!(found == wanted, "{form:?} on {}", isa.name());
                }
            }
        }
    }
}

/// An epilogue of a target, which is only defined on 32-bit accumulators.
struct Floor(PerChannel<u32>);

impl Epilogue for Floor {
    type Constants = u32;

    fn constants(&self) -> &PerChannel<u32> {
        &self.0
    }

    fn lane(&self, shift: &u32, accumulator: i32) -> i32 {
        accumulator >> shift
    }
}

#[test]
fn an_epilogue_of_32_bits_takes_64_by_its_form() {
    let narrowing = Narrowing {
        shift: 20.into(),
        rounding: Rounding::Floor,
        out: IntType::I16,
    };
    let form: Requantization = form::ArithFolded { narrowing }.into();
    let values: Vec<i64> = (0..400).map(|i| (i - 200) * ((1 << 33) + 12_345)).collect();
    for clamp in [None, Some([-100, 3000])] {
        let loops = InRegisters::new(Floor(PerChannel::Tensor(20)), &form, clamp);
        let wanted = finish(&form, clamp, &values, |_| 0);
        for isa in Isa::available() {
            assert!(
                run(&loops, isa, [1, 1, values.len()], &values) == wanted,
                "{}",
                isa.name()
            );
        }
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let [form, _] = forms(Some(3));
    let kernel = standard(&form, None).unwrap();
    for (extents, input, out) in [([1, 2, 1], 2, 4), ([1, 3, 1], 2, 6), ([1, 3, 1], 3, 5)] {
        let result = kernel.requantize_wide(&Context::detect(), extents, &vec![0; input], &mut vec![0; out]);
        assert!(matches!(result, Err(KernelError::Shape(_))));
    }
}
