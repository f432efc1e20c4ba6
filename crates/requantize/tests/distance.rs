//! Tests the distances from the real functions that `docs/functions.md` states, with many scales and all codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_requantize::function::Definition as D;
use strait_requantize::function::{Definition, Nearest, Pointwise, Real, Softmax};
use strait_requantize::{IntType, Rounding};

/// The distance that the document states for a definition, in steps of the result.
fn stated(definition: Definition) -> f64 {
    let text = include_str!("../../../docs/functions.md");
    let (_, section) = text.split_once("## Distance from the real functions").unwrap();
    let name = format!("`{definition}`");
    let mut rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let (_, row) = rows
        .find(|(found, _)| *found == name)
        .unwrap_or_else(|| panic!("{name}"));
    row.split(" | ").next().unwrap().parse().unwrap()
}

/// Compares the measured distance of each definition with the stated one. The stated distance must not be smaller than
/// the measured one, nor more than about 5 % larger.
fn hold(measured: &[(Definition, f64)]) {
    for &(definition, most) in measured {
        println!("{definition}: {most:.3} of {}", stated(definition));
    }
    for &(definition, most) in measured {
        let stated = stated(definition);
        assert!(
            most <= stated && 0.95 * stated <= most,
            "{definition}: {most} of {stated}"
        );
    }
}

/// Scales with which codes of `bits` bits reach 1/4 to 128. Neighbouring scales are a sixteenth of an octave apart.
fn scales(bits: i32) -> impl Iterator<Item = f32> {
    (-32..=112).map(move |step| (f64::from(step) / 16.0 + 1.0 - f64::from(bits)).exp2() as f32)
}

/// Measures the largest distance of a function of one code from the real function, for all codes and all of these
/// scales. `result` returns the scale and the zero point of the result for a scale of the operand.
fn pointwise(
    definition: Definition,
    elements: IntType,
    function: Real,
    real: impl Fn(f64) -> f64,
    result: impl Fn(f32) -> (f32, i32),
) -> f64 {
    let mut most = 0.0f64;
    for input_scale in scales(elements.bits().into()) {
        let zeros: &[i32] = if elements.bits() > 8 { &[0] } else { &[-128, -17, 0, 60] };
        for &input_zp in zeros {
            let (scale, zp) = result(input_scale);
            let (out, rounding) = (elements, Rounding::HalfAway);
            let grids = Nearest {
                function,
                elements,
                input_scale,
                input_zp,
                out,
                scale,
                zp,
                rounding,
            };
            // The definition does not support these scales.
            let Ok(function) = Pointwise::of(definition, grids) else {
                continue;
            };
            for (code, y) in elements.range().zip(function.table().unwrap()) {
                let x = f64::from(input_scale) * f64::from(code - input_zp);
                let exact = real(x) / f64::from(scale) + f64::from(zp);
                let exact = exact.clamp(elements.min().into(), elements.max().into());
                most = most.max((f64::from(y) - exact).abs());
            }
        }
    }
    most
}

#[test]
fn functions_of_one_code_are_as_near_as_the_document_says() {
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let hard_swish = |x: f64| x * (x + 3.0).clamp(0.0, 6.0) / 6.0;
    let leaky = |x: f64| if x < 0.0 { x * f64::from(0.1f32) } else { x };
    let (i8, i16) = (IntType::I8, IntType::I16);
    let eighth = |_| (1.0 / 256.0, -128);
    let fine = |_| (1.0 / 32768.0, 0);
    let alpha = Real::LeakyRelu { alpha: 0.1 };
    let narrow = pointwise(D::LitertLeakyRelu, i8, alpha, leaky, |s| (0.7 * s, 5));
    let wide = pointwise(D::LitertLeakyRelu, i16, alpha, leaky, |s| (0.7 * s, 0));
    let of = |definition, elements, function, real: fn(f64) -> f64, result: fn(f32) -> (f32, i32)| {
        (definition, pointwise(definition, elements, function, real, result))
    };
    hold(&[
        of(D::LitertLogisticInt8, i8, Real::Sigmoid, logistic, eighth),
        of(D::LitertTanhInt8, i8, Real::Tanh, f64::tanh, |_| (1.0 / 128.0, 0)),
        of(D::LitertLogisticInt16, i16, Real::Sigmoid, logistic, fine),
        of(D::LitertTanhInt16, i16, Real::Tanh, f64::tanh, fine),
        of(D::LitertHardSwishInt8, i8, Real::HardSwish, hard_swish, |s| {
            (0.9 * s, -7)
        }),
        (D::LitertLeakyRelu, narrow.max(wide)),
        of(D::OnnxRuntimeLeakyRelu, i8, alpha, leaky, |s| (0.83 * s, 5)),
        of(D::OnnxRuntimeLogistic, i8, Real::Sigmoid, logistic, |_| (0.0041, -120)),
        of(D::Nearest, i8, Real::Sigmoid, logistic, |_| (0.003, -128)),
    ]);
}

/// The largest distance of a softmax over rows of 2 to 64 codes. No number in a row is more than 10 below the largest.
fn softmax(definition: Definition) -> f64 {
    let elements = definition.softmax().unwrap().elements;
    let (mut state, mut most) = (1u64, 0.0f64);
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i32
    };
    for scale in scales(elements.bits().into()) {
        let Ok(softmax) = Softmax::of(definition, scale, 1.0) else {
            continue;
        };
        let span = (10.0 / scale).min(f32::from(i16::MAX)) as i32;
        let span = span.min(elements.max() - elements.min());
        for row in 0..64 {
            let length = 2 + row % 63;
            let codes: Vec<i32> = (0..length).map(|_| elements.max() - random() % (span + 1)).collect();
            let mut found = vec![0; codes.len()];
            softmax.rows().unwrap().eval(&codes, &mut found).unwrap();
            let (step, zero) = softmax.output();
            let largest = codes.iter().max().unwrap();
            let power = |code: &i32| (f64::from(code - largest) * f64::from(scale)).exp();
            let sum: f64 = codes.iter().map(power).sum();
            for (code, y) in codes.iter().zip(found) {
                let exact = power(code) / sum / f64::from(step) + f64::from(zero);
                let exact = exact.min(elements.max().into());
                most = most.max((f64::from(y) - exact).abs());
            }
        }
    }
    most
}

#[test]
fn softmaxes_are_as_near_as_the_document_says() {
    let definitions = [Definition::LitertSoftmaxInt8, Definition::LitertSoftmaxInt16];
    hold(&definitions.map(|definition| (definition, softmax(definition))));
}

#[test]
fn every_definition_has_a_distance() {
    for definition in Definition::ALL {
        assert!(stated(definition) >= 0.5, "{definition}");
    }
}
