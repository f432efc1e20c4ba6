//! Compares elementwise loops, pools and tables of codes of up to 16 bits with their definitions, on every instruction
//! set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Conv, Images, Pool, Window,
    integer::{Addend, Axis, Broadcast, Carrier, accumulators, average_pool, lookup, max_pool},
};
use strait_requantize::{IntType, Requantization, form};
use support::{
    Numbers,
    convolutions::outputs,
    wide::{CARRIERS, ELEMENTS, check, codes, forms, width},
};

#[test]
fn products_of_elements_are_plain_products() {
    let mut numbers = Numbers::new(64);
    for (a, b) in [
        (vec![3, 1, 5], vec![4, 5]),
        (vec![2, 5000], vec![5000]),
        (vec![7], vec![1]),
    ] {
        let shape = Broadcast::new(&a, &b).unwrap();
        let dims = [&a, &b].map(|dims| {
            [1, 1, 1][dims.len()..]
                .iter()
                .chain(dims)
                .copied()
                .collect::<Vec<usize>>()
        });
        let result: Vec<usize> = (0..3).map(|i| dims[0][i].max(dims[1][i])).collect();
        let index = |o: usize, e: usize| {
            let at = [e / result[2] / result[1], e / result[2] % result[1], e % result[2]];
            (0..3).fold(0, |index, axis| index * dims[o][axis] + at[axis].min(dims[o][axis] - 1))
        };
        for (left, right) in ELEMENTS.into_iter().flat_map(|a| ELEMENTS.map(|b| (a, b))) {
            let operands = [
                codes(left, a.iter().product(), &mut numbers),
                codes(right, b.iter().product(), &mut numbers),
            ];
            let zeros = [left, right].map(|e| numbers.between(e.min(), e.max()));
            let at = |o: usize, e: usize| operands[o].values[index(o, e)] - i64::from(zeros[o]);
            let sums: Vec<i64> = (0..shape.elements()).map(|e| at(0, e) * at(1, e)).collect();
            for carrier in CARRIERS {
                check(
                    &format!("{a:?} and {b:?}, {left} and {right}, {carrier:?}"),
                    1,
                    carrier,
                    &sums,
                    |_| 0,
                    |loops, cx, out| {
                        let data = [&operands[0].bytes[..], &operands[1].bytes[..]];
                        loops
                            .multiply(cx, &shape, [left, right], zeros, carrier, data, out)
                            .unwrap();
                    },
                );
            }
        }
    }
}

#[test]
fn sums_are_those_of_requantized_codes_and_tables() {
    let mut numbers = Numbers::new(66);
    let count = 5000;
    let shape = Broadcast::new(&[count], &[count]).unwrap();
    let table: [i32; 256] = std::array::from_fn(|_| numbers.between(-1_000_000, 1_000_000));
    let form: Requantization = form::Fixed {
        sc: 12_345.into(),
        add: 99.into(),
        zp: -3,
        narrowing: strait_requantize::Narrowing {
            shift: 14.into(),
            rounding: strait_requantize::Rounding::HalfAway,
            out: IntType::I32,
        },
    }
    .into();
    let requantized = strait_kernels::integer::standard(&form, None).unwrap();
    for (left, right) in ELEMENTS.into_iter().flat_map(|a| ELEMENTS.map(|b| (a, b))) {
        let operands = [left, right].map(|element| codes(element, count, &mut numbers));
        let zeros = [left, right].map(|e| numbers.between(e.min(), e.max()));
        let tables = right.bits() == 8;
        let loops = [None, Some(&*requantized)];
        let addend = |o: usize| match o {
            1 if tables => Addend::Table(&table),
            o => Addend::Codes {
                zero: zeros[o],
                bits: 9,
                loops: loops[o],
                negative: o == 0,
            },
        };
        let sum = |e: usize| {
            let shifted = |o: usize| (operands[o].values[e] - i64::from(zeros[o])) << 9;
            let second = match tables {
                true => table[(operands[1].values[e] - i64::from(right.min())) as usize],
                false => form.eval(0, shifted(1)).unwrap(),
            };
            i64::from(second) - shifted(0)
        };
        let sums: Vec<i64> = (0..count).map(sum).collect();
        check(
            &format!("{left} and {right}"),
            1,
            Carrier::I32,
            &sums,
            |_| 0,
            |loops, cx, out| {
                let data = [&operands[0].bytes[..], &operands[1].bytes[..]];
                let addends = [addend(0), addend(1)];
                loops.add(cx, &shape, [left, right], addends, data, out).unwrap();
            },
        );
    }
    // Arguments that do not fit together are refused.
    let cx = Context::detect();
    let plain = |bits, loops| Addend::Codes {
        zero: 0,
        bits,
        loops,
        negative: false,
    };
    let one = Broadcast::new(&[1], &[1]).unwrap();
    let run = |first, data: [&[u8]; 2]| {
        let elements = [IntType::I16; 2];
        accumulators().add(&cx, &one, elements, [first, plain(0, None)], data, &mut [0; 4])
    };
    assert!(run(plain(31, None), [&[0; 2], &[0; 2]]).is_ok());
    assert!(run(plain(32, None), [&[0; 2], &[0; 2]]).is_err());
    assert!(run(plain(0, None), [&[0; 1], &[0; 2]]).is_err());
    assert!(run(Addend::Table(&table), [&[0; 2], &[0; 2]]).is_err());
    let codes = strait_kernels::integer::standard(&forms(1, 100)[0], None).unwrap();
    assert!(run(plain(0, Some(&*codes)), [&[0; 2], &[0; 2]]).is_err());
}

#[test]
fn pools_are_their_definitions() {
    let mut numbers = Numbers::new(65);
    let pool = |size, kernel, stride, pads, output| Pool {
        window: Window {
            stride,
            pads,
            ..Window::new(kernel)
        },
        input: Images {
            batch: 2,
            channels: 3,
            size,
        },
        output,
    };
    for p in [
        pool([4, 4], [2, 2], [2, 2], [0; 4], [2, 2]),
        pool([7, 5], [3, 3], [2, 1], [1; 4], [4, 5]),
        pool([40, 41], [40, 41], [1, 1], [0; 4], [1, 1]),
        pool([35, 33], [2, 2], [1, 1], [0; 4], [34, 32]),
    ] {
        for element in ELEMENTS {
            let pad = numbers.between(element.min(), element.max());
            let x = codes(element, p.input.elements().unwrap(), &mut numbers);
            // A depthwise convolution with the same window lists the elements that the pool's windows cover.
            let windows = outputs(
                &Conv {
                    window: p.window,
                    input: p.input,
                    out_channels: 3,
                    groups: 3,
                },
                |_, at| {
                    let taps = p.window.kernel[0] * p.window.kernel[1];
                    (0..taps).map(|tap| at(tap).map(|i| x.values[i])).collect::<Vec<_>>()
                },
            );
            let inside = |window: &[Option<i64>]| window.iter().flatten().copied().collect::<Vec<_>>();
            let sums: Vec<i64> = windows
                .iter()
                .map(|w| w.iter().map(|x| x.unwrap_or(pad.into())).sum())
                .collect();
            let positions = p.output[0] * p.output[1];
            for carrier in CARRIERS {
                check(
                    &format!("{p:?}, {element}, {carrier:?}"),
                    3,
                    carrier,
                    &sums,
                    |at| at / positions % 3,
                    |loops, cx, out| {
                        loops
                            .sum_pool(cx, &p, Axis::Rows, element, pad, carrier, &x.bytes, out)
                            .unwrap();
                    },
                );
            }
            let width = width(element);
            let bytes = |codes: Vec<i64>| {
                codes
                    .iter()
                    .flat_map(|c| c.to_ne_bytes()[..width].to_vec())
                    .collect::<Vec<u8>>()
            };
            let mut found = vec![0; windows.len() * width];
            max_pool(&Context::detect(), &p, element, &x.bytes, &mut found).unwrap();
            let best = windows.iter().map(|w| *inside(w).iter().max().unwrap()).collect();
            assert!(found == bytes(best), "{p:?}, {element}");
            average_pool(&Context::detect(), &p, element, false, pad, None, &x.bytes, &mut found).unwrap();
            let mean = |w: &Vec<Option<i64>>| {
                let inside = inside(w);
                (inside.iter().sum::<i64>() as f64 / inside.len() as f64).round() as i64
            };
            assert!(found == bytes(windows.iter().map(mean).collect()), "{p:?}, {element}");
        }
    }
}

#[test]
fn tables_of_16_bits_begin_at_the_smallest_code() {
    let cx = Context::detect();
    let input: Vec<u8> = [-32768_i16, -1, 0, 32767]
        .iter()
        .flat_map(|x| x.to_ne_bytes())
        .collect();
    let table: Vec<u8> = (0..=u16::MAX).flat_map(|i| i.wrapping_mul(7).to_ne_bytes()).collect();
    let mut out = [0; 8];
    lookup(&cx, IntType::I16, &table, &input, &mut out).unwrap();
    let wanted = [0_u32, 32767, 32768, 65535].map(|i| (i * 7) as u16);
    assert_eq!(
        out.as_chunks()
            .0
            .iter()
            .map(|&b| u16::from_ne_bytes(b))
            .collect::<Vec<_>>(),
        wanted
    );
    let bytes: Vec<u8> = (0..=u16::MAX).map(|i| (i >> 8) as u8).collect();
    let mut out = [0; 4];
    lookup(&cx, IntType::I16, &bytes, &input, &mut out).unwrap();
    assert_eq!(out, [0, 127, 128, 255]);
    let few: Vec<u8> = (0..16).map(|i| 3 * i).collect();
    for (element, codes) in [(IntType::I4, [0xF8, 0xFF, 0, 7]), (IntType::U4, [0, 7, 8, 15])] {
        lookup(&cx, element, &few, &codes, &mut out).unwrap();
        assert_eq!(out, [0, 21, 24, 45], "{element}");
    }
    assert!(lookup(&cx, IntType::I16, &bytes[1..], &input, &mut out).is_err());
    assert!(lookup(&cx, IntType::I16, &bytes, &input[1..], &mut out).is_err());
}
