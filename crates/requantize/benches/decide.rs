//! The cost of the decision procedures on one thread: thresholds of one channel, and everything for the 18,056 output
//! channels of MobileNetV2.
//!
//! `cargo bench -p strait-requantize` prints one line per measurement, and ends with an error where a mark was missed
//! or something could not be decided at all.

use std::{error::Error, hint::black_box, process::ExitCode, time::Instant};
use strait_requantize::{
    IntType, Narrowing, Per, Requantization, Rounding, Step, Thresholds,
    decide::{Grids, Ideal, Limits, best, verdicts},
    form::{Float, TfLite},
    range::{Accumulator, Input, Order, Products, prove},
    scales::litert,
};

/// Output channels and weights per channel of every convolution and of the fully connected layer.
fn mobilenet_v2() -> Vec<(usize, usize)> {
    let mut layers = vec![(32, 27)];
    let mut input = 32;
    for (expansion, channels, repeats) in [
        (1, 16, 1),
        (6, 24, 2),
        (6, 32, 3),
        (6, 64, 4),
        (6, 96, 3),
        (6, 160, 3),
        (6, 320, 1),
    ] {
        for _ in 0..repeats {
            let hidden = input * expansion;
            if expansion > 1 {
                layers.push((hidden, input));
            }
            layers.extend([(hidden, 9), (channels, hidden)]);
            input = channels;
        }
    }
    layers.extend([(1280, 320), (1000, 1280)]);
    layers
}

/// A generator of numbers that look random: xorshift.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// In [low, high).
    fn real(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// Microseconds that one call takes: the best of some rounds.
fn microseconds(calls: u32, mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    { (0..5).map(round) }.fold(f64::INFINITY, f64::min)
}

/// Prints a measurement with its mark, and answers whether it was met.
fn report(name: &str, found: f64, mark: f64) -> bool {
    let met = found <= mark;
    let word = if met { "met" } else { "MISSED" };
    println!("{name:<58} {found:>12.2} us   mark {mark:>10.0} us   {word}");
    met
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // Both are measured, whatever the first comes to.
    let met = [thresholds()?, model()?];
    Ok(if met.iter().all(|met| *met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The thresholds of one channel.
fn thresholds() -> Result<bool, Box<dyn Error>> {
    let once = |bits: u8, out| {
        let narrowing = Narrowing {
            shift: bits.into(),
            rounding: Rounding::HalfEven,
            out,
        };
        Requantization::from(TfLite {
            sc: 1_320_000_000.into(),
            zp: -5,
            narrowing,
        })
    };
    let float = |scale: f32, out| {
        Requantization::from(Float {
            scale: scale.into(),
            zp: -5,
            out,
        })
    };
    let twice = litert::convolution(0.02, &Per::Tensor(0.003), 0.1, -5, IntType::I8)?;
    let (narrow, wide) = ((-1 << 20, 1 << 20), (-1 << 23, 1 << 23));
    let mut met = true;
    for (name, form, interval, mark) in [
        ("thresholds into 8 bits, two roundings", twice, narrow, 8.0),
        (
            "thresholds into 8 bits, one rounding",
            once(41, IntType::I8),
            narrow,
            8.0,
        ),
        ("thresholds into 8 bits, float", float(0.0006, IntType::I8), narrow, 8.0),
        (
            "thresholds into 16 bits, one rounding",
            once(38, IntType::I16),
            wide,
            1000.0,
        ),
        (
            "thresholds into 16 bits, float",
            float(0.0048, IntType::I16),
            wide,
            1000.0,
        ),
    ] {
        let steps = [Step::from(form)];
        let found = Thresholds::of(&steps, 0, interval)?.steps().len();
        let all = usize::from(u16::MAX >> (16 - steps[0].out().bits()));
        assert_eq!(found, all, "{name}: not all codes are reached");
        let time = microseconds(20, || drop(black_box(Thresholds::of(&steps, 0, interval))));
        met &= report(name, time, mark);
    }
    Ok(met)
}

/// Everything that is decided for each channel of a model.
const PHASES: [&str; 4] = [
    "  ranges, and the proof in any order",
    "  verdicts, the same form",
    "  verdicts, two roundings against one",
    "  best integers",
];

/// All of MobileNetV2, in the best of some rounds. The mark is for all phases together.
fn model() -> Result<bool, Box<dyn Error>> {
    let layers = mobilenet_v2();
    let channels: usize = layers.iter().map(|layer| layer.0).sum();
    let rounds = (0..5).map(|_| round(&layers)).collect::<Result<Vec<_>, _>>()?;
    let total = |phases: &[f64; 4]| phases.iter().sum::<f64>();
    let best = rounds.into_iter().min_by(|a, b| total(a).total_cmp(&total(b)));
    let phases = best.unwrap_or_default();
    println!("MobileNetV2, {channels} output channels:");
    for (name, found) in PHASES.iter().zip(phases) {
        println!("{name:<58} {found:>12.2} us");
    }
    Ok(report("  together", total(&phases), 200_000.0))
}

/// Microseconds of each phase for all layers: the sums' ranges and the proof of each, then a verdict per channel
/// against the same form, against another one, and the best integers of 31 bits.
fn round(layers: &[(usize, usize)]) -> Result<[f64; 4], Box<dyn Error>> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut time = [0.0f64; 4];
    for &(count, each) in layers {
        let weights: Vec<i32> = (0..count * each).map(|_| (numbers.next() % 255) as i32 - 127).collect();
        let biases: Vec<i64> = (0..count).map(|_| (numbers.next() % 20_000) as i64 - 10_000).collect();
        let (x, y) = (numbers.real(0.01, 0.05), numbers.real(0.01, 0.05));
        let scales: Per<f32> = (0..count).map(|_| numbers.real(0.001, 0.02)).collect();
        let mut phase = 0;
        let mut timed = |start: Instant| {
            time[phase] += start.elapsed().as_secs_f64() * 1e6;
            phase += 1;
        };

        let accumulator = Accumulator {
            bits: 32,
            order: Order::Any,
        };
        let input = Input {
            codes: (-128, 127),
            zero_point: 0,
            any_pattern: false,
            padding: None,
        };
        let start = Instant::now();
        let sums = weights.chunks(each).zip(&biases).enumerate();
        let range = |(channel, (weights, &bias))| {
            let sum = Products { weights, bias, input };
            prove(channel, &sum, accumulator).map(|range| range.interval())
        };
        let intervals: Vec<(i64, i64)> = sums.map(range).collect::<Result<_, _>>()?;
        timed(start);

        let intervals: Per<(i64, i64)> = intervals.into_iter().collect();
        let step = |form| Step {
            form,
            clamp: Some([-128, 100]),
        };
        let own = step(litert::convolution(x, &scales, y, -128, IntType::I8)?);
        let other = step(litert::fully_connected(x, &scales, y, -128, IntType::I8)?);
        for after in [&own, &other] {
            let start = Instant::now();
            let found = black_box(verdicts(std::slice::from_ref(&own), after, &intervals))?;
            timed(start);
            assert_eq!(found.values().len(), count);
        }

        let limits = Limits {
            bits: 31,
            normalized: true,
            shift: 0..=62,
        };
        let grids = Grids {
            input_zero: 0,
            output_zero: -128,
            zero_inside: false,
            out: IntType::I8,
        };
        let start = Instant::now();
        for (w, interval) in scales.values().iter().zip(intervals.values()) {
            let factor = f64::from(x) * f64::from(*w) / f64::from(y);
            let ideal = Ideal::new(factor, Rounding::HalfUp, grids)?;
            black_box(best(&ideal, &limits, *interval)?);
        }
        timed(start);
    }
    Ok(time)
}
