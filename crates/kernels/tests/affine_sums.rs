//! Compares sums with factors instead of tables with the sums of tables, for all pairs of codes, on every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Isa,
    integer::{Addend, AffineSum, Broadcast, RoundedSum, standard},
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};
use support::Numbers;

/// A table as lowerings of sums make it: `round((code − zero)·2^20·multiplier / 2^31)`.
fn table(zero: i64, multiplier: i64) -> [i32; 256] {
    std::array::from_fn(|code| {
        let product = ((code as i64 - zero) << 20) * multiplier;
        ((product + (1 << 30)) >> 31) as i32
    })
}

/// All pairs of codes, and a few more so that there is no whole number of vectors.
fn pairs() -> [Vec<u8>; 2] {
    let codes = |of: fn(usize) -> usize| (0..65536 + 37).map(|at| of(at) as u8).collect();
    [codes(|at| at / 256), codes(|at| at)]
}

#[test]
fn all_pairs_of_codes_have_the_same_sums() {
    let mut numbers = Numbers::new(21);
    let [a, b] = pairs();
    let mut found = 0;
    for i in 0..40 {
        let out = [IntType::I8, IntType::U8][i % 2];
        let elements = [[IntType::I8; 2], [IntType::U8; 2], [IntType::I8, IntType::U8]][i % 3];
        let multipliers = [i32::MAX, numbers.between(1 << 28, i32::MAX)].map(i64::from);
        let sign = if i % 5 == 4 { -1 } else { 1 };
        let tables = [
            table(numbers.between(0, 255).into(), multipliers[i % 2]),
            table(numbers.between(0, 255).into(), multipliers[1 - i % 2]).map(|x| sign * x),
        ];
        let form: Requantization = match i % 4 {
            3 => form::Float {
                scale: Per::Tensor(1.0 / 1_500_000.0),
                zp: numbers.between(-20, 20),
                out,
            }
            .into(),
            _ => form::Gemmlowp {
                multiplier: Per::Tensor(numbers.between(1 << 30, i32::MAX)),
                exponent: Per::Tensor(-19),
                zp: numbers.between(-100, 100),
                roundings: [form::Roundings::One, form::Roundings::Two][i % 2],
                out,
            }
            .into(),
        };
        let clamp = [None, Some([3, 77])][i / 2 % 2];
        let loops = standard(&form, clamp).unwrap();
        let Some(sum) = AffineSum::find(&*loops, &Context::detect(), elements, [&tables[0], &tables[1]]).unwrap()
        else {
            continue;
        };
        found += 1;
        let shape = Broadcast::new(&[a.len()], &[b.len()]).unwrap();
        for cx in Isa::available().map(Context::with_isa) {
            let (mut wanted, mut sums) = (vec![0; a.len()], vec![0; a.len()]);
            let addends = [Addend::Table(&tables[0]), Addend::Table(&tables[1])];
            loops
                .add(&cx, &shape, elements, addends, [&a, &b], &mut wanted)
                .unwrap();
            sum.run(&cx, [&a, &b], &mut sums).unwrap();
            assert!(sums == wanted, "{form:?} {elements:?} {:?}", cx.isa());
        }
        assert!(
            sum.run(&Context::detect(), [&a, &b[1..]], &mut vec![0; a.len()])
                .is_err()
        );
    }
    assert!(found > 20, "{found}");
}

#[test]
fn no_factors_are_found_for_tables_that_are_no_lines() {
    let line = table(128, i32::MAX.into());
    let mut bent = line;
    bent[77] += 3 << 19;
    let form: Requantization = form::Gemmlowp {
        multiplier: Per::Tensor(1 << 30),
        exponent: Per::Tensor(-19),
        zp: 0,
        roundings: form::Roundings::Two,
        out: IntType::I8,
    }
    .into();
    let cx = Context::detect();
    let elements = [IntType::I8; 2];
    let loops = standard(&form, None).unwrap();
    let find = |tables| AffineSum::find(&*loops, &cx, elements, tables).unwrap();
    assert_eq!(find([&line, &bent]), None);
    // A single result, constant tables, and tables whose sums wrap.
    assert!(find([&line, &[5; 256]]).is_some());
    assert_eq!(find([&[1; 256], &[2; 256]]), None);
    let large = std::array::from_fn(|code| (code as i32 - 128) << 24);
    assert_eq!(find([&large, &large]), None);
    let constant = standard(&form, Some([7, 7])).unwrap();
    assert_eq!(
        AffineSum::find(&*constant, &cx, elements, [&line, &line]).unwrap(),
        None
    );
}

/// A table as lowerings to small accumulators make it: `(code − zero)·factor / 2^shift`, halves to even.
fn coarse(zero: i32, factor: i32, shift: u32) -> [i32; 256] {
    let halves = f64::from(factor) / f64::from(1 << shift);
    std::array::from_fn(|code| (f64::from(code as i32 - zero) * halves).round_ties_even() as i32)
}

#[test]
fn all_pairs_of_codes_have_the_same_rounded_sums() {
    let mut numbers = Numbers::new(22);
    let [a, b] = pairs();
    let (mut found, mut refused) = (0, 0);
    for i in 0..48 {
        let out = [IntType::I8, IntType::U8][i % 2];
        let elements = [[IntType::I8; 2], [IntType::U8; 2]][i / 2 % 2];
        let mut one = || {
            coarse(
                numbers.between(0, 255),
                numbers.between(1 << 13, 1 << 15),
                6 + i as u32 % 4,
            )
        };
        let (first, mut second) = (one(), one());
        match i % 6 {
            4 => second = second.map(|x| -x),
            5 => second[i] += 2,
            _ => {}
        }
        let form: Requantization = form::Fixed {
            sc: Per::Tensor(1),
            add: Per::Tensor(0),
            zp: numbers.between(-100, 100),
            narrowing: Narrowing {
                shift: Per::Tensor([7, 8, 9][i % 3]),
                rounding: [Rounding::HalfEven, Rounding::HalfUp][i / 3 % 2],
                out,
            },
        }
        .into();
        let clamp = [None, Some([3, 77])][i / 2 % 2];
        let loops = standard(&form, clamp).unwrap();
        let Some(sum) = RoundedSum::find(&*loops, &Context::detect(), elements, [&first, &second]).unwrap() else {
            refused += 1;
            continue;
        };
        found += 1;
        assert!(i % 6 != 5, "a bent table has no factor");
        let shape = Broadcast::new(&[a.len()], &[b.len()]).unwrap();
        for cx in Isa::available().map(Context::with_isa) {
            let (mut wanted, mut sums) = (vec![0; a.len()], vec![0; a.len()]);
            let addends = [Addend::Table(&first), Addend::Table(&second)];
            loops
                .add(&cx, &shape, elements, addends, [&a, &b], &mut wanted)
                .unwrap();
            let ran = sum.run(&cx, [&a, &b], &mut sums).unwrap();
            assert_eq!(ran, cx.isa() != Isa::Scalar);
            assert!(!ran || sums == wanted, "{form:?} {elements:?} {:?}", cx.isa());
        }
        assert!(
            sum.run(&Context::detect(), [&a, &b[1..]], &mut vec![0; a.len()])
                .is_err()
        );
    }
    assert!(found > 20 || !cfg!(target_arch = "x86_64"), "{found} {refused}");
}

/// The parameters of a residual sum of a network.
#[test]
fn a_sum_on_a_common_grid_is_a_rounded_sum() {
    let (first, second) = (coarse(1, 3349, 3), coarse(4, 8145, 5));
    let form: Requantization = form::FractionalZero {
        sc: Per::Tensor(1 << 15),
        zp: Per::Tensor(-(1 << 30)),
        narrowing: Narrowing {
            shift: Per::Tensor(23),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        },
    }
    .into();
    let loops = standard(&form, None).unwrap();
    let tables = [&first, &second];
    let sum = RoundedSum::find(&*loops, &Context::detect(), [IntType::I8; 2], tables).unwrap();
    assert!(sum.is_some() || Context::detect().isa() == Isa::Scalar);
}
