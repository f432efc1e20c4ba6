//! Measures products with codes of 4 bits: `cargo bench -p strait-kernels --bench coded [-- THREADS [ISA]]`. A product with one
//! row is compared with the bandwidth at which the same threads read memory, and a product with many rows with the
//! multiply-adds that they do at most. The last column is the product with weights that are converted in each run.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

mod support;

use rayon::prelude::*;
use std::{hint::black_box, time::Instant};
use strait_kernels::{
    Context, Isa,
    float::{Bias, CodedMatrix, HalfBytes, Matrix, gemm},
    mixed::{CodeSlice, Dequantize},
};
use strait_requantize::quantize::Dequantization;
use support::{least, multiply_adds, seconds};

/// Rows of the weights, columns, and neighbouring rows that share a scale.
const WEIGHTS: [[usize; 3]; 4] = [
    [16384, 8192, 32],
    [16384, 8192, 128],
    [8192, 16384, 32],
    [4096, 4096, 32],
];
/// Rows of activations.
const ROWS: [usize; 8] = [1, 2, 4, 8, 16, 64, 256, 512];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let threads = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        // The definition of a fused multiply-add in scalar code is too slow to be of interest.
        for isa in Isa::available()
            .skip(1)
            .filter(|isa| arguments.get(1).is_none_or(|name| isa.name().starts_with(name)))
        {
            let cx = Context::with_isa(isa);
            for (index, shape) in WEIGHTS.into_iter().enumerate() {
                [false, true]
                    .into_iter()
                    .take(1 + usize::from(index == 0))
                    .for_each(|zeros| measure(&cx, shape, zeros));
            }
        }
    });
}

fn measure(cx: &Context, [k, n, block]: [usize; 3], zeros: bool) {
    let bytes: Vec<u8> = (0..k * n / 2).map(|i| (i * 37 + i / 251) as u8).collect();
    let count = k / block * n;
    let scales: Vec<f32> = (0..count).map(|i| 0.01 + (i % 97) as f32 * 1e-4).collect();
    let zero_points: Vec<i32> = (0..count).map(|i| if zeros { (i % 7) as i32 } else { 0 }).collect();
    let codes = HalfBytes {
        bytes: &bytes,
        signed: true,
        strides: [1, k],
    };
    let start = Instant::now();
    let matrix = CodedMatrix::new([k, n], codes, block, &scales, &zero_points)
        .unwrap()
        .unwrap();
    let packing = start.elapsed().as_secs_f64();
    println!(
        "{} {k}×{n} by {block}{}: {:.1} MB ({:.1} MB of f32), packed in {packing:.2} s",
        cx.isa().name(),
        if zeros { ", zero points" } else { "" },
        matrix.bytes() as f64 / 1e6,
        (4 * k * n) as f64 / 1e6
    );
    let grids: Vec<Dequantization> = (0..count)
        .map(|i| Dequantization {
            scale: scales[i % (k / block) * n + i / (k / block)],
            zero_point: zero_points[i % (k / block) * n + i / (k / block)],
            relu: false,
        })
        .collect();
    let convert = Dequantize::new(&grids.into_iter().collect()).unwrap();
    let unpacked: Vec<i8> = bytes
        .iter()
        .flat_map(|&b| [(b << 4).cast_signed() >> 4, b.cast_signed() >> 4])
        .collect();
    let mut weights = vec![0.0; k * n];
    let memory: Vec<u64> = vec![1; 32 << 20];
    for m in ROWS {
        let a: Vec<f32> = (0..m * k).map(|i| (i % 251) as f32 / 128.0 - 1.0).collect();
        let mut out = vec![0.0; m * n];
        let mut wanted = vec![0.0; m * n];
        let (mut ours, mut old, mut bandwidth, mut peak) = (vec![], vec![], vec![], vec![]);
        for round in 0..if m < 64 { 15 } else { 3 } {
            ours.push(seconds(|| matrix.product(cx, m, &a, None, &mut out).unwrap()));
            bandwidth.push(-1e-9 * (8 * memory.len()) as f64 / seconds(|| read(&memory)));
            peak.push(-multiply_adds());
            if round < 3 && [1, 64].contains(&m) {
                old.push(seconds(|| {
                    let (codes, extents) = (CodeSlice::I8(&unpacked), [1, count, block]);
                    convert.run(cx, extents, codes, &mut weights).unwrap();
                    let (a, b) = (Matrix::row_major(&a, k), Matrix::transposed(&weights, k));
                    gemm(cx, [m, n, k], a, b, Bias::Zero, &mut wanted).unwrap();
                }));
                assert!(out == wanted, "the results differ");
            }
        }
        let (time, bandwidth, peak) = (least(ours), -least(bandwidth), -least(peak));
        let read = 1e-9 * matrix.bytes() as f64 / time;
        let done = 1e-9 * (m * n * k) as f64 / time;
        println!(
            "  {m:>3} rows {:9.3} ms  {read:6.1} GB/s ({:3.0} % of {bandwidth:.1})  {done:6.1} GMAC/s ({:3.0} % of {peak:.1})  {}",
            1e3 * time,
            100.0 * read / bandwidth,
            100.0 * done / peak,
            if old.is_empty() {
                String::new()
            } else {
                format!("{:9.3} ms", 1e3 * least(old))
            }
        );
    }
}

/// Reads memory, a piece on each thread.
fn read(memory: &[u64]) {
    let piece = memory.len() / rayon::current_num_threads();
    let sum = |piece: &[u64]| {
        let mut sums = [0_u64; 64];
        for part in piece.as_chunks::<64>().0 {
            for (sum, value) in sums.iter_mut().zip(part) {
                *sum |= value;
            }
        }
        sums.iter().fold(0, |all, sum| all | sum)
    };
    black_box(memory.par_chunks(piece).map(sum).reduce(|| 0, |a, b| a | b));
}
