//! Operands of 16 bits, and sums of 64: every kernel equals plain sums, on every instruction set, with accumulators in
//! registers, through a tile and as they are.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use strait_kernels::{
    Context, Conv, Images, Isa, Pool, Window,
    integer::{
        Activation, Axis, Bias, Broadcast, Carrier, ConvWeights, GemmWeights, Loops, Weights, accumulators,
        average_pool, lookup, max_pool,
    },
};
use strait_requantize::{IntType, Requantization, form};
use support::{
    Numbers,
    convolutions::{case, cases, outputs},
    finish, loops,
};

const ELEMENTS: [IntType; 5] = [IntType::I8, IntType::U8, IntType::I16, IntType::U16, IntType::I4];
const CARRIERS: [Carrier; 2] = [Carrier::I32, Carrier::I64];

/// Bytes of a code.
fn width(element: IntType) -> usize {
    usize::from(element.bits().div_ceil(8))
}

/// Codes, and their bytes.
struct Codes {
    element: IntType,
    values: Vec<i64>,
    bytes: Vec<u8>,
}

/// Codes of a type, many of them its ends.
fn codes(element: IntType, count: usize, numbers: &mut Numbers) -> Codes {
    let values: Vec<i32> = (0..count)
        .map(|_| match numbers.below(4) {
            0 => element.min(),
            1 => element.max(),
            _ => numbers.between(element.min(), element.max()),
        })
        .collect();
    let width = width(element);
    Codes {
        element,
        bytes: values.iter().flat_map(|v| v.to_ne_bytes()[..width].to_vec()).collect(),
        values: values.into_iter().map(i64::from).collect(),
    }
}

/// Ends of weights: of 8 bits, of 16, of 16 with a zero point, and of four.
const WEIGHTS: [[i32; 2]; 4] = [[-128, 127], [-32768, 32767], [-65535, 65535], [-15, 15]];

fn weights([low, high]: [i32; 2], count: usize, numbers: &mut Numbers) -> Vec<i32> {
    (0..count)
        .map(|_| match numbers.below(3) {
            0 => low,
            1 => high,
            _ => numbers.between(low, high),
        })
        .collect()
}

/// The sums, as bytes of their carrier: those of 32 bits wrap.
fn raw(carrier: Carrier, sums: &[i64]) -> Vec<u8> {
    match carrier {
        Carrier::I32 => sums.iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect(),
        Carrier::I64 => sums.iter().flat_map(|x| x.to_ne_bytes()).collect(),
    }
}

/// Forms that spread accumulators of about `size`, for some channels: of 48 bits, of all 64, and one of f32, which is
/// defined on 32 bits.
fn forms(channels: usize, size: i64) -> Vec<Requantization> {
    let shift = (size / 30_000).max(2).ilog2() as i32;
    vec![
        form::SixteenByEight {
            multiplier: (0..channels).map(|c| 1_200_000_001 + 200_000 * c as i32).collect(),
            exponent: (0..channels)
                .map(|c| (-shift + c as i32 % 2).clamp(-31, 3) as i8)
                .collect(),
            zp: 0,
            out: IntType::I16,
        }
        .into(),
        form::ArithFolded {
            narrowing: strait_requantize::Narrowing {
                shift: (0..channels).map(|c| shift as u8 + (c % 3) as u8).collect(),
                rounding: strait_requantize::Rounding::HalfEven,
                out: IntType::I8,
            },
        }
        .into(),
        form::Float {
            scale: (0..channels).map(|c| 1.0 / (1 << 20) as f32 + c as f32 / 1e9).collect(),
            zp: 3,
            out: IntType::I16,
        }
        .into(),
    ]
}

/// Holds loops against sums. `channel` gives the channel of a sum.
fn check(
    what: &str,
    channels: usize,
    carrier: Carrier,
    sums: &[i64],
    channel: impl Fn(usize) -> usize,
    run: impl Fn(&dyn Loops, &Context, &mut [u8]),
) {
    let each = |loops: &dyn Loops, wanted: &[u8], what: &str| {
        for isa in Isa::available() {
            let mut found = vec![0xA5; wanted.len()];
            run(loops, &Context::with_isa(isa), &mut found);
            assert!(found == wanted, "{what} on {}", isa.name());
        }
    };
    each(&*accumulators(), &raw(carrier, sums), what);
    // Forms take what the carrier has, as a compiler proves.
    if carrier == Carrier::I32 && sums.iter().any(|&sum| i32::try_from(sum).is_err()) {
        return;
    }
    let size = sums.iter().map(|s| s.abs()).max().unwrap_or(0);
    for form in forms(channels, size) {
        let inside = |(at, &x): (usize, &i64)| {
            let (low, high) = form.domain(channel(at)).into_inner();
            x.clamp(low, high)
        };
        let inside: Vec<i64> = sums.iter().enumerate().map(inside).collect();
        for clamp in [None, Some([-100, 100])] {
            let wanted = finish(&form, clamp, &inside, &channel);
            for loops in loops(&form, clamp) {
                each(&*loops, &wanted, &format!("{what}, {}", form.kind()));
            }
        }
    }
}

/// The bias of some channels, for a carrier.
struct Biases(Vec<i32>, Vec<i64>);

impl Biases {
    fn new(channels: usize, numbers: &mut Numbers) -> Biases {
        let narrow: Vec<i32> = (0..channels).map(|_| numbers.between(-5000, 5000)).collect();
        Biases(
            narrow,
            (0..channels).map(|_| numbers.next().cast_signed() >> 20).collect(),
        )
    }

    fn of(&self, carrier: Carrier) -> (Bias<'_>, Vec<i64>) {
        match carrier {
            Carrier::I32 => (Bias::I32(Some(&self.0)), self.0.iter().map(|&b| b.into()).collect()),
            Carrier::I64 => (Bias::I64(Some(&self.1)), self.1.clone()),
        }
    }
}

#[test]
fn convolutions_are_plain_sums() {
    let mut numbers = Numbers::new(61);
    // More products than fit into 32 bits at once.
    let deep = Window {
        pads: [1; 4],
        ..Window::new([3, 3])
    };
    let convolutions = cases().into_iter().chain([case(70, [3, 5], 9, 1, deep)]);
    for (i, c) in convolutions.enumerate() {
        for element in ELEMENTS {
            for ends in WEIGHTS {
                for carrier in CARRIERS {
                    let x = codes(element, c.input.elements().unwrap(), &mut numbers);
                    let pad = numbers.between(element.min(), element.max());
                    let w = weights(ends, c.out_channels * c.depth(), &mut numbers);
                    let biases = Biases::new(c.out_channels, &mut numbers);
                    let (bias, values) = biases.of(carrier);
                    let sums = outputs(&c, |channel, at| {
                        let value = |tap| at(tap).map_or(i64::from(pad), |i| x.values[i]);
                        let products = (0..c.depth()).map(|tap| i64::from(w[channel * c.depth() + tap]) * value(tap));
                        values[channel] + products.sum::<i64>()
                    });
                    let small: Vec<i8> = w.iter().map(|&w| w as i8).collect();
                    let packed = match ends {
                        [-128, 127] => Weights::I8(&small),
                        _ => Weights::I32(&w),
                    };
                    let packed = ConvWeights::new(c, element, pad, packed, bias).unwrap();
                    let positions = sums.len() / c.input.batch / c.out_channels;
                    let what = format!("{i}: {c:?}, {element}, weights {ends:?}, {carrier:?}");
                    check(
                        &what,
                        c.out_channels,
                        carrier,
                        &sums,
                        |at| at / positions % c.out_channels,
                        |loops, cx, out| loops.conv(cx, &packed, c.input.batch, &x.bytes, out).unwrap(),
                    );
                }
            }
        }
    }
}

const PRODUCTS: [[usize; 3]; 6] = [
    [1, 1, 1],
    [3, 17, 5],
    [12, 33, 16],
    [51, 10, 131],
    [2, 5, 1030],
    [2, 3, 0],
];

#[test]
fn products_with_constant_weights_are_plain_sums() {
    let mut numbers = Numbers::new(62);
    for (i, [m, n, k]) in PRODUCTS.into_iter().enumerate() {
        for element in ELEMENTS {
            for ends in WEIGHTS {
                for carrier in CARRIERS {
                    let a = codes(element, m * k, &mut numbers);
                    let w = weights(ends, k * n, &mut numbers);
                    let biases = Biases::new(n, &mut numbers);
                    let (bias, values) = biases.of(carrier);
                    let strides = if i % 2 == 0 { [n, 1] } else { [1, k] };
                    let packed = GemmWeights::new(element, [k, n], Weights::I32(&w), strides, bias).unwrap();
                    let product = |i: usize, j: usize, kk: usize| {
                        a.values[i * k + kk] * i64::from(w[kk * strides[0] + j * strides[1]])
                    };
                    let sum = |e: usize| values[e % n] + (0..k).map(|kk| product(e / n, e % n, kk)).sum::<i64>();
                    let sums: Vec<i64> = (0..m * n).map(sum).collect();
                    let what = format!("{m}×{n}×{k}, {element}, weights {ends:?}, {carrier:?}");
                    check(
                        &what,
                        n,
                        carrier,
                        &sums,
                        |at| at % n,
                        |loops, cx, out| loops.gemm(cx, &packed, m, &a.bytes, out).unwrap(),
                    );
                }
            }
        }
    }
}

#[test]
fn products_of_activations_are_plain_sums() {
    let mut numbers = Numbers::new(63);
    for (i, [m, n, k]) in PRODUCTS.into_iter().enumerate() {
        for (left, right) in ELEMENTS.into_iter().flat_map(|a| ELEMENTS.map(|b| (a, b))) {
            for carrier in CARRIERS {
                let operands = [codes(left, m * k, &mut numbers), codes(right, k * n, &mut numbers)];
                let zeros = [left, right].map(|e| numbers.between(e.min(), e.max()));
                let strides = [
                    if i % 2 == 0 { [k, 1] } else { [1, m] },
                    if i % 3 == 0 { [n, 1] } else { [1, k] },
                ];
                let operand = |o: usize| Activation {
                    data: &operands[o].bytes,
                    element: operands[o].element,
                    zero_point: zeros[o],
                    strides: strides[o],
                };
                let at = |o: usize, row: usize, column: usize| {
                    operands[o].values[row * strides[o][0] + column * strides[o][1]] - i64::from(zeros[o])
                };
                let sum = |e: usize| (0..k).map(|kk| at(0, e / n, kk) * at(1, kk, e % n)).sum();
                let sums: Vec<i64> = (0..m * n).map(sum).collect();
                check(
                    &format!("{m}×{n}×{k}, {left} and {right}, {carrier:?}"),
                    n,
                    carrier,
                    &sums,
                    |at| at % n,
                    |loops, cx, out| {
                        loops
                            .matmul(cx, [m, n, k], operand(0), operand(1), carrier, out)
                            .unwrap();
                    },
                );
            }
        }
    }
}

/// Every chunk of products is as large as it can be: dense, over images and depthwise.
#[test]
fn the_extremes_of_both_operands_do_not_overflow_inside() {
    let plain = Window::new([1, 1]);
    let convolutions = [
        case(1100, [3, 6], 3, 1, plain),
        case(
            2,
            [30, 40],
            2,
            2,
            Window {
                pads: [1; 4],
                ..Window::new([27, 25])
            },
        ),
    ];
    for (c, element) in convolutions.into_iter().flat_map(|c| ELEMENTS.map(|e| (c, e))) {
        for (weight, code) in WEIGHTS
            .into_iter()
            .flatten()
            .flat_map(|w| [(w, element.min()), (w, element.max())])
        {
            let count = c.input.elements().unwrap();
            let x: Vec<u8> = code.to_ne_bytes()[..width(element)].repeat(count);
            let w = vec![weight; c.out_channels * c.depth()];
            let packed = ConvWeights::new(c, element, code, Weights::I32(&w), Bias::I64(None)).unwrap();
            let sum = c.depth() as i64 * i64::from(weight) * i64::from(code);
            let sums = vec![sum; c.output().unwrap().elements().unwrap()];
            let k = c.depth();
            let gemm = GemmWeights::new(
                element,
                [k, 3],
                Weights::I32(&w[..1].repeat(3 * k)),
                [3, 1],
                Bias::I64(None),
            );
            let gemm = gemm.unwrap();
            for isa in Isa::available() {
                let cx = Context::with_isa(isa);
                let mut found = vec![0; 8 * sums.len()];
                accumulators().conv(&cx, &packed, 2, &x, &mut found).unwrap();
                assert!(
                    found == raw(Carrier::I64, &sums),
                    "{weight} by {code} on {}",
                    isa.name()
                );
                let mut found = [0; 24];
                let row = &x[..k * width(element)];
                accumulators().gemm(&cx, &gemm, 1, row, &mut found).unwrap();
                assert!(
                    found[..] == raw(Carrier::I64, &[sum; 3]),
                    "{weight} by {code} on {}",
                    isa.name()
                );
            }
        }
    }
    // Products of two activations: of the smallest codes on both sides.
    let k = 300;
    for (left, right) in ELEMENTS.into_iter().flat_map(|a| ELEMENTS.map(|b| (a, b))) {
        let [a, b] = [left, right].map(|e| e.min().to_ne_bytes()[..width(e)].repeat(k));
        let operand = |data, element: IntType| Activation {
            data,
            element,
            zero_point: element.max(),
            strides: [1, 1],
        };
        let span = |e: IntType| i64::from(e.max()) - i64::from(e.min());
        for isa in Isa::available() {
            let mut found = [0; 8];
            let cx = Context::with_isa(isa);
            let (a, b) = (operand(&a, left), operand(&b, right));
            accumulators()
                .matmul(&cx, [1, 1, k], a, b, Carrier::I64, &mut found)
                .unwrap();
            assert_eq!(
                i64::from_ne_bytes(found),
                k as i64 * span(left) * span(right),
                "{left} and {right}"
            );
        }
    }
}

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
            // A pool as a depthwise convolution: which elements are under a window.
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

#[test]
fn what_does_not_fit_is_refused() {
    let c = case(2, [2, 2], 2, 1, Window::new([1, 1]));
    let new = |weights: &[i32], bias| ConvWeights::new(c, IntType::I16, 0, Weights::I32(weights), bias);
    assert!(new(&[0, 1, 2, 65535], Bias::I64(None)).is_ok());
    assert!(new(&[0, 1, 2, 65536], Bias::I64(None)).is_err());
    assert!(new(&[0, 1, 2, i32::MIN], Bias::I32(None)).is_err());
    assert!(new(&[0, 1, 2], Bias::I64(None)).is_err());
    assert!(new(&[0, 1, 2, 3], Bias::I64(Some(&[1]))).is_err());
    let packed = new(&[0, 1, 2, 3], Bias::I64(None)).unwrap();
    let cx = Context::detect();
    // Sixteen codes of two bytes, and as many sums of eight.
    assert!(accumulators().conv(&cx, &packed, 2, &[0; 32], &mut [0; 128]).is_ok());
    assert!(accumulators().conv(&cx, &packed, 2, &[0; 16], &mut [0; 128]).is_err());
    assert!(accumulators().conv(&cx, &packed, 2, &[0; 32], &mut [0; 64]).is_err());
}
