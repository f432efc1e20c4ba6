//! Compares elementary functions with functions in f64, and reductions and pools with their definitions. All must give
//! the same bits on every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use strait_kernels::{
    Context, Images, Isa, Pool, Window,
    float::{Reduction, Unary, average_pool, max_pool, pow, reduce, softmax, unary},
};

fn on(isa: Isa, function: Unary, input: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; input.len()];
    unary(&Context::with_isa(isa), function, input, &mut out).unwrap();
    out
}

/// Computes the error function by the series 2/√π Σ (−1)ⁿ x^(2n+1) / (n!·(2n+1)). For |x| up to 4, the error is below
/// 1e-9.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut power, mut sum) = (x, x);
    for n in 1..80 {
        power *= -x * x / f64::from(n);
        sum += power / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// |found − exact| in units in the last place of the f32 that is nearest to the exact value.
fn ulps(found: f32, exact: f64) -> f64 {
    let size = (exact.abs() as f32).max(f32::MIN_POSITIVE);
    let spacing = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
    (f64::from(found) - exact).abs() / spacing
}

#[test]
fn functions_are_within_half_a_unit_and_a_hundredth_of_the_true_value() {
    let cases: [(Unary, fn(f64) -> f64, [f64; 2]); 8] = [
        (Unary::Exp, f64::exp, [-87.0, 88.7]),
        (Unary::Log, f64::ln, [1e-38, 3e38]),
        (Unary::Sqrt, f64::sqrt, [0.0, 1e30]),
        (Unary::Erf, erf, [-5.0, 5.0]),
        (Unary::Tanh, f64::tanh, [-12.0, 12.0]),
        (Unary::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), [-80.0, 80.0]),
        (Unary::Silu, |x| x / (1.0 + (-x).exp()), [-80.0, 80.0]),
        (Unary::Softplus, |x| x.exp().ln_1p(), [-80.0, 80.0]),
    ];
    for (function, exact, [low, high]) in cases {
        // Some inputs are spread evenly over the range, and others evenly over the exponents around zero.
        let even = (0..20_000).map(|i| (low + (high - low) * f64::from(i) / 19_999.0) as f32);
        let small = (0..20_000).map(|i| 2.0_f32.powi(i % 40 - 36) * (1.0 + i as f32 / 20_000.0));
        let input: Vec<f32> = even
            .chain(small.clone())
            .chain(small.map(|x| if low < 0.0 { -x } else { x }))
            .collect();
        let wanted = on(Isa::Scalar, function, &input);
        for (&x, &y) in input.iter().zip(&wanted) {
            let error = ulps(y, exact(f64::from(x)));
            assert!(error <= 0.51, "{function:?}({x}) = {y} is off by {error} units");
        }
        for isa in Isa::available() {
            assert!(
                on(isa, function, &input)
                    .iter()
                    .zip(&wanted)
                    .all(|(a, b)| a.to_bits() == b.to_bits()),
                "{function:?}"
            );
        }
    }
}

#[test]
fn the_ends_of_the_range_are_the_limits() {
    let (inf, tiny) = (f32::INFINITY, 2.0_f32.powi(-100));
    let cases = [
        (
            Unary::Exp,
            [
                (-inf, 0.0),
                (-200.0, 0.0),
                (0.0, 1.0),
                (89.0, inf),
                (inf, inf),
                (-103.0, 1e-45),
            ]
            .to_vec(),
        ),
        (
            Unary::Log,
            [(0.0, -inf), (1.0, 0.0), (inf, inf), (f32::from_bits(1), -103.278_93)].to_vec(),
        ),
        (Unary::Sqrt, [(0.0, 0.0), (4.0, 2.0), (inf, inf)].to_vec()),
        (
            Unary::Erf,
            [
                (-inf, -1.0),
                (-5.0, -1.0),
                (0.0, 0.0),
                (inf, 1.0),
                (tiny, tiny * std::f32::consts::FRAC_2_SQRT_PI),
            ]
            .to_vec(),
        ),
        (
            Unary::Tanh,
            [(-inf, -1.0), (0.0, 0.0), (tiny, tiny), (100.0, 1.0), (inf, 1.0)].to_vec(),
        ),
        (
            Unary::Sigmoid,
            [(-inf, 0.0), (0.0, 0.5), (inf, 1.0), (-200.0, 0.0)].to_vec(),
        ),
        (
            Unary::Silu,
            [(-inf, 0.0), (0.0, 0.0), (inf, inf), (-1e30, 0.0)].to_vec(),
        ),
        (
            Unary::Softplus,
            [(-inf, 0.0), (0.0, std::f32::consts::LN_2), (inf, inf), (200.0, 200.0)].to_vec(),
        ),
    ];
    for isa in Isa::available() {
        for (function, points) in &cases {
            for &(x, wanted) in points {
                assert_eq!(
                    on(isa, *function, &[x])[0],
                    wanted,
                    "{function:?}({x}) on {}",
                    isa.name()
                );
            }
            assert!(on(isa, *function, &[f32::NAN])[0].is_nan(), "{function:?}(NaN)");
        }
        assert!(on(isa, Unary::Log, &[-1.0])[0].is_nan());
    }
}

#[test]
fn powers_are_products_for_whole_exponents() {
    let cases = [
        (3.0, 2.0, 9.0),
        (-3.0, 3.0, -27.0),
        (2.0, -2.0, 0.25),
        (0.0, 0.0, 1.0),
        (9.0, 0.5, 3.0),
        (2.0, 0.5, std::f32::consts::SQRT_2),
        (0.0, 0.5, 0.0),
        (1.5, 100.0, 4.065_612e17),
    ];
    for (x, y, wanted) in cases {
        assert_eq!(pow(x, y), wanted, "{x}^{y}");
    }
    assert!(pow(-2.0, 0.5).is_nan());
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 7919 + 13) % 10_007) as f32 / 977.0 - 5.0)
        .collect()
}

/// Adds in the order that the kernels state: sixteen partial sums, whose number is halved four times.
fn joined(values: impl Iterator<Item = f32>, start: f32, join: fn(f32, f32) -> f32) -> f32 {
    let mut partials = [start; 16];
    for (i, x) in values.enumerate() {
        partials[i % 16] = join(partials[i % 16], x);
    }
    for half in [8, 4, 2, 1] {
        for p in 0..half {
            partials[p] = join(partials[p], partials[p + half]);
        }
    }
    partials[0]
}

fn sum(values: impl Iterator<Item = f32>) -> f32 {
    joined(values, 0.0, |a, b| a + b)
}

#[test]
fn reductions_have_one_order_for_every_layout() {
    for [outer, axis, inner] in [
        [1, 1, 1],
        [3, 100, 1],
        [2, 33, 5],
        [1, 17, 40],
        [4, 7, 16],
        [2, 0, 3],
        [2, 37, 150],
    ] {
        let input = numbers(outer * axis * inner);
        let line = |o: usize, i: usize| (0..axis).map(move |a| (o * axis + a) * inner + i);
        for isa in Isa::available() {
            let run = |what| {
                let mut out = vec![0.0; outer * inner];
                reduce(&Context::with_isa(isa), what, [outer, axis, inner], &input, &mut out).unwrap();
                out
            };
            let each = |f: &dyn Fn(&mut dyn Iterator<Item = f32>) -> f32| -> Vec<f32> {
                (0..outer * inner)
                    .map(|e| f(&mut line(e / inner, e % inner).map(|i| input[i])))
                    .collect()
            };
            assert_eq!(run(Reduction::Sum), each(&|x| sum(x)), "{outer}×{axis}×{inner}");
            assert_eq!(run(Reduction::Product), each(&|x| joined(x, 1.0, |a, b| a * b)));
            assert_eq!(run(Reduction::Max), each(&|x| x.fold(f32::NEG_INFINITY, f32::max)));
            assert_eq!(run(Reduction::Min), each(&|x| x.fold(f32::INFINITY, f32::min)));
            if axis > 0 {
                assert_eq!(run(Reduction::Mean), each(&|x| sum(x) / axis as f32));
            }
        }
    }
}

#[test]
fn softmax_is_near_the_true_one_and_the_same_everywhere() {
    for [outer, axis, inner] in [[3, 10, 1], [2, 100, 1], [2, 12, 7], [1, 20, 33]] {
        let input: Vec<f32> = numbers(outer * axis * inner).iter().map(|x| x * 10.0).collect();
        let run = |isa| {
            let mut out = vec![0.0; input.len()];
            softmax(&Context::with_isa(isa), [outer, axis, inner], &input, &mut out).unwrap();
            out
        };
        let scalar = run(Isa::Scalar);
        for isa in Isa::available() {
            assert!(run(isa).iter().zip(&scalar).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
        for (o, i) in (0..outer * inner).map(|e| (e / inner, e % inner)) {
            let at = |a: usize| (o * axis + a) * inner + i;
            let exponential = |a: usize| f64::from(input[at(a)]).exp();
            let total: f64 = (0..axis).map(exponential).sum();
            for a in 0..axis {
                assert!((f64::from(scalar[at(a)]) - exponential(a) / total).abs() < 2e-7);
            }
        }
    }
}

#[test]
fn pools_see_each_window_in_row_order() {
    let pool = |size, kernel, stride, dilation, pads, output| Pool {
        window: Window {
            kernel,
            stride,
            dilation,
            pads,
        },
        input: Images {
            batch: 2,
            channels: 3,
            size,
        },
        output,
    };
    let cases = [
        pool([4, 4], [2, 2], [2, 2], [1, 1], [0; 4], [2, 2]),
        pool([7, 5], [3, 3], [2, 1], [1, 1], [1; 4], [4, 5]),
        // The number of windows is rounded up, so the last windows reach beyond the end.
        pool([6, 6], [3, 2], [2, 2], [1, 1], [0, 1, 0, 0], [3, 4]),
        pool([9, 9], [3, 3], [1, 1], [2, 3], [2, 1, 0, 4], [7, 8]),
        pool([5, 7], [5, 7], [1, 1], [1, 1], [0; 4], [1, 1]),
    ];
    for p in cases {
        let input = numbers(p.input.elements().unwrap());
        let [height, width] = p.input.size;
        let [down, right] = p.output;
        let mut found = [(); 3].map(|()| vec![0.0; 6 * down * right]);
        max_pool(&Context::detect(), &p, &input, &mut found[0]).unwrap();
        average_pool(&Context::detect(), &p, false, &input, &mut found[1]).unwrap();
        average_pool(&Context::detect(), &p, true, &input, &mut found[2]).unwrap();
        for (e, plane) in (0..6 * down * right).map(|e| (e, e / (down * right))) {
            let (y, x) = (e / right % down, e % right);
            let (mut best, mut sum, mut inside, mut padded) = (f32::NEG_INFINITY, 0.0, 0, 0);
            for (i, j) in
                (0..p.window.kernel[0] * p.window.kernel[1]).map(|t| (t / p.window.kernel[1], t % p.window.kernel[1]))
            {
                let row = y * p.window.stride[0] + i * p.window.dilation[0];
                let column = x * p.window.stride[1] + j * p.window.dilation[1];
                let [top, left, bottom, end] = p.window.pads;
                if row >= height + top + bottom || column >= width + left + end {
                    continue;
                }
                padded += 1;
                if (top..top + height).contains(&row) && (left..left + width).contains(&column) {
                    let value: f32 = input[(plane * height + row - top) * width + column - left];
                    inside += 1;
                    best = best.max(value);
                    sum += value;
                }
            }
            let wanted = [best, sum / inside as f32, sum / padded as f32];
            for (found, wanted) in found.iter().zip(wanted) {
                assert_eq!(found[e], wanted, "{p:?} element {e}");
            }
        }
    }
}

#[test]
fn a_pool_whose_windows_start_outside_is_refused() {
    let window = Window::new([2, 2]);
    let p = Pool {
        window,
        input: Images {
            batch: 1,
            channels: 1,
            size: [2, 2],
        },
        output: [1, 3],
    };
    assert!(max_pool(&Context::detect(), &p, &[0.0; 4], &mut [0.0; 3]).is_err());
    assert!(
        max_pool(
            &Context::detect(),
            &Pool { output: [1, 1], ..p },
            &[0.0; 3],
            &mut [0.0; 1]
        )
        .is_err()
    );
}
