//! Products with codes of 4 bits equal the product with weights that were converted before, bit for bit, on every
//! instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support::Numbers;
use strait_kernels::{
    Context, Isa, KernelError,
    float::{Bias, CodedMatrix, HalfBytes, Matrix, gemm},
};
use strait_requantize::quantize::Dequantization;

/// A matrix of codes with its grids, and the matrix of floats that it stands for.
struct Case {
    k: usize,
    n: usize,
    block: usize,
    signed: bool,
    transposed: bool,
    bytes: Vec<u8>,
    scales: Vec<f32>,
    zeros: Vec<i32>,
    weights: Vec<f32>,
}

impl Case {
    fn new([k, n, block]: [usize; 3], [signed, transposed, alike]: [bool; 3], seed: u64) -> Case {
        let mut numbers = Numbers::new(seed);
        let bytes = numbers.bytes((k * n).div_ceil(2));
        let count = k.div_ceil(block) * n;
        // Scales of both signs, and of such magnitudes that products and weights round, overflow and become subnormal.
        let magnitudes = [1e-3, 0.7, 3e-20, 1e-30, 2e37, 1e-31, 0.01, 5.0];
        let scale = |(i, x): (usize, f32)| x.abs().max(0.05).copysign(x) * magnitudes[i * 7 % 8];
        let scales: Vec<f32> = numbers.floats(count).into_iter().enumerate().map(scale).collect();
        let low = if signed { -8 } else { 0 };
        let zeros = (0..count).map(|_| if alike { low + 8 } else { numbers.between(low, low + 15) });
        let mut case = Case {
            k,
            n,
            block,
            signed,
            transposed,
            bytes,
            scales,
            zeros: zeros.collect(),
            weights: Vec::new(),
        };
        case.weights = (0..k * n).map(|e| case.weight(e / n, e % n)).collect();
        case
    }

    fn strides(&self) -> [usize; 2] {
        if self.transposed { [1, self.k] } else { [self.n, 1] }
    }

    /// The definition of a weight.
    fn weight(&self, row: usize, column: usize) -> f32 {
        let index = row * self.strides()[0] + column * self.strides()[1];
        let half = i32::from(self.bytes[index / 2] >> (4 * (index % 2)) & 15);
        let grid = row / self.block * self.n + column;
        let dequantization = Dequantization {
            scale: self.scales[grid],
            zero_point: self.zeros[grid],
            relu: false,
        };
        dequantization.eval(if self.signed && half > 7 { half - 16 } else { half })
    }

    fn pack(&self) -> Result<Option<CodedMatrix>, KernelError> {
        let codes = HalfBytes {
            bytes: &self.bytes,
            signed: self.signed,
            strides: self.strides(),
        };
        CodedMatrix::new([self.k, self.n], codes, self.block, &self.scales, &self.zeros)
    }

    fn check(&self, m: usize) {
        let mut numbers = Numbers::new(m as u64);
        let (mut a, bias) = (numbers.floats(m * self.k), numbers.floats(self.n));
        // Zeros of both signs, and what is not finite.
        for (x, special) in a.iter_mut().skip(11).step_by(97).zip([0.0, -0.0, f32::INFINITY, 1e-42]) {
            *x = special;
        }
        let matrix = self.pack().unwrap().unwrap();
        for bias in [None, Some(&bias[..])] {
            let mut wanted = vec![f32::NAN; m * self.n];
            let (left, right) = (Matrix::row_major(&a, self.k), Matrix::row_major(&self.weights, self.n));
            let start = bias.map_or(Bias::Zero, Bias::Columns);
            gemm(&Context::detect(), [m, self.n, self.k], left, right, start, &mut wanted).unwrap();
            for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 3)]) {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut found = vec![f32::NAN; m * self.n];
                pool.install(|| matrix.product(&Context::with_isa(isa), m, &a, bias, &mut found))
                    .unwrap();
                let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                let differing = found.iter().zip(&wanted).position(|pair| !same(pair));
                let Case {
                    k, n, block, signed, ..
                } = self;
                assert_eq!(
                    differing,
                    None,
                    "{m}×{n}×{k} by {block}, signed: {signed}, on {} with {threads}",
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn products_with_codes_are_those_with_converted_weights() {
    let shapes = [
        [1, 64, 1],
        [31, 128, 16],
        [32, 129, 32],
        [300, 100, 24],
        [257, 200, 128],
        [600, 385, 32],
        [520, 70, 520],
        [256, 256, 1],
        [700, 65, 512],
    ];
    for (i, shape) in shapes.into_iter().enumerate() {
        let case = Case::new(shape, [i % 2 == 0, i % 3 == 0, i % 4 < 2], i as u64 + 1);
        let other = Case::new(shape, [i % 2 == 1, i % 3 == 1, i % 4 >= 2], i as u64 + 50);
        for m in [1, 2, 3, 4, 5, 13] {
            case.check(m);
            other.check(m);
        }
    }
    Case::new([64, 448, 32], [true, true, true], 9).check(100);
    Case::new([0, 64, 32], [true, true, true], 9).check(2);
    Case::new([40, 64, 32], [false, false, false], 9).check(0);
}

#[test]
fn what_cannot_be_computed_from_codes_is_left_to_floats() {
    let packs = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::new([32, 64, 16], [true, true, false], 3);
        change(&mut case);
        case.pack().map(|packed| packed.is_some())
    };
    assert_eq!(packs(&|_| {}), Ok(true));
    assert_eq!(packs(&|case| case.zeros[5] = 8), Ok(false));
    assert_eq!(packs(&|case| case.zeros[127] = -9), Ok(false));
    assert_eq!(packs(&|case| case.scales[5] = 1e-37), Ok(false));
    assert_eq!(packs(&|case| case.scales[6] = 0.0), Ok(false));
    assert_eq!(packs(&|case| case.scales[7] = f32::NAN), Ok(false));
    let narrow = Case::new([32, 63, 16], [true, true, false], 3);
    assert_eq!(narrow.pack().map(|packed| packed.is_some()), Ok(false));
    assert!(packs(&|case| case.block = 0).is_err());
    assert!(packs(&|case| case.block = 8).is_err());
    assert!(packs(&|case| case.bytes.truncate(1023)).is_err());
    assert!(packs(&|case| case.k = usize::MAX / 2).is_err());
    let matrix = Case::new([32, 64, 16], [true, true, false], 3).pack().unwrap().unwrap();
    let run = |a: usize, bias: usize, out: usize| {
        let (a, bias, mut out) = (vec![0.0; a], vec![0.0; bias], vec![0.0; out]);
        matrix.product(&Context::detect(), 2, &a, Some(&bias), &mut out)
    };
    assert!(run(64, 64, 128).is_ok());
    assert!(run(63, 64, 128).is_err() && run(64, 63, 128).is_err() && run(64, 64, 127).is_err());
}
