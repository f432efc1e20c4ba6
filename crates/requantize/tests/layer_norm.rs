//! Tests the layer normalization against an independent implementation and the real function, and tests its limits and
//! errors.

use proptest::prelude::*;
use strait_requantize::IntType;
use strait_requantize::function::{Definition, FunctionError, LayerNorm, LayerNormScales};

fn eval(
    norm: &LayerNorm,
    from: IntType,
    codes: &[i32],
    gains: &[i16],
    biases: &[i64],
) -> Result<Vec<i32>, FunctionError> {
    let mut results = vec![7; codes.len()];
    norm.eval(from, codes, gains, Some(biases), &mut results)?;
    Ok(results)
}

fn scales(input: f32, gain: f32, output: f32, zero: i32, result: IntType) -> LayerNormScales {
    LayerNormScales {
        input,
        gain,
        output: (output, zero),
        result,
    }
}

/// An implementation that follows the documentation, element by element. Roots are computed by bisection, and ties by
/// Euclidean division.
fn restated(norm: &LayerNorm, codes: &[i32], gains: &[i16], biases: &[i64]) -> Vec<i32> {
    let rounded = |x: i128, by: i128| (2 * x + by).div_euclid(2 * by);
    // n²·variance is computed without a mean, as the sum of (x_i − x_j)² over all pairs of codes. For an RMS
    // normalization, n²·mean square is n times the sum of the squares.
    let mut pairs = 0i128;
    for (i, a) in codes.iter().enumerate() {
        if norm.centred {
            for b in &codes[i + 1..] {
                pairs += i128::from(a - b) * i128::from(a - b);
            }
        } else {
            pairs += codes.iter().map(|_| i128::from(*a) * i128::from(*a)).sum::<i128>();
        }
    }
    let w = pairs as u128 * 65_536 + norm.epsilon as u128;
    let (mut near, mut q) = (w, 0i32);
    while near != 0 && near < 1 << 62 {
        (near, q) = (near * 4, q + 1);
    }
    while near >= 1 << 64 {
        (near, q) = (near / 4, q - 1);
    }
    let (mut low, mut high) = (0u128, (1u128 << 32) + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle * middle * near <= 1 << 126 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let code = |at: usize| {
        let from = |x: i32| if norm.centred { x } else { 0 };
        let difference: i128 = codes.iter().map(|&x| i128::from(codes[at] - from(x))).sum();
        let normal = if w == 0 {
            0
        } else {
            rounded(difference * low as i128, 1 << (33 - q))
        };
        let sum = normal * i128::from(gains[at]) * i128::from(norm.multiplier)
            + i128::from(biases[at]) * i128::from(norm.bias_multiplier);
        let code = rounded(sum, 1 << norm.shift) + i128::from(norm.zero_point);
        code.clamp(norm.result.min().into(), norm.result.max().into()) as i32
    };
    (0..codes.len()).map(code).collect()
}

/// A row of codes with gains and biases. Some codes are far outside of the range of the others.
fn row(from: IntType) -> impl Strategy<Value = (Vec<i32>, Vec<i16>, Vec<i64>)> {
    let (low, high) = (from.min(), from.max());
    let centre = low + (high - low) / 2;
    let element = (0u32..12, 0u32..20).prop_flat_map(move |(spread, outlier)| {
        let near = ((high - centre) >> spread).max(1);
        match outlier {
            0 => (low..=high).boxed(),
            _ => ((centre - near).max(low)..=(centre + near).min(high)).boxed(),
        }
    });
    let position = (element, any::<i16>(), -1i64 << 40..1i64 << 40);
    prop::collection::vec(position, 1..200).prop_map(|row| {
        let codes = row.iter().map(|position| position.0).collect();
        let gains = row.iter().map(|position| position.1).collect();
        (codes, gains, row.iter().map(|position| position.2).collect())
    })
}

const TYPES: [IntType; 6] = [
    IntType::I4,
    IntType::U4,
    IntType::I8,
    IntType::U8,
    IntType::I16,
    IntType::U16,
];

proptest! {
    #[test]
    fn it_is_its_restatement(
        (from, (codes, gains, biases)) in prop::sample::select(&TYPES[..]).prop_flat_map(|t| (Just(t), row(t))),
        (input, gain, output) in (-27f32..8.9, -30f32..10.0, -30f32..10.0),
        epsilon in prop_oneof![Just(0f32), 1e-12f32..1e-3],
        centred in any::<bool>(),
        result in prop::sample::select(&TYPES[..]),
    ) {
        // With so small a scale, the integer `epsilon` would not fit into 62 bits.
        let epsilon = if input < -18.0 { 0.0 } else { epsilon };
        let scales = scales(input.exp2(), gain.exp2(), output.exp2(), result.max() / 2, result);
        let norm = LayerNorm::of(centred, codes.len(), epsilon, scales).unwrap();
        let found = eval(&norm, from, &codes, &gains, &biases).unwrap();
        prop_assert_eq!(found, restated(&norm, &codes, &gains, &biases));
    }

    /// With scales as models have them, the result differs from that of the real function by at most 1/2 + 1/64 LSB.
    #[test]
    fn it_is_the_real_one_rounded(
        (from, (codes, gains, biases)) in prop::sample::select(&TYPES[..]).prop_flat_map(|t| (Just(t), row(t))),
        (input, wide) in (-14f64..4.0, any::<bool>()),
        epsilon in 1e-12f32..1e-3,
        centred in any::<bool>(),
    ) {
        let result = if wide { IntType::I16 } else { IntType::I8 };
        let input = input.exp2() as f32;
        // Gains are up to 2, biases are up to 4, and results are within ±16.
        let gain = 2.0 / 32768.0;
        let step = f64::from(input) * f64::from(gain);
        let reach = (4.0 / step) as i64;
        let biases: Vec<i64> = biases.iter().map(|bias| bias % reach.max(1)).collect();
        let output = if wide { 16.0 / 32768.0 } else { 16.0 / 128.0 };
        let norm = LayerNorm::of(centred, codes.len(), epsilon, scales(input, gain, output, 0, result)).unwrap();
        let found = eval(&norm, from, &codes, &gains, &biases).unwrap();
        let n = codes.len() as f64;
        let mean = if centred { codes.iter().map(|&x| f64::from(x)).sum::<f64>() / n } else { 0.0 };
        let variance = codes.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        let deviation = (variance + f64::from(epsilon) / f64::from(input).powi(2)).sqrt();
        for (at, y) in found.into_iter().enumerate() {
            let normal = (f64::from(codes[at]) - mean) / deviation;
            let real = normal * f64::from(gains[at]) * f64::from(gain) + biases[at] as f64 * step;
            let code = real / f64::from(output);
            let nearest = code.clamp(result.min().into(), result.max().into());
            prop_assert!((f64::from(y) - nearest).abs() <= 0.5 + 1.0 / 64.0, "{} {}", y, code);
        }
    }
}

#[test]
fn a_small_row_of_a_mean_square_by_hand() {
    // Gains are 1, the scale of the result is 1/64, and epsilon is 0.
    let norm = LayerNorm::of(false, 4, 0.0, scales(0.5, 1.0 / 16384.0, 1.0 / 64.0, -3, IntType::I8)).unwrap();
    assert_eq!(norm.definition(), Definition::RmsNorm);
    let found = eval(&norm, IntType::I8, &[3, 1, -1, -2], &[16384; 4], &[0; 4]);
    // 9 + 1 + 1 + 4 = 15, so the mean square of the four codes is 3.75. The code 3 gives 3 / √3.75 · 64 = 99.15, and
    // the others give 33.05 and 66.1.
    assert_eq!(found, Ok(vec![96, 30, -36, -69]));
    // The results for a row of zeros are all zero.
    assert_eq!(eval(&norm, IntType::I8, &[0; 4], &[16384; 4], &[0; 4]), Ok(vec![-3; 4]));
}

#[test]
fn a_small_row_by_hand() {
    // The mean is 2, the variance is 2, and epsilon is 0, so the results are −√2 … √2 in steps of √2/2. Gains are 1,
    // and the scale of the result is 1/64.
    let norm = LayerNorm::of(true, 5, 0.0, scales(0.5, 1.0 / 16384.0, 1.0 / 64.0, -3, IntType::I8)).unwrap();
    let codes = [0, 1, 2, 3, 4];
    let ones = [16384; 5];
    assert_eq!(
        eval(&norm, IntType::I8, &codes, &ones, &[0; 5]).unwrap(),
        [-94, -48, -3, 42, 88]
    );
    // A bias of 1 is 2·16384 steps of 1/2 · 1/16384. With a gain of 0, only the bias is left, and a gain of −1 changes
    // the sign.
    let gains = [0, 16384, 16384, -16384, 16384];
    let biases = [32768, 0, 0, 0, 32768];
    assert_eq!(
        eval(&norm, IntType::I8, &codes, &gains, &biases).unwrap(),
        [61, -48, -3, -48, 127]
    );
    // The operand's zero point does not matter.
    let moved = codes.map(|code| code + 100);
    assert_eq!(
        eval(&norm, IntType::I8, &moved, &gains, &biases).unwrap(),
        [61, -48, -3, -48, 127]
    );
}

#[test]
fn rows_that_are_all_the_same_leave_the_biases() {
    for epsilon in [0.0, 1e-5] {
        let norm = LayerNorm::of(true, 3, epsilon, scales(1.0, 1.0 / 64.0, 1.0, 0, IntType::I16)).unwrap();
        let found = eval(&norm, IntType::U16, &[65_535; 3], &[i16::MIN; 3], &[64, -128, 32]).unwrap();
        // Ties are rounded up.
        assert_eq!(found, [1, -2, 1]);
    }
}

#[test]
fn the_longest_row_stays_inside_its_sums() {
    let most = LayerNorm::LONGEST_ROW;
    let norm = LayerNorm::of(true, most, 0.0, scales(1.0, 1.0, 1.0, 0, IntType::I16)).unwrap();
    for (from, [low, high]) in [(IntType::U16, [0, 65_535]), (IntType::I16, [-32_768, 32_767])] {
        // One code differs from all others. Its distance from the mean is √(n − 1) standard deviations, which is the
        // largest possible distance.
        let mut codes = vec![low; most];
        codes[7] = high;
        let found = eval(&norm, from, &codes, &vec![100; most], &vec![0; most]).unwrap();
        assert_eq!((found[7], found[8]), (18102, -1));
        // Half of the codes are one deviation below the mean, and half are one deviation above it.
        let codes: Vec<i32> = (0..most).map(|at| if at % 2 == 0 { low } else { high }).collect();
        let found = eval(&norm, from, &codes, &vec![i16::MIN; most], &vec![0; most]).unwrap();
        assert_eq!(found[..2], [32767, -32768]);
    }
    // The parameters have their largest and smallest values.
    let extreme = LayerNorm {
        epsilon: 1 << 62,
        multiplier: i32::MAX,
        bias_multiplier: 1 << 62,
        shift: 1,
        ..norm
    };
    let biases = [i64::MAX, i64::MIN];
    let found = eval(&extreme, IntType::U16, &[0, 65_535], &[i16::MIN, i16::MAX], &biases).unwrap();
    assert_eq!(found, [32767, -32768]);
}

#[test]
fn what_is_outside_of_the_domain_is_refused() {
    let of = |length, epsilon, s| LayerNorm::of(true, length, epsilon, s);
    let good = scales(0.1, 1e-4, 0.1, 0, IntType::I8);
    assert!(of(64, 1e-5, good).is_ok());
    for length in [0, LayerNorm::LONGEST_ROW + 1] {
        assert!(matches!(of(length, 1e-5, good), Err(FunctionError::Row { .. })));
    }
    for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        for s in [
            scales(wrong, 1e-4, 0.1, 0, IntType::I8),
            scales(0.1, wrong, 0.1, 0, IntType::I8),
            scales(0.1, 1e-4, wrong, 0, IntType::I8),
        ] {
            assert!(matches!(of(64, 1e-5, s), Err(FunctionError::Scale { .. })), "{s:?}");
        }
    }
    for wrong in [-1e-5, f32::NAN, f32::INFINITY] {
        assert!(matches!(of(64, wrong, good), Err(FunctionError::Scale { .. })));
    }
    for s in [
        scales(600.0, 1e-4, 0.1, 0, IntType::I8),
        scales(1e-9, 1e-4, 0.1, 0, IntType::I8),
        scales(0.1, 1e-20, 0.1, 0, IntType::I8),
        scales(0.1, 1e10, 1e-10, 0, IntType::I8),
    ] {
        assert!(matches!(of(64, 1e-5, s), Err(FunctionError::Factor { .. })), "{s:?}");
    }
    let tiny = scales(1e-8, 1e-4, 0.1, 0, IntType::I8);
    let refused = of(64, 1.0, tiny).unwrap_err().to_string();
    assert!(refused.contains("epsilon * n^2 / input scale^2"), "{refused}");
    let wide = scales(0.1, 1e-4, 0.1, 0, IntType::I32);
    assert!(matches!(of(64, 1e-5, wide), Err(FunctionError::Elements { .. })));
    let zero = scales(0.1, 1e-4, 0.1, 128, IntType::I8);
    assert!(matches!(of(64, 1e-5, zero), Err(FunctionError::Code { .. })));

    let norm = of(2, 1e-5, good).unwrap();
    let parameter = |norm: LayerNorm| matches!(norm.check(), Err(FunctionError::Parameter { .. }));
    assert!(parameter(LayerNorm { epsilon: -1, ..norm }));
    assert!(parameter(LayerNorm {
        multiplier: (1 << 30) - 1,
        ..norm
    }));
    assert!(parameter(LayerNorm {
        bias_multiplier: -1,
        ..norm
    }));
    assert!(parameter(LayerNorm { shift: 0, ..norm }));
    assert!(parameter(LayerNorm { shift: 101, ..norm }));
    let code = eval(&norm, IntType::I8, &[0, 128], &[0; 2], &[0; 2]).unwrap_err();
    assert_eq!(code.to_string(), "strait.layer_norm.v1: code 128 is not one of i8");
    for (gains, biases) in [(1, 2), (2, 3)] {
        let wrong = eval(&norm, IntType::I8, &[0; 2], &vec![0; gains], &vec![0; biases]);
        assert!(matches!(wrong, Err(FunctionError::Lengths { .. })));
    }
    assert_eq!(Definition::parse("strait.layer_norm.v1"), Some(Definition::LayerNorm));
}
