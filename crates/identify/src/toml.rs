//! Writes answers as rows of a target's table, and as JSON.

use crate::{
    answer::{Answer, Explained, Refuted, Subject, Tolerance, Witness},
    rows::row,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use strait_requantize::Requantization;

/// Writes answers in TOML. There is a `[form.NAME]` row for each arithmetic that explains a layer. Comments describe
/// the arithmetic and say which recorded values it does not produce, which arithmetics were refuted, and which
/// arithmetics the recordings cannot distinguish.
///
/// Layers that have an arithmetic in common share their rows. An arithmetic counts as an answer if it is wrong for at
/// most the tolerated fraction of the outputs.
pub fn document(file: &str, answers: &[Answer], tolerated: Tolerance) -> String {
    let mut text = format!("# The arithmetic of {}, as far as its values tell.\n", printable(file));
    let groups = groups(answers);
    for (number, group) in groups.iter().enumerate() {
        // Writing into a `String` never fails.
        let _ = group.write(&mut text, number, tolerated);
    }
    text
}

/// The answers as JSON, with everything that was tried on each layer.
pub fn json(answers: &[Answer], tolerated: Tolerance) -> Value {
    let witness = |witness: &Witness| {
        json!({
            "channel": witness.channel,
            "accumulator": witness.accumulator,
            "place": witness.place,
            "expected": witness.expected,
            "found": witness.found,
        })
    };
    let layer = |answer: &Answer| {
        let explained = answer.explained.iter().map(|explained| {
            json!({
                "name": explained.subject.name(),
                "arithmetic": explained.subject.to_string(),
                "form": explained.form,
                "clamped": explained.clamps,
                "factors": explained.factors,
                "row": row(&explained.subject, &[&explained.form], explained.clamps),
                "missed": explained.missed,
                "outliers": explained.outliers.iter().map(witness).collect::<Vec<_>>(),
            })
        });
        let refuted = answer.refuted.iter().map(|refuted| {
            json!({
                "name": refuted.subject.name(),
                "arithmetic": refuted.subject.to_string(),
                "form": refuted.form,
                "missed": refuted.missed,
                "witness": witness(&refuted.witness),
            })
        });
        json!({
            "layer": answer.layer,
            "outputs": answer.outputs,
            "accumulators": answer.accumulators,
            "exact": answer.is_exact(),
            "answered": answer.is_within(tolerated),
            "rereadings": answer.rereadings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "explained": explained.collect::<Vec<_>>(),
            "refuted": refuted.collect::<Vec<_>>(),
        })
    };
    json!({ "layers": answers.iter().map(layer).collect::<Vec<_>>() })
}

/// A group of layers that can all be explained by the same arithmetic.
struct Group<'a> {
    layers: Vec<&'a Answer>,
    /// The arithmetics that explain all layers of the group, each with the smallest width that is enough.
    common: Vec<Subject>,
}

/// The TOML shows the factors of at most this many channels. The JSON has the factors of all channels.
const SHOWN: usize = 4;

/// Adds each layer to the first group that has an arithmetic in common with it.
fn groups(answers: &[Answer]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for answer in answers {
        let narrowest = narrowest(answer);
        let joined = groups.iter_mut().find_map(|group| {
            let explains_all = |subject: &Subject| {
                let mut layers = group.layers.iter().copied().chain([answer]);
                layers.all(|layer| explained(layer, subject).is_some())
            };
            let common: Vec<Subject> = group
                .common
                .iter()
                .filter_map(|a| narrowest.iter().find_map(|b| wider(a, b)))
                .filter(explains_all)
                .collect();
            (!common.is_empty()).then_some((group, common))
        });
        match joined {
            Some((group, common)) => {
                group.layers.push(answer);
                group.common = common;
            }
            None => groups.push(Group {
                layers: vec![answer],
                common: narrowest,
            }),
        }
    }
    groups
}

fn explained<'a>(answer: &'a Answer, subject: &Subject) -> Option<&'a Explained> {
    answer.explained.iter().find(|explained| explained.subject == *subject)
}

/// Finds, for each arithmetic that explains a layer, the width of the multiplier with which it produces the most
/// values. If several widths produce equally many values, takes the smallest one.
fn narrowest(answer: &Answer) -> Vec<Subject> {
    let mut narrowest: Vec<Subject> = Vec::new();
    for Explained { subject, .. } in &answer.explained {
        if !narrowest.iter().any(|better| better.is_width_of(subject)) {
            narrowest.push(*subject);
        }
    }
    narrowest
}

/// If `a` and `b` are the same arithmetic with different widths of the multiplier, returns the wider one.
fn wider(a: &Subject, b: &Subject) -> Option<Subject> {
    match (a, b) {
        (Subject::Hypothesis(a), Subject::Hypothesis(b)) if a.is_width_of(b) => {
            Some(Subject::Hypothesis(if a.bits > b.bits { *a } else { *b }))
        }
        _ => (a == b).then_some(*a),
    }
}

impl Group<'_> {
    fn write(&self, text: &mut String, number: usize, tolerated: Tolerance) -> std::fmt::Result {
        let names: Vec<&str> = self.layers.iter().map(|answer| answer.layer.as_str()).collect();
        let outputs: usize = self.layers.iter().map(|answer| answer.outputs).sum();
        writeln!(text, "\n# {}: {outputs} outputs", printable(&names.join(", ")))?;
        let every = match self.layers.iter().all(|answer| answer.missed() == Some(0)) {
            true => "every value",
            false => "all values but some that are wrong",
        };
        match self.common.len() {
            0 => writeln!(
                text,
                "# nothing that is tried explains them; thresholds (kind = \"steps\") explain whatever does not decrease"
            )?,
            1 => writeln!(text, "# one arithmetic explains {every}")?,
            count => writeln!(
                text,
                "# {count} arithmetics explain {every}; the data cannot tell them apart"
            )?,
        }
        for answer in &self.layers {
            self.write_layer(text, answer, tolerated)?;
        }
        for subject in &self.common {
            self.write_row(text, subject, number, tolerated)?;
        }
        writeln!(
            text,
            "\n# refuted, each with the parameters that come nearest to it, the nearest first:"
        )?;
        for answer in &self.layers {
            for Refuted {
                subject,
                witness,
                missed,
                ..
            } in &answer.refuted
            {
                let layer = printable(&answer.layer);
                let all = answer.outputs;
                writeln!(text, "#   {subject}")?;
                writeln!(text, "#     {layer}, {witness} (it misses {missed} of {all} outputs)")?;
            }
        }
        Ok(())
    }

    /// Writes the remarks on one layer. They say what the file states wrongly, and which values the best arithmetic
    /// does not produce. They also say which factors remain possible, and whether some arithmetic explains the layer
    /// with fewer bits than the arithmetics of the layer's group need.
    fn write_layer(&self, text: &mut String, answer: &Answer, tolerated: Tolerance) -> std::fmt::Result {
        let layer = printable(&answer.layer);
        for rereading in &answer.rereadings {
            writeln!(text, "# {layer} is explained {rereading}, and not as the file has it")?;
        }
        let alone = narrowest(answer);
        if let Some(fewest) = alone.first().filter(|fewest| !self.common.contains(fewest)) {
            writeln!(text, "# {layer} alone, with the fewest bits: {fewest}")?;
        }
        self.write_outliers(text, answer, tolerated)?;
        let with_factors =
            |subject: &Subject| explained(answer, subject).filter(|explained| !explained.factors.is_empty());
        let Some(first) = self.common.iter().find_map(with_factors) else {
            return Ok(());
        };
        writeln!(text, "# factors that {layer} leaves, by {}:", first.subject)?;
        for (channel, [low, high]) in first.factors.iter().enumerate().take(SHOWN) {
            writeln!(text, "#   channel {channel}: {low:.9e} to {high:.9e}")?;
        }
        match first.factors.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(text, "#   and {more} more channels"),
        }
    }

    /// Writes the recorded values of a layer that the arithmetic of the first row does not produce.
    fn write_outliers(&self, text: &mut String, answer: &Answer, tolerated: Tolerance) -> std::fmt::Result {
        let best = self.common.first().and_then(|subject| explained(answer, subject));
        let Some(best) = best.filter(|best| best.missed > 0) else {
            return Ok(());
        };
        let (layer, missed, all) = (printable(&answer.layer), best.missed, answer.outputs);
        let share = missed as f64 * 100.0 / all as f64;
        let verdict = match answer.is_within(tolerated) {
            true => format!("{tolerated} are tolerated"),
            false => "it is not exact".to_owned(),
        };
        writeln!(
            text,
            "# {}, explains all but {missed} of {all} outputs of {layer} ({share:.3} %; {verdict}):",
            best.subject
        )?;
        for outlier in &best.outliers {
            let Witness {
                channel,
                accumulator,
                place,
                expected,
                found,
            } = outlier;
            let computed = expected.map_or("nothing, as it overflows".to_owned(), |code| code.to_string());
            writeln!(
                text,
                "#   {layer}/output{place:?}: {found} is recorded and {computed} computed, of the accumulator {accumulator} of \
                 channel {channel}"
            )?;
        }
        match missed.saturating_sub(best.outliers.len()) {
            0 => Ok(()),
            more => writeln!(text, "#   and {more} more"),
        }
    }

    fn write_row(&self, text: &mut String, subject: &Subject, number: usize, tolerated: Tolerance) -> std::fmt::Result {
        let rows: Vec<&Explained> = self
            .layers
            .iter()
            .filter_map(|answer| explained(answer, subject))
            .collect();
        let forms: Vec<&Requantization> = rows.iter().map(|explained| &explained.form).collect();
        let clamps = rows
            .iter()
            .fold([false; 2], |all, one| [0, 1].map(|end| all[end] || one.clamps[end]));
        writeln!(text, "\n# {subject}")?;
        let others: Vec<String> = self
            .common
            .iter()
            .filter(|other| *other != subject)
            .map(|other| row_name(other, number))
            .collect();
        if !others.is_empty() {
            writeln!(text, "# cannot be told apart from {}", others.join(", "))?;
        }
        let wider = |other: &Explained| other.subject.is_width_of(subject) && other.subject != *subject;
        if self.layers.iter().any(|answer| answer.explained.iter().any(wider)) {
            writeln!(
                text,
                "# cannot be told apart from the same with another width of the multiplier"
            )?;
        }
        if rows.iter().any(|explained| explained.missed > 0) {
            let missed: usize = rows.iter().map(|explained| explained.missed).sum();
            writeln!(text, "# not exact: {missed} outputs are not given")?;
        }
        writeln!(text, "[form.{}]", row_name(subject, number))?;
        for (key, value) in row(subject, &forms, clamps) {
            writeln!(text, "{key:<10} = {value}")?;
        }
        if self.common.len() == 1 && self.layers.iter().all(|answer| answer.is_within(tolerated)) {
            let low = self.layers.iter().map(|answer| answer.range[0]).min().unwrap_or(0);
            let high = self.layers.iter().map(|answer| answer.range[1]).max().unwrap_or(0);
            writeln!(text, "evidence   = \"measured\"")?;
            writeln!(text, "holds      = {{ accumulator = [{low}, {high}] }}")?;
        }
        Ok(())
    }
}

/// Name of a row, made unique by the number of its group.
fn row_name(subject: &Subject, number: usize) -> String {
    match number {
        0 => subject.name(),
        _ => format!("{}-{}", subject.name(), number + 1),
    }
}

/// Replaces characters that would end a TOML comment, since names of layers and files may contain any characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
