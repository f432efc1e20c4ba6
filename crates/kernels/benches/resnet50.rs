//! Measures the float convolutions of ResNet-50, layer by layer: `cargo bench -p strait-kernels --bench resnet50 [-- ISA]`.
//! Each layer is compared with the multiply-adds that one thread does at most, measured in turns with it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

mod support;

use strait_kernels::{Context, Conv, Images, Isa, Window, float};
use support::{least, multiply_adds, seconds};

/// How often a layer occurs, its input channels, image size, output channels, kernel and stride.
const LAYERS: [[usize; 6]; 23] = [
    [1, 3, 224, 64, 7, 2],
    [1, 64, 56, 64, 1, 1],
    [3, 64, 56, 64, 3, 1],
    [4, 64, 56, 256, 1, 1],
    [2, 256, 56, 64, 1, 1],
    [1, 256, 56, 128, 1, 1],
    [1, 128, 56, 128, 3, 2],
    [4, 128, 28, 512, 1, 1],
    [1, 256, 56, 512, 1, 2],
    [3, 512, 28, 128, 1, 1],
    [3, 128, 28, 128, 3, 1],
    [1, 512, 28, 256, 1, 1],
    [1, 256, 28, 256, 3, 2],
    [6, 256, 14, 1024, 1, 1],
    [1, 512, 28, 1024, 1, 2],
    [5, 1024, 14, 256, 1, 1],
    [5, 256, 14, 256, 3, 1],
    [1, 1024, 14, 512, 1, 1],
    [1, 512, 14, 512, 3, 2],
    [3, 512, 7, 2048, 1, 1],
    [1, 1024, 14, 2048, 1, 2],
    [2, 2048, 7, 512, 1, 1],
    [2, 512, 7, 512, 3, 1],
];

fn main() {
    let wanted = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // A fused multiply-add in scalar code is too slow to be of interest.
    for isa in Isa::available().skip(1).filter(|isa| isa.name().starts_with(&wanted)) {
        pool.install(|| all(&Context::with_isa(isa)));
    }
}

fn all(cx: &Context) {
    let (mut steps, mut time, mut limit) = (0.0, 0.0, 0.0);
    println!("{}: GMAC/s, share of the peak", cx.isa().name());
    for layer in LAYERS {
        let [times, channels, size, outputs, kernel, stride] = layer;
        let layer = Conv {
            window: Window {
                stride: [stride; 2],
                pads: [kernel / 2; 4],
                ..Window::new([kernel; 2])
            },
            input: Images {
                batch: 1,
                channels,
                size: [size; 2],
            },
            out_channels: outputs,
            groups: 1,
        };
        let depth = channels * kernel * kernel;
        let (input, weights) = (floats(channels * size * size), floats(outputs * depth));
        let mut out = vec![0.0; layer.output().unwrap().elements().unwrap()];
        let bias = floats(outputs);
        let (mut own, mut peak) = (Vec::new(), Vec::new());
        for _ in 0..15 {
            own.push(seconds(|| {
                float::conv(cx, &layer, &input, &weights, Some(&bias), &mut out).unwrap();
            }));
            peak.push(-multiply_adds());
        }
        let (seconds, peak, count) = (least(own), -least(peak), (out.len() * depth) as f64);
        println!(
            "{times} of {kernel}x{kernel}/{stride} {channels:>4} to {outputs:>4} at {size:>3}  {:6.1}  {:3.0} %",
            1e-9 * count / seconds,
            1e-7 * count / seconds / peak
        );
        steps += count * times as f64;
        time += seconds * times as f64;
        limit += 1e-9 * count * times as f64 / peak;
    }
    println!(
        "all: {:.1} ms, {:.1} GMAC/s, {:.0} %",
        1e3 * time,
        1e-9 * steps / time,
        100.0 * limit / time
    );
}

fn floats(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 37 % 251) as f32 / 128.0 - 1.0).collect()
}
