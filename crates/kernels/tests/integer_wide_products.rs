//! Compares integer convolutions and matrix products with plain sums. Codes have up to 16 bits, and accumulators have
//! up to 64 bits. The tests cover every instruction set, with accumulators that are requantized in registers,
//! requantized through a tile, and returned as they are.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Isa, Window,
    integer::{Activation, Bias, Carrier, ConvWeights, GemmWeights, Weights, accumulators},
};
use strait_requantize::IntType;
use support::{
    Numbers,
    convolutions::{case, cases, outputs},
    wide::{CARRIERS, ELEMENTS, check, codes, raw, width},
};

/// The smallest and the largest weight of each test: 8 bits, 16 bits, 16 bits minus a zero point, 4 bits minus a zero
/// point, and three times 8 bits minus a zero point. In the last of these three, there are 511 different weights, and
/// in the others 256.
const WEIGHTS: [[i32; 2]; 7] = [
    [-128, 127],
    [-32768, 32767],
    [-65535, 65535],
    [-15, 15],
    [-200, 55],
    [-3, 252],
    [-255, 255],
];

fn weights([low, high]: [i32; 2], count: usize, numbers: &mut Numbers) -> Vec<i32> {
    (0..count)
        .map(|_| match numbers.below(3) {
            0 => low,
            1 => high,
            _ => numbers.between(low, high),
        })
        .collect()
}

/// The bias of each channel: once for 32-bit and once for 64-bit accumulators.
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
    // There are more products than can be added in 32 bits at once.
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

/// All codes of a tensor have the same extreme value, and so have all weights, so that each part of a sum is as large
/// as possible. One convolution is dense, and the other is depthwise.
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
    // Matrix products of two activations in which all codes are the smallest of their types.
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
    // The input has sixteen codes of two bytes, and the output sixteen sums of eight bytes.
    assert!(accumulators().conv(&cx, &packed, 2, &[0; 32], &mut [0; 128]).is_ok());
    assert!(accumulators().conv(&cx, &packed, 2, &[0; 16], &mut [0; 128]).is_err());
    assert!(accumulators().conv(&cx, &packed, 2, &[0; 32], &mut [0; 64]).is_err());
}
