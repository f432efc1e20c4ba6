//! GEMM and convolution equal plain chains of 256 fused multiply-adds, bit for bit, on every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Conv, Isa, Window,
    float::{Bias, Matrix, conv, gemm},
};
use support::{
    Numbers,
    convolutions::{case, cases, outputs},
};

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    Numbers::new(seed.into()).floats(count)
}

fn assert_same_bits(what: &str, found: &[f32], wanted: &[f32]) {
    let differing = found.iter().zip(wanted).position(|(a, b)| a.to_bits() != b.to_bits());
    assert!(
        found.len() == wanted.len() && differing.is_none(),
        "{what}: element {differing:?} differs"
    );
}

/// Defines a sum of products: the products are divided into chains of 256, each chain starts from zero, and the results
/// of the chains are added to `start` one after the other.
fn chained(start: f32, count: usize, factors: impl Fn(usize) -> [f32; 2]) -> f32 {
    let chain = |from: usize| {
        (from..count.min(from + 256)).fold(0.0_f32, |sum, k| {
            let [a, b] = factors(k);
            a.mul_add(b, sum)
        })
    };
    (0..count).step_by(256).fold(start, |sum, from| sum + chain(from))
}

#[test]
fn gemm_is_ascending_chains_per_element() {
    for (i, [m, n, k]) in [
        [1, 1, 1],
        [1, 33, 7],
        [13, 1, 5],
        [12, 32, 64],
        [25, 49, 300],
        [5, 40, 1000],
        [7, 200, 17],
        [100, 65, 3],
        [3, 40, 0],
    ]
    .into_iter()
    .enumerate()
    {
        let (a, b) = (numbers(m * k, i as u32), numbers(k * n, 100 + i as u32));
        let (rows, columns, elements) = (numbers(m, 1), numbers(n, 2), numbers(m * n, 3));
        for (bias, start) in [
            (Bias::Zero, &(|_, _| 0.0_f32) as &dyn Fn(usize, usize) -> f32),
            (Bias::Rows(&rows), &|i, _| rows[i]),
            (Bias::Columns(&columns), &|_, j| columns[j]),
            (Bias::Elements(&elements), &|i, j| elements[i * n + j]),
        ] {
            for transposed in [[false, false], [true, false], [false, true]] {
                let view = |data, [rows, columns]: [usize; 2], transposed| {
                    if transposed {
                        Matrix::transposed(data, rows)
                    } else {
                        Matrix::row_major(data, columns)
                    }
                };
                let a = view(&a, [m, k], transposed[0]);
                let b = view(&b, [k, n], transposed[1]);
                let at = |x: Matrix<'_>, i: usize, j: usize| x.data[i * x.strides[0] + j * x.strides[1]];
                let chain = |i, j| chained(start(i, j), k, |kk| [at(a, i, kk), at(b, kk, j)]);
                let wanted: Vec<f32> = (0..m * n).map(|e| chain(e / n, e % n)).collect();
                for isa in Isa::available() {
                    let mut found = vec![f32::NAN; m * n];
                    gemm(&Context::with_isa(isa), [m, n, k], a, b, bias, &mut found).unwrap();
                    assert_same_bits(
                        &format!("{m}×{n}×{k} {transposed:?} on {}", isa.name()),
                        &found,
                        &wanted,
                    );
                }
            }
        }
    }
}

/// Defines the convolution: the taps have the order channel, row, column, and padding elements are multiplied as zeros.
fn reference(c: &Conv, input: &[f32], weights: &[f32], bias: &[f32]) -> Vec<f32> {
    outputs(c, |channel, at| {
        let weights = &weights[channel * c.depth()..];
        chained(bias[channel], c.depth(), |tap| {
            [weights[tap], at(tap).map_or(0.0, |i| input[i])]
        })
    })
}

#[test]
fn convolution_is_its_definition_on_every_instruction_set_and_number_of_threads() {
    // The other cases are too small to run on several threads.
    let padded = Window {
        pads: [1; 4],
        ..Window::new([3, 3])
    };
    let large = [case(19, [20, 41], 38, 19, padded), case(13, [20, 41], 9, 1, padded)];
    for (i, c) in cases().into_iter().chain(large).enumerate() {
        let input = numbers(c.input.elements().unwrap(), i as u32);
        let weights = numbers(c.out_channels * c.depth(), 50 + i as u32);
        let bias = numbers(c.out_channels, 99);
        let wanted = reference(&c, &input, &weights, &bias);
        for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 3)]) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut found = vec![f32::NAN; wanted.len()];
            pool.install(|| conv(&Context::with_isa(isa), &c, &input, &weights, Some(&bias), &mut found))
                .unwrap();
            assert_same_bits(&format!("{c:?} on {}", isa.name()), &found, &wanted);
        }
    }
}

#[test]
fn large_products_do_not_depend_on_the_number_of_threads() {
    let [m, n, k] = [230, 500, 260];
    let (a, b) = (numbers(m * k, 5), numbers(k * n, 6));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut out = vec![0.0; m * n];
        let (a, b) = (Matrix::row_major(&a, k), Matrix::row_major(&b, n));
        pool.install(|| gemm(&Context::detect(), [m, n, k], a, b, Bias::Zero, &mut out))
            .unwrap();
        out
    };
    let one = run(1);
    for threads in [2, 5] {
        assert_same_bits("threads", &run(threads), &one);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let cx = Context::detect();
    let data = [0.0; 6];
    let view = Matrix::row_major(&data, 3);
    assert!(gemm(&cx, [2, 2, 3], view, view, Bias::Zero, &mut [0.0; 4]).is_err());
    assert!(
        gemm(
            &cx,
            [2, 2, 3],
            view,
            Matrix::transposed(&data, 3),
            Bias::Rows(&data),
            &mut [0.0; 4]
        )
        .is_err()
    );
    assert!(gemm(&cx, [2, usize::MAX, 3], view, view, Bias::Zero, &mut [0.0; 4]).is_err());
    let no = |c: Conv| assert!(conv(&cx, &c, &data, &data, None, &mut [0.0; 6]).is_err(), "{c:?}");
    no(case(
        1,
        [2, 3],
        1,
        1,
        Window {
            stride: [0, 1],
            ..Window::new([1, 1])
        },
    ));
    no(case(
        1,
        [2, 3],
        1,
        1,
        Window {
            pads: [usize::MAX; 4],
            ..Window::new([1, 1])
        },
    ));
    no(case(1, [2, 3], 1, 1, Window::new([usize::MAX, usize::MAX])));
    no(case(1, [2, 3], 1, 1, Window::new([3, 3])));
    no(case(1, [2, 3], 1, 0, Window::new([1, 1])));
    no(case(usize::MAX, [2, 3], 1, 1, Window::new([1, 1])));
    no(case(3, [1, 2], 4, 2, Window::new([1, 1])));
}
