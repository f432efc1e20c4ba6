//! Compares integer convolutions and matrix products with a plain sum in i64 followed by the definition of the form.
//! The tests cover every form and every instruction set, with accumulators in registers and through a tile.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Conv, Images, Isa, Window,
    integer::{Activation, Bias, Carrier, ConvWeights, GemmWeights, Weights, accumulators},
};
use strait_requantize::{IntType, Requantization};
use support::{
    Numbers, code,
    convolutions::{cases, outputs},
    finish, forms, loops,
};

fn conv_reference(c: &Conv, element: IntType, pad_value: i32, input: &[u8], weights: &[i8], bias: &[i32]) -> Vec<i64> {
    outputs(c, |channel, at| {
        let value = |tap| at(tap).map_or(i64::from(pad_value), |i| code(element, input[i]));
        let weights = &weights[channel * c.depth()..][..c.depth()];
        let products = weights.iter().enumerate().map(|(tap, &w)| i64::from(w) * value(tap));
        i64::from(bias[channel]) + products.sum::<i64>()
    })
}

#[test]
fn convolution_is_exact_for_every_form() {
    let mut numbers = Numbers::new(1);
    for (i, c) in cases().into_iter().enumerate() {
        let element = [IntType::I8, IntType::U8][i % 2];
        let pad_value = numbers.between(element.min(), element.max());
        let input = numbers.bytes(c.input.elements().unwrap());
        let weights = numbers.weights(c.out_channels * c.depth());
        let bias: Vec<i32> = (0..c.out_channels).map(|_| numbers.between(-5000, 5000)).collect();
        let packed = ConvWeights::new(c, element, pad_value, Weights::I8(&weights), Bias::I32(Some(&bias))).unwrap();
        let sums = conv_reference(&c, element, pad_value, &input, &weights, &bias);
        let positions = sums.len() / c.input.batch / c.out_channels;
        let size = sums.iter().map(|s| s.abs()).max().unwrap();
        for channels in [0, c.out_channels] {
            // Another test covers all roundings of each family. This test runs each family on each shape.
            let forms = forms(channels, size, &mut numbers).into_iter().skip(i % 5).step_by(5);
            for (form, clamp) in forms.zip([None, Some([-3, 90])].into_iter().cycle()) {
                let wanted = finish(&form, clamp, &sums, |e| e / positions % c.out_channels);
                for (loops, isa) in loops(&form, clamp)
                    .iter()
                    .flat_map(|l| Isa::available().map(move |isa| (l, isa)))
                {
                    let mut found = vec![0; wanted.len()];
                    loops
                        .conv(&Context::with_isa(isa), &packed, c.input.batch, &input, &mut found)
                        .unwrap();
                    assert!(found == wanted, "{c:?} {} on {}", form.kind(), isa.name());
                }
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut numbers = Numbers::new(2);
    let c = Conv {
        window: Window {
            pads: [1; 4],
            ..Window::new([3, 3])
        },
        input: Images {
            batch: 2,
            channels: 16,
            size: [40, 33],
        },
        out_channels: 20,
        groups: 1,
    };
    let input = numbers.bytes(c.input.elements().unwrap());
    let weights = numbers.weights(c.out_channels * c.depth());
    let packed = ConvWeights::new(c, IntType::I8, -3, Weights::I8(&weights), Bias::I32(None)).unwrap();
    for form in forms(20, 100_000, &mut numbers).iter().take(7) {
        for loops in loops(form, None) {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let width = usize::from(form.out().bits().div_ceil(8));
                let mut out = vec![0; c.output().unwrap().elements().unwrap() * width];
                pool.install(|| loops.conv(&Context::detect(), &packed, 2, &input, &mut out))
                    .unwrap();
                out
            };
            assert!(run(1) == run(4), "{}", form.kind());
        }
    }
}

const PRODUCTS: [[usize; 3]; 8] = [
    [1, 1, 1],
    [1, 10, 64],
    [3, 17, 5],
    [12, 48, 16],
    [50, 33, 9],
    [97, 200, 7],
    [9, 49, 130],
    [2, 3, 0],
];

#[test]
fn products_with_constant_weights_are_exact_for_every_form() {
    let mut numbers = Numbers::new(3);
    for (i, [m, n, k]) in PRODUCTS.into_iter().enumerate() {
        let element = [IntType::I8, IntType::U8][i % 2];
        let (a, weights) = (numbers.bytes(m * k), numbers.weights(k * n));
        let bias: Vec<i32> = (0..n).map(|_| numbers.between(-5000, 5000)).collect();
        let strides = if i % 3 == 0 { [n, 1] } else { [1, k] };
        let packed = GemmWeights::new(element, [k, n], Weights::I8(&weights), strides, Bias::I32(Some(&bias))).unwrap();
        let sum = |i: usize, j: usize| {
            let products =
                (0..k).map(|kk| code(element, a[i * k + kk]) * i64::from(weights[kk * strides[0] + j * strides[1]]));
            i64::from(bias[j]) + products.sum::<i64>()
        };
        let sums: Vec<i64> = (0..m * n).map(|e| sum(e / n, e % n)).collect();
        let size = sums.iter().map(|s| s.abs()).max().unwrap();
        for form in [forms(0, size, &mut numbers), forms(n, size, &mut numbers)]
            .concat()
            .into_iter()
            .skip(i % 5)
            .step_by(5)
        {
            let wanted = finish(&form, Some([-7, 1000]), &sums, |e| e % n);
            for (loops, isa) in loops(&form, Some([-7, 1000]))
                .iter()
                .flat_map(|l| Isa::available().map(move |i| (l, i)))
            {
                let mut found = vec![0; wanted.len()];
                loops.gemm(&Context::with_isa(isa), &packed, m, &a, &mut found).unwrap();
                assert!(found == wanted, "{m}×{n}×{k} {} on {}", form.kind(), isa.name());
            }
        }
    }
}

#[test]
fn products_of_activations_take_both_zero_points_away() {
    let mut numbers = Numbers::new(4);
    for (i, [m, n, k]) in PRODUCTS.into_iter().enumerate() {
        let elements = [
            [IntType::I8, IntType::I8],
            [IntType::I8, IntType::U8],
            [IntType::U8, IntType::U8],
        ][i % 3];
        let data = [numbers.bytes(m * k), numbers.bytes(k * n)];
        let zeros = elements.map(|e| numbers.between(e.min(), e.max()));
        let strides = [
            if i % 2 == 0 { [k, 1] } else { [1, m] },
            if i % 4 < 2 { [n, 1] } else { [1, k] },
        ];
        let operand = |o: usize| Activation {
            data: &data[o],
            element: elements[o],
            zero_point: zeros[o],
            strides: strides[o],
        };
        let at = |o: usize, row: usize, column: usize| {
            code(elements[o], data[o][row * strides[o][0] + column * strides[o][1]]) - i64::from(zeros[o])
        };
        let sums: Vec<i64> = (0..m * n)
            .map(|e| (0..k).map(|kk| at(0, e / n, kk) * at(1, kk, e % n)).sum())
            .collect();
        for form in forms(0, 50_000, &mut numbers).iter().take(14) {
            let wanted = finish(form, None, &sums, |_| 0);
            for (loops, isa) in loops(form, None)
                .iter()
                .flat_map(|l| Isa::available().map(move |isa| (l, isa)))
            {
                let mut found = vec![0; wanted.len()];
                loops
                    .matmul(
                        &Context::with_isa(isa),
                        [m, n, k],
                        operand(0),
                        operand(1),
                        Carrier::I32,
                        &mut found,
                    )
                    .unwrap();
                assert!(
                    found == wanted,
                    "{m}×{n}×{k} {elements:?} {} on {}",
                    form.kind(),
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn the_extremes_of_both_operands_do_not_saturate_inside() {
    // 255 · −128 + 255 · −128 does not fit in i16, so `vpmaddubsw` would saturate.
    let k = 40;
    let packed = GemmWeights::new(
        IntType::U8,
        [k, 1],
        Weights::I8(&vec![-128; k]),
        [1, 1],
        Bias::I32(None),
    )
    .unwrap();
    for isa in Isa::available() {
        let mut out = [0; 4];
        accumulators()
            .gemm(&Context::with_isa(isa), &packed, 1, &vec![255; k], &mut out)
            .unwrap();
        assert_eq!(i32::from_ne_bytes(out), -128 * 255 * 40);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let cx = Context::detect();
    let loops = accumulators();
    let c = Conv {
        window: Window::new([1, 1]),
        input: Images {
            batch: 1,
            channels: 2,
            size: [2, 2],
        },
        out_channels: 2,
        groups: 1,
    };
    assert!(ConvWeights::new(c, IntType::I32, 0, Weights::I8(&[1; 4]), Bias::I32(None)).is_err());
    assert!(ConvWeights::new(c, IntType::U8, -1, Weights::I8(&[1; 4]), Bias::I32(None)).is_err());
    assert!(ConvWeights::new(c, IntType::U8, 0, Weights::I8(&[1; 3]), Bias::I32(None)).is_err());
    let packed = ConvWeights::new(c, IntType::U8, 0, Weights::I8(&[1; 4]), Bias::I32(None)).unwrap();
    assert!(loops.conv(&cx, &packed, 1, &[0; 8], &mut [0; 31]).is_err());
    assert!(loops.conv(&cx, &packed, 2, &[0; 8], &mut [0; 64]).is_err());
    assert!(loops.conv(&cx, &packed, usize::MAX, &[0; 8], &mut [0; 64]).is_err());
    let three: Requantization = forms(3, 100, &mut Numbers::new(5)).remove(0);
    assert!(
        support::loops(&three, None)[0]
            .conv(&cx, &packed, 1, &[0; 8], &mut [0; 8])
            .is_err()
    );
    assert!(GemmWeights::new(IntType::I8, [2, 2], Weights::I8(&[0; 3]), [2, 1], Bias::I32(None)).is_err());
    assert!(
        GemmWeights::new(
            IntType::I8,
            [usize::MAX, 2],
            Weights::I8(&[0; 3]),
            [2, 1],
            Bias::I32(None)
        )
        .is_err()
    );
    assert!(strait_kernels::integer::standard(&three, Some([3, 2])).is_err());
}
