//! For some forms, the compiler is free to choose the integers, because the target's files store them. This module
//! chooses these integers so that the results are closest to the ideal function (the requantization with the exact
//! factor) on the accumulators that can occur. They are not always the integers that are closest to the factor.

use super::nearness::{DerivedForm, Nearness, interval};
use super::{FormRow, Rescale, ScaleRule};
use strait_requantize::decide::{Ideal, best};
use strait_requantize::{FormKind, Narrowing, Requantization, form};

/// A requantization that was built within a row's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// The form with its integers, or with its scales if it is of a kind that has scales.
    pub form: Requantization,
    /// How far the form is from the ideal function, which has the exact factor. `None` if the distance is not asked for,
    /// or if no bounds of the accumulators are known.
    pub nearness: Option<Measured>,
}

/// The nearness of a form, or what it is computed from.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// It was found when the integers of the form were chosen.
    Already(Nearness),
    /// Nothing of the form depends on it, so it can be computed later and beside other work.
    Later(DerivedForm),
}

impl Measured {
    /// The nearness. `None` if it cannot be computed.
    pub fn nearness(&self) -> Option<Nearness> {
        match self {
            Measured::Already(nearness) => Some(*nearness),
            Measured::Later(derived) => derived.nearness(),
        }
    }
}

impl FormRow {
    /// True if the integers of this row are chosen for the accumulators that can occur.
    fn chooses(&self) -> bool {
        let affine = matches!(
            self.form_kind(),
            FormKind::TfLite | FormKind::Fixed | FormKind::FractionalZero
        );
        self.from == ScaleRule::Free && affine
    }

    /// Finds the integers within this row's limits that give the results closest to the ideal function. Returns `None`
    /// if no bounds of the accumulators are known, or if a channel has no integers within the limits.
    pub(super) fn nearest(&self, rescale: &Rescale<'_>) -> Option<Built> {
        let (kind, out) = (self.form_kind(), rescale.out);
        let accumulators = rescale.accumulators.filter(|_| self.chooses())?;
        let factor = rescale.scales.factor();
        let grids = self.grids(rescale);
        let limits = self.limits(0, self.multiplier_bits());
        let mut channels = 0..;
        let found = factor.try_map(|&exact| {
            let channel = channels.next().unwrap_or_default();
            let interval = interval(accumulators, &factor, channel).ok_or(())?;
            let ideal = Ideal::new(exact, self.rounding(), grids).map_err(drop)?;
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
            nearness: Some(Measured::Already(Nearness::of_chosen(found.values()))),
        })
    }
}
