//! Tests the integer functions against independent implementations and against results of LiteRT, and tests their
//! limits and errors.

use proptest::prelude::*;
use strait_requantize::function::{
    Definition, Factor, FunctionError, LogisticInt8, Nearest, Pointwise, Real, SigmoidInt16, Softmax, SoftmaxInt8,
    SoftmaxInt16, TanhInt8,
};
use strait_requantize::{IntType, Rounding};

fn probabilities(softmax: &Softmax, codes: &[i32]) -> Result<Vec<i32>, FunctionError> {
    let mut results = vec![7; codes.len()];
    softmax.rows()?.eval(codes, &mut results)?;
    Ok(results)
}

/// An independent implementation, which follows the documentation of gemmlowp and LiteRT and uses C's arithmetic, in
/// which quotients are truncated towards zero.
mod restated {
    /// Saturating rounding doubling high multiply: 2ab / 2^32, rounded by adding one half with the sign of the product.
    fn high(a: i64, b: i64) -> i64 {
        if a == b && a == i64::from(i32::MIN) {
            return i32::MAX.into();
        }
        let product = a * b;
        (product + if product >= 0 { 1 << 30 } else { 1 - (1 << 30) }) / (1 << 31)
    }

    /// Rounding right shift: one is added if the remainder exceeds a threshold.
    fn shifted(x: i64, bits: u32) -> i64 {
        let mask = (1 << bits) - 1;
        let threshold = (mask >> 1) + i64::from(x < 0);
        (x >> bits) + i64::from(x & mask > threshold)
    }

    fn saturated(x: i64) -> i64 {
        x.clamp(i32::MIN.into(), i32::MAX.into())
    }

    /// e^a, for a with 5 integer and 26 fractional bits. The result has 31 fractional bits.
    fn exp(a: i64) -> i64 {
        if a == 0 {
            return i32::MAX.into();
        }
        let quarter = 1 << 24;
        let rest = a.rem_euclid(quarter) - quarter;
        let x = rest * 32 + (1 << 28);
        let (x2, c) = (high(x, x), 1_895_147_668);
        let (x3, x4) = (high(x2, x), high(x2, x2));
        let sum = shifted(high(shifted(x4, 2) + x3, 715_827_883) + x2, 1);
        let mut result = c + high(c, x + sum);
        let mut left = (rest - a) / quarter;
        for power in [
            1_672_461_947,
            1_302_514_674,
            790_015_084,
            290_630_308,
            39_332_535,
            720_401,
            242,
        ] {
            if left % 2 == 1 {
                result = high(result, power);
            }
            left /= 2;
        }
        result
    }

    pub(super) fn softmax_int8(multiplier: i64, shift: u32, codes: &[i32]) -> Vec<i32> {
        let largest = codes.iter().fold(-128, |a, &b| a.max(b));
        let radius = (31.0 * 2f64.powi(26) / 2f64.powi(shift as i32)).floor() as i64;
        let exponential = |code: &i32| {
            let difference = i64::from(code - largest);
            (difference >= -radius).then(|| exp(high(difference * (1 << shift), multiplier)))
        };
        let sum: i64 = codes.iter().filter_map(exponential).map(|e| shifted(e, 12)).sum();
        let zeros = (sum as u32).leading_zeros();
        let half = ((sum << zeros) - (1 << 31) + i64::from(i32::MAX) + 1) / 2;
        let mut x = 1_515_870_810 + high(half, -1_010_580_540);
        for _ in 0..3 {
            x += saturated(high(x, (1 << 29) - high(half, x)) * 4);
        }
        let scale = saturated(x * 2);
        let exponent = 12 - zeros + 31 - 8;
        let result = |code| match exponential(code) {
            Some(e) => (shifted(high(scale, e), exponent) - 128).clamp(-128, 127) as i32,
            None => -128,
        };
        codes.iter().map(result).collect()
    }

    /// HARD_SWISH in `i16`, with C's operations.
    pub(super) fn hard_swish(x: i32, output: i16, shift: u32, gate: i16, exponent: i32, zero: i32) -> i32 {
        let high = |a: i16, b: i16| {
            let product = i32::from(a) * i32::from(b);
            ((product + if product >= 0 { 1 << 14 } else { 1 - (1 << 14) }) / (1 << 15)) as i16
        };
        let left = |x: i16, by: i32| i64::from(x) * (1 << by);
        let left = |x: i16, by: i32| left(x, by).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let fine = (x * 128) as i16; // of a difference of two codes of 8 bits: it fits
        let mut relu = fine;
        if exponent > 0 {
            relu = left(high(left(relu, exponent - 1), gate), 1);
        } else {
            relu = shifted(high(relu, gate).into(), -exponent as u32) as i16;
        }
        let relu = (i32::from(relu) + (1 << 15)) >> 1;
        let gated = relu * i32::from(high(fine, output)) / (1 << 15);
        (shifted(gated.into(), shift) as i32 + zero).clamp(-128, 127)
    }
}

proptest! {
    #[test]
    fn softmax_of_int8_is_its_restatement(
        scale in -14f32..2.0, spread in 0u32..8, codes in prop::collection::vec(-128i32..128, 1..511),
    ) {
        let softmax = Softmax::litert_int8(scale.exp2(), 1.0).unwrap();
        let codes: Vec<i32> = codes.iter().map(|code| code >> spread).collect();
        let Softmax::LitertInt8(SoftmaxInt8 { multiplier, shift }) = softmax else { unreachable!() };
        let expect = restated::softmax_int8(multiplier.into(), shift.into(), &codes);
        prop_assert_eq!(probabilities(&softmax, &codes).unwrap(), expect);
    }

    #[test]
    fn softmax_is_near_the_real_one(
        scale in -12f32..1.0, beta in 0.1f32..2.0, codes in prop::collection::vec(any::<i16>(), 1..600), wide: bool,
    ) {
        let scale = if wide { scale.exp2() / 16.0 } else { scale.exp2() };
        let softmax = if wide { Softmax::litert_int16(scale, beta) } else { Softmax::litert_int8(scale, beta) }.unwrap();
        let codes: Vec<i32> = codes.iter().map(|&code| i32::from(code) >> if wide { 0 } else { 8 }).collect();
        let codes = &codes[..codes.len().min(softmax.longest_row())];
        let largest = codes.iter().max().copied().unwrap();
        let power = |code: &i32| (f64::from(code - largest) * f64::from(scale) * f64::from(beta)).exp();
        let sum: f64 = codes.iter().map(power).sum();
        let (step, zero) = softmax.output();
        let found = probabilities(&softmax, codes).unwrap();
        for (code, y) in codes.iter().zip(found) {
            let exact = power(code) / sum;
            let error = (f64::from(y - zero) * f64::from(step) - exact).abs();
            // The error is at most half a step. For int16, the tables add an error, because they end at e^-10.
            let most = if wide { 2e-4 + 1e-4 * codes.len() as f64 * exact } else { 0.51 / 256.0 };
            prop_assert!(error <= most || y == softmax.range()[1], "{code} {y} {exact}");
        }
    }

    #[test]
    fn hard_swish_is_its_restatement(scale in -9f32..7.0, ratio in -6f32..7.0, zeros: [i8; 2]) {
        let zeros = zeros.map(i32::from);
        let grids = ((scale.exp2(), zeros[0]), ((scale - ratio).exp2(), zeros[1]));
        let function = Pointwise::litert_hard_swish_int8(grids.0, grids.1).unwrap();
        let Pointwise::HardSwishInt8(parameters) = function else { unreachable!() };
        for (x, y) in (-128..).zip(function.table().unwrap()) {
            let expect = restated::hard_swish(
                x - zeros[0], parameters.output, parameters.shift.into(),
                parameters.gate, parameters.gate_exponent.into(), zeros[1],
            );
            prop_assert_eq!(y, expect, "{}", x);
        }
    }

    #[test]
    fn leaky_relu_is_near_the_real_one(
        scale in -10f32..0.0, ratio in -6f32..6.0, slope in -2f32..2.0, zeros: [i8; 2], wide: bool,
    ) {
        let elements = if wide { IntType::I16 } else { IntType::I8 };
        let zeros = if wide { [0, 0] } else { zeros.map(i32::from) };
        let (input, output) = (scale.exp2(), (scale - ratio).exp2());
        let function = Pointwise::litert_leaky_relu(elements, (input, zeros[0]), slope, (output, zeros[1])).unwrap();
        for (code, y) in elements.range().zip(function.table().unwrap()).step_by(if wide { 97 } else { 1 }) {
            let x = f64::from(code - zeros[0]) * f64::from(input);
            let real = if x < 0.0 { x * f64::from(slope) } else { x } / f64::from(output) + f64::from(zeros[1]);
            let expect = real.clamp(elements.min().into(), elements.max().into());
            // If there are two roundings, the error of the first is at least halved by the second.
            prop_assert!((f64::from(y) - expect).abs() < 0.76, "{} {} {}", code, y, real);
        }
    }
}

/// The results that LiteRT 2.3.0's reference kernels gave.
#[test]
fn results_are_those_of_litert() {
    let rows = [
        (
            Softmax::litert_int8(0.1, 1.0),
            [12, 3, -40, 12, 127],
            [-128, -128, -128, -128, 127],
        ),
        (
            Softmax::litert_int8(0.1, 0.5),
            [12, 3, -40, 12, 20],
            [-67, -89, -123, -67, -37],
        ),
        (
            Softmax::litert_int16(0.001, 1.0),
            [1200, 300, -4000, 1200, 2000],
            [7065, 2873, 39, 7065, 15725],
        ),
    ];
    for (softmax, codes, expect) in rows {
        assert_eq!(probabilities(&softmax.unwrap(), &codes).unwrap(), expect);
    }
    let codes = [-32768, -3000, -1, 0, 1, 777, 20000];
    let sixteen = [
        (
            Pointwise::litert_logistic_int16(0.001),
            [1, 1554, 16376, 16384, 16392, 22447, 32767],
        ),
        (
            Pointwise::litert_logistic_int16(1.0 / 4096.0),
            [11, 10639, 16382, 16384, 16386, 17933, 32521],
        ),
        (
            Pointwise::litert_tanh_int16(0.001),
            [-32767, -32606, -32, 0, 32, 21330, 32767],
        ),
        (
            Pointwise::litert_tanh_int16(1.0 / 2048.0),
            [-32767, -29445, -16, 0, 16, 11868, 32767],
        ),
    ];
    for (function, expect) in sixteen {
        let function = function.unwrap();
        assert_eq!(
            codes.map(|code| function.eval(code).unwrap()),
            expect,
            "{}",
            function.definition()
        );
    }
}

/// The functions never decrease, and their results are near those of the real functions.
#[test]
fn sigmoids_of_int16_are_near_and_monotone() {
    for scale in [1e-6, 1.0 / 65536.0, 0.0003, 1.0 / 4096.0, 0.01, 2.0, 5.3] {
        let functions: [(Result<Pointwise, _>, fn(f64) -> f64); 2] = [
            (Pointwise::litert_logistic_int16(scale), |x| 1.0 / (1.0 + (-x).exp())),
            (Pointwise::litert_tanh_int16(scale), f64::tanh),
        ];
        for (function, real) in functions {
            let table = function.unwrap().table().unwrap();
            assert!(table.windows(2).all(|pair| pair[0] <= pair[1]), "{scale}");
            for (code, y) in (-32768..).zip(table).step_by(61) {
                let exact = (real(f64::from(code) * f64::from(scale)) * 32768.0).min(32767.0);
                assert!((f64::from(y) - exact).abs() < 5.0, "{scale} {code}: {y} {exact}");
            }
        }
    }
}

#[test]
fn tables_of_floats_are_the_rounded_functions() {
    let (scale, input_zp) = (0.043, 17);
    let logistic = Pointwise::LogisticInt8(LogisticInt8 {
        input_scale: scale,
        input_zp,
        zp: -128,
    });
    let tanh = Pointwise::TanhInt8(TanhInt8 {
        input_scale: scale,
        input_zp,
        scale: 0.0078125,
        zp: 3,
    });
    let (logistic, tanh) = (logistic.table().unwrap(), tanh.table().unwrap());
    for (i, code) in (-128..=127).enumerate() {
        let x = f64::from(scale) * f64::from(code - input_zp);
        assert_eq!(
            logistic[i],
            (256.0 / (1.0 + (-x).exp())).round().min(255.0) as i32 - 128,
            "{code}"
        );
        assert_eq!(tanh[i], (128.0 * x.tanh()).round().min(124.0) as i32 + 3, "{code}");
    }
    // With this scale, every code except 0 gives one of the smallest and largest results.
    let steep = Pointwise::LogisticInt8(LogisticInt8 {
        input_scale: f32::MAX,
        input_zp: 0,
        zp: -128,
    });
    assert_eq!([-1, 0, 1].map(|code| steep.eval(code).unwrap()), [-128, 0, 127]);
}

#[test]
fn rows_end_where_sums_would_overflow() {
    for (softmax, most) in [
        (Softmax::litert_int8(0.1, 1.0), 511),
        (Softmax::litert_int16(0.1, 1.0), 65_538),
    ] {
        let softmax = softmax.unwrap();
        assert_eq!(softmax.longest_row(), most);
        let equal = probabilities(&softmax, &vec![5; most]).unwrap();
        assert!(equal.iter().all(|&y| y == equal[0] && y - softmax.output().1 <= 1));
        let definition = softmax.definition();
        for length in [0, most + 1] {
            assert_eq!(
                probabilities(&softmax, &vec![5; length]),
                Err(FunctionError::Row {
                    definition,
                    length,
                    most
                })
            );
        }
        let beyond = softmax.elements().max() + 1;
        assert_eq!(
            probabilities(&softmax, &[0, beyond]),
            Err(FunctionError::Code {
                definition,
                code: beyond,
                elements: softmax.elements()
            })
        );
        let mut short = [0; 2];
        assert_eq!(
            softmax.rows().unwrap().eval(&[1, 2, 3], &mut short),
            Err(FunctionError::Lengths {
                definition,
                codes: 3,
                results: 2
            })
        );
        // The only code of a row has the probability 1, so its result is the largest code, or close to it after
        // interpolation in two tables.
        let alone = probabilities(&softmax, &[-100]).unwrap()[0];
        assert!(softmax.range()[1] - alone <= 2, "{alone}");
    }
}

#[test]
fn a_steep_softmax_finds_the_largest() {
    let softmax = Softmax::litert_int8(1e9, 1e9).unwrap();
    assert_eq!(
        softmax,
        Softmax::LitertInt8(SoftmaxInt8 {
            multiplier: i32::MAX,
            shift: 31
        })
    );
    assert_eq!(probabilities(&softmax, &[3, 4, 4, -128]).unwrap(), [-128, 0, 0, -128]);
    // Tests the largest scale for int16 with the largest difference of two codes. The exponential of a number that is
    // more than 10 below the largest counts as e^-10.
    let softmax = Softmax::litert_int16(5.0, 1.0).unwrap();
    assert_eq!(probabilities(&softmax, &[-32768, 32767]).unwrap(), [2, 32766]);
}

#[test]
fn scales_that_give_no_function_are_named() {
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        for made in [Softmax::litert_int8(scale, 1.0), Softmax::litert_int16(1.0, scale)] {
            assert!(matches!(made, Err(FunctionError::Scale { .. })), "{made:?}");
        }
        for made in [
            Pointwise::litert_logistic_int16(scale),
            Pointwise::litert_tanh_int16(scale),
            Pointwise::litert_hard_swish_int8((scale, 0), (1.0, 0)),
            Pointwise::litert_leaky_relu(IntType::I8, (1.0, 0), 0.1, (scale, 0)),
        ] {
            assert!(matches!(made, Err(FunctionError::Scale { .. })), "{made:?}");
        }
    }
    for made in [
        Softmax::litert_int8(2f32.powi(-26), 1.0),
        Softmax::litert_int16(5.001, 1.0),
        Softmax::litert_int16(1e30, 1.0),
    ] {
        assert!(matches!(made, Err(FunctionError::Factor { .. })), "{made:?}");
    }
    let error = Softmax::litert_int16(6.0, 1.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "litert.softmax.int16.v1: input scale * beta * 6553.5 39321 is not above 0 and at most 32768"
    );
    for made in [
        Pointwise::litert_logistic_int16(5.34),
        Pointwise::litert_tanh_int16(1e-15),
        Pointwise::litert_hard_swish_int8((1.0, 0), (0.007, 0)),
        Pointwise::litert_hard_swish_int8((1.0, 0), (1000.0, 0)),
    ] {
        assert!(matches!(made, Err(FunctionError::Factor { .. })), "{made:?}");
    }
    assert!(Pointwise::litert_logistic_int16(5.33).is_ok());
    let made = Pointwise::litert_leaky_relu(IntType::U8, (1.0, 0), 0.1, (1.0, 0));
    assert_eq!(
        made,
        Err(FunctionError::Elements {
            definition: Definition::LitertLeakyRelu,
            elements: IntType::U8
        })
    );
    let made = Pointwise::litert_leaky_relu(IntType::I16, (1.0, 1), 0.1, (1.0, 0));
    assert!(matches!(
        made,
        Err(FunctionError::Parameter {
            field: "input zero point",
            ..
        })
    ));
}

#[test]
fn parameters_of_a_file_are_checked() {
    let bad = [
        Softmax::LitertInt8(SoftmaxInt8 {
            multiplier: 5,
            shift: 3,
        }),
        Softmax::LitertInt8(SoftmaxInt8 {
            multiplier: i32::MAX,
            shift: 32,
        }),
        Softmax::LitertInt16(SoftmaxInt16 {
            factor: Factor {
                multiplier: -1,
                exponent: 0,
            },
        }),
        Softmax::LitertInt16(SoftmaxInt16 {
            factor: Factor {
                multiplier: i32::MAX,
                exponent: 16,
            },
        }),
    ];
    for softmax in bad {
        assert!(
            matches!(probabilities(&softmax, &[0]), Err(FunctionError::Parameter { .. })),
            "{softmax:?}"
        );
    }
    let bad = [
        Pointwise::LogisticInt16(SigmoidInt16 {
            multiplier: 65536,
            shift: 0,
        }),
        Pointwise::TanhInt16(SigmoidInt16 {
            multiplier: 0,
            shift: 0,
        }),
        Pointwise::TanhInt16(SigmoidInt16 {
            multiplier: 1,
            shift: 32,
        }),
        Pointwise::LogisticInt8(LogisticInt8 {
            input_scale: 1.0,
            input_zp: 128,
            zp: 0,
        }),
    ];
    for function in bad {
        let refused = |e: FunctionError| matches!(e, FunctionError::Parameter { .. });
        assert!(
            function.eval(0).is_err_and(refused) && function.table().is_err_and(refused),
            "{function:?}"
        );
    }
    let wild = Pointwise::TanhInt8(TanhInt8 {
        input_scale: 1.0,
        input_zp: 0,
        scale: f32::NAN,
        zp: 0,
    });
    assert!(matches!(wild.table(), Err(FunctionError::Scale { .. })));
}

#[test]
fn text_has_the_definitions_name() {
    let softmax = Softmax::litert_int8(0.5, 1.0).unwrap();
    let text = serde_json::to_string(&softmax).unwrap();
    assert_eq!(
        text,
        r#"{"litert.softmax.int8.v1":{"multiplier":1073741824,"shift":26}}"#
    );
    assert_eq!(serde_json::from_str::<Softmax>(&text).unwrap(), softmax);
    let text = text.replace("shift", "shifts");
    assert!(serde_json::from_str::<Softmax>(&text).is_err());
    for function in [
        Pointwise::litert_logistic_int16(0.1).unwrap(),
        Pointwise::litert_tanh_int16(0.1).unwrap(),
        Pointwise::litert_hard_swish_int8((0.1, 0), (0.1, 0)).unwrap(),
        Pointwise::litert_leaky_relu(IntType::I8, (0.1, 0), 0.1, (0.1, 0)).unwrap(),
        Pointwise::LogisticInt8(LogisticInt8 {
            input_scale: 0.1,
            input_zp: 0,
            zp: -128,
        }),
        Pointwise::TanhInt8(TanhInt8 {
            input_scale: 0.1,
            input_zp: 0,
            scale: 0.1,
            zp: 0,
        }),
    ] {
        let text = serde_json::to_string(&function).unwrap();
        assert!(text.starts_with(&format!("{{\"{}\":", function.definition())), "{text}");
        assert_eq!(serde_json::from_str::<Pointwise>(&text).unwrap(), function);
    }
    let softmax = Softmax::litert_int16(0.1, 1.0).unwrap();
    let text = serde_json::to_string(&softmax).unwrap();
    assert!(text.starts_with(&format!("{{\"{}\":", softmax.definition())), "{text}");
}

#[test]
fn a_softmax_is_its_definition_and_its_factor() {
    for definition in Definition::ALL {
        let softmax = match Softmax::of(definition, 0.01, 1.0) {
            Ok(softmax) => softmax,
            Err(error) => {
                let wanted = "softmax";
                assert_eq!(error, FunctionError::Kind { definition, wanted });
                assert_eq!(definition.softmax(), None);
                assert_eq!(Softmax::with_factor(definition, 1 << 30, 1), Err(error));
                continue;
            }
        };
        assert_eq!(definition.softmax(), Some(softmax.facts()));
        assert_eq!(softmax.definition(), definition);
        let (multiplier, exponent) = softmax.factor();
        assert_eq!(Softmax::with_factor(definition, multiplier, exponent), Ok(softmax));
        for (multiplier, exponent) in [(-1, 3), (multiplier, 32), (multiplier, -32), (multiplier, i32::MAX)] {
            let refused = Softmax::with_factor(definition, multiplier, exponent);
            assert!(
                matches!(refused, Err(FunctionError::Parameter { .. })),
                "{multiplier} {exponent}"
            );
        }
    }
}

/// `Pointwise::of` with a definition and two grids makes the same function as the definition's own constructor.
/// Functions, types and grids that the definition does not support are refused.
#[test]
fn a_definition_of_one_code_takes_its_function_its_types_and_its_grid() {
    let between = |function, elements, zp, scale| Nearest {
        function,
        elements,
        input_scale: 0.01,
        input_zp: 0,
        out: elements,
        scale,
        zp,
        rounding: Rounding::HalfAway,
    };
    let sigmoid = between(Real::Sigmoid, IntType::I16, 0, 1.0 / 32768.0);
    assert_eq!(
        Pointwise::of(Definition::LitertLogisticInt16, sigmoid),
        Pointwise::litert_logistic_int16(0.01)
    );
    let leaky = between(Real::LeakyRelu { alpha: 0.1 }, IntType::I8, 7, 0.02);
    assert_eq!(
        Pointwise::of(Definition::LitertLeakyRelu, leaky),
        Pointwise::litert_leaky_relu(IntType::I8, (0.01, 0), 0.1, (0.02, 7))
    );
    assert_eq!(Pointwise::of(Definition::Nearest, leaky), Ok(Pointwise::Nearest(leaky)));
    let told = |definition, nearest| Pointwise::of(definition, nearest).unwrap_err().to_string();
    for (definition, nearest, expect) in [
        (
            Definition::LitertTanhInt16,
            Nearest {
                scale: 1.0 / 32768.0,
                ..sigmoid
            },
            "litert.tanh.int16.v1 is no such function of one code",
        ),
        (
            Definition::LitertLogisticInt16,
            Nearest { scale: 0.5, ..sigmoid },
            "litert.logistic.int16.v1: the result has the scale 0.5 and the zero point 0, not 0.000030517578 and 0",
        ),
        (
            Definition::LitertLogisticInt16,
            Nearest { input_zp: 3, ..sigmoid },
            "litert.logistic.int16.v1: input zero point 3 is outside 0 ..= 0",
        ),
        (
            Definition::LitertLogisticInt16,
            Nearest {
                input_scale: 6.0,
                ..sigmoid
            },
            "input scale 6 is not above",
        ),
        (
            Definition::LitertLeakyRelu,
            Nearest {
                out: IntType::I16,
                ..leaky
            },
            "litert.leaky_relu.v1: there is no function of i16",
        ),
    ] {
        let said = told(definition, nearest);
        assert!(said.contains(expect), "{said}");
    }
}
