//! Random numbers, types and forms from a seed.

use strait_core::Carrier;
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.range(0, from.len() as i64 - 1) as usize]
    }

    pub fn flip(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    /// An accumulator type that can hold sums of this many bits.
    pub fn carrier(&mut self, bits: i64) -> Carrier {
        match bits {
            ..=30 => self.pick(&[Carrier::I32, Carrier::I32, Carrier::I64]),
            _ => Carrier::I64,
        }
    }

    /// A type of codes.
    pub fn codes(&mut self) -> IntType {
        use IntType::{I4, I8, I16, U4, U8, U16};
        self.pick(&[I8, U8, I8, U8, I8, U8, I16, I16, U16, I4, U4])
    }

    pub fn real(&mut self) -> f32 {
        self.range(-1000, 1000) as f32 / 250.0
    }

    fn per<T>(&mut self, channels: Option<usize>, mut value: impl FnMut(&mut Random) -> T) -> Per<T> {
        match channels {
            Some(n) if self.flip() => (0..n).map(|_| value(self)).collect(),
            _ => Per::Tensor(value(self)),
        }
    }

    /// A form for accumulators of about `bits` bits.
    pub fn form(&mut self, bits: i64, channels: Option<usize>, out: IntType) -> Requantization {
        let shift = (bits - i64::from(out.bits().min(16)) + 1).max(1);
        let zp = if out == IntType::I32 {
            0
        } else {
            self.range(i64::from(out.min()), i64::from(out.max())) as i32 / 4
        };
        let rounding = self.pick(&[
            Rounding::Floor,
            Rounding::Ceil,
            Rounding::TowardZero,
            Rounding::HalfUp,
            Rounding::HalfDown,
            Rounding::HalfAway,
            Rounding::HalfTowardZero,
            Rounding::HalfEven,
        ]);
        let narrowing = |r: &mut Random, shift: i64| Narrowing {
            shift: r.per(channels, |r| (shift + r.range(-1, 1)) as u8),
            rounding,
            out,
        };
        let last = if out == IntType::I8 { 6 } else { 5 };
        // For accumulators of more than 32 bits, only forms that are defined on them.
        let which = match bits {
            ..=30 => self.range(0, last),
            _ => self.pick(&[0, 1, 5, 7, 8]),
        };
        match which {
            7 => Requantization::SixteenByEight(form::SixteenByEight {
                multiplier: self.per(channels, |r| r.range(1 << 30, i64::from(i32::MAX)) as i32),
                exponent: self.per(channels, |r| -(shift + r.range(-1, 1)) as i8),
                zp,
                out,
            }),
            8 => Requantization::Float64(form::Float64 {
                multiplier: self.per(channels, |r| (1 << 52) + r.range(0, (1 << 52) - 1)),
                exponent: self.per(channels, |r| -(shift + r.range(-1, 1)) as i8),
                zp,
                out,
            }),
            0 => Requantization::ArithFolded(form::ArithFolded {
                narrowing: narrowing(self, shift),
            }),
            1 => Requantization::FractionalZero(form::FractionalZero {
                sc: self.per(channels, |r| r.range(0, 255) as i32),
                zp: self.per(channels, |r| r.range(-5000, 5000)),
                narrowing: narrowing(self, shift + 7),
            }),
            2 => Requantization::TfLite(form::TfLite {
                sc: self.per(channels, |r| r.range(1 << 30, i64::from(i32::MAX)) as i32),
                zp,
                narrowing: narrowing(self, shift + 31),
            }),
            3 => Requantization::Gemmlowp(form::Gemmlowp {
                multiplier: self.per(channels, |r| r.range(1 << 30, i64::from(i32::MAX)) as i32),
                exponent: self.per(channels, |r| -(shift + r.range(-1, 1)) as i8),
                zp,
                roundings: form::Roundings::Two,
                out,
            }),
            4 => Requantization::Float(form::Float {
                scale: self.per(channels, |r| r.range(1, 1000) as f32 / 500.0 / (1u64 << shift) as f32),
                zp,
                out,
            }),
            5 => Requantization::Fixed(form::Fixed {
                sc: self.per(channels, |r| r.range(0, 32767) as i32),
                add: self.per(channels, |r| r.range(-100_000, 100_000)),
                zp,
                narrowing: narrowing(self, shift + 14),
            }),
            _ => {
                let lists = if self.flip() { channels.unwrap_or(1) } else { 1 };
                let spread = 1 << bits.min(30);
                let list = |r: &mut Random| {
                    let mut list: Vec<i32> = (0..200).map(|_| r.range(-spread, spread) as i32).collect();
                    list.sort_unstable();
                    list.into()
                };
                Requantization::Steps(form::Steps {
                    thresholds: (0..lists).map(|_| list(self)).collect(),
                    lowest: -100,
                    out,
                })
            }
        }
    }
}
