//! Measures how long the decision procedures take on one thread. First it computes the thresholds of one channel, and
//! then everything that is decided for the 18,056 output channels of MobileNetV2, with 8-bit and with 16-bit
//! activations.
//!
//! `cargo bench -p strait-requantize` prints one line for each measurement. It fails if a measurement takes too long,
//! or if a question cannot be decided.

#[path = "shared/model.rs"]
mod model;

use model::{Numbers, mobilenet_v2};
use std::{error::Error, hint::black_box, process::ExitCode, time::Instant};
use strait_requantize::{
    IntType, Narrowing, Per, Requantization, Rounding, Step, Thresholds,
    decide::{Grids, Ideal, Limits, best, deviation, gain, verdicts},
    form::{Fixed, Float, SixteenByEight, TfLite},
    range::{Accumulator, Input, Order, Products, prove},
    scales::litert,
};

/// The microseconds that one call takes, in the fastest of several rounds.
fn microseconds(calls: u32, mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    { (0..5).map(round) }.fold(f64::INFINITY, f64::min)
}

/// Prints a measurement with its limit. Returns true if the measurement is within the limit.
fn report(name: &str, found: f64, mark: f64) -> bool {
    let met = found <= mark;
    let word = if met { "met" } else { "MISSED" };
    println!("{name:<58} {found:>12.2} us   mark {mark:>10.0} us   {word}");
    met
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // All three measurements run, even if the first one takes too long.
    let met = [
        thresholds()?,
        whole("int8", PHASES, (5, round), 200_000.0)?,
        whole("int16", WIDE_PHASES, (3, wide_round), 1_000_000.0)?,
    ];
    Ok(if met.iter().all(|met| *met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Measures the thresholds of one channel.
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

/// What is decided for each channel of a model.
const PHASES: [&str; 4] = [
    "  ranges, and the proof in any order",
    "  verdicts, the same form",
    "  verdicts, two roundings against one",
    "  best integers",
];

/// Measures the microseconds of each phase. A layer is a pair: its number of channels and of weights per channel.
type Round<const N: usize> = fn(&[(usize, usize)]) -> Result<[f64; N], Box<dyn Error>>;

/// Measures all of MobileNetV2 in several rounds, of which the fastest counts. `mark` limits the time of all phases
/// together.
fn whole<const N: usize>(
    activations: &str,
    phases: [&str; N],
    (rounds, round): (usize, Round<N>),
    mark: f64,
) -> Result<bool, Box<dyn Error>> {
    let layers = mobilenet_v2();
    let channels: usize = layers.iter().map(|layer| layer.0).sum();
    let rounds = (0..rounds).map(|_| round(&layers)).collect::<Result<Vec<_>, _>>()?;
    let total = |phases: &[f64; N]| phases.iter().sum::<f64>();
    let best = rounds.into_iter().min_by(|a, b| total(a).total_cmp(&total(b)));
    let found = best.unwrap_or([0.0; N]);
    println!("MobileNetV2 on {activations}, {channels} output channels:");
    for (name, found) in phases.iter().zip(found) {
        println!("{name:<58} {found:>12.2} us");
    }
    Ok(report("  together", total(&found), mark))
}

/// Finds the interval of each channel's sums and proves that no sum overflows. The codes of activations are in the
/// interval `codes`, and accumulators have `bits` bits.
fn proved(weights: &[i32], biases: &[i64], codes: (i64, i64), bits: u8) -> Result<Vec<(i64, i64)>, Box<dyn Error>> {
    let accumulator = Accumulator {
        bits,
        order: Order::Any,
    };
    let input = Input {
        codes,
        zero_point: 0,
        any_pattern: false,
        padding: None,
    };
    let sums = weights.chunks(weights.len() / biases.len()).zip(biases).enumerate();
    let range = |(channel, (weights, &bias))| {
        let sum = Products { weights, bias, input };
        Ok(prove(channel, &sum, accumulator)?.interval())
    };
    sums.map(range).collect()
}

/// Measures the microseconds that each phase takes for all layers. The first phase finds the ranges of the sums and
/// proves them. For each channel, the second phase compares the channel's form with itself, the third compares it with
/// another form, and the fourth finds the best integers of 31 bits.
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

        let start = Instant::now();
        let intervals = proved(&weights, &biases, (-128, 127), 32)?;
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

/// What is decided for each channel of a model with 16-bit activations and 8-bit weights.
const WIDE_PHASES: [&str; 5] = [
    "  ranges, and the proof in 64 bits",
    "  certificates, the same form",
    "  certificates, the same parameters in another form",
    "  certificates, another slope",
    "  distance of the runtime's integers, and the best integers",
];

/// The microseconds that each phase takes for all layers.
fn wide_round(layers: &[(usize, usize)]) -> Result<[f64; 5], Box<dyn Error>> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut time = [0.0f64; 5];
    for &(count, each) in layers {
        let weights: Vec<i32> = (0..count * each).map(|_| (numbers.next() % 255) as i32 - 127).collect();
        // A quarter of the largest magnitude that the sum of the products can have.
        let reach = (each as i64) << 19;
        let bias = |_| (numbers.next() % (2 * reach.unsigned_abs())) as i64 - reach;
        let biases: Vec<i64> = (0..count).map(bias).collect();
        let mut phase = 0;
        let mut timed = |start: Instant| {
            time[phase] += start.elapsed().as_secs_f64() * 1e6;
            phase += 1;
        };
        let start = Instant::now();
        let intervals = proved(&weights, &biases, (-32_768, 32_767), 64)?;
        timed(start);

        // With these factors, the results for each interval are spread over all codes, so that there are as many
        // thresholds as possible.
        let exponent = |(low, high): &(i64, i64)| 15 - high.abs_diff(*low).ilog2() as i8;
        let multiplier: Per<i32> = (0..count)
            .map(|_| (numbers.next() % (1 << 30)) as i32 + (1 << 30))
            .collect();
        let own = SixteenByEight {
            exponent: intervals.iter().map(exponent).collect(),
            multiplier: multiplier.clone(),
            zp: 0,
            out: IntType::I16,
        };
        let fixed = |more: i32| Fixed {
            sc: multiplier.map(|m| SixteenByEight::reduced(*m) + more),
            add: 0.into(),
            zp: 0,
            narrowing: Narrowing {
                shift: own.exponent.map(|e| (15 - e).unsigned_abs()),
                rounding: Rounding::HalfUp,
                out: IntType::I16,
            },
        };
        let clamped = |form: Requantization| Step {
            form,
            clamp: Some([0, 32_767]),
        };
        let before = [clamped(own.clone().into())];
        let intervals: Per<(i64, i64)> = intervals.into_iter().collect();
        for after in [before[0].form.clone(), fixed(0).into()] {
            let after = clamped(after);
            let start = Instant::now();
            let found = black_box(verdicts(&before, &after, &intervals))?;
            timed(start);
            assert_eq!(found.values().len(), count);
        }
        let other = [clamped(fixed(1).into())];
        let start = Instant::now();
        for (channel, &interval) in intervals.values().iter().enumerate() {
            black_box(deviation(&before, &other, channel, interval))?;
        }
        timed(start);

        let limits = Limits {
            bits: 15,
            normalized: true,
            shift: 0..=62,
        };
        let grids = Grids {
            input_zero: 0,
            output_zero: 0,
            zero_inside: false,
            out: IntType::I16,
        };
        let runtime = Step::from(Requantization::from(own.clone()));
        let start = Instant::now();
        for (channel, &interval) in intervals.values().iter().enumerate() {
            let (&m, &exponent) = (own.multiplier.get(channel).zip(own.exponent.get(channel))).ok_or("a channel")?;
            let ideal = Ideal::new(
                f64::from(m) * 2f64.powi(i32::from(exponent) - 31),
                Rounding::HalfUp,
                grids,
            )?;
            black_box(gain(&runtime, channel, &ideal, Some(&limits), interval)?);
        }
        timed(start);
    }
    Ok(time)
}
