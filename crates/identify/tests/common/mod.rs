//! Layers of arithmetics that are drawn, and numbers to draw them with.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "not every test draws everything"
)]

use strait_identify::Layer;
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, Roundings, form};

/// A generator of numbers: the same ones in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let count = (high - low) as u64 + 1;
        low + ((self.0 >> 8) % count) as i64
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.between(0, all.len() as i64 - 1) as usize]
    }
}

/// So many outputs of a form, of accumulators that lead a little past both ends of its type.
pub fn record(form: &Requantization, outputs: usize, numbers: &mut Numbers) -> Layer {
    let channels = form.channels().unwrap_or(1);
    let pairs = (0..channels).map(|channel| {
        let scalars = form.channel(channel).unwrap();
        let (first, last) = scalars.domain().into_inner();
        let [low, high] = form.range().map(i64::from);
        let (from, to) = (scalars.least_reaching(low + 1), scalars.least_reaching(high));
        let rest = (to - from) / 16 + 1;
        let (from, to) = ((from - rest).max(first), (to + rest).min(last));
        let mut pairs: Vec<(i64, i32)> = (0..outputs / channels)
            .map(|_| {
                let x = numbers.between(from, to);
                (x, form.eval(channel, x).unwrap())
            })
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    });
    Layer {
        name: "layer".into(),
        out: form.out(),
        outputs,
        zero_point: None,
        scales: None,
        channels: pairs.collect(),
    }
}

/// A factor of so many bits between 2^-13 and 2^-5, as a multiplier with its highest bit and a shift.
pub fn factor(bits: u8, numbers: &mut Numbers) -> (i32, u8) {
    let multiplier = numbers.between(1 << (bits - 1), (1i64 << bits) - 1);
    (multiplier as i32, bits + numbers.between(5, 12) as u8)
}

/// Parameters for one channel or for eight.
pub fn per<T>(numbers: &mut Numbers, mut draw: impl FnMut(&mut Numbers) -> T) -> Per<T> {
    if numbers.between(0, 1) == 0 {
        Per::Tensor(draw(numbers))
    } else {
        (0..8).map(|_| draw(numbers)).collect()
    }
}

/// round(x · m / 2^s) + z
pub fn once(bits: u8, rounding: Rounding, numbers: &mut Numbers) -> Requantization {
    let parts = per(numbers, |numbers| factor(bits, numbers));
    form::TfLite {
        sc: parts.map(|parts| parts.0),
        zp: numbers.between(-60, 60) as i32,
        narrowing: Narrowing {
            shift: parts.map(|parts| parts.1),
            rounding,
            out: IntType::I8,
        },
    }
    .into()
}

/// gemmlowp's two roundings.
pub fn twice(numbers: &mut Numbers) -> Requantization {
    let parts = per(numbers, |numbers| factor(31, numbers));
    form::Gemmlowp {
        multiplier: parts.map(|parts| parts.0),
        exponent: parts.map(|parts| 31 - parts.1 as i8),
        zp: numbers.between(-60, 60) as i32,
        roundings: Roundings::Two,
        out: IntType::I8,
    }
    .into()
}
