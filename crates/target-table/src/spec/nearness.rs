//! Computes how far a requantization is from the ideal function that it approximates. If the target's runtime derives
//! the integers from scales, this module also computes how much closer other integers would be.

use super::{FormRow, Rescale, ScaleRule};
use strait_requantize::decide::{Best, DecideError, Deviation, Gain, Grids, Ideal, Limits, Optimality, gain};
use strait_requantize::form::MAX_SHIFT;
use strait_requantize::{FormKind, Per, Requantization, Rounding, Roundings, Step};

/// How far a requantization is from the ideal function `sat(round(s (x - z_x)) + z)`. Here x is the accumulator or code
/// that is requantized, z_x its zero point, s the exact factor, and z the zero point of the result. Ties are rounded as
/// the form rounds them. The results for all accumulators that can occur are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nearness {
    /// The integers of the requantization are free, and the compiler has chosen them.
    Chosen {
        /// Whether it is proved that no integers within the row's limits are closer to the ideal function.
        found: Optimality,
        /// How far results with these integers are from the ideal function; `None` if there are too many results to
        /// compare.
        distance: Option<Distance>,
    },
    /// The target's runtime computes the integers, or the scale, of the requantization from the scales of the tensors.
    Derived {
        /// Distance of the runtime's integers from the ideal function.
        runtime: Distance,
        /// How much closer other integers would be; `None` for a form without integers.
        gain: Option<PossibleGain>,
    },
    /// The target's runtime computes the integers, as for `Derived`, but there are too many results to compare.
    Unknown,
}

/// The distance of a requantization from the ideal function, which has the exact factor, over all channels. A
/// requantization with one set of parameters for the whole tensor counts as one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distance {
    /// The largest difference between a result and the result of the ideal function, in any channel, in LSB (steps of
    /// the result's codes).
    pub max_lsb: u32,
    /// The fraction of accumulators for which the result differs from the ideal function. There is such a fraction for
    /// each channel, and this is the largest of them.
    pub share: f64,
    /// The number of accumulators for which the result differs from the ideal function, in all channels together.
    pub differing: u64,
    /// The number of accumulators that can occur, in all channels together.
    pub accumulators: u64,
}

/// How much closer the results could be to the ideal function: compares the best integers within a form's limits with
/// the integers that the runtime computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PossibleGain {
    /// Distance from the ideal function with the best integers.
    pub best: Distance,
    /// The number of channels in which the best integers give results closer to the ideal function than the runtime's.
    pub better: usize,
    /// The number of channels.
    pub channels: usize,
    /// True if the form with the best integers rounds once while the runtime rounds twice. No multiplier gives exactly
    /// the ideal function with two roundings, so only integers for one rounding are searched for.
    pub rounds_once: bool,
}

impl Distance {
    /// Adds the deviation of one channel.
    pub(super) fn add(&mut self, channel: &Deviation) {
        let count = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        self.max_lsb = self.max_lsb.max(channel.max_lsb);
        self.share = self.share.max(channel.share());
        self.differing = self.differing.saturating_add(count(channel.differing));
        self.accumulators = self.accumulators.saturating_add(count(channel.of));
    }
}

impl Nearness {
    /// The nearness of integers that the compiler has chosen, from the result of the search for each channel.
    pub(super) fn of_chosen(channels: &[Best]) -> Nearness {
        let mut distance = Some(Distance::default());
        for best in channels {
            match (&mut distance, &best.deviation) {
                (Some(distance), Some(channel)) => distance.add(channel),
                _ => distance = None,
            }
        }
        Nearness::Chosen {
            found: channels.iter().map(Best::found).max().unwrap_or(Optimality::Optimal),
            distance,
        }
    }
}

impl FormRow {
    /// Computes how far results with the integers of this row's rule are from the ideal function, and how much closer
    /// the results would be with other integers. Returns `None` for integers that the compiler chooses, for a plain
    /// shift (whose factor is part of the weights), and if no bounds of the accumulators are known.
    pub fn derived(&self, form: &Requantization, rescale: &Rescale<'_>) -> Option<Nearness> {
        let kind = self.form_kind();
        let accumulators = rescale.accumulators?;
        if self.from == ScaleRule::Free || kind == FormKind::ArithFolded {
            return None;
        }
        let grids = self.grids(rescale);
        let limits = self.choices(rescale);
        let step = Step::from(form.clone());
        let factor = rescale.scales.factor();
        let (mut runtime, mut possible) = (Distance::default(), PossibleGain::default());
        for (channel, &exact) in factor.values().iter().enumerate() {
            let interval = interval(accumulators, &factor, channel)?;
            let ideal = Ideal::new(exact, self.tie_rule(), grids).ok()?;
            match gain(&step, channel, &ideal, limits.as_ref(), interval) {
                Ok(found) => {
                    runtime.add(&found.runtime);
                    possible.add(&found);
                }
                Err(DecideError::TooManySteps { .. }) => return Some(Nearness::Unknown),
                Err(_) => return None,
            }
        }
        possible.rounds_once = kind == FormKind::Gemmlowp && self.roundings() == Roundings::Two;
        Some(Nearness::Derived {
            runtime,
            gain: limits.map(|_| possible),
        })
    }

    /// Returns the zero points of the operand and of the result of the ideal function. Also says whether this row's
    /// kind of form adds the zero point of the result before the rounding.
    pub(super) fn grids(&self, rescale: &Rescale<'_>) -> Grids {
        let inside = [
            FormKind::FractionalZero,
            FormKind::FloatZeroInside,
            FormKind::DequantQuant,
        ];
        Grids {
            input_zero: rescale.input_zero,
            output_zero: rescale.output_zero,
            zero_inside: inside.contains(&self.form_kind()),
            out: rescale.out,
        }
    }

    /// The rounding that decides ties in the form of this row.
    pub(super) fn tie_rule(&self) -> Rounding {
        match self.form_kind() {
            FormKind::Gemmlowp if self.roundings() == Roundings::One => Rounding::HalfUp,
            _ => self.rounding(),
        }
    }

    /// Returns the multipliers and shifts that this row allows, for a form that rounds only once. Returns `None` for a
    /// kind of form without integers. Also returns `None` for a kind that cannot subtract the zero point of the input,
    /// if this zero point is not 0.
    fn choices(&self, rescale: &Rescale<'_>) -> Option<Limits> {
        // The kinds `Gemmlowp` and `SixteenByEight` have a fixed shift by 31 or 15 bits in addition to the stated
        // shift.
        let (ahead, bits) = match self.form_kind() {
            FormKind::TfLite if rescale.input_zero != 0 => return None,
            FormKind::TfLite | FormKind::Fixed | FormKind::FractionalZero | FormKind::TosaRescale => {
                (0, self.multiplier_bits())
            }
            FormKind::Gemmlowp => (31, self.multiplier_bits()),
            FormKind::SixteenByEight => (15, 15),
            _ => return None,
        };
        Some(self.limits(ahead, bits))
    }

    /// Limits for multipliers of `bits` bits and for shifts. The row's shift limits are increased by a fixed shift of
    /// `ahead` bits.
    pub(super) fn limits(&self, ahead: i16, bits: u8) -> Limits {
        let end = |limit: i8| (i16::from(limit) + ahead).clamp(0, MAX_SHIFT.into()) as u8;
        Limits {
            bits,
            normalized: self.is_normalized(),
            shift: self
                .shift()
                .map_or(0..=MAX_SHIFT, |shift| end(shift.min)..=end(shift.max)),
        }
    }
}

impl PossibleGain {
    /// Adds the gain of one channel. If no integers are closer to the ideal function, the channel keeps those of the
    /// runtime.
    fn add(&mut self, channel: &Gain) {
        let best = channel.best.as_ref().and_then(|best| best.deviation);
        let nearer = best.filter(|_| channel.is_any());
        self.best.add(&nearer.unwrap_or(channel.runtime));
        self.better += usize::from(nearer.is_some());
        self.channels += 1;
    }
}

/// Returns the range of accumulators for which the integers of a channel are used. If each channel has integers of its
/// own, it is the range of the channel. If there is one set of integers for the tensor, it is the range of all channels
/// together.
pub(super) fn interval<T>(accumulators: &Per<(i64, i64)>, integers: &Per<T>, channel: usize) -> Option<(i64, i64)> {
    if integers.channels().is_some() {
        return accumulators.get(channel).copied();
    }
    let low = accumulators.values().iter().map(|i| i.0).min()?;
    Some((low, accumulators.values().iter().map(|i| i.1).max()?))
}
