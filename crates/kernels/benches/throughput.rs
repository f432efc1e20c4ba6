//! Measures how fast the kernels run: `cargo bench -p strait-kernels [-- NAME]`. Each number is the best of several
//! runs on one thread, in 10⁹ multiply-adds a second. For elementwise kernels, it is in 10⁹ elements a second. `--bench
//! requantize` measures requantization alone.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::{hint::black_box, time::Instant};
use strait_kernels::{
    Context, Conv, Images, Isa, Window,
    float::{self, Matrix, Unary},
    integer::{
        Addend, Bias, Broadcast, Carrier, ChannelsLast, ConvWeights, GemmWeights, Loops, Weights, accumulators,
        standard,
    },
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

/// Convolutions of ResNet-50, MobileNetV2 and ResNet-8. After the name come input channels, image size, output channels, kernel,
/// groups and stride.
const CONVOLUTIONS: [(&str, usize, usize, usize, usize, usize, usize); 13] = [
    ("1x1 64→256 at 56", 64, 56, 256, 1, 1, 1),
    ("3x3 128→128 at 28", 128, 28, 128, 1, 3, 1),
    ("3x3 256→256 at 14", 256, 14, 256, 1, 3, 1),
    ("3x3 512→512 at 7", 512, 7, 512, 1, 3, 1),
    ("1x1 16→96 at 112", 16, 112, 96, 1, 1, 1),
    ("1x1 144→24 at 56", 144, 56, 24, 1, 1, 1),
    ("3x3/2 3→32 at 224", 3, 224, 32, 1, 3, 2),
    ("depthwise 96 at 112, /2", 96, 112, 96, 96, 3, 2),
    ("depthwise 384 at 14", 384, 14, 384, 384, 3, 1),
    ("3x3 3→16 at 32", 3, 32, 16, 1, 3, 1),
    ("3x3 16→16 at 32", 16, 32, 16, 1, 3, 1),
    ("3x3 16→32 at 32, /2", 16, 32, 32, 1, 3, 2),
    ("3x3 64→64 at 8", 64, 8, 64, 1, 3, 1),
];

/// Matrix products: number of rows, number of columns, and K.
const PRODUCTS: [[usize; 3]; 8] = [
    [3136, 256, 64],
    [784, 128, 1152],
    [196, 256, 2304],
    [49, 512, 4608],
    [12544, 96, 16],
    [3136, 24, 144],
    [197, 768, 192],
    [1, 1000, 2048],
];

fn main() {
    let wanted = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for isa in Isa::available() {
        pool.install(|| all(&Context::with_isa(isa), &wanted));
    }
}

fn all(cx: &Context, wanted: &str) {
    let report = |name: &str, steps: usize, run: &mut dyn FnMut()| {
        if name.contains(wanted) {
            println!(
                "{:<12} {name:<48} {:8.2}",
                cx.isa().name(),
                steps as f64 / best(run) / 1e9
            );
        }
    };
    for (name, channels, size, outputs, groups, kernel, stride) in CONVOLUTIONS {
        let pads = [kernel / 2; 4];
        let c = Conv {
            window: Window {
                stride: [stride; 2],
                pads,
                ..Window::new([kernel; 2])
            },
            input: Images {
                batch: 1,
                channels,
                size: [size; 2],
            },
            out_channels: outputs,
            groups,
        };
        let elements = c.output().unwrap().elements().unwrap();
        let steps = elements * c.depth();
        let (input, weights) = (floats(c.input.elements().unwrap()), floats(outputs * c.depth()));
        let mut out = vec![0.0; elements];
        report(&format!("conv f32 {name}"), steps, &mut || {
            float::conv(cx, &c, &input, &weights, None, &mut out).unwrap();
        });
        let (input, weights) = (bytes(c.input.elements().unwrap()), signed(outputs * c.depth()));
        let packed = ConvWeights::new(c, IntType::I8, 0, Weights::I8(&weights), Bias::I32(None)).unwrap();
        for (form, loops) in forms(outputs) {
            let mut out = vec![0; elements * usize::from(loops.out().bits()) / 8];
            report(&format!("conv {form} {name}"), steps, &mut || {
                loops.conv(cx, &packed, 1, &input, &mut out).unwrap();
            });
        }
        let packed = ChannelsLast::new(c, IntType::I8, 0, Weights::I8(&weights), Bias::I32(None)).unwrap();
        if let Some(packed) = packed {
            let input = bytes(size * size * packed.stride());
            let (form, loops) = forms(outputs).remove(2);
            let mut out = vec![0; elements];
            report(&format!("channels last, {form} {name}"), steps, &mut || {
                loops.conv_last(cx, &packed, 1, &input, &mut out).unwrap();
            });
        }
        let zeros: Vec<i32> = weights.iter().map(|&w| i32::from(w) - 11).collect();
        let packed = ConvWeights::new(c, IntType::U8, 0, Weights::I32(&zeros), Bias::I32(None)).unwrap();
        for (form, loops) in forms(outputs).into_iter().skip(1).take(1) {
            let mut out = vec![0; elements * usize::from(loops.out().bits()) / 8];
            report(&format!("conv {form}, zero points, {name}"), steps, &mut || {
                loops.conv(cx, &packed, 1, &input, &mut out).unwrap();
            });
        }
        let input = bytes(2 * c.input.elements().unwrap());
        let words: Vec<i32> = weights.iter().map(|&w| i32::from(w) * 257).collect();
        for (bits, weights) in [("16×8", Weights::I8(&weights)), ("16×16", Weights::I32(&words))] {
            let packed = ConvWeights::new(c, IntType::I16, 0, weights, Bias::I64(None)).unwrap();
            let loops = sixteen(outputs);
            let mut out = vec![0; 2 * elements];
            report(&format!("conv {bits} bits {name}"), steps, &mut || {
                loops.conv(cx, &packed, 1, &input, &mut out).unwrap();
            });
        }
    }
    for [m, n, k] in PRODUCTS {
        let (a, b) = (floats(m * k), floats(k * n));
        let mut out = vec![0.0; m * n];
        report(&format!("gemm f32 {m}×{n}×{k}"), m * n * k, &mut || {
            let (a, b) = (Matrix::row_major(&a, k), Matrix::row_major(&b, n));
            float::gemm(cx, [m, n, k], a, b, float::Bias::Zero, &mut out).unwrap();
        });
        let (a, b) = (bytes(m * k), signed(k * n));
        let packed = GemmWeights::new(IntType::U8, [k, n], Weights::I8(&b), [n, 1], Bias::I32(None)).unwrap();
        for (form, loops) in forms(n) {
            let mut out = vec![0; m * n * usize::from(loops.out().bits()) / 8];
            report(&format!("gemm {form} {m}×{n}×{k}"), m * n * k, &mut || {
                loops.gemm(cx, &packed, m, &a, &mut out).unwrap();
            });
        }
        let zeros: Vec<i32> = b.iter().map(|&w| i32::from(w) - 11).collect();
        let packed = GemmWeights::new(IntType::U8, [k, n], Weights::I32(&zeros), [n, 1], Bias::I32(None)).unwrap();
        for (form, loops) in forms(n).into_iter().skip(1).take(1) {
            let mut out = vec![0; m * n * usize::from(loops.out().bits()) / 8];
            report(
                &format!("gemm {form}, zero points, {m}×{n}×{k}"),
                m * n * k,
                &mut || {
                    loops.gemm(cx, &packed, m, &a, &mut out).unwrap();
                },
            );
        }
    }
    let count = 1 << 16;
    let (a, b) = (bytes(count), bytes(count));
    let (_, add) = forms(1).remove(2);
    let tables: [[i32; 256]; 2] = [
        std::array::from_fn(|i| i as i32 * 1000),
        std::array::from_fn(|i| i as i32 * 900),
    ];
    let shape = Broadcast::new(&[count], &[count]).unwrap();
    let mut out = vec![0; count];
    let elements = [IntType::I8; 2];
    report("add", count, &mut || {
        add.add(
            cx,
            &shape,
            elements,
            [Addend::Table(&tables[0]), Addend::Table(&tables[1])],
            [&a, &b],
            &mut out,
        )
        .unwrap();
    });
    report("multiply", count, &mut || {
        add.multiply(cx, &shape, elements, [3, 4], Carrier::I32, [&a, &b], &mut out)
            .unwrap();
    });
    let x = floats(count);
    let mut y = x.clone();
    for function in [
        Unary::Exp,
        Unary::Log,
        Unary::Erf,
        Unary::Tanh,
        Unary::Sigmoid,
        Unary::Softplus,
    ] {
        report(&format!("{function:?}"), count, &mut || {
            float::unary(cx, function, &x, &mut y).unwrap();
        });
    }
    report("softmax", count, &mut || {
        float::softmax(cx, [256, 256, 1], &x, &mut y).unwrap();
    });
}

/// The shortest time that one run took, in seconds.
fn best(run: &mut dyn FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_millis() < 60 {
        let once = Instant::now();
        run();
        best = best.min(once.elapsed().as_secs_f64());
    }
    black_box(best)
}

/// One requantization form for each family of arithmetic, with parameters per channel.
fn forms(channels: usize) -> Vec<(&'static str, Box<dyn Loops>)> {
    let narrowing = |shift: u8, rounding| Narrowing {
        shift: Per::Channel(vec![shift; channels].into()),
        rounding,
        out: IntType::I8,
    };
    let sc = || Per::Channel(vec![1_500_000_000; channels].into());
    let form = |form: Requantization| standard(&form, Some([0, 127])).unwrap();
    vec![
        ("i32", accumulators()),
        (
            "shift",
            form(Requantization::ArithFolded(form::ArithFolded {
                narrowing: narrowing(10, Rounding::HalfEven),
            })),
        ),
        (
            "one rounding",
            form(Requantization::TfLite(form::TfLite {
                sc: sc(),
                zp: 3,
                narrowing: narrowing(41, Rounding::HalfUp),
            })),
        ),
        (
            "two roundings",
            form(Requantization::Gemmlowp(form::Gemmlowp {
                multiplier: sc(),
                exponent: Per::Channel(vec![-10; channels].into()),
                zp: 3,
                roundings: form::Roundings::Two,
                out: IntType::I8,
            })),
        ),
        (
            "f32 scale",
            form(Requantization::Float(form::Float {
                scale: Per::Channel(vec![0.001; channels].into()),
                zp: 3,
                out: IntType::I8,
            })),
        ),
    ]
}

/// A form that requantizes 64-bit sums to 16 bits.
fn sixteen(channels: usize) -> Box<dyn Loops> {
    let form = form::SixteenByEight {
        multiplier: Per::Channel(vec![1_500_000_000; channels].into()),
        exponent: Per::Channel(vec![-10; channels].into()),
        zp: 0,
        out: IntType::I16,
    };
    standard(&form.into(), None).unwrap()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 37 + i / 251) as u8).collect()
}

/// Weights that are distributed as those of networks are: small ones are more frequent than large ones.
fn signed(count: usize) -> Vec<i8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as i32 - 128
    };
    (0..count).map(|_| ((next() + next() + next()) / 3) as i8).collect()
}

fn floats(count: usize) -> Vec<f32> {
    bytes(count).into_iter().map(|b| f32::from(b) / 128.0 - 1.0).collect()
}
