//! The correctly rounded functions against the library's, at ties, and their parameters.

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
                // Half a step, and what the library and this division leave out.
                assert!(
                    (f64::from(y) - exact).abs() <= 0.5 + 1e-9,
                    "{function:?} {code}: {y} {exact}"
                );
            }
        }
    }
}

/// For large x the function is x less next to nothing: as near to a tie, or to a code, as no float can tell.
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
    // 501 - tiny in halves is 250.5 - tiny, 500 - tiny is 250 - tiny; -500 is -tiny.
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
    // An exact tie is one: sigmoid(0) = 1/2 in steps of 1.
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
    // Saturation needs no decision.
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
    assert!(matches!(refused(|n| n.zp = 128), FunctionError::Parameter { .. }));
    assert!(matches!(
        refused(|n| n.input_scale = f32::NAN),
        FunctionError::Scale { .. }
    ));
}
