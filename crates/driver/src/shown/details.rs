//! Shows the details of a report: every layer, and all items of which the short form of the report shows only the
//! number.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use strait_report::{EvidenceReport, FiredReport, Ground, Layer, Report};
use strait_requantize::Verdict;
use strait_target::spec::Evidence;

use crate::table;

use super::{
    Shown,
    grouped::{NAMED, grouped},
    nearness, rules,
};

/// The details of a report, as text.
pub struct Details<'a>(pub &'a Report);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details(report) = self;
        layers(f, &report.layers)?;
        writeln!(f)?;
        rules::write(f, report)?;
        let dropped = (report.fusions.fired.iter())
            .filter_map(|fired| Some((fired.layer.clone(), fired.dropped_clamp.as_ref()?)));
        grouped(f, "clamp left out: ", dropped)?;
        let free = nearness::free_integers(&report.layers);
        for line in free.into_iter().chain(nearness::possible_gains(&report.layers)) {
            writeln!(f, "{line}")?;
        }
        write!(f, "{}", Shown(&report.evidence))?;
        for (role, data) in &report.data {
            let images = table::count(data.samples, "image");
            writeln!(f, "{role}: {images}, decoded by {}", data.reader())?;
        }
        write!(f, "{}", Shown(&report.sanity))
    }
}

impl Display for Shown<'_, EvidenceReport> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(evidence) = self;
        writeln!(f, "layers by evidence: {}", evidence.layers)?;
        let assumed = evidence
            .rows
            .iter()
            .filter(|row| row.evidence == Evidence::Assumed.name());
        let assumed: Vec<&Ground> = assumed.collect();
        for row in assumed.iter().take(NAMED) {
            let note = row.note.as_deref().map_or_else(String::new, |note| format!(": {note}"));
            writeln!(
                f,
                "  assumed: {}, in {}{note}",
                row.row,
                table::count(row.layers, "layer")
            )?;
        }
        match assumed.get(NAMED..) {
            None | Some([]) => Ok(()),
            Some(more) => {
                let names: Vec<&str> = more.iter().map(|row| row.row.as_str()).collect();
                writeln!(f, "  assumed besides: {}", names.join(", "))
            }
        }
    }
}

fn layers(f: &mut fmt::Formatter<'_>, layers: &[Layer]) -> fmt::Result {
    let heading = ["layer", "op", "runs on", "result", "scale", "zero", "form", "fusion"].map(str::to_owned);
    let names = table::all_shortened(layers.iter().map(|layer| layer.name.as_str()));
    table::write(
        f,
        std::iter::once(heading).chain(layers.iter().map(|layer| row(layer, &names))),
    )
}

fn row(layer: &Layer, names: &BTreeMap<&str, String>) -> [String; 8] {
    let result = layer.results.first();
    let shape = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    let grid = result.and_then(|result| result.grid.as_ref());
    [
        names.get(layer.name.as_str()).cloned().unwrap_or_default(),
        layer.op.clone(),
        if layer.host.is_some() { "host" } else { "accelerator" }.to_owned(),
        result.map_or_else(String::new, |result| {
            format!("{}[{}]", result.elem, shape(&result.shape))
        }),
        grid.map_or_else(String::new, |grid| several(&grid.scale, |scale| format!("{scale:.4e}"))),
        grid.map_or_else(String::new, |grid| several(&grid.zero_point, i32::to_string)),
        form(layer),
        layer.fusion.as_deref().map_or_else(String::new, fusion),
    ]
}

/// Returns the names of the forms with which a layer requantizes, as the target's table has them. If the table is not
/// known, returns the names of the kinds of these forms instead.
fn form(layer: &Layer) -> String {
    let Some(kind) = &layer.form else { return String::new() };
    let rows = layer.rests_on.iter().filter_map(|row| row.strip_prefix("form "));
    let rows: Vec<&str> = rows.collect();
    if rows.is_empty() { kind.clone() } else { rows.join(", ") }
}

fn several<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    match all {
        [one] => text(one),
        _ => format!("{} of them", all.len()),
    }
}

fn fusion(fired: &FiredReport) -> String {
    let without = fired.dropped_clamp.as_ref().map_or("", |_| ", without its clamp");
    match &fired.verdict {
        Verdict::Exact => format!("{}: exact{without}", fired.row),
        Verdict::Unknown => format!("{}: undecided", fired.row),
        bounded => format!("{}: within {} LSB", fired.row, bounded.max_lsb()),
    }
}
