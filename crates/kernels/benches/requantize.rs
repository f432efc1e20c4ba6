//! Measures how fast accumulators are requantized from i32 to i8, in cache and on one thread: `cargo bench -p
//! strait-kernels --bench requantize [-- NAME]`. Speeds are in 10⁹ elements a second, and each is the median of many
//! short runs. Each kernel is measured with 16 KB of accumulators, which stay in the first-level cache, and with 256
//! KB, which stay in the second-level cache.
//!
//! After that, the same is measured for 64-bit accumulators, for float to integer, for integer to float, and for
//! functions of two codes. These speeds count elements of the result.
//!
//! Three layouts are measured. Per tensor: all elements share the same constants. Per channel: each row of 512 elements
//! has constants of its own. Channels last: each of 64 columns has constants of its own. `i32` is a plain copy without
//! requantization, and shows how long only the loads and stores take.
//!
//! The program ends with an error if one of the speeds in `MARKS` is not reached on the best instruction set.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::{hint::black_box, process::ExitCode, time::Instant};
use strait_kernels::{
    Context, Isa,
    integer::{accumulators, standard},
    mixed::{CodeSlice, Dequantize, QLinearAdd, Quantize},
};
use strait_requantize::{
    IntType, Narrowing, Per, Requantization, Rounding, form,
    mixed::{self, AscendDequant, AscendQuant, QuantizeLinear},
    quantize::Quantization,
};

const ELEMENTS: [usize; 2] = [1 << 12, 1 << 16];
const ROW: usize = 512;
const COLUMNS: usize = 64;

/// The speeds that one Zen 4 core has to reach with data in its first-level cache: first per tensor, then per channel.
const MARKS: [(&str, [Option<f64>; 2]); 4] = [
    ("31 bits, one rounding, half up", [Some(12.8), Some(12.2)]),
    ("31 bits, one rounding, half even", [Some(12.8), Some(12.2)]),
    ("31 bits, two roundings", [Some(7.8), None]),
    ("f32 scale", [Some(20.0), None]),
];

fn main() -> ExitCode {
    let wanted = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    println!(
        "{:<12} {:<38} {:>15} {:>15} {:>15}",
        "", "10⁹ elements/s in L1, L2", "per tensor", "per channel", "channels last"
    );
    let (mut met, best) = (true, Context::detect().isa());
    for isa in Isa::available() {
        let plain = std::iter::once(("i32", None));
        for (form_name, form) in plain.chain(FORMS.map(|(name, form)| (name, Some(form)))) {
            let name = format!("requantize {form_name}");
            if name.contains(&wanted) {
                let speeds = pool.install(|| speeds(&Context::with_isa(isa), form));
                let cells: Vec<String> = speeds.iter().map(|[l1, l2]| format!("{l1:>7.2} {l2:>7.2}")).collect();
                println!("{:<12} {name:<38} {}", isa.name(), cells.join(" "));
                let marks = MARKS.iter().filter(|(of, _)| isa == best && *of == form_name);
                for (mark, [found, _]) in marks.flat_map(|(_, marks)| marks).zip(&speeds) {
                    let Some(mark) = mark else { continue };
                    met &= found >= mark;
                    println!(
                        "{:<12} {:<38} {}",
                        "",
                        format!("  mark {mark}"),
                        if found >= mark { "met" } else { "MISSED" }
                    );
                }
            }
        }
        for (name, prepare) in OTHERS {
            if name.contains(&wanted) {
                let cells = pool.install(|| other_cells(&Context::with_isa(isa), prepare));
                println!("{:<12} {name:<38} {}", isa.name(), cells.join(" "));
            }
        }
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes a form with parameters for this number of channels, or for `None` with one set of parameters for the tensor.
type Form = fn(Option<usize>) -> Requantization;

const FORMS: [(&str, Form); 9] = [
    ("shift, half up", |channels| shift(channels, Rounding::HalfUp)),
    ("shift, half even", |channels| shift(channels, Rounding::HalfEven)),
    ("shift, half away", |channels| shift(channels, Rounding::HalfAway)),
    ("31 bits, one rounding, half up", |channels| {
        multiplier(channels, Rounding::HalfUp)
    }),
    ("31 bits, one rounding, half even", |channels| {
        multiplier(channels, Rounding::HalfEven)
    }),
    ("15 bits and zero point, half even", |channels| {
        form::FractionalZero {
            sc: per(channels, |c| 20_000 + 2 * c as i32),
            zp: per(channels, |c| 1_000_000 + c as i64),
            narrowing: narrowing(channels, 25, Rounding::HalfEven),
        }
        .into()
    }),
    ("31 bits, two roundings", |channels| {
        form::Gemmlowp {
            roundings: form::Roundings::Two,
            multiplier: per(channels, |c| 1_500_000_001 + 2 * c as i32),
            exponent: per(channels, |c| -10 + (c % 2) as i8),
            zp: 3,
            out: IntType::I8,
        }
        .into()
    }),
    ("f32 scale", |channels| {
        form::Float {
            scale: per(channels, |c| 0.0007 + c as f32 * 1e-6),
            zp: 3,
            out: IntType::I8,
        }
        .into()
    }),
    ("255 thresholds", |channels| {
        let list = |c: usize| (1..256).map(|k| (k - 128) * 781 + c as i32).collect();
        form::Steps {
            thresholds: (0..channels.unwrap_or(1)).map(list).collect(),
            lowest: -128,
            out: IntType::I8,
        }
        .into()
    }),
];

/// Prepares a kernel for this number of channels and an array of these extents. Returns a closure that runs the kernel
/// once, or `None` if the kernel has no version with parameters per channel.
type Prepare = fn(Context, Option<usize>, [usize; 3]) -> Option<Box<dyn FnMut()>>;

const OTHERS: [(&str, Prepare); 7] = [
    ("requantize i64, 16x8", |cx, channels, extents| {
        Some(wide(
            cx,
            extents,
            &form::SixteenByEight {
                multiplier: per(channels, |c| 1_500_000_001 + 200_000 * c as i32),
                exponent: per(channels, |c| -22 + (c % 2) as i8),
                zp: 3,
                out: IntType::I16,
            }
            .into(),
        ))
    }),
    ("requantize i64, rescale of 48 bits", |cx, channels, extents| {
        Some(wide(
            cx,
            extents,
            &form::TosaRescale {
                multiplier: per(channels, |c| 20_001 + c as i32),
                shift: per(channels, |c| 44 + (c % 2) as u8),
                scale32: false,
                roundings: form::Roundings::One,
                input: form::TosaInput::I48,
                input_zp: 0,
                output_zp: 3,
                out: IntType::I8,
            }
            .into(),
        ))
    }),
    ("quantize, QuantizeLinear", |cx, channels, extents| {
        let form = |c| QuantizeLinear {
            scale: 0.7 + c as f32 / 1000.0,
            zero_point: 3,
            out: IntType::I8,
        };
        Some(quantize(cx, extents, &per(channels, |c| form(c).quantization())))
    }),
    ("quantize, AscendQuant", |cx, channels, extents| {
        let form = |c| ascend_quant(c, false, Rounding::HalfEven);
        Some(quantize(cx, extents, &per(channels, form)))
    }),
    ("quantize, AscendQuant, floor", |cx, channels, extents| {
        let form = |c| ascend_quant(c, true, Rounding::Floor);
        Some(quantize(cx, extents, &per(channels, form)))
    }),
    ("dequantize, AscendDequant", |cx, channels, extents| {
        let form = AscendDequant {
            scale: per(channels, |c| 0.1 + c as f32 / 1000.0),
            relu: true,
        };
        let kernel = Dequantize::new(&form.dequantization()).unwrap();
        let count = extents.iter().product::<usize>();
        let (codes, mut out) = (words(count), vec![0.0; count]);
        Some(Box::new(move || {
            let codes = CodeSlice::I32(black_box(&codes));
            kernel.run(&cx, extents, codes, black_box(&mut out)).unwrap();
        }))
    }),
    ("add, QLinearAdd", |cx, channels, extents| {
        let form = mixed::QLinearAdd {
            a: 0.3,
            b: 0.7,
            offset: 3.5,
            out: IntType::I8,
        };
        let kernel = QLinearAdd::new(form).unwrap();
        let bytes: Vec<u8> = words(extents.iter().product()).iter().map(|x| *x as u8).collect();
        let mut out = vec![0; bytes.len()];
        channels.is_none().then_some(Box::new(move || {
            let operands = [black_box(&bytes[..]), black_box(&bytes[..])];
            kernel.run(&cx, IntType::I8, operands, black_box(&mut out)).unwrap();
        }))
    }),
];

fn wide(cx: Context, extents: [usize; 3], form: &Requantization) -> Box<dyn FnMut()> {
    let loops = standard(form, None).unwrap();
    let count = extents.iter().product();
    let input: Vec<i64> = words(count).iter().map(|&x| i64::from(x) << 11).collect();
    let mut out = vec![0; count * usize::from(loops.out().bits()) / 8];
    Box::new(move || {
        loops
            .requantize_wide(&cx, extents, black_box(&input), black_box(&mut out))
            .unwrap();
    })
}

fn ascend_quant(channel: usize, sqrt_mode: bool, rounding: Rounding) -> Quantization {
    let form = AscendQuant {
        scale: 0.7 + channel as f32 / 1000.0,
        offset: 3.0,
        sqrt_mode,
        rounding,
        out: IntType::I8,
    };
    form.quantization()
}

fn quantize(cx: Context, extents: [usize; 3], quantizations: &Per<Quantization>) -> Box<dyn FnMut()> {
    let kernel = Quantize::new(quantizations).unwrap();
    let input: Vec<f32> = words(extents.iter().product())
        .iter()
        .map(|&x| x as f32 / 700.0)
        .collect();
    let mut out = vec![0; input.len()];
    Box::new(move || {
        kernel
            .run(&cx, extents, black_box(&input), black_box(&mut out))
            .unwrap();
    })
}

fn words(count: usize) -> Vec<i32> {
    (0..count as i32).map(|i| (i * 7919) % 200_000 - 100_000).collect()
}

fn shift(channels: Option<usize>, rounding: Rounding) -> Requantization {
    form::ArithFolded {
        narrowing: narrowing(channels, 10, rounding),
    }
    .into()
}

fn multiplier(channels: Option<usize>, rounding: Rounding) -> Requantization {
    form::TfLite {
        sc: per(channels, |c| 1_500_000_001 + 2 * c as i32),
        zp: 3,
        narrowing: narrowing(channels, 41, rounding),
    }
    .into()
}

fn narrowing(channels: Option<usize>, shift: u8, rounding: Rounding) -> Narrowing {
    Narrowing {
        shift: per(channels, |c| shift + (c % 2) as u8),
        rounding,
        out: IntType::I8,
    }
}

fn per<T>(channels: Option<usize>, value: impl Fn(usize) -> T) -> Per<T> {
    match channels {
        None => Per::Tensor(value(0)),
        Some(channels) => (0..channels).map(value).collect(),
    }
}

/// A layout takes a number of elements, and returns the number of channels and the extents of an array with that many
/// elements.
type Layout = fn(usize) -> (Option<usize>, [usize; 3]);

const LAYOUTS: [Layout; 3] = [
    |n| (None, [1, 1, n]),
    |n| (Some(n / ROW), [1, n / ROW, ROW]),
    |n| (Some(COLUMNS), [n / COLUMNS, COLUMNS, 1]),
];

/// The speeds of one form. For each layout, there is one speed for each of the two caches.
fn speeds(cx: &Context, form: Option<Form>) -> [[f64; 2]; 3] {
    LAYOUTS.map(|layout| {
        ELEMENTS.map(|count| {
            let (channels, extents) = layout(count);
            let loops = form.map_or_else(accumulators, |form| {
                standard(&form(channels), Some([-100, 127])).unwrap()
            });
            // The accumulators are allocated as i32, so that their addresses are aligned as they are in a run.
            let words = words(count);
            let input: Vec<u8> = words.iter().flat_map(|x| x.to_ne_bytes()).collect();
            let mut out = vec![0; count * usize::from(loops.out().bits()) / 8];
            speed(count, || {
                loops
                    .requantize(cx, extents, IntType::I32, black_box(&input), black_box(&mut out))
                    .unwrap();
            })
        })
    })
}

/// Measures a kernel whose input is not i32 accumulators. Returns its speeds as cells of the printed table.
fn other_cells(cx: &Context, prepare: Prepare) -> Vec<String> {
    let cell = |layout: &Layout| {
        let speeds = ELEMENTS.map(|count| {
            let (channels, extents) = layout(count);
            prepare(*cx, channels, extents).map(|run| speed(count, run))
        });
        match speeds {
            [Some(near), Some(far)] => format!("{near:>7.2} {far:>7.2}"),
            _ => format!("{:>15}", "–"),
        }
    };
    LAYOUTS.iter().map(cell).collect()
}

/// The speed of `run`, in 10⁹ elements a second.
fn speed(count: usize, mut run: impl FnMut()) -> f64 {
    // One measurement takes about 20 µs. A hundred are made, and their median is returned.
    let repeats = (1 << 18) / count;
    let mut seconds: Vec<f64> = (0..100)
        .map(|_| {
            let start = Instant::now();
            (0..repeats).for_each(|_| run());
            start.elapsed().as_secs_f64() / repeats as f64
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    count as f64 / seconds[seconds.len() / 2] / 1e9
}
