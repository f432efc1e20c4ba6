//! How well it is known that the rows of a table describe what the reference (a chip or a runtime) computes. A row that
//! states no evidence has the evidence of the table.

use super::words::{Evidence, Integer};
use super::{Fidelity, FormRow, TargetSpec};
use std::fmt;
use strait_requantize::Requantization;

/// A row of the table that decides the bits of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row<'a> {
    /// `[quantize]`, which says how real numbers become codes.
    Quantize,
    /// The line of `[accumulator]` for this type of activations.
    Accumulator(Integer),
    /// The row `[op.NAME]` with this name.
    Op(&'a str),
    /// The row `[form.NAME]` with this name.
    Form(&'a str),
    /// The row of `[[fusion]]` with this name.
    Fusion(&'a str),
}

/// The evidence for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Support<'a> {
    /// The row that the evidence is for.
    pub row: Row<'a>,
    /// How well it is known that the row describes what `oracle` computes.
    pub evidence: Evidence,
    /// The reference, whose results the row describes.
    pub oracle: &'a str,
    /// The smallest and the largest accumulator for which the results were shown to equal those of the reference.
    /// `None` if this was shown for all accumulators.
    pub holds: Option<[i64; 2]>,
    /// The numbers of axes of the first operand for which the results were shown to equal those of the reference; empty
    /// if for all numbers.
    pub ranks: &'a [u8],
    /// The remark that the table has for the row.
    pub note: Option<&'a str>,
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Row::Quantize => f.write_str("quantize"),
            Row::Accumulator(activation) => write!(f, "accumulator {activation}"),
            Row::Op(name) => write!(f, "op {name}"),
            Row::Form(name) => write!(f, "form {name}"),
            Row::Fusion(name) => write!(f, "fusion {name}"),
        }
    }
}

impl TargetSpec {
    /// The evidence for a row; `None` if the table has no such row.
    pub fn support<'a>(&'a self, row: Row<'_>) -> Option<Support<'a>> {
        let mut support = self.stated(row)?;
        if support.evidence == Evidence::Measured && self.lacks_recording(support.row) {
            support.evidence = Evidence::Documented;
        }
        Some(support)
    }

    /// The evidence for every row that decides the bits of results, in the order of the table. Rows of ops that run on
    /// the host do not decide bits.
    pub fn supports(&self) -> impl Iterator<Item = Support<'_>> {
        let accumulators = self.accumulator.keys().copied().map(Row::Accumulator);
        let forms = self.form.keys().map(|name| Row::Form(name));
        let ops = self.op.iter().filter(|(_, row)| !row.is_host());
        let fusions = self.fusion.iter().map(|row| Row::Fusion(&row.name));
        std::iter::once(Row::Quantize)
            .chain(accumulators)
            .chain(forms)
            .chain(ops.map(|(name, _)| Row::Op(name)))
            .chain(fusions)
            .filter_map(|row| self.support(row))
    }

    /// Finds the first of the forms named in `among` that computes this requantization. If there is none, finds the
    /// first form of the table that computes it. Returns the name of the form; `None` if no form computes the
    /// requantization.
    pub fn form_name<'a>(&'a self, among: &[&str], form: &Requantization) -> Option<&'a str> {
        let computes = |row: &FormRow| row.accepts(form, None).is_ok();
        let named = among.iter().filter_map(|name| self.form.get_key_value(*name));
        named
            .chain(&self.form)
            .find(|(_, row)| computes(row))
            .map(|(name, _)| name.as_str())
    }

    /// The rows that state `measured` for a real chip although no recording in the table is for them.
    pub fn unrecorded(&self) -> impl Iterator<Item = Row<'_>> {
        let says = |row| {
            self.stated(row)
                .is_some_and(|stated| stated.evidence == Evidence::Measured)
        };
        let rows = self.supports().map(|support| support.row);
        rows.filter(move |&row| says(row) && self.lacks_recording(row))
    }

    /// The evidence for a row as the table states it, without the default of the table.
    fn stated<'a>(&'a self, row: Row<'_>) -> Option<Support<'a>> {
        macro_rules! of {
            ($row:expr, $own:expr) => {
                Support {
                    row: $row,
                    evidence: $own.evidence.unwrap_or(self.reference.evidence),
                    oracle: $own.oracle.as_deref().unwrap_or(&self.reference.oracle),
                    holds: None,
                    ranks: &[],
                    note: $own.note.as_deref(),
                }
            };
        }
        Some(match row {
            Row::Quantize => of!(Row::Quantize, self.quantize),
            Row::Accumulator(activation) => of!(Row::Accumulator(activation), self.accumulator.get(&activation)?),
            Row::Op(name) => {
                let (name, row) = self.op.get_key_value(name)?;
                let ranks = row.holds.as_ref().map_or(&[][..], |holds| &holds.rank);
                Support {
                    ranks,
                    ..of!(Row::Op(name), row)
                }
            }
            Row::Form(name) => {
                let (name, row) = self.form.get_key_value(name)?;
                Support {
                    holds: row.holds.map(|holds| holds.accumulator),
                    ..of!(Row::Form(name), row)
                }
            }
            Row::Fusion(name) => {
                let row = self.fusion.iter().find(|row| row.name == name)?;
                of!(Row::Fusion(&row.name), row)
            }
        })
    }

    /// True if `measured` means measured on the chip, and no recording in the table is for this row.
    fn lacks_recording(&self, row: Row<'_>) -> bool {
        self.silicon.as_ref().is_some_and(|silicon| {
            let (fidelity, name) = (silicon.fidelity, row.to_string());
            let is_named = silicon.evidence.iter().any(|recording| recording.rows.contains(&name));
            fidelity == Fidelity::Silicon && !is_named
        })
    }
}
