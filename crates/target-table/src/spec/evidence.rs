//! Evidence that the rows of a table say what the reference computes. A row has its own, or that of the table.

use super::words::{Evidence, Integer};
use super::{Accumulator, Fidelity, FormRow, FusionRow, OpRow, TargetSpec};
use std::fmt;
use strait_requantize::Requantization;

/// A row that decides bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row<'a> {
    /// `[quantize]`: what happens at the border between real numbers and codes.
    Quantize,
    /// The line of `[accumulator]` for this type of activations.
    Accumulator(Integer),
    /// `[op.NAME]`, by its name.
    Op(&'a str),
    /// `[form.NAME]`, by its name.
    Form(&'a str),
    /// The row of `[[fusion]]` with this name.
    Fusion(&'a str),
}

/// Evidence for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Support<'a> {
    /// The row.
    pub row: Row<'a>,
    /// Evidence that the row says what `oracle` computes.
    pub evidence: Evidence,
    /// Whose bits they are.
    pub oracle: &'a str,
    /// The smallest and the largest accumulator that it was shown of; `None` for all of them.
    pub holds: Option<[i64; 2]>,
    /// The numbers of axes of the first operand with which it was shown; none for all of them.
    pub ranks: &'a [u8],
    /// The row's remark.
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
    /// Evidence for a row; `None` where the table has no such row.
    pub fn support<'a>(&'a self, row: Row<'_>) -> Option<Support<'a>> {
        match row {
            Row::Quantize => Some(self.of_quantize()),
            Row::Accumulator(activation) => self
                .accumulator
                .get(&activation)
                .map(|row| self.of_accumulator(activation, row)),
            Row::Op(name) => self.op.get_key_value(name).map(|(name, row)| self.of_op(name, row)),
            Row::Form(name) => self.form.get_key_value(name).map(|(name, row)| self.of_form(name, row)),
            Row::Fusion(name) => self
                .fusion
                .iter()
                .find(|row| row.name == name)
                .map(|row| self.of_fusion(row)),
        }
    }

    /// Evidence for every row that decides bits, in the order of the table. Ops of the host decide none.
    pub fn supports(&self) -> impl Iterator<Item = Support<'_>> {
        let accumulators = self.accumulator.iter();
        let accumulators = accumulators.map(|(&activation, row)| self.of_accumulator(activation, row));
        let forms = self.form.iter().map(|(name, row)| self.of_form(name, row));
        let ops = self.op.iter().filter(|(_, row)| !row.is_host());
        let ops = ops.map(|(name, row)| self.of_op(name, row));
        let fusions = self.fusion.iter().map(|row| self.of_fusion(row));
        std::iter::once(self.of_quantize())
            .chain(accumulators)
            .chain(forms)
            .chain(ops)
            .chain(fusions)
    }

    /// The first of these forms that computes a requantization; with none of them, the first of the table that does.
    pub fn form_name<'a>(&'a self, among: &[&str], form: &Requantization) -> Option<&'a str> {
        let computes = |row: &FormRow| row.accepts(form, None).is_ok();
        let named = among.iter().filter_map(|name| self.form.get_key_value(*name));
        named
            .chain(&self.form)
            .find(|(_, row)| computes(row))
            .map(|(name, _)| name.as_str())
    }

    /// The rows that are said to be measured on the chip itself, and of which no recording is named.
    pub fn unrecorded(&self) -> impl Iterator<Item = Row<'_>> {
        let said = |support: &Support<'_>| self.said(support.row) == Evidence::Measured;
        self.supports()
            .filter(move |support| said(support) && self.lacks_recording(support.row))
            .map(|support| support.row)
    }

    /// The evidence that the table says of a row.
    fn said(&self, row: Row<'_>) -> Evidence {
        let own = match row {
            Row::Quantize => self.quantize.evidence,
            Row::Accumulator(activation) => self.accumulator.get(&activation).and_then(|row| row.evidence),
            Row::Op(name) => self.op.get(name).and_then(|row| row.evidence),
            Row::Form(name) => self.form.get(name).and_then(|row| row.evidence),
            Row::Fusion(name) => {
                let row = self.fusion.iter().find(|row| row.name == name);
                row.and_then(|row| row.evidence)
            }
        };
        own.unwrap_or(self.reference.evidence)
    }

    /// True if rows are held against the chip itself, and no recording is named for this one.
    fn lacks_recording(&self, row: Row<'_>) -> bool {
        let silicon = self
            .silicon
            .as_ref()
            .filter(|silicon| silicon.fidelity == Fidelity::Silicon);
        silicon.is_some_and(|silicon| {
            let name = row.to_string();
            !silicon.evidence.iter().any(|recording| recording.rows.contains(&name))
        })
    }

    fn of_quantize(&self) -> Support<'_> {
        let row = &self.quantize;
        self.known(Row::Quantize, row.evidence, row.oracle.as_deref(), row.note.as_deref())
    }

    fn of_accumulator<'a>(&'a self, activation: Integer, row: &'a Accumulator) -> Support<'a> {
        self.known(
            Row::Accumulator(activation),
            row.evidence,
            row.oracle.as_deref(),
            row.note.as_deref(),
        )
    }

    fn of_op<'a>(&'a self, name: &'a str, row: &'a OpRow) -> Support<'a> {
        Support {
            ranks: row.holds.as_ref().map_or(&[], |holds| &holds.rank),
            ..self.known(Row::Op(name), row.evidence, row.oracle.as_deref(), row.note.as_deref())
        }
    }

    fn of_form<'a>(&'a self, name: &'a str, row: &'a FormRow) -> Support<'a> {
        let (oracle, note) = (row.oracle.as_deref(), row.note.as_deref());
        Support {
            holds: row.holds.map(|holds| holds.accumulator),
            ..self.known(Row::Form(name), row.evidence, oracle, note)
        }
    }

    fn of_fusion<'a>(&'a self, row: &'a FusionRow) -> Support<'a> {
        self.known(
            Row::Fusion(&row.name),
            row.evidence,
            row.oracle.as_deref(),
            row.note.as_deref(),
        )
    }

    fn known<'a>(
        &'a self,
        row: Row<'a>,
        evidence: Option<Evidence>,
        oracle: Option<&'a str>,
        note: Option<&'a str>,
    ) -> Support<'a> {
        let evidence = evidence.unwrap_or(self.reference.evidence);
        Support {
            row,
            evidence: match evidence {
                Evidence::Measured if self.lacks_recording(row) => Evidence::Documented,
                said => said,
            },
            oracle: oracle.unwrap_or(&self.reference.oracle),
            holds: None,
            ranks: &[],
            note,
        }
    }
}
