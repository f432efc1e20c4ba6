//! Evidence for a model. It consists of the rows of the target's table on which the model's layers rest, and of what
//! may be claimed because of these rows.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
};

use serde::{Deserialize, Serialize};
use strait_target::spec::{Evidence, Support};

use crate::grounds::Basis;

/// The number of layers for each kind of evidence. A layer has the weakest evidence of the rows of the target's table
/// that it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EvidenceReport {
    /// What may be claimed of the whole model, in words.
    pub claim: String,
    /// Number of layers for each kind of evidence. Layers on the host need no evidence and are not counted.
    pub layers: Counts,
    /// The rows that the layers rest on. Rows with weaker evidence come first. Among rows with the same evidence, those
    /// that more layers rest on come first.
    pub rows: Vec<Ground>,
}

/// Counts for each kind of evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Derived from the definition of the reference.
    pub proved: usize,
    /// Compared with what the reference computes.
    pub measured: usize,
    /// Stated in the vendor's documentation.
    pub documented: usize,
    /// Based on at least one assumption.
    pub assumed: usize,
}

impl Counts {
    /// Counts how often each kind of evidence occurs. `weakest` has the weakest evidence of each layer.
    pub fn of(weakest: impl IntoIterator<Item = Evidence>) -> Counts {
        let mut counts = Counts::default();
        for evidence in weakest {
            *match evidence {
                Evidence::Proved => &mut counts.proved,
                Evidence::Measured => &mut counts.measured,
                Evidence::Documented => &mut counts.documented,
                Evidence::Assumed => &mut counts.assumed,
            } += 1;
        }
        counts
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.proved, Evidence::Proved),
            (self.measured, Evidence::Measured),
            (self.documented, Evidence::Documented),
            (self.assumed, Evidence::Assumed),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, evidence)| format!("{count} {evidence}")).collect();
        f.write_str(if counts.is_empty() { "none" } else { "" })?;
        f.write_str(&counts.join(", "))
    }
}

/// A row of the target's table that layers rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ground {
    /// Name of the row: `quantize`, or `accumulator`, `op`, `form` or `fusion` with the row's own name.
    pub row: String,
    /// `proved`, `measured`, `documented` or `assumed`.
    pub evidence: String,
    /// The reference whose results the row claims to reproduce bit for bit.
    pub oracle: String,
    /// Remark that the table has for the row.
    pub note: Option<String>,
    /// Number of layers that rest on the row.
    pub layers: usize,
}

/// Returns what may be claimed of a model or a table that rests on the rows `supports`.
///
/// This is the only place where the word `bit-accurate` is used. It is used only if everything is measured or proved,
/// without any condition. `oracle` is the reference of the whole table. Rows that follow another reference are named
/// together with that reference.
pub fn claim<'a>(oracle: &str, supports: impl IntoIterator<Item = Support<'a>>) -> String {
    let (mut weakest, mut others, mut conditions) = (None, BTreeSet::new(), String::new());
    for support in supports {
        weakest = weakest.max(Some(support.evidence));
        if support.oracle != oracle {
            others.insert(format!("{} by {}", support.row, support.oracle));
        }
        if let Some([low, high]) = support.holds {
            conditions += &format!(", {} on accumulators in [{low}, {high}] alone", support.row);
        }
        if !support.ranks.is_empty() {
            let ranks: Vec<String> = support.ranks.iter().map(u8::to_string).collect();
            conditions += &format!(", {} of rank {} alone", support.row, ranks.join(" or "));
        }
    }
    let others = match Vec::from_iter(others).as_slice() {
        [] => String::new(),
        others => format!("; {}", others.join(", ")),
    };
    match weakest {
        None => "nothing of it runs on the target".to_owned(),
        Some(Evidence::Assumed) => format!("follows {oracle}, in part by assumption{others}"),
        Some(Evidence::Documented) => format!("follows {oracle} as documented{others}"),
        Some(known) if conditions.is_empty() => format!("bit-accurate to {oracle} ({known}){others}"),
        Some(known) => format!("follows {oracle} ({known}){conditions}{others}"),
    }
}

/// Counts the layers by their evidence. `oracle` is the reference of the whole table.
pub(super) fn count<'b, 'a: 'b>(oracle: &str, layers: impl Iterator<Item = &'b Basis<'a>> + Clone) -> EvidenceReport {
    let weakest = layers
        .clone()
        .filter_map(|layer| layer.supports.iter().map(|support| support.evidence).max());
    let mut rows: BTreeMap<Support<'_>, usize> = BTreeMap::new();
    for support in layers.flat_map(|layer| &layer.supports) {
        *rows.entry(*support).or_default() += 1;
    }
    let mut rows: Vec<(Support<'_>, usize)> = rows.into_iter().collect();
    rows.sort_by_key(|&(support, layers)| (Reverse((support.evidence, layers)), support.row));
    EvidenceReport {
        claim: claim(oracle, rows.iter().map(|&(support, _)| support)),
        layers: Counts::of(weakest),
        rows: rows
            .into_iter()
            .map(|(support, layers)| Ground {
                row: support.row.to_string(),
                evidence: support.evidence.to_string(),
                oracle: support.oracle.to_owned(),
                note: support.note.map(str::to_owned),
                layers,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outside;
    use strait_target::spec::Row;

    fn support(row: Row<'static>, evidence: Evidence, oracle: &'static str) -> Support<'static> {
        Support {
            row,
            evidence,
            oracle,
            holds: None,
            ranks: &[],
            note: None,
        }
    }

    #[test]
    fn only_what_is_measured_or_proved_is_called_bit_accurate() {
        let chip = "the chip";
        for known in Evidence::ALL {
            let rows = [Evidence::Proved, *known].map(|evidence| support(Row::Quantize, evidence, chip));
            let said = claim(chip, rows);
            let shown = matches!(known, Evidence::Proved | Evidence::Measured);
            assert_eq!(said.contains("bit-accurate"), shown, "{said}");
        }
        assert_eq!(
            claim(chip, [support(Row::Quantize, Evidence::Measured, chip)]),
            "bit-accurate to the chip (measured)"
        );
        assert!(!claim(chip, []).contains("bit-accurate"));
    }

    #[test]
    fn a_row_that_follows_another_reference_is_named() {
        let rows = [
            support(Row::Op("conv"), Evidence::Documented, "the chip"),
            support(Row::Op("lookup"), Evidence::Proved, "the rounded function"),
        ];
        assert_eq!(
            claim("the chip", rows),
            "follows the chip as documented; op lookup by the rounded function"
        );
    }

    #[test]
    fn a_condition_that_nothing_discharges_is_part_of_the_claim() {
        let form = Support {
            holds: Some([-9, 9]),
            ..support(Row::Form("once"), Evidence::Measured, "the chip")
        };
        assert_eq!(
            claim("the chip", [form]),
            "follows the chip (measured), form once on accumulators in [-9, 9] alone"
        );
    }

    #[test]
    fn accumulators_are_outside_from_the_first_one_past_an_end() {
        let past = |accumulators| Outside::of(Row::Form("once"), [-9, 9], accumulators).map(|outside| outside.past);
        assert_eq!(
            [[-9, 9], [0, 10], [-11, 4], [-12, 10]].map(past),
            [None, Some(1), Some(2), Some(3)]
        );
        assert_eq!(past([i64::MIN, i64::MAX]), Some(i64::MAX.unsigned_abs() - 8));
    }

    #[test]
    fn layers_count_by_their_weakest_row_and_rows_by_their_layers() {
        let (conv, form) = (
            support(Row::Op("conv"), Evidence::Documented, "c"),
            support(Row::Form("shift"), Evidence::Assumed, "c"),
        );
        let basis = |supports| Basis {
            supports,
            outside: Vec::new(),
        };
        let layers = [vec![conv], vec![conv, form], vec![conv, form], vec![]].map(basis);
        let report = count("c", layers.iter());
        assert_eq!(report.layers.to_string(), "1 documented, 2 assumed");
        let rows: Vec<_> = report.rows.iter().map(|row| (row.row.as_str(), row.layers)).collect();
        assert_eq!(rows, [("form shift", 2), ("op conv", 3)]);
    }
}
