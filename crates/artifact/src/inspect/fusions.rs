//! The fusions in an artifact, row by row of the target's table.

use std::collections::BTreeSet;

use serde::Serialize;
use strait_container::Artifact;
use strait_document::Glob;
use strait_report::{FiredReport, Layer, MergedReport, Miss, REPORT_FILE, RefusedReport, Report};

use super::no_layer;
use crate::{Error, opened::json};

/// What each fusion row of the target's table did, in the order in which the rows are tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fusions {
    /// Id of the target.
    pub target: String,
    /// The fusion rows. If a pattern chooses layers, these are only the rows that were tried on those layers.
    pub rows: Vec<Row>,
    /// The requantizations whose producers are not covered by any fusion row.
    pub without_row: Vec<RefusedReport>,
    /// Equal requantizations of the same accumulator, which were merged into one before any fusion was made.
    pub merged: Vec<MergedReport>,
}

/// A fusion row of the target's table and what it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the fusion row.
    pub row: String,
    /// The operations that the row can fuse a requantization into.
    pub ops: Vec<String>,
    /// The evidence for what the table says about the fused operation.
    pub evidence: String,
    /// The fusions that the row made.
    pub fired: Vec<FiredReport>,
    /// The places where the fusion row was tried but could not be applied. Places with the fewest unmet conditions come
    /// first.
    pub missed: Vec<Miss>,
}

/// Returns the fusions in an artifact, as its report states them. `pattern` chooses layers by their names in the source
/// model.
///
/// # Errors
/// If the report cannot be read, or the pattern matches nothing.
pub fn fusions(artifact: &Artifact, pattern: Option<&str>) -> Result<Fusions, Error> {
    let report: Report = json(artifact, REPORT_FILE, strait_report::SCHEMA)?;
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

/// Returns the names of the layers that were made from those layers of the source model whose names match the pattern.
/// Also returns the names of the results of these layers.
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
