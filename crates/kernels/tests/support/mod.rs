//! Helpers for the tests of the kernels: numbers, convolutions, forms, and the results of forms by their definitions.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod convolutions;
pub(crate) mod wide;

use strait_kernels::{
    KernelError,
    integer::{Loops, ThroughTile, Tile, TileKernel, standard},
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

/// A small generator of pseudorandom numbers, which are the same in every run.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(0x1234_5678_9ABC_DEF1),
        )
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 20) as usize % end
    }

    pub(crate) fn between(&mut self, low: i32, high: i32) -> i32 {
        low.wrapping_add(self.below((i64::from(high) - i64::from(low) + 1) as usize) as i32)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 30) as u8).collect()
    }

    /// Floats of both signs and of several magnitudes.
    pub(crate) fn floats(&mut self, count: usize) -> Vec<f32> {
        let mut unit = || (self.next() >> 40) as f32 / 8_388_608.0 - 1.0;
        (0..count).map(|_| unit() * (1.0 + 3.0 * unit())).collect()
    }

    pub(crate) fn weights(&mut self, count: usize) -> Vec<i8> {
        (0..count).map(|_| (self.next() >> 30) as i8).collect()
    }
}

/// The code of an 8-bit element.
pub(crate) fn code(element: IntType, byte: u8) -> i64 {
    if element == IntType::I8 {
        i64::from(byte as i8)
    } else {
        i64::from(byte)
    }
}

/// Forms of every kind, with one set of parameters (`channels` is 0) or parameters per channel. They map accumulators
/// with magnitudes of about `size` to the whole range of the output type.
pub(crate) fn forms(channels: usize, size: i64, numbers: &mut Numbers) -> Vec<Requantization> {
    fn per<T>(channels: usize, mut value: impl FnMut() -> T) -> Per<T> {
        if channels == 0 {
            Per::Tensor(value())
        } else {
            (0..channels).map(|_| value()).collect()
        }
    }
    let shift_to_8_bits = (size / 256).max(2).ilog2() as i32;
    let mut forms = vec![];
    for (i, rounding) in Rounding::ALL.into_iter().enumerate() {
        let out = IntType::ALL[i % IntType::ALL.len()];
        let mut narrowing = |more: i32| Narrowing {
            shift: per(channels, || {
                (shift_to_8_bits + more + numbers.between(-1, 2)).max(0) as u8
            }),
            rounding,
            out,
        };
        let (plain, wide, multiplied) = (narrowing(0), narrowing(31), narrowing(8));
        forms.push(Requantization::ArithFolded(form::ArithFolded { narrowing: plain }));
        forms.push(Requantization::TfLite(form::TfLite {
            sc: per(channels, || numbers.between(1 << 30, i32::MAX)),
            zp: numbers.between(-100, 100),
            narrowing: wide,
        }));
        forms.push(Requantization::FractionalZero(form::FractionalZero {
            sc: per(channels, || numbers.between(1, 500)),
            zp: per(channels, || i64::from(numbers.between(-100_000, 100_000))),
            narrowing: multiplied.clone(),
        }));
        forms.push(Requantization::Fixed(form::Fixed {
            sc: per(channels, || numbers.between(1, 500)),
            add: per(channels, || i64::from(numbers.between(-1000, 1000))),
            zp: numbers.between(-20, 20),
            narrowing: multiplied,
        }));
        forms.push(Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: per(channels, || numbers.between(1 << 30, i32::MAX)),
            exponent: per(channels, || {
                (numbers.between(-3, 1) - shift_to_8_bits).clamp(-31, 0) as i8
            }),
            zp: numbers.between(-100, 100),
            roundings: form::Roundings::Two,
            out,
        }));
        forms.push(Requantization::Float(form::Float {
            scale: per(channels, || {
                200.0 / size as f32 * (1.0 + numbers.between(0, 1000) as f32 / 999.0)
            }),
            zp: numbers.between(-100, 100),
            out,
        }));
        let mut list = || {
            let mut list: Vec<i32> = (0..200).map(|_| numbers.between(-size as i32, size as i32)).collect();
            list.sort_unstable();
            list.into()
        };
        forms.push(Requantization::Steps(form::Steps {
            thresholds: (0..channels.max(1)).map(|_| list()).collect(),
            lowest: -100,
            out: IntType::I8,
        }));
    }
    for (i, out) in IntType::ALL.into_iter().enumerate() {
        let multiplier = |numbers: &mut Numbers| per(channels, || numbers.between(1 << 30, i32::MAX));
        let scale = |numbers: &mut Numbers| {
            per(channels, || {
                200.0 / size as f32 * (1.0 + numbers.between(0, 1000) as f32 / 999.0)
            })
        };
        forms.push(Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: multiplier(numbers),
            exponent: per(channels, || {
                (numbers.between(-3, 3) - shift_to_8_bits).clamp(-31, 3) as i8
            }),
            zp: numbers.between(-100, 100),
            roundings: [form::Roundings::One, form::Roundings::Two][i % 2],
            out,
        }));
        forms.push(Requantization::SixteenByEight(form::SixteenByEight {
            multiplier: multiplier(numbers),
            exponent: per(channels, || {
                (numbers.between(-3, 3) - shift_to_8_bits).clamp(-31, 3) as i8
            }),
            zp: numbers.between(-100, 100),
            out,
        }));
        forms.push(Requantization::Float64(form::Float64 {
            multiplier: per(channels, || {
                (1 << 52) + i64::from(numbers.between(0, i32::MAX)) * 1_048_577
            }),
            exponent: per(channels, || (numbers.between(-1, 3) - shift_to_8_bits) as i8),
            zp: numbers.between(-100, 100),
            out,
        }));
        if matches!(out, IntType::I8 | IntType::I16 | IntType::I32) {
            forms.push(Requantization::TosaRescale(form::TosaRescale {
                multiplier: multiplier(numbers),
                shift: per(channels, || {
                    (30 + shift_to_8_bits + numbers.between(-1, 3)).clamp(30, 62) as u8
                }),
                scale32: true,
                roundings: [form::Roundings::Two, form::Roundings::One][i % 2],
                input: form::TosaInput::I32,
                input_zp: 0,
                output_zp: if out == IntType::I8 { 7 } else { 0 },
                out,
            }));
        }
        forms.push(Requantization::FloatZeroInside(form::FloatZeroInside {
            scale: scale(numbers),
            zp: numbers.between(-100, 100),
            out,
        }));
        forms.push(Requantization::AscendRequant(form::AscendRequant {
            scale: scale(numbers),
            offset: numbers.between(-100, 100),
            relu: i % 2 == 0,
            out,
        }));
        forms.push(Requantization::DequantQuant(form::DequantQuant {
            deq: scale(numbers),
            relu: i % 2 == 1,
            scale: 0.7,
            offset: numbers.between(-100, 100),
            out,
        }));
    }
    forms.push(Requantization::AscendDequantS16(form::AscendDequantS16 {
        shift: per(channels, || numbers.between(1, 16) as u8),
        relu: channels == 0,
    }));
    forms
}

/// Accumulators as bytes.
pub(crate) fn bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Accumulators at which an error of rounding, saturation or thresholds would show: the extremes of the type, numbers
/// around zero, and numbers around ties.
pub(crate) fn boundaries(form: &Requantization, channels: usize) -> Vec<i32> {
    let mut values = vec![i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX - 1, i32::MAX];
    values.extend(
        (0..31)
            .flat_map(|s| [-1, 1].map(|sign| sign * (1 << s)))
            .flat_map(|v| [v - 1, v, v + 1]),
    );
    for channel in 0..channels {
        let domain = form.domain(channel);
        for value in [form.out().min(), -100, -1, 0, 1, 100, form.out().max()] {
            let step = form.channel(channel).unwrap().least_reaching(i64::from(value));
            values.extend(
                [step - 1, step, step + 1]
                    .into_iter()
                    .filter(|x| domain.contains(x))
                    .filter_map(|x| i32::try_from(x).ok()),
            );
        }
    }
    values.retain(|&x| (0..channels).all(|c| form.domain(c).contains(&i64::from(x))));
    values
}

/// Computes `clamp(requantize(accumulators))` by the definition of the form, as bytes. `channel` returns the channel of
/// an element.
pub(crate) fn finish(
    form: &Requantization,
    clamp: Option<[i32; 2]>,
    accumulators: &[i64],
    channel: impl Fn(usize) -> usize,
) -> Vec<u8> {
    let mut bytes = vec![];
    for (i, &x) in accumulators.iter().enumerate() {
        let value = form.eval(channel(i), x).unwrap();
        let value = clamp.map_or(value, |[low, high]| value.clamp(low, high));
        bytes.extend_from_slice(&value.to_le_bytes()[..usize::from(form.out().bits().div_ceil(8))]);
    }
    bytes
}

/// A batch kernel that computes by the definition of the form.
pub(crate) struct ByDefinition;

impl TileKernel for ByDefinition {
    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        assert_eq!(accumulators.len(), tile.rows * tile.columns);
        assert!(
            accumulators.len() * 4 <= 32 << 10,
            "a tile of {accumulators} elements is no longer in the first-level cache",
            accumulators = accumulators.len()
        );
        let wide: Vec<i64> = accumulators.iter().map(|&a| i64::from(a)).collect();
        out.copy_from_slice(&finish(form, None, &wide, |i| tile.channel(i)));
        Ok(())
    }
}

/// The host's loops, and loops that pass each tile to [`ByDefinition`].
pub(crate) fn loops(form: &Requantization, clamp: Option<[i32; 2]>) -> [Box<dyn Loops>; 2] {
    [
        standard(form, clamp).unwrap(),
        Box::new(ThroughTile::new(ByDefinition, form.clone(), clamp).unwrap()),
    ]
}
