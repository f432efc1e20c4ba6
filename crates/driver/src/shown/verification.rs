//! Shows the result of a verification.

use std::fmt::{self, Display};

use strait_artifact::{Computed, FusionLine, Subject, Unsound, Verification};

use crate::table;

use super::Shown;

/// At most this many findings are shown.
const MOST_FINDINGS: usize = 20;

/// A limit on the difference of results, in words.
fn bound(max_lsb: u32) -> String {
    match max_lsb {
        u32::MAX => "not decided".to_owned(),
        known => format!("at most {known} LSB"),
    }
}

impl Display for Shown<'_, Verification> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(found) = self;
        let answer = if found.is_sound() { "sound" } else { "NOT SOUND" };
        writeln!(f, "{}: {answer}\n", found.artifact)?;
        let mut rows: Vec<[String; 2]> = Vec::new();
        let mut say = |what: &str, text: String| rows.push([what.to_owned(), text]);
        if let Some(digest) = found.digest {
            say("digest", digest.to_string());
        }
        if let Some(target) = &found.target {
            let by = match &found.computed {
                Some(Computed::Target) => ", computed by the kernels that are registered for it",
                Some(Computed::OwnModel) => ", computed by its own model of its arithmetic",
                Some(Computed::Host(_)) => ", computed by the host",
                None => "",
            };
            let of = found.own_model.map_or_else(String::new, |shares| format!(": {shares}"));
            say("target", format!("{target}{by}{of}"));
        }
        if let Some(origin) = &found.origin {
            say("made with", origin.clone());
        }
        if let Some(elsewhere) = &found.elsewhere {
            say("", format!("the target that is registered here is {elsewhere}"));
        }
        if let Some(Computed::Host(reason)) = &found.computed {
            say("", reason.clone());
        }
        if found.digest.is_some() {
            let is_file = |finding: &&Unsound| finding.subject == Subject::File;
            let bad = found.findings.iter().filter(is_file).count();
            say(
                "files",
                format!("{} in the manifest, {bad} not as it says", found.files),
            );
        }
        if found.computed.is_some() {
            let total = |count: fn(&FusionLine) -> usize| found.fusions.iter().map(count).sum::<usize>();
            let (exact, bounded) = (total(|line| line.exact), total(|line| line.bounded));
            say("fusions", format!("{exact} exact, {bounded} bounded, derived anew"));
        }
        let worst = found.fusions.iter().filter_map(|line| line.worst.as_deref());
        let names = table::all_shortened(worst);
        for line in &found.fusions {
            let what = match &line.row[..] {
                "" => "without a certificate".to_owned(),
                row => format!("{row}, by {}", line.argument.replace('_', " ")),
            };
            let worst = line.worst.iter();
            let worst: String = worst
                .filter_map(|layer| names.get(layer.as_str()))
                .map(|layer| format!(", {}: {layer}", bound(line.max_lsb)))
                .collect();
            say(
                "",
                format!("{what}: {} exact, {} bounded{worst}", line.exact, line.bounded),
            );
        }
        let runs = &found.runs;
        if runs.random + runs.given > 0 {
            let outputs = if runs.outputs {
                ", and the outputs bit for bit"
            } else {
                ""
            };
            say(
                "runs",
                format!(
                    "{} random and {}: {} on the lowered graph's operands{outputs}",
                    runs.random,
                    table::count(runs.given, "given sample"),
                    table::count(runs.layers, "layer")
                ),
            );
        }
        table::write(f, rows.into_iter())?;
        for finding in found.findings.iter().take(MOST_FINDINGS) {
            writeln!(f, "\n{}{}\n  {}", finding.name, finding.of(), finding.message)?;
        }
        match found.findings.len().checked_sub(MOST_FINDINGS) {
            Some(more @ 1..) => writeln!(f, "\nand {more} more; --json has all of them"),
            _ => Ok(()),
        }
    }
}
