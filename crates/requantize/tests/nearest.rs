//! Tests the correctly rounded functions against those of the library, at ties, and tests their parameters.

use strait_requantize::function::{FunctionError, Nearest, Pointwise, Real};
use strait_requantize::{IntType, Rounding};

const REALS: [(Real, fn(f64) -> f64); 5] = [
    (Real::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
    (Real::Tanh, f64::tanh),
    (Real::Silu, |x| x / (1.0 + (-x).exp())),
    (Real::Softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p()),
    (Real::Exp, f64::exp),
];

#[test]
fn nearest_codes_are_no_further_than_half_a_step() {
    for (function, real) in REALS {
        for (input_scale, scale, elements, out) in [
            (0.0007, 0.00031, IntType::I16, IntType::I16),
            (2f32.powi(-11), 2f32.powi(-12), IntType::I16, IntType::I16),
            (0.05, 0.021, IntType::I8, IntType::I16),
            (0.0002, 0.03, IntType::U16, IntType::U8),
        ] {
            let nearest = Nearest {
                function,
                elements,
                input_scale,
                input_zp: if elements == IntType::I16 {
                    0
                } else {
                    elements.min() + 90
                },
                out,
                scale,
                zp: if out == IntType::I16 { 0 } else { 3 },
                rounding: Rounding::HalfEven,
            };
            let table = Pointwise::Nearest(nearest).table().unwrap();
            for (code, y) in elements.range().zip(table) {
                let x = f64::from(input_scale) * f64::from(code - nearest.input_zp);
                let exact =
                    (real(x) / f64::from(scale) + f64::from(nearest.zp)).clamp(out.min().into(), out.max().into());
                // The error is at most half a step, plus the error of the library's function and of this division.
                assert!(
                    (f64::from(y) - exact).abs() <= 0.5 + 1e-9,
                    "{function:?} {code}: {y} {exact}"
                );
            }
        }
    }
}

/// Functions that are quotients or roots, with the scales s = S/2^10 and s' = T/2^10 and coefficients that are
/// multiples of 2^-8. In integers, twice the function must lie between (2 · result − 1) · T and (2 · result + 1) · T.
#[test]
fn exact_functions_are_rounded_as_integers_have_it() {
    // With X = S·c, f(X/2^10) / s' is the quotient of two integers, or the root of such a quotient.
    type Quotient = fn(i128, i128) -> (i128, i128);
    let quotients: [(Real, Quotient); 10] = [
        (Real::Neg, |x, t| (-x, t)),
        (Real::Abs, |x, t| (x.abs(), t)),
        (
            Real::Clip {
                low: -2.5,
                high: f32::INFINITY,
            },
            |x, t| (x.max(-2560), t),
        ),
        (Real::Floor, |x, t| (x.div_euclid(1 << 10) << 10, t)),
        (Real::Ceil, |x, t| (-((-x).div_euclid(1 << 10) << 10), t)),
        (Real::Round, |x, t| {
            let (whole, rest) = (x.div_euclid(1 << 10), x.rem_euclid(1 << 10));
            let up = rest > 1 << 9 || rest == 1 << 9 && whole % 2 != 0;
            ((whole + i128::from(up)) << 10, t)
        }),
        (Real::LeakyRelu { alpha: 37.0 / 256.0 }, |x, t| {
            (if x < 0 { 37 * x } else { 256 * x }, 256 * t)
        }),
        (
            Real::HardSigmoid {
                alpha: 51.0 / 256.0,
                beta: 0.5,
            },
            |x, t| ((51 * x + (1 << 17)).clamp(0, 1 << 18), t << 8),
        ),
        (Real::HardSwish, |x, t| (x * (x + 3072).clamp(0, 6144), t * 6144)),
        (Real::Reciprocal, |x, t| {
            (if x < 0 { -1 << 20 } else { 1 << 20 }, x.abs() * t)
        }),
    ];
    let mut ties = 0;
    for (s, t) in [(1024, 2048), (64, 16), (7, 3), (1, 1), (4093, 3001), (640, 320)] {
        for (elements, input_zp) in [(IntType::I16, 0), (IntType::I8, -9)] {
            let table = |function, rounding| {
                let nearest = Nearest {
                    function,
                    elements,
                    input_scale: s as f32 / 1024.0,
                    input_zp,
                    out: IntType::I16,
                    scale: t as f32 / 1024.0,
                    zp: 0,
                    rounding,
                };
                let results = Pointwise::Nearest(nearest).table().unwrap();
                let codes = elements.range().map(move |code| s * i128::from(code - input_zp));
                codes.zip(results.into_iter().map(i128::from))
            };
            for (function, quotient) in quotients {
                for rounding in [Rounding::HalfAway, Rounding::Floor] {
                    for (x, y) in table(function, rounding) {
                        let (over, under) = quotient(x, t);
                        if under == 0 {
                            assert_eq!(y, 32767, "{function:?}");
                            continue;
                        }
                        let (size, half) = (over.abs(), 2 * over.abs() + under);
                        ties += usize::from(half % (2 * under) == 0 && rounding == Rounding::HalfAway);
                        let expect = match rounding {
                            Rounding::Floor => over.div_euclid(under),
                            _ if over < 0 => -(half / (2 * under)),
                            _ => half / (2 * under),
                        };
                        let expect = expect.clamp(-32768, 32767);
                        assert_eq!(y, expect, "{function:?} {rounding}: {x} / 1024 is {size} / {under}");
                    }
                }
            }
            for (x, y) in table(Real::Sqrt, Rounding::HalfAway) {
                // Twice √(x / 2^10) / (t / 2^10) must lie between 2y − 1 and 2y + 1.
                let square = (4 * x.max(0)) << 10;
                let bound = |halves: i128| halves * halves * t * t;
                let low = y == 0 || bound(2 * y - 1) <= square;
                assert!(low && (y == 32767 || square < bound(2 * y + 1)), "√{x}: {y}");
                ties += usize::from(y > 0 && bound(2 * y - 1) == square);
            }
        }
    }
    assert!(ties > 10_000, "{ties}");
}

/// For large x, silu(x) is only slightly smaller than x. If x is a tie or a code, silu(x) is so near to x that no float
/// can tell the difference.
#[test]
fn nearest_codes_tell_values_from_the_ties_that_they_approach() {
    let silu = |rounding, scale| {
        Pointwise::Nearest(Nearest {
            function: Real::Silu,
            elements: IntType::I16,
            input_scale: 1.0,
            input_zp: 0,
            out: IntType::I16,
            scale,
            zp: 0,
            rounding,
        })
    };
    // With a scale of 2, the function's value for 501 is slightly below 250.5 LSB, and its value for 500 slightly below
    // 250 LSB. The value for -500 is slightly below 0.
    for (rounding, odd, even, negative) in [
        (Rounding::HalfAway, 250, 250, 0),
        (Rounding::HalfEven, 250, 250, 0),
        (Rounding::Floor, 250, 249, -1),
        (Rounding::Ceil, 251, 250, 0),
        (Rounding::TowardZero, 250, 249, 0),
    ] {
        let silu = silu(rounding, 2.0);
        assert_eq!(
            [501, 500, -500].map(|x| silu.eval(x).unwrap()),
            [odd, even, negative],
            "{rounding}"
        );
        assert_eq!(silu.eval(0), Ok(0));
    }
    // An exact tie is rounded as a tie: sigmoid(0) = 1/2 with a scale of 1.
    for (rounding, expect) in [
        (Rounding::HalfAway, 1),
        (Rounding::HalfEven, 0),
        (Rounding::HalfDown, 0),
    ] {
        let sigmoid = Pointwise::Nearest(Nearest {
            function: Real::Sigmoid,
            elements: IntType::I8,
            input_scale: 1.0,
            input_zp: 5,
            out: IntType::U8,
            scale: 1.0,
            zp: 0,
            rounding,
        });
        assert_eq!(sigmoid.eval(5), Ok(expect), "{rounding}");
        assert_eq!((sigmoid.elements(), sigmoid.out()), (IntType::I8, IntType::U8));
    }
    // A result that saturates does not need the exact value.
    assert_eq!(silu(Rounding::HalfAway, 1e-30).eval(-3), Ok(-32768));
    assert_eq!(silu(Rounding::HalfAway, 1e-30).eval(3), Ok(32767));
}

const NEAREST: Nearest = Nearest {
    function: Real::Gelu,
    elements: IntType::I16,
    input_scale: 0.1,
    input_zp: 0,
    out: IntType::I8,
    scale: 0.1,
    zp: -128,
    rounding: Rounding::HalfEven,
};

#[test]
fn nearest_codes_need_grids_of_16_bits_at_most() {
    let refused = |change: fn(&mut Nearest)| {
        let mut nearest = NEAREST;
        change(&mut nearest);
        Pointwise::Nearest(nearest).check().unwrap_err()
    };
    assert_eq!(Pointwise::Nearest(NEAREST).check(), Ok(()));
    assert!(matches!(
        refused(|n| n.out = IntType::I32),
        FunctionError::Elements { .. }
    ));
    assert_eq!(
        refused(|n| n.function = Real::Elu { alpha: f32::INFINITY }).to_string(),
        "nearest.v1: the coefficient inf is not finite"
    );
    assert!(matches!(refused(|n| n.zp = 128), FunctionError::Parameter { .. }));
    assert!(matches!(
        refused(|n| n.input_scale = f32::NAN),
        FunctionError::Scale { .. }
    ));
}
