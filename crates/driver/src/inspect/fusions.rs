//! Fusions of the requantizations of an artifact, row by row of the target's table.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    path::Path,
};

use serde::Serialize;

use crate::{
    config::Glob,
    report::{FiredReport, Layer, MergedReport, Miss, RefusedReport, Report},
    shown::grouped,
    stop::Stop,
    table,
};

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

/// Reads the report of the artifact in a folder. `pattern` chooses layers by their source names.
///
/// # Errors
/// Fails for a folder that is no artifact, and for a pattern that matches nothing.
pub fn fusions(folder: &Path, pattern: Option<&str>) -> Result<Fusions, Stop> {
    let artifact = super::compiled(folder, "fusions are made")?;
    of_report(super::report(folder, &artifact)?, pattern)
}

fn of_report(report: Report, pattern: Option<&str>) -> Result<Fusions, Stop> {
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
fn chosen(layers: &[Layer], pattern: &str) -> Result<BTreeSet<String>, Stop> {
    let glob = Glob::new(pattern);
    let matching = |layer: &&Layer| layer.sources.iter().any(|source| glob.matches(source));
    let mut names = BTreeSet::new();
    for layer in layers.iter().filter(matching) {
        names.insert(layer.name.clone());
        names.extend(layer.results.iter().map(|result| result.name.clone()));
    }
    if names.is_empty() {
        let sources = layers.iter().flat_map(|layer| &layer.sources);
        return Err(super::no_layer(pattern, sources.map(String::as_str)).into());
    }
    Ok(names)
}

impl Display for Fusions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let times = match (row.fired.len(), row.missed.len()) {
                (0, 0) => "nothing came by".to_owned(),
                (0, _) => "not fired".to_owned(),
                (times, _) => format!("fired {}", table::count(times, "time")),
            };
            writeln!(
                f,
                "{}, into {} ({}): {times}",
                row.row,
                row.ops.join(", "),
                row.evidence
            )?;
            let names = table::all_shortened(row.fired.iter().map(|fired| fired.layer.as_str()));
            let lines = row.fired.iter().map(|fired| {
                let layer = names.get(fired.layer.as_str()).map_or("", String::as_str);
                [format!("  {layer}"), fired.claim.clone()]
            });
            table::write(f, lines)?;
            let dropped =
                (row.fired.iter()).filter_map(|fired| Some((fired.layer.clone(), fired.dropped_clamp.as_ref()?)));
            grouped(f, "clamp left out", dropped)?;
            let missed = row.missed.iter().map(|miss| {
                let instead = (miss.instead.as_ref()).map_or_else(String::new, |row| format!(" (done by {row})"));
                (format!("{} into {}{instead}", miss.value, miss.layer), &miss.reason)
            });
            grouped(f, "not", missed)?;
        }
        if !self.without_row.is_empty() {
            writeln!(f, "no row:")?;
            let refused = self.without_row.iter();
            let refused = refused.map(|refused| (format!("{} into {}", refused.value, refused.layer), &refused.reason));
            grouped(f, "not", refused)?;
        }
        if !self.merged.is_empty() {
            writeln!(f, "equal requantizations of one accumulator:")?;
        }
        for merged in &self.merged {
            writeln!(f, "  {} stands for {}", merged.value, merged.gone.join(", "))?;
        }
        Ok(())
    }
}
