//! The integers of the free forms: where the file stores them, they are those nearest to the ideal function of the factor
//! over the accumulators that can occur, not those nearest to the factor.

use super::{FormRow, Rescale, ScaleRule};
use strait_requantize::decide::{Best, Grids, Ideal, Limits, Optimality, best};
use strait_requantize::form::MAX_SHIFT;
use strait_requantize::{FormKind, IntType, Narrowing, Per, Requantization, form};

/// A requantization within a row's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// The integers, or the scales of the kinds that have these.
    pub form: Requantization,
    /// How near they are to the ideal; `None` where they were made by a rule, from the factor alone.
    pub nearness: Option<Nearness>,
}

/// How near the integers of a requantization are to the ideal function `sat(round(s (x - z_x)) + z)` of its exact factor,
/// over all accumulators that can occur.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// Whether no integers within the row's limits are nearer.
    pub found: Optimality,
    /// The largest difference in any channel, in units of the result.
    pub max_lsb: u32,
    /// The largest part of a channel's accumulators for which there is one.
    pub share: f64,
}

impl FormRow {
    /// Whether the integers of this row for results of this type are better for knowing the accumulators that can occur.
    /// Results of 32 bits have too many thresholds for that.
    pub fn looks_at_accumulators(&self, out: IntType) -> bool {
        let affine = matches!(
            self.form_kind(),
            Some(FormKind::TfLite | FormKind::Fixed | FormKind::FractionalZero)
        );
        *self.from == ScaleRule::Free && affine && out != IntType::I32
    }

    /// The nearest integers within this row's limits; `None` where nothing is known of the accumulators, and where a channel
    /// has none.
    pub(super) fn nearest(&self, rescale: &Rescale<'_>) -> Option<Built> {
        let (kind, out) = (self.form_kind()?, rescale.out);
        let accumulators = rescale.accumulators.filter(|_| self.looks_at_accumulators(out))?;
        let factor = rescale.scales.factor();
        // Integers that all channels share have to serve the accumulators of all.
        let shared = factor.channels().is_none().then(|| hull(accumulators)).flatten();
        let grids = Grids {
            input_zero: rescale.input_zero,
            output_zero: rescale.output_zero,
            zero_inside: kind == FormKind::FractionalZero,
            out,
        };
        let limits = self.integer_limits();
        let mut channels = 0..;
        let found = factor.try_map(|&factor| {
            let channel = channels.next().unwrap_or_default();
            let interval = shared.or_else(|| accumulators.get(channel).copied()).ok_or(())?;
            let ideal = Ideal::new(factor, self.rounding(), grids).map_err(drop)?;
            best(&ideal, &limits, interval).map_err(drop)
        });
        let found = found.ok()?;
        let sc = found.map(|b| b.affine.factor);
        let narrowing = Narrowing {
            shift: found.map(|b| b.affine.shift),
            rounding: self.rounding(),
            out,
        };
        let (add, zp) = (found.map(|b| b.affine.addend), rescale.output_zero);
        let form = match kind {
            FormKind::TfLite => form::TfLite { sc, zp, narrowing }.into(),
            FormKind::Fixed => form::Fixed { sc, add, zp, narrowing }.into(),
            FormKind::FractionalZero => form::FractionalZero { sc, zp: add, narrowing }.into(),
            _ => return None,
        };
        Some(Built {
            form,
            nearness: Some(Nearness::of(found.values())),
        })
    }

    fn integer_limits(&self) -> Limits {
        let own = |limit: i8| u8::try_from(limit).unwrap_or(0);
        Limits {
            bits: self.multiplier_bits(),
            normalized: self.multiplier.as_ref().is_some_and(|m| m.normalized),
            shift: self
                .shift
                .as_ref()
                .map_or(0..=MAX_SHIFT, |shift| own(shift.min)..=own(shift.max)),
        }
    }
}

impl Nearness {
    fn of(channels: &[Best]) -> Nearness {
        let optimal = channels.iter().all(|best| best.found == Optimality::Optimal);
        let deviations = channels.iter().map(|best| best.deviation);
        Nearness {
            found: if optimal {
                Optimality::Optimal
            } else {
                Optimality::BestFound
            },
            max_lsb: deviations.clone().map(|d| d.max_lsb).max().unwrap_or(0),
            share: deviations.map(|d| d.share()).fold(0.0, f64::max),
        }
    }
}

/// The smallest interval around all of them.
fn hull(intervals: &Per<(i64, i64)>) -> Option<(i64, i64)> {
    let low = intervals.values().iter().map(|i| i.0).min()?;
    Some((low, intervals.values().iter().map(|i| i.1).max()?))
}
