//! Makes the requantizations with which a form is tested. They lie within the limits of the form's row.

use crate::near_ties::{sharp_factors, sharp_shift};
use crate::numbers::Numbers;
use strait_requantize::{
    FormKind, IntType, Narrowing, Per, Requantization,
    form::{self, TosaInput},
};
use strait_target::spec::{ClampSet, FormRow, Integer, Per as Granularity, ShiftLimits};

/// A requantization and the clamp after it.
pub(crate) type Sample = (Requantization, Option<[i32; 2]>);

/// The numbers of channels that are tested. They are: one; a number that is not a multiple of a SIMD vector's length;
/// more than one vector holds; more than two vectors hold; more than a cache line has bytes; and more than a byte can
/// count.
const CHANNELS: [usize; 6] = [1, 5, 19, 33, 70, 300];
/// For up to this many channels, there is a requantization for each round and each clamp. For more channels, there is
/// only one requantization.
pub(crate) const FEW: usize = 19;
/// How many requantizations there are for each output type and number of channels. The first two requantizations have
/// the smallest and the largest parameters, the third has powers of two as factors, the fourth has factors for which
/// floating-point arithmetic gives wrong results, and the rest have random parameters.
const ROUNDS: usize = 8;
/// The round in which factors are powers of two.
const POWERS: usize = 2;
/// The round in which factors are chosen so that the exact results of some accumulators lie close to a half.
const SHARP: usize = 3;
/// The round that is used if there are more than [`FEW`] channels.
const ANY: usize = 4;

/// Makes the requantizations with which the row of a form is tested. As far as the row allows, they have each output
/// type, one set of parameters or several numbers of channels, and a clamp or no clamp.
pub(crate) fn samples(row: &FormRow, numbers: &mut Numbers) -> Vec<Sample> {
    let mut samples = Vec::new();
    let per_tensor = row.per.contains(&Granularity::Tensor).then_some(None);
    let per_channel = row.per.contains(&Granularity::Channel).then_some(CHANNELS.map(Some));
    for out in row.output.iter().map(|t: &Integer| IntType::from(*t)) {
        for channels in per_tensor.into_iter().chain(per_channel.into_iter().flatten()) {
            let few = channels.is_none_or(|channels| channels <= FEW);
            for round in if few { 0..ROUNDS } else { ANY..ANY + 1 } {
                let form = sample(row, out, channels, round, numbers);
                let clamps = match few {
                    true => clamps(row.clamp, out, form.zero_point().unwrap_or(0), numbers),
                    false => vec![None],
                };
                samples.extend(clamps.into_iter().map(|clamp| (form.clone(), clamp)));
            }
        }
    }
    samples
}

/// Chooses the parameters of one round. In round 0, every parameter is the smallest possible one, and in round 1 the
/// largest. In later rounds, parameters are random. But in round 2, factors are powers of two, so that some exact
/// results are ties. In round 3, factors are such that some exact results lie next to a half.
struct Pick<'a> {
    round: usize,
    numbers: &'a mut Numbers,
    /// The factors of round 3. The channels use them one after the other, and begin again after the last factor.
    sharp: Vec<i32>,
}

impl Pick<'_> {
    fn one(&mut self, low: i64, high: i64) -> i64 {
        match self.round {
            0 => low,
            1 => high,
            _ => self.numbers.between(low, high),
        }
    }

    fn per<T>(&mut self, channels: Option<usize>, mut value: impl FnMut(&mut Self) -> T) -> Per<T> {
        match channels {
            None => Per::Tensor(value(self)),
            Some(count) => (0..count).map(|_| value(self)).collect(),
        }
    }
}

fn sample(row: &FormRow, out: IntType, channels: Option<usize>, round: usize, numbers: &mut Numbers) -> Requantization {
    let bits = row.multiplier_bits();
    let ShiftLimits { min, max } = row.shift().unwrap_or(ShiftLimits { min: 0, max: 0 });
    let least = if row.is_normalized() { 1i64 << (bits - 1) } else { 1 };
    let most = (1i64 << bits) - 1;
    let sharp_shift = sharp_shift(out.bits()).clamp(min.max(0).cast_unsigned(), max.max(0).cast_unsigned());
    let sharp = match round {
        SHARP if row.shift().is_some() => sharp_factors(2, (least, most), sharp_shift, out.bits(), numbers),
        _ => Vec::new(),
    };
    let mut pick = Pick { round, numbers, sharp };
    let shift = |pick: &mut Pick<'_>| match pick.round {
        SHARP => sharp_shift.into(),
        // The shift is a few bits larger than the width of the factor, if the limits allow it.
        POWERS => (i64::from(bits) + pick.numbers.between(2, 10)).clamp(min.into(), max.into()),
        _ => pick.one(min.into(), max.into()),
    };
    let factor = |pick: &mut Pick<'_>| match pick.round {
        POWERS => 1 << (bits - 1),
        SHARP if !pick.sharp.is_empty() => {
            pick.sharp.rotate_left(1);
            pick.sharp[0]
        }
        SHARP => (pick.one(least, most) | 1) as i32,
        _ => pick.one(least, most) as i32,
    };
    let addend = |pick: &mut Pick<'_>| match pick.round {
        SHARP => 0,
        _ => pick.one(-(1 << 40), 1 << 40),
    };
    // Zero points of 32-bit results are small here. In real models they are 0, since such results are added on a common
    // scale.
    let (low, high) = if out == IntType::I32 {
        (-1000, 1000)
    } else {
        (out.min(), out.max())
    };
    let zp = pick.one(low.into(), high.into()) as i32;
    let narrowing = |pick: &mut Pick<'_>| Narrowing {
        shift: pick.per(channels, |p| shift(p) as u8),
        rounding: row.rounding(),
        out,
    };
    match row.form_kind() {
        FormKind::ArithFolded => Requantization::ArithFolded(form::ArithFolded {
            narrowing: narrowing(&mut pick),
        }),
        FormKind::FractionalZero => Requantization::FractionalZero(form::FractionalZero {
            sc: pick.per(channels, factor),
            zp: pick.per(channels, addend),
            narrowing: narrowing(&mut pick),
        }),
        FormKind::TfLite => Requantization::TfLite(form::TfLite {
            sc: pick.per(channels, factor),
            zp,
            narrowing: narrowing(&mut pick),
        }),
        FormKind::Fixed => Requantization::Fixed(form::Fixed {
            sc: pick.per(channels, factor),
            add: pick.per(channels, addend),
            zp,
            narrowing: narrowing(&mut pick),
        }),
        FormKind::Gemmlowp => Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: pick.per(channels, factor),
            // A shift to the right is a negative exponent.
            exponent: pick.per(channels, |p| -shift(p) as i8),
            zp,
            roundings: row.roundings(),
            out,
        }),
        FormKind::SixteenByEight => Requantization::SixteenByEight(form::SixteenByEight {
            multiplier: pick.per(channels, |p| p.one(1 << 30, i32::MAX.into()) as i32),
            exponent: pick.per(channels, |p| -shift(p) as i8),
            zp,
            out,
        }),
        FormKind::Float64 => Requantization::Float64(form::Float64 {
            multiplier: pick.per(channels, |p| p.one(1 << 52, (1 << 53) - 1)),
            exponent: pick.per(channels, |p| p.one(-60, 31) as i8),
            zp,
            out,
        }),
        FormKind::TosaRescale => Requantization::TosaRescale(form::TosaRescale {
            multiplier: pick.per(channels, factor),
            shift: pick.per(channels, |p| shift(p) as u8),
            scale32: bits == 31,
            roundings: row.roundings(),
            input: if bits == 31 { TosaInput::I32 } else { TosaInput::I48 },
            input_zp: 0,
            output_zp: if out.bits() == 8 { zp } else { 0 },
            out,
        }),
        FormKind::Float => {
            let scale = scales(&mut pick, channels, bits);
            Requantization::Float(form::Float { scale, zp, out })
        }
        FormKind::FloatZeroInside => {
            let scale = scales(&mut pick, channels, bits);
            Requantization::FloatZeroInside(form::FloatZeroInside { scale, zp, out })
        }
        FormKind::AscendRequant => Requantization::AscendRequant(form::AscendRequant {
            scale: scales(&mut pick, channels, bits),
            // The offset has nine bits, including the sign.
            offset: zp.clamp(-256, 255),
            relu: pick.round % 2 == 1,
            out,
        }),
        FormKind::DequantQuant => Requantization::DequantQuant(form::DequantQuant {
            deq: scales(&mut pick, channels, bits),
            relu: pick.round % 2 == 1,
            scale: [1.0, 0.37, 1e-3, 250.0][pick.round % 4],
            offset: zp,
            out,
        }),
        FormKind::AscendDequantS16 => Requantization::AscendDequantS16(form::AscendDequantS16 {
            shift: pick.per(channels, |p| shift(p) as u8),
            relu: false,
        }),
        FormKind::AscendRequantS16 => Requantization::AscendRequantS16(form::AscendRequantS16 {
            scale: scales(&mut pick, channels, bits),
            offset: zp,
        }),
        FormKind::Steps => {
            let codes = out.max() - out.min();
            let mut list = |_: usize| {
                let mut thresholds: Vec<i32> = (0..codes)
                    .map(|_| pick.numbers.of_any_size(i32::MIN.into(), i32::MAX.into()) as i32)
                    .collect();
                thresholds.sort_unstable();
                thresholds.into()
            };
            let thresholds = (0..channels.unwrap_or(1)).map(&mut list).collect();
            Requantization::Steps(form::Steps {
                thresholds,
                lowest: out.min(),
                out,
            })
        }
    }
}

/// Normal float numbers with `bits` significant bits. Their products with accumulators cover all magnitudes, including
/// results that are zero or infinite.
fn scales(pick: &mut Pick<'_>, channels: Option<usize>, bits: u8) -> Per<f32> {
    let spare = 24 - u32::from(bits.min(24));
    let (smallest, largest) = (f32::MIN_POSITIVE.to_bits(), f32::MAX.to_bits());
    let cut = |scale: f32| f32::from_bits(scale.to_bits() >> spare << spare);
    let usual = |p: &mut Pick<'_>| {
        2f32.powi(p.numbers.between(-30, 2) as i32) * (1.0 + p.numbers.between(0, 1 << 22) as f32 / (1 << 22) as f32)
    };
    pick.per(channels, |p| match p.round {
        0 => f32::from_bits(smallest),
        1 => cut(f32::from_bits(largest)),
        POWERS => 2f32.powi(-p.numbers.between(1, 12) as i32),
        _ => cut(usual(p)),
    })
}

/// The clamps to test: none, and one or two that the form allows.
fn clamps(set: ClampSet, out: IntType, zero: i32, numbers: &mut Numbers) -> Vec<Option<[i32; 2]>> {
    let relu = Some([zero, out.max()]);
    match set {
        ClampSet::None => vec![None],
        ClampSet::Relu => vec![None, relu],
        ClampSet::Any => {
            let ends = [0; 2].map(|_| numbers.between(out.min().into(), out.max().into()) as i32);
            vec![None, relu, Some([ends[0].min(ends[1]), ends[0].max(ends[1])])]
        }
    }
}
