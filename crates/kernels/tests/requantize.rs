//! Compares the requantization of arrays with the definition of the form, for every form, length, layout, type and
//! parameter, on every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Isa,
    integer::{Loops, standard},
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};
use support::{Numbers, boundaries, bytes, finish, forms};

/// The results of the loops for some accumulators. The output lies between two bytes that must not change.
fn run(loops: &dyn Loops, isa: Isa, extents: [usize; 3], input: &[u8]) -> Vec<u8> {
    let count = extents.iter().product::<usize>() * usize::from(loops.out().bits().div_ceil(8));
    let mut out = vec![0xA5; count + 2];
    loops
        .requantize(
            &Context::with_isa(isa),
            extents,
            IntType::I32,
            input,
            &mut out[1..=count],
        )
        .unwrap();
    assert_eq!(
        (out[0], out[count + 1]),
        (0xA5, 0xA5),
        "a byte outside of the output was written"
    );
    out[1..=count].to_vec()
}

/// Accumulators of about `size` that are inside of every channel's domain.
fn accumulators(form: &Requantization, count: usize, size: i32, numbers: &mut Numbers) -> Vec<i32> {
    let inside = |x: &i32| (0..form.channels().unwrap_or(1)).all(|c| form.domain(c).contains(&i64::from(*x)));
    std::iter::repeat_with(|| numbers.between(-size, size))
        .filter(inside)
        .take(count)
        .collect()
}

fn wide(values: &[i32]) -> Vec<i64> {
    values.iter().map(|&x| i64::from(x)).collect()
}

const SIZE: i32 = 60_000;

#[test]
fn rows_of_every_length_are_the_definition() {
    let mut numbers = Numbers::new(11);
    let channels = 2;
    for form in [
        forms(0, SIZE.into(), &mut numbers),
        forms(channels, SIZE.into(), &mut numbers),
    ]
    .concat()
    {
        let loops = standard(&form, Some([-120, 99])).unwrap();
        let values = accumulators(&form, channels * 130, SIZE, &mut numbers);
        for length in 0..=130 {
            let values = &values[..channels * length];
            let wanted = finish(&form, Some([-120, 99]), &wide(values), |i| i / length);
            for isa in Isa::available() {
                let found = run(&*loops, isa, [1, channels, length], &bytes(values));
                assert!(found == wanted, "{length} of {form:?} on {}", isa.name());
            }
        }
    }
}

#[test]
fn channels_last_are_the_definition_for_every_number_of_channels() {
    let mut numbers = Numbers::new(12);
    for channels in (1..=40).chain([48, 63, 64, 65, 96, 127, 128, 129, 130, 144, 257]) {
        let forms = forms(channels, SIZE.into(), &mut numbers);
        for form in forms.iter().skip(channels % 3).step_by(3) {
            let loops = standard(form, None).unwrap();
            for rows in [1, 2, 7] {
                let values = accumulators(form, rows * channels, SIZE, &mut numbers);
                let wanted = finish(form, None, &wide(&values), |i| i % channels);
                for isa in Isa::available() {
                    let found = run(&*loops, isa, [rows, channels, 1], &bytes(&values));
                    assert!(found == wanted, "{rows} × {channels} of {form:?} on {}", isa.name());
                }
            }
        }
    }
}

#[test]
fn accumulators_may_lie_at_any_address() {
    let mut numbers = Numbers::new(13);
    for form in forms(3, SIZE.into(), &mut numbers) {
        let loops = standard(&form, None).unwrap();
        let values = accumulators(&form, 3 * 3000, SIZE, &mut numbers);
        let wanted = finish(&form, None, &wide(&values), |i| i / 3000);
        for offset in 0..4 {
            let shifted = [vec![0; offset], bytes(&values)].concat();
            let found = run(&*loops, Isa::detect(), [1, 3, 3000], &shifted[offset..]);
            assert!(found == wanted, "{form:?}");
        }
    }
}

/// Forms with many parameters: every rounding and shift, extreme factors, addends and zero points, and scales of every
/// size.
fn parameters(numbers: &mut Numbers) -> Vec<Requantization> {
    let outs = [IntType::I8, IntType::U8, IntType::I16, IntType::I32];
    let mut list: Vec<Requantization> = vec![];
    for (rounding, shift) in Rounding::ALL.into_iter().flat_map(|r| (0..=62).map(move |s| (r, s))) {
        for out in outs {
            let any = (numbers.next() >> 33) as i32;
            let factors = [
                0,
                1,
                2,
                3,
                127,
                1 << 14,
                20_000,
                1 << 30,
                1_500_000_001,
                i32::MAX,
                any,
                any >> 9,
            ];
            let addends = [
                0,
                0,
                1,
                -1,
                1 << 32,
                -(1 << 40),
                i64::from(any),
                (1 << 61) - 1,
                -(1 << 61),
            ];
            let zero_points = [0, 0, 3, -128, 255, 40_000, -(1 << 30), i32::MAX, i32::MIN];
            let narrowing = Narrowing {
                shift: Per::Tensor(shift),
                rounding,
                out,
            };
            list.push(
                form::Fixed {
                    sc: Per::Tensor(factors[numbers.below(factors.len())]),
                    add: Per::Tensor(addends[numbers.below(addends.len())]),
                    zp: zero_points[numbers.below(zero_points.len())],
                    narrowing: narrowing.clone(),
                }
                .into(),
            );
            list.push(
                form::TfLite {
                    sc: Per::Tensor(factors[numbers.below(factors.len())]),
                    zp: zero_points[numbers.below(5)],
                    narrowing: narrowing.clone(),
                }
                .into(),
            );
            list.push(form::ArithFolded { narrowing }.into());
        }
    }
    for (exponent, roundings) in (-31..=30).flat_map(|e| [(e, form::Roundings::One), (e, form::Roundings::Two)]) {
        for out in outs {
            let multipliers = [0, 1, 1 << 30, 1_500_000_001, i32::MAX, (numbers.next() >> 33) as i32];
            list.push(
                form::Gemmlowp {
                    multiplier: Per::Tensor(multipliers[numbers.below(6)]),
                    exponent: Per::Tensor(exponent),
                    zp: [0, 3, -128, 255][numbers.below(4)],
                    roundings,
                    out,
                }
                .into(),
            );
        }
    }
    for (power, out) in (-126..=127).step_by(3).flat_map(|p| outs.map(|out| (p, out))) {
        let scale = Per::Tensor(2.0_f32.powi(power) * (1.0 + numbers.between(0, 99) as f32 / 100.0));
        let zp = [0, 3, -128, 255, -(1 << 24)][numbers.below(5)];
        list.push(
            form::Float {
                scale: scale.clone(),
                zp,
                out,
            }
            .into(),
        );
        list.push(
            form::FloatZeroInside {
                scale: scale.clone(),
                zp,
                out,
            }
            .into(),
        );
        let relu = numbers.below(2) == 0;
        list.push(
            form::DequantQuant {
                deq: scale,
                relu,
                scale: 1.5,
                offset: zp,
                out,
            }
            .into(),
        );
    }
    list.retain(|form| form.check().is_ok());
    list
}

#[test]
fn every_parameter_is_the_definition_at_every_boundary() {
    let mut numbers = Numbers::new(14);
    let forms = parameters(&mut numbers);
    assert!(forms.len() > 6000, "{}", forms.len());
    for form in forms {
        let mut values = boundaries(&form, 1);
        values.extend((0..30).map(|spread| (numbers.next() >> 20) as i32 >> spread));
        values.retain(|&x| form.domain(0).contains(&i64::from(x)));
        let loops = standard(&form, None).unwrap();
        let wanted = finish(&form, None, &wide(&values), |_| 0);
        for isa in Isa::available() {
            let found = run(&*loops, isa, [1, 1, values.len()], &bytes(&values));
            assert!(found == wanted, "{form:?} on {}", isa.name());
        }
    }
}

#[test]
fn outside_of_its_domain_a_form_is_the_same_on_every_instruction_set() {
    let mut numbers = Numbers::new(15);
    for form in parameters(&mut numbers)
        .into_iter()
        .filter(|f| !f.domain(0).contains(&i64::from(i32::MAX)))
    {
        let values: Vec<i32> = [i32::MIN, i32::MAX]
            .into_iter()
            .chain((0..40).map(|_| numbers.next() as i32))
            .collect();
        let loops = standard(&form, None).unwrap();
        let scalar = run(&*loops, Isa::Scalar, [1, 1, values.len()], &bytes(&values));
        for isa in Isa::available() {
            assert!(
                run(&*loops, isa, [1, 1, values.len()], &bytes(&values)) == scalar,
                "{form:?} on {}",
                isa.name()
            );
        }
    }
}

#[test]
fn bounds_around_the_zero_point_are_the_definition() {
    let mut numbers = Numbers::new(15);
    for channels in [0, 3] {
        for form in forms(channels, SIZE.into(), &mut numbers) {
            let Requantization::Gemmlowp(form::Gemmlowp { zp, .. }) = &form else {
                continue;
            };
            let accumulators = boundaries(&form, channels.max(1));
            for low in [zp - 1, *zp, zp + 1].map(|low| low.clamp(form.out().min(), form.out().max())) {
                let clamp = Some([low, form.out().max()]);
                let all: Vec<i32> = (0..channels.max(1)).flat_map(|_| accumulators.clone()).collect();
                let channel = |e: usize| e / accumulators.len();
                let wanted = finish(&form, clamp, &wide(&all), channel);
                let loops = standard(&form, clamp).unwrap();
                for isa in Isa::available() {
                    let extents = [1, channels.max(1), accumulators.len()];
                    assert!(
                        run(&*loops, isa, extents, &bytes(&all)) == wanted,
                        "{form:?} {clamp:?} on {}",
                        isa.name()
                    );
                }
            }
        }
    }
}
