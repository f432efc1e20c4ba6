//! Shows the report as text for people.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use strait_report::{EvidenceReport, FiredReport, Ground, Layer, ReasonReport, Report};
use strait_requantize::Verdict;
use strait_target::spec::Evidence;

use crate::table;

use super::{Shown, nearness, rules};

impl Display for Shown<'_, Report> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(report) = self;
        let target = &report.target;
        writeln!(f, "{} {}: {}", target.id, target.version, report.evidence.claim)?;
        for remark in &report.remarks {
            writeln!(f, "{}: {} [{}]", remark.severity, remark.text, remark.code)?;
        }
        writeln!(f)?;
        layers(f, &report.layers)?;
        let summary = &report.summary;
        writeln!(
            f,
            "\n{} on the accelerator, {} on the host; {} between them",
            table::count(summary.accelerator, "layer"),
            summary.host,
            table::count(summary.conversions, "conversion")
        )?;
        writeln!(
            f,
            "{}, {} exact and {} bounded; not fused: {}{}",
            table::count(summary.exact + summary.bounded, "fusion"),
            summary.exact,
            summary.bounded,
            table::count(summary.unfused, "requantization"),
            match summary.requantized {
                0 => String::new(),
                elements if summary.unfused == 1 => format!(", which writes {elements} elements"),
                elements => format!(", which write {elements} elements"),
            }
        )?;
        if let Some(held) = &report.own_model {
            writeln!(f, "held against the target's own model of its arithmetic: {held}")?;
        }
        rules::write(f, report)?;
        let dropped = (report.fusions.fired.iter())
            .filter_map(|fired| Some((fired.layer.clone(), fired.dropped_clamp.as_ref()?)));
        grouped(f, "clamp left out", dropped)?;
        let free = nearness::free_integers(&report.layers);
        for line in free.into_iter().chain(nearness::possible_gains(&report.layers)) {
            writeln!(f, "{line}")?;
        }
        for lint in report.lints.iter().take(NAMED) {
            writeln!(f, "  lint: {} [{}]", lint.text, lint.code)?;
        }
        if let Some(more @ 1..) = report.lints.len().checked_sub(NAMED) {
            writeln!(f, "  and {}", table::count(more, "more lint"))?;
        }
        let refused = report.fusions.refused.iter();
        let refused = refused.map(|r| (format!("{} into {}", r.value, r.layer), &r.reason));
        grouped(f, "not fused", refused)?;
        let host = report
            .layers
            .iter()
            .filter_map(|layer| Some((layer, layer.host.as_ref()?)));
        let host = host.map(|(layer, reason)| (format!("{} ({})", layer.name, layer.op), reason));
        grouped(f, "on the host", host)?;
        write!(f, "{}", Shown(&report.evidence))?;
        outside(f, &report.layers)?;
        let ratio = report.size.float_bytes as f64 / report.size.integer_bytes.max(1) as f64;
        let (before, after) = (
            table::bytes(report.size.float_bytes),
            table::bytes(report.size.integer_bytes),
        );
        writeln!(f, "parameters: {before} before, {after} after ({ratio:.2} to 1)")?;
        for (role, data) in &report.data {
            let images = table::count(data.samples, "image");
            writeln!(f, "{role}: {images}, decoded by {}", data.reader())?;
        }
        write!(f, "{}", Shown(&report.sanity))?;
        if let Some(accuracy) = &report.accuracy {
            write!(f, "{}", Shown(accuracy))?;
        }
        for gate in &report.gates {
            writeln!(
                f,
                "gate {}: {}: {}",
                gate.gate,
                if gate.met { "met" } else { "FAILED" },
                gate.text
            )?;
        }
        Ok(())
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

/// Lists the layers whose forms were shown to be right on fewer accumulators than they can have.
fn outside(f: &mut fmt::Formatter<'_>, layers: &[Layer]) -> fmt::Result {
    let mut all = layers
        .iter()
        .flat_map(|layer| layer.outside.iter().map(|outside| (&layer.name, outside)));
    for (name, outside) in all.by_ref().take(NAMED) {
        writeln!(f, "  outside: {name}: {outside}")?;
    }
    match all.count() {
        0 => Ok(()),
        more => writeln!(f, "  outside besides: {}", table::count(more, "layer")),
    }
}

/// How many layers with the same reason are named. `--json` and `report.json` have all.
const NAMED: usize = 4;

/// A line for each reason, in the order in which they first occur, with what it applies to. Reasons that differ only in
/// names of layers and tensors share a line, in which `…` stands for the names.
pub(super) fn grouped<'a>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    all: impl Iterator<Item = (String, &'a ReasonReport)>,
) -> fmt::Result {
    let mut groups: Vec<(&str, Vec<Word<'a>>, Vec<String>)> = Vec::new();
    for (name, reason) in all {
        let words = words(&reason.text);
        let is_it = |known: &&mut (&str, Vec<Word<'a>>, Vec<String>)| known.0 == reason.code && alike(&known.1, &words);
        match groups.iter_mut().find(is_it) {
            Some((_, known, names)) => {
                for (known, word) in known.iter_mut().zip(words) {
                    if *known != word {
                        known.text = "…";
                    }
                }
                names.push(name);
            }
            None => groups.push((&reason.code, words, vec![name])),
        }
    }
    for (code, words, names) in groups {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = names[..names.len().min(NAMED)].join(", ");
        let text: Vec<String> = words.iter().map(|word| format!("{}{}", word.text, word.end)).collect();
        writeln!(f, "  {what}: {shown}{more}: {} [{code}]", text.join(" "))?;
    }
    Ok(())
}

/// A word of a reason, and the punctuation after it.
#[derive(Clone, Copy, PartialEq)]
struct Word<'a> {
    text: &'a str,
    end: &'a str,
    /// True if the word looks like a name from a model.
    is_name: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    text.split(' ').map(word).collect()
}

fn word(whole: &str) -> Word<'_> {
    let text = whole.trim_end_matches([',', ';', ':', ')', '`', '.']);
    Word {
        text,
        end: &whole[text.len()..],
        is_name: text.contains(['_', ':', '/']),
    }
}

/// True if two reasons are the same except for names.
fn alike(a: &[Word<'_>], b: &[Word<'_>]) -> bool {
    let is_same = |(a, b): (&Word<'_>, &Word<'_>)| {
        a.end == b.end && (a.text == b.text || (a.is_name || a.text == "…") && b.is_name)
    };
    a.len() == b.len() && a.iter().zip(b).all(is_same)
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
        layer.fusion.as_ref().map_or_else(String::new, fusion),
    ]
}

/// The forms that a layer requantizes with, by their names in the target's table; if the table is not known, by their
/// kind.
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Lines(Vec<(String, ReasonReport)>);

    impl Display for Lines {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            grouped(
                f,
                "not fused",
                self.0.iter().map(|(name, reason)| (name.clone(), reason)),
            )
        }
    }

    #[test]
    fn reasons_that_differ_in_names_alone_are_one_line() {
        let line = |name: &str, code: &str, text: &str| {
            let (code, text) = (code.to_owned(), text.to_owned());
            (name.to_owned(), ReasonReport { code, text })
        };
        let behind = |name: &str| format!("it stands behind {name}, which has one already");
        let mut lines: Vec<_> = (0..6)
            .map(|at| line(&format!("v{at}"), "chain", &behind(&format!("norm_{at}"))))
            .collect();
        lines.push(line("a", "type", "the result is i8, not i32"));
        lines.push(line("b", "type", "the result is i16, not i32"));
        lines.push(line("c", "other", &behind("norm_9")));
        let expected = "  not fused: v0, v1, v2, v3 and 2 more: it stands behind …, which has one already [chain]\n\
                        \x20 not fused: a: the result is i8, not i32 [type]\n\
                        \x20 not fused: b: the result is i16, not i32 [type]\n\
                        \x20 not fused: c: it stands behind norm_9, which has one already [other]\n";
        assert_eq!(Lines(lines).to_string(), expected);
    }
}
