//! Fusions of the requantizations of an artifact, row by row of the target's table.

use std::collections::BTreeSet;

use serde::Serialize;
use strait_container::Artifact;
use strait_document::Glob;
use strait_report::{FiredReport, Layer, MergedReport, Miss, REPORT_FILE, RefusedReport, Report};

use super::no_layer;
use crate::{Error, opened::json};

/// The rows of the target's table with what each did, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fusions {
    /// The target's id.
    pub target: String,
    /// One for each row; where a pattern chooses layers, those that were tried there.
    pub rows: Vec<Row>,
    /// The requantizations whose producers no row is for.
    pub without_row: Vec<RefusedReport>,
    /// Equal requantizations of one accumulator that became one before anything was fused.
    pub merged: Vec<MergedReport>,
}

/// A row of the target's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub row: String,
    /// The producers that it is for.
    pub ops: Vec<String>,
    /// Evidence for the row's bits.
    pub evidence: String,
    /// Where it fired.
    pub fired: Vec<FiredReport>,
    /// Where it was tried in vain, near misses first.
    pub missed: Vec<Miss>,
}

/// The fusions of an artifact, by its report. `pattern` chooses layers by their source names.
///
/// # Errors
/// A report that cannot be read; a pattern that matches nothing.
pub fn fusions(artifact: &Artifact, pattern: Option<&str>) -> Result<Fusions, Error> {
    let report: Report = json(artifact, REPORT_FILE)?;
    let chosen = pattern.map(|pattern| chosen(&report.layers, pattern)).transpose()?;
    let is_chosen = |layer: &str| chosen.as_ref().is_none_or(|chosen| chosen.contains(layer));
    let fired = report.fusions.fired;
    let rows = report.fusions.rows.into_iter().map(|row| Row {
        fired: (fired.iter())
            .filter(|fired| fired.row == row.row && is_chosen(&fired.layer))
            .cloned()
            .collect(),
        missed: (row.missed.into_iter())
            .filter(|miss| is_chosen(&miss.layer) || is_chosen(&miss.value))
            .collect(),
        row: row.row,
        ops: row.ops,
        evidence: row.evidence,
    });
    let rows = rows.filter(|row| chosen.is_none() || !(row.fired.is_empty() && row.missed.is_empty()));
    let without_row = report
        .fusions
        .refused
        .into_iter()
        .filter(|refused| refused.row.is_none());
    let merged = report.fusions.merged.into_iter();
    Ok(Fusions {
        target: report.target.id,
        merged: merged.filter(|merged| is_chosen(&merged.value)).collect(),
        rows: rows.collect(),
        without_row: without_row
            .filter(|refused| is_chosen(&refused.layer) || is_chosen(&refused.value))
            .collect(),
    })
}

/// The names of the layers with such a source, and of their results.
fn chosen(layers: &[Layer], pattern: &str) -> Result<BTreeSet<String>, Error> {
    let glob = Glob::new(pattern);
    let matching = |layer: &&Layer| layer.sources.iter().any(|source| glob.matches(source));
    let mut names = BTreeSet::new();
    for layer in layers.iter().filter(matching) {
        names.insert(layer.name.clone());
        names.extend(layer.results.iter().map(|result| result.name.clone()));
    }
    if names.is_empty() {
        let sources = layers.iter().flat_map(|layer| &layer.sources);
        return Err(no_layer(pattern, sources.map(String::as_str)));
    }
    Ok(names)
}
