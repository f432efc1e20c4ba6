//! Makes random arithmetics, and layers that are recorded from them.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "not every test draws everything"
)]

pub mod arrays;

use strait_identify::{ChannelAxis, Family, Hypothesis, RecordedLayer};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, Roundings, form};

/// A pseudo-random generator. It gives the same numbers in every run.
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

/// Records a layer with this many outputs of a form. Its accumulators reach a little beyond both ends of the output
/// type.
pub fn record(form: &Requantization, outputs: usize, numbers: &mut Numbers) -> RecordedLayer {
    layer(form, &recorded(form, outputs, numbers))
}

/// Records a layer as [`record`] does, but returns pairs of accumulator and output. The pairs are stored row by row
/// with one column per channel.
pub fn recorded(form: &Requantization, outputs: usize, numbers: &mut Numbers) -> Vec<(i64, i32)> {
    let channels = form.channels().unwrap_or(1);
    let ranges: Vec<(i64, i64)> = (0..channels)
        .map(|channel| {
            let scalars = form.channel(channel).unwrap();
            let (first, last) = scalars.domain().into_inner();
            let [low, high] = form.range().map(i64::from);
            let (from, to) = (scalars.least_reaching(low + 1), scalars.least_reaching(high));
            let rest = (to - from) / 16 + 1;
            ((from - rest).max(first), (to + rest).min(last))
        })
        .collect();
    let rows = (0..outputs / channels).flat_map(|_| ranges.iter().enumerate());
    rows.map(|(channel, &(from, to))| {
        let x = numbers.between(from, to);
        (x, form.eval(channel, x).unwrap())
    })
    .collect()
}

/// A layer made from pairs, which are stored row by row with one column per channel of the form.
pub fn layer(form: &Requantization, pairs: &[(i64, i32)]) -> RecordedLayer {
    let channels = form.channels().unwrap_or(1);
    let shape = [pairs.len() / channels, channels];
    RecordedLayer::new("layer", form.out(), &shape, ChannelAxis::Second, pairs.to_vec())
}

/// A random factor between 2^-13 and 2^-5, as a shift and a multiplier of exactly this many bits.
pub fn factor(bits: u8, numbers: &mut Numbers) -> (i32, u8) {
    let multiplier = numbers.between(1 << (bits - 1), (1i64 << bits) - 1);
    (multiplier as i32, bits + numbers.between(5, 12) as u8)
}

/// Random parameters, either one for the whole tensor or one for each of eight channels.
pub fn per<T>(numbers: &mut Numbers, mut draw: impl FnMut(&mut Numbers) -> T) -> Per<T> {
    if numbers.between(0, 1) == 0 {
        Per::Tensor(draw(numbers))
    } else {
        (0..8).map(|_| draw(numbers)).collect()
    }
}

/// The arithmetic round(x · m / 2^s) + z with random m, s and z.
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

/// gemmlowp's arithmetic, which rounds twice, with random parameters.
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

/// Draws a random arithmetic of a random family. Also returns the hypothesis that describes it.
pub fn draw(numbers: &mut Numbers) -> (Requantization, Hypothesis) {
    let families = [
        Family::Shift,
        Family::After,
        Family::Twice,
        Family::Before,
        Family::Float,
        Family::FloatInside,
        Family::Double,
    ];
    let family = numbers.of(&families);
    drawn_of(family, numbers)
}

/// Draws a random arithmetic of this family. Also returns the hypothesis that describes it.
pub fn drawn_of(family: Family, numbers: &mut Numbers) -> (Requantization, Hypothesis) {
    let rounding = numbers.of(&Rounding::ALL);
    let of = |family, rounding, bits| Hypothesis { family, rounding, bits };
    let scale = |numbers: &mut Numbers, spare: u32| {
        let scale = (numbers.between(1 << 23, (1 << 24) - 1) as f32) * 2f32.powi(-numbers.between(29, 36) as i32);
        f32::from_bits(scale.to_bits() >> spare << spare)
    };
    let out = numbers.of(&[IntType::I8, IntType::U8]);
    let zp = (out.min() + out.max() + 1) / 2 + numbers.between(-60, 60) as i32;
    match family {
        Family::Shift => {
            let shift = per(numbers, |numbers| numbers.between(3, 14) as u8);
            let narrowing = Narrowing { shift, rounding, out };
            (form::ArithFolded { narrowing }.into(), of(Family::Shift, rounding, 0))
        }
        Family::After => {
            let bits = numbers.of(&[1, 7, 8, 15, 16, 24, 31]);
            (once(bits, rounding, numbers), of(Family::After, rounding, bits))
        }
        Family::Twice => (twice(numbers), of(Family::Twice, Rounding::HalfAway, 31)),
        Family::Before => {
            let bits = numbers.of(&[7, 8, 15, 16, 24, 30]);
            let parts = per(numbers, |numbers| factor(bits, numbers));
            let form = form::FractionalZero {
                sc: parts.map(|parts| parts.0),
                zp: parts.map(|parts| numbers.between(-60 << parts.1, 60 << parts.1)),
                narrowing: Narrowing {
                    shift: parts.map(|parts| parts.1),
                    rounding,
                    out: IntType::I8,
                },
            };
            // Rounding down, up or half down differs from rounding half up only by a constant, and this form adds a
            // constant of any size.
            let rounding = match rounding {
                Rounding::Floor | Rounding::Ceil | Rounding::HalfDown => Rounding::HalfUp,
                other => other,
            };
            (form.into(), of(Family::Before, rounding, bits))
        }
        Family::Float => {
            let bits = numbers.of(&[11, 24]);
            let scale = per(numbers, |numbers| scale(numbers, 24 - u32::from(bits)));
            (
                form::Float { scale, zp, out }.into(),
                of(Family::Float, Rounding::HalfEven, bits),
            )
        }
        Family::FloatInside => {
            let scale = per(numbers, |numbers| scale(numbers, 0));
            let form = form::FloatZeroInside { scale, zp, out };
            (form.into(), of(Family::FloatInside, Rounding::HalfEven, 24))
        }
        Family::Double => {
            let parts = per(numbers, |numbers| {
                (numbers.between(1 << 52, (1 << 53) - 1), -numbers.between(5, 12) as i8)
            });
            let form = form::Float64 {
                multiplier: parts.map(|parts| parts.0),
                exponent: parts.map(|parts| parts.1),
                zp,
                out,
            };
            (form.into(), of(Family::Double, Rounding::HalfAway, 53))
        }
    }
}
