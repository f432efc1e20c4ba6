//! For some forms, the compiler is free to choose the integers, because the target's files store them. This module
//! chooses these integers so that the results are closest to the ideal function (the requantization with the exact
//! factor) on the accumulators that can occur. They are not always the integers that are closest to the factor.

use super::nearness::{Nearness, interval};
use super::{FormRow, Rescale, ScaleRule};
use strait_requantize::decide::{Ideal, best};
use strait_requantize::{FormKind, Narrowing, Requantization, form};

/// A requantization that was built within a row's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// The form with its integers, or with its scales if it is of a kind that has scales.
    pub form: Requantization,
    /// How far the form is from the ideal function, which has the exact factor. `None` if the compiler did not choose the
    /// integers: [`FormRow::derived`] computes the distance of other integers, which takes longer than to build them.
    pub nearness: Option<Nearness>,
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
            nearness: Some(Nearness::of_chosen(found.values())),
        })
    }
}
