//! Compares elementwise loops, pools, lookups and every epilogue with their definitions.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use proptest::prelude::*;
use strait_kernels::{
    Context, Images, Isa, Pool, Window,
    integer::{Addend, Axis, Broadcast, Carrier, accumulators, average_pool, clamp, lookup, max_pool, standard},
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};
use support::{Numbers, boundaries, bytes, code, finish, forms, loops};

#[test]
fn every_epilogue_is_the_definition_at_every_boundary() {
    let mut numbers = Numbers::new(1);
    for size in [200, 20_000, 3_000_000, 1_000_000_000] {
        for form in [forms(0, size, &mut numbers), forms(3, size, &mut numbers)].concat() {
            let channels = form.channels().unwrap_or(1);
            let mut values = boundaries(&form, channels);
            values.extend((0..200).map(|_| numbers.between(-size as i32, size as i32)));
            values.retain(|&x| (0..channels).all(|c| form.domain(c).contains(&i64::from(x))));
            let wide: Vec<i64> = values.iter().map(|&x| i64::from(x)).collect();
            let (all, all_wide) = (bytes(&values).repeat(channels), wide.repeat(channels));
            let wanted = finish(&form, Some([-90, 101]), &all_wide, |i| i / values.len());
            // In one layout, the values of a channel are neighbours; in the other, the channels of one value are
            // neighbours.
            let across: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes().repeat(channels)).collect();
            let across_wide: Vec<i64> = wide.iter().flat_map(|&v| vec![v; channels]).collect();
            let wanted_across = finish(&form, Some([-90, 101]), &across_wide, |i| i % channels);
            for (loops, isa) in loops(&form, Some([-90, 101]))
                .iter()
                .flat_map(|l| Isa::available().map(move |i| (l, i)))
            {
                let run = |extents, input: &[u8]| {
                    let mut out = vec![0; wanted.len()];
                    loops
                        .requantize(&Context::with_isa(isa), extents, IntType::I32, input, &mut out)
                        .unwrap();
                    out
                };
                assert!(
                    run([1, channels, values.len()], &all) == wanted,
                    "{form:?} on {}",
                    isa.name()
                );
                assert!(
                    run([values.len(), channels, 1], &across) == wanted_across,
                    "{form:?} on {}",
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn shifts_of_every_size_are_the_definition() {
    let mut numbers = Numbers::new(2);
    for rounding in Rounding::ALL {
        for shift in 0..=62 {
            let form = Requantization::ArithFolded(form::ArithFolded {
                narrowing: Narrowing {
                    shift: Per::Tensor(shift),
                    rounding,
                    out: IntType::I32,
                },
            });
            let mut values = boundaries(&form, 1);
            values.extend((0..20).map(|_| numbers.next() as i32));
            let wide: Vec<i64> = values.iter().map(|&x| i64::from(x)).collect();
            let mut out = vec![0; 4 * values.len()];
            let loops = standard(&form, None).unwrap();
            loops
                .requantize(
                    &Context::detect(),
                    [1, 1, values.len()],
                    IntType::I32,
                    &bytes(&values),
                    &mut out,
                )
                .unwrap();
            assert!(out == finish(&form, None, &wide, |_| 0), "{rounding} by {shift}");
        }
    }
}

#[test]
fn wide_sums_before_a_shift_do_not_overflow() {
    for rounding in Rounding::ALL {
        let form = Requantization::Fixed(form::Fixed {
            sc: Per::Tensor(i32::MAX),
            add: Per::Tensor(form::MAX_ADDEND),
            zp: i32::MIN,
            narrowing: Narrowing {
                shift: Per::Tensor(62),
                rounding,
                out: IntType::I32,
            },
        });
        let values = boundaries(&form, 1);
        let wide: Vec<i64> = values.iter().map(|&x| i64::from(x)).collect();
        let mut out = vec![0; 4 * values.len()];
        let loops = standard(&form, None).unwrap();
        loops
            .requantize(
                &Context::detect(),
                [1, 1, values.len()],
                IntType::I32,
                &bytes(&values),
                &mut out,
            )
            .unwrap();
        assert!(out == finish(&form, None, &wide, |_| 0), "{rounding}");
    }
}

#[test]
fn elements_of_every_width_are_accumulators() {
    let data: Vec<u8> = (0..160).map(|i| (i * 53 + 7) as u8).collect();
    let cx = Context::detect();
    for (element, values) in [
        (
            IntType::I8,
            data.iter().map(|&b| i32::from(b as i8)).collect::<Vec<i32>>(),
        ),
        (IntType::U8, data.iter().map(|&b| i32::from(b)).collect()),
        (
            IntType::I16,
            data.chunks(2)
                .map(|b| i32::from(i16::from_ne_bytes([b[0], b[1]])))
                .collect(),
        ),
        (
            IntType::U16,
            data.chunks(2)
                .map(|b| i32::from(u16::from_ne_bytes([b[0], b[1]])))
                .collect(),
        ),
        (
            IntType::I32,
            data.chunks(4)
                .map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
                .collect(),
        ),
    ] {
        let mut out = vec![0; 4 * values.len()];
        accumulators()
            .requantize(&cx, [1, values.len(), 1], element, &data, &mut out)
            .unwrap();
        assert_eq!(out, bytes(&values), "{element}");
        let mut out = vec![0; data.len()];
        clamp(&cx, element, [-40, 70], &data, &mut out).unwrap();
        let width = usize::from(element.bits().div_ceil(8));
        let wanted: Vec<u8> = values
            .iter()
            .flat_map(|v| v.clamp(&-40, &70).max(&element.min()).to_le_bytes()[..width].to_vec())
            .collect();
        assert_eq!(out, wanted, "{element}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Compares two broadcast operands with NumPy's rule, element by element.
    #[test]
    fn two_operands_broadcast(
        extents in prop::collection::vec((1_usize..6, 0..4), 0..5),
        seed in 0_u64..1000,
        kinds in (any::<bool>(), any::<bool>()),
        longer in 0_usize..3,
    ) {
        let mut numbers = Numbers::new(seed);
        let pick = |which: i32| extents.iter().map(|&(e, repeat)| if repeat == which { 1 } else { e }).collect::<Vec<_>>();
        let (mut a, b) = (pick(1), pick(2));
        // The first operand lacks some leading axes.
        a = a.split_off(longer.min(a.len()));
        let result: Vec<usize> = (0..b.len())
            .map(|i| b[i].max((i + a.len()).checked_sub(b.len()).map_or(1, |j| a[j])))
            .collect();
        let count: usize = result.iter().product();
        let elements = [kinds.0, kinds.1].map(|signed| if signed { IntType::I8 } else { IntType::U8 });
        let data = [numbers.bytes(a.iter().product()), numbers.bytes(b.iter().product())];
        let zeros = elements.map(|e| numbers.between(e.min(), e.max()));
        let tables: [[i32; 256]; 2] = [(); 2].map(|()| std::array::from_fn(|_| numbers.between(-1_000_000, 1_000_000)));
        let index = |dims: &[usize], mut e: usize| {
            let (mut index, mut stride) = (0, 1);
            for (axis, &extent) in result.iter().enumerate().rev() {
                let at = e % extent;
                e /= extent;
                if let Some(own) = (axis + dims.len()).checked_sub(result.len()) {
                    index += if dims[own] == 1 { 0 } else { at * stride };
                    stride *= dims[own];
                }
            }
            index
        };
        let at = |o: usize, e: usize| code(elements[o], data[o][index([&a, &b][o], e)]);
        let shape = Broadcast::new(&a, &b).unwrap();
        prop_assert_eq!(shape.elements(), count);
        let products: Vec<i64> = (0..count).map(|e| (at(0, e) - i64::from(zeros[0])) * (at(1, e) - i64::from(zeros[1]))).collect();
        let entry = |o: usize, e: usize| i64::from(tables[o][(at(o, e) - i64::from(elements[o].min())) as usize]);
        let sums: Vec<i64> = (0..count).map(|e| entry(0, e) + entry(1, e)).collect();
        let forms = forms(0, 20_000, &mut numbers);
        let form = &forms[numbers.below(forms.len())];
        for (loops, isa) in loops(form, None).iter().flat_map(|l| Isa::available().map(move |isa| (l, isa))) {
            let cx = Context::with_isa(isa);
            let wanted = finish(form, None, &products, |_| 0);
            let mut found = vec![0; wanted.len()];
            loops.multiply(&cx, &shape, elements, zeros, Carrier::I32, [&data[0], &data[1]], &mut found).unwrap();
            prop_assert!(found == wanted);
            loops.add(&cx, &shape, elements, [Addend::Table(&tables[0]), Addend::Table(&tables[1])], [&data[0], &data[1]], &mut found).unwrap();
            prop_assert!(found == finish(form, None, &sums, |_| 0));
        }
    }
}

#[test]
fn long_rows_and_many_rows_are_split_without_a_trace() {
    let mut numbers = Numbers::new(7);
    let (a, b) = (numbers.bytes(3 * 5000), numbers.bytes(5000));
    let shape = Broadcast::new(&[3, 5000], &[5000]).unwrap();
    let loops = accumulators();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut out = vec![0; 4 * a.len()];
        pool.install(|| {
            loops.multiply(
                &Context::detect(),
                &shape,
                [IntType::I8; 2],
                [3, -4],
                Carrier::I32,
                [&a, &b],
                &mut out,
            )
        })
        .unwrap();
        out
    };
    let wanted: Vec<i32> = (0..a.len())
        .map(|i| (i32::from(a[i] as i8) - 3) * (i32::from(b[i % 5000] as i8) + 4))
        .collect();
    assert_eq!(run(1), bytes(&wanted));
    assert_eq!(run(3), bytes(&wanted));
}

#[test]
fn every_byte_is_looked_up_on_every_instruction_set() {
    let table: Vec<u8> = (0..=255_u8).map(|i| i.wrapping_mul(77) ^ (i >> 3)).collect();
    for length in [0, 1, 63, 64, 65, 300] {
        let input: Vec<u8> = (0..length).map(|i| (i * 37 % 256) as u8).collect();
        for (element, flip) in [(IntType::I8, 0x80), (IntType::U8, 0)] {
            let wanted: Vec<u8> = input.iter().map(|&x| table[usize::from(x ^ flip)]).collect();
            for isa in Isa::available() {
                let mut out = vec![0; input.len()];
                lookup(&Context::with_isa(isa), element, &table, &input, &mut out).unwrap();
                assert_eq!(out, wanted, "{element} {length} {isa:?}");
            }
        }
    }
}

#[test]
fn lookups_begin_at_the_smallest_code() {
    let cx = Context::detect();
    let table: Vec<u8> = (0..=255).rev().collect();
    let mut out = [0; 3];
    lookup(&cx, IntType::I8, &table, &[0x80, 0, 0x7F], &mut out).unwrap();
    assert_eq!(out, [255, 127, 0]);
    lookup(&cx, IntType::U8, &table, &[0, 128, 255], &mut out).unwrap();
    assert_eq!(out, [255, 127, 0]);
    let wide: Vec<u8> = (0..256).flat_map(|i: i32| (i * 1000).to_ne_bytes()).collect();
    let mut out = [0; 8];
    lookup(&cx, IntType::I8, &wide, &[0x81, 1], &mut out).unwrap();
    assert_eq!(
        out.as_chunks::<4>()
            .0
            .iter()
            .map(|b| i32::from_ne_bytes(*b))
            .collect::<Vec<_>>(),
        [1000, 129_000]
    );
    assert!(lookup(&cx, IntType::I8, &table[1..], &[0], &mut [0]).is_err());
    assert!(lookup(&cx, IntType::I8, &[], &[0], &mut []).is_err());
    assert!(lookup(&cx, IntType::I32, &table, &[0], &mut [0]).is_err());
}

#[test]
fn the_mean_of_a_window_of_any_size_is_that_of_its_codes() {
    // The sum of these bytes is above 2^32, and no two rows are equal.
    let size = [2, 8_500_000];
    let pool = |kernel| Pool {
        window: Window::new(kernel),
        input: Images {
            batch: 1,
            channels: 1,
            size,
        },
        output: [1, 1],
    };
    let cx = Context::detect();
    for (element, codes, mean) in [(IntType::U8, [255, 253], 254), (IntType::I8, [127, 125], 126)] {
        let input: Vec<u8> = codes.into_iter().flat_map(|code| vec![code; size[1]]).collect();
        let mut out = [0];
        average_pool(&cx, &pool(size), element, false, 0, None, &input, &mut out).unwrap();
        assert_eq!(out, [mean], "{element:?}");
    }
    // A window whose sum may not fit in 64 bits is refused.
    let pool = Pool {
        window: Window {
            pads: [1 << 24; 4],
            ..Window::new([1 << 24; 2])
        },
        ..pool(size)
    };
    let refused = average_pool(&cx, &pool, IntType::U8, true, 9, None, &[0; 17_000_000], &mut [0]).unwrap_err();
    assert!(
        refused.to_string().contains("windows of [16777216, 16777216]"),
        "{refused}"
    );
}

#[test]
fn pools_of_bytes_are_their_definitions() {
    let mut numbers = Numbers::new(8);
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
    let cases = [
        pool([4, 4], [2, 2], [2, 2], [0; 4], [2, 2]),
        pool([7, 5], [3, 3], [2, 1], [1; 4], [4, 5]),
        pool([6, 6], [3, 2], [2, 2], [0, 1, 0, 0], [3, 4]),
        pool([25, 5], [25, 5], [1, 1], [0; 4], [1, 1]),
        // There are more positions than one tile has accumulators.
        pool([35, 33], [2, 2], [1, 1], [0; 4], [34, 32]),
    ];
    for p in cases {
        for (element, pad_value) in [(IntType::I8, -7), (IntType::U8, 9)] {
            let input = numbers.bytes(p.input.elements().unwrap());
            let [height, width] = p.input.size;
            let [down, right] = p.output;
            let count = 6 * down * right;
            let cx = Context::detect();
            let mut best = vec![0; count];
            max_pool(&cx, &p, element, &input, &mut best).unwrap();
            let mut means = [vec![0; count], vec![0; count]];
            for (padding, mean) in [false, true].into_iter().zip(&mut means) {
                average_pool(&cx, &p, element, padding, pad_value, None, &input, mean).unwrap();
            }
            let mut sums = vec![];
            for (e, plane) in (0..count).map(|e| (e, e / (down * right))) {
                let (y, x) = (e / right % down, e % right);
                let (mut inside, mut padding, mut beyond) = (vec![], 0_i64, 0_i64);
                for (i, j) in (0..p.window.kernel[0] * p.window.kernel[1])
                    .map(|t| (t / p.window.kernel[1], t % p.window.kernel[1]))
                {
                    let (row, column) = (y * p.window.stride[0] + i, x * p.window.stride[1] + j);
                    let [top, left, bottom, end] = p.window.pads;
                    if row >= height + top + bottom || column >= width + left + end {
                        beyond += 1;
                    } else if (top..top + height).contains(&row) && (left..left + width).contains(&column) {
                        inside.push(code(
                            element,
                            input[(plane * height + row - top) * width + column - left],
                        ));
                    } else {
                        padding += 1;
                    }
                }
                let (sum, count) = (inside.iter().sum::<i64>(), inside.len() as i64);
                let mean = |sum: i64, count: i64| (sum as f64 / count as f64).round() as i64;
                assert_eq!(code(element, best[e]), *inside.iter().max().unwrap());
                assert_eq!(code(element, means[0][e]), mean(sum, count), "{p:?}");
                assert_eq!(
                    code(element, means[1][e]),
                    mean(sum + padding * i64::from(pad_value), count + padding),
                    "{p:?}"
                );
                sums.push(sum + (padding + beyond) * i64::from(pad_value));
            }
            let positions = down * right;
            let by_channel = [forms(0, 20_000, &mut numbers), forms(3, 20_000, &mut numbers)].concat();
            let by_position = forms(positions, 20_000, &mut numbers);
            let rows = by_channel.into_iter().map(|form| (Axis::Rows, form));
            for (axis, form) in rows.chain(by_position.into_iter().map(|form| (Axis::Columns, form))) {
                let wanted = finish(&form, None, &sums, |e| match axis {
                    Axis::Rows => e / positions % 3,
                    Axis::Columns => e % positions,
                });
                for (loops, isa) in loops(&form, None)
                    .iter()
                    .flat_map(|l| Isa::available().map(move |isa| (l, isa)))
                {
                    let mut found = vec![0; wanted.len()];
                    loops
                        .sum_pool(
                            &Context::with_isa(isa),
                            &p,
                            axis,
                            element,
                            pad_value,
                            Carrier::I32,
                            &input,
                            &mut found,
                        )
                        .unwrap();
                    assert!(found == wanted, "{p:?} {axis:?} {} on {}", form.kind(), isa.name());
                }
            }
        }
    }
}
