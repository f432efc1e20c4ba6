//! Answers as rows of a table, and as JSON.

use crate::answer::{Answer, Explained, Refuted, Subject};
use serde_json::{Value, json};
use std::fmt::Write as _;
use strait_requantize::{IntType, Per, Requantization, Roundings};

/// Answers in TOML: `[form.NAME]` rows of all arithmetics that explain a layer, and as comments what they are, what was
/// refuted, and what the data cannot tell apart. Layers that have an arithmetic in common share their rows.
pub fn document(file: &str, answers: &[Answer]) -> String {
    let mut text = format!("# The arithmetic of {file}, as far as its values tell.\n");
    let groups = groups(answers);
    for (number, group) in groups.iter().enumerate() {
        // Writing into a string does not fail.
        let _ = group.write(&mut text, number);
    }
    text
}

/// The same for a program: layer by layer all that was tried.
pub fn json(answers: &[Answer]) -> Value {
    let layer = |answer: &Answer| {
        let explained = answer.explained.iter().map(|explained| {
            json!({
                "name": name(&explained.subject),
                "arithmetic": explained.subject.to_string(),
                "form": explained.form,
                "clamped": explained.clamps,
                "factors": explained.factors,
                "row": row(&explained.subject, &[&explained.form], explained.clamps),
            })
        });
        let refuted = answer.refuted.iter().map(|refuted| {
            let witness = &refuted.witness;
            json!({
                "name": name(&refuted.subject),
                "arithmetic": refuted.subject.to_string(),
                "form": refuted.form,
                "differing": refuted.differing,
                "witness": {
                    "channel": witness.channel,
                    "accumulator": witness.accumulator,
                    "expected": witness.expected,
                    "found": witness.found,
                },
            })
        });
        json!({
            "layer": answer.layer,
            "outputs": answer.outputs,
            "accumulators": answer.accumulators,
            "explained": explained.collect::<Vec<_>>(),
            "refuted": refuted.collect::<Vec<_>>(),
        })
    };
    json!({ "layers": answers.iter().map(layer).collect::<Vec<_>>() })
}

/// Layers that at least one arithmetic explains, all of them.
struct Group<'a> {
    layers: Vec<&'a Answer>,
    /// Arithmetics that explain each of them, at the narrowest width that does.
    common: Vec<Subject>,
}

/// Channels of which factors are shown; a program is told all.
const SHOWN: usize = 4;

/// Puts each layer to the first group that has an arithmetic in common with it.
fn groups(answers: &[Answer]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for answer in answers {
        let narrowest = narrowest(answer);
        let joined = groups.iter_mut().find_map(|group| {
            let common: Vec<Subject> = group
                .common
                .iter()
                .filter_map(|a| narrowest.iter().find_map(|b| wider(a, b)))
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

/// Of each arithmetic that explains a layer the narrowest width, rules first.
fn narrowest(answer: &Answer) -> Vec<Subject> {
    let all = answer.explained.iter().map(|explained| explained.subject);
    let is_widest = |subject: &Subject| {
        let narrower = |other: &Explained| match (subject, &other.subject) {
            (Subject::Hypothesis(a), Subject::Hypothesis(b)) => a.is_width_of(b) && b.bits < a.bits,
            _ => false,
        };
        !answer.explained.iter().any(narrower)
    };
    let mut narrowest: Vec<Subject> = all.filter(is_widest).collect();
    // What asks for the fewest bits says the most of the data.
    narrowest.sort_by_key(|subject| match subject {
        Subject::Rule(_) => 0,
        Subject::Hypothesis(hypothesis) => 1 + hypothesis.bits,
    });
    narrowest
}

/// The wider one of two widths of one arithmetic.
fn wider(a: &Subject, b: &Subject) -> Option<Subject> {
    match (a, b) {
        (Subject::Hypothesis(a), Subject::Hypothesis(b)) if a.is_width_of(b) => {
            Some(Subject::Hypothesis(if a.bits > b.bits { *a } else { *b }))
        }
        _ => (a == b).then_some(*a),
    }
}

impl Group<'_> {
    fn write(&self, text: &mut String, number: usize) -> std::fmt::Result {
        let names: Vec<&str> = self.layers.iter().map(|answer| answer.layer.as_str()).collect();
        let outputs: usize = self.layers.iter().map(|answer| answer.outputs).sum();
        writeln!(text, "\n# {}: {outputs} outputs", printable(&names.join(", ")))?;
        match self.common.len() {
            0 => writeln!(
                text,
                "# nothing that is tried explains them; thresholds (kind = \"steps\") explain whatever does not decrease"
            )?,
            1 => writeln!(text, "# one arithmetic explains every value")?,
            count => writeln!(
                text,
                "# {count} arithmetics explain every value; the data cannot tell them apart"
            )?,
        }
        for answer in &self.layers {
            self.write_layer(text, answer)?;
        }
        for subject in &self.common {
            self.write_row(text, subject, number)?;
        }
        writeln!(text, "\n# refuted, each with the parameters that come nearest to it:")?;
        for answer in &self.layers {
            for Refuted {
                subject,
                witness,
                differing,
                ..
            } in &answer.refuted
            {
                let layer = printable(&answer.layer);
                let all = answer.accumulators;
                writeln!(text, "#   {subject}")?;
                writeln!(
                    text,
                    "#     {layer}, {witness} ({differing} of {all} accumulators differ)"
                )?;
            }
        }
        Ok(())
    }

    /// Remarks of one layer: an arithmetic of fewer bits than the common ones, and what is left of its factors.
    fn write_layer(&self, text: &mut String, answer: &Answer) -> std::fmt::Result {
        let layer = printable(&answer.layer);
        let alone = narrowest(answer);
        if let Some(fewest) = alone.first().filter(|fewest| !self.common.contains(fewest)) {
            writeln!(text, "# {layer} alone, with the fewest bits: {fewest}")?;
        }
        let with_factors = |subject: &Subject| {
            let mut explained = answer.explained.iter();
            explained.find(|explained| explained.subject == *subject && !explained.factors.is_empty())
        };
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

    fn write_row(&self, text: &mut String, subject: &Subject, number: usize) -> std::fmt::Result {
        let explained: Vec<&Explained> = self
            .layers
            .iter()
            .filter_map(|answer| answer.explained.iter().find(|explained| explained.subject == *subject))
            .collect();
        let forms: Vec<&Requantization> = explained.iter().map(|explained| &explained.form).collect();
        let clamps = explained
            .iter()
            .fold([false; 2], |all, one| [0, 1].map(|end| all[end] || one.clamps[end]));
        let suffix = if number == 0 {
            String::new()
        } else {
            format!("-{}", number + 1)
        };
        writeln!(text, "\n# {subject}")?;
        writeln!(text, "[form.{}{suffix}]", name(subject))?;
        for (key, value) in row(subject, &forms, clamps) {
            writeln!(text, "{key:<10} = {value}")?;
        }
        if self.common.len() == 1 {
            let low = self.layers.iter().map(|answer| answer.range[0]).min().unwrap_or(0);
            let high = self.layers.iter().map(|answer| answer.range[1]).max().unwrap_or(0);
            writeln!(text, "evidence   = \"measured\"")?;
            writeln!(text, "holds      = {{ accumulator = [{low}, {high}] }}")?;
        }
        Ok(())
    }
}

/// Names come out of files: what would end a comment does not.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Hypothesis(hypothesis) => hypothesis.name(),
        Subject::Rule(rule) => rule.name().to_owned(),
    }
}

/// The keys of a row that describes these forms, which are of one kind, with their values in TOML.
fn row(subject: &Subject, forms: &[&Requantization], clamps: [bool; 2]) -> Vec<(&'static str, String)> {
    let rule = matches!(subject, Subject::Rule(_));
    let bits = match subject {
        Subject::Hypothesis(hypothesis) => hypothesis.bits,
        Subject::Rule(_) => 0,
    };
    let text = |text: &str| format!("{text:?}");
    let shift = |of: fn(&Requantization) -> Vec<i8>| {
        let shifts: Vec<i8> = forms.iter().flat_map(|form| of(form)).collect();
        let (min, max) = (shifts.iter().min().unwrap_or(&0), shifts.iter().max().unwrap_or(&0));
        format!("{{ min = {min}, max = {max} }}")
    };
    let multiplier = |bits: u8| format!("{{ bits = {bits} }}");
    let Some(first) = forms.first() else {
        return Vec::new();
    };
    let mut row = Vec::new();
    let (zero_point, from) = match first {
        Requantization::ArithFolded(form) => {
            row.push(("kind", text("shift")));
            row.push(("shift", shift(shifts)));
            row.push(("rounding", text(form.narrowing.rounding.name())));
            ("folded_in_bias", "free")
        }
        Requantization::TfLite(form) => {
            row.push(("kind", text("multiply_shift")));
            row.push(("stages", "1".into()));
            row.push(("multiplier", multiplier(bits)));
            row.push(("shift", shift(shifts)));
            row.push(("rounding", text(form.narrowing.rounding.name())));
            ("after", "free")
        }
        Requantization::FractionalZero(form) => {
            row.push(("kind", text("multiply_shift")));
            row.push(("stages", "1".into()));
            row.push(("multiplier", multiplier(bits)));
            row.push(("shift", shift(shifts)));
            row.push(("rounding", text(form.narrowing.rounding.name())));
            ("before_shift", "free")
        }
        Requantization::Gemmlowp(form) => {
            row.push(("kind", text("gemmlowp")));
            row.push((
                "stages",
                if form.roundings == Roundings::Two { "2" } else { "1" }.into(),
            ));
            row.push(("shift", shift(shifts)));
            ("after", if rule { "litert" } else { "free" })
        }
        Requantization::SixteenByEight(_) => {
            row.push(("kind", text("sixteen_by_eight")));
            row.push(("shift", shift(shifts)));
            ("after", "litert")
        }
        Requantization::Float64(_) => {
            row.push(("kind", text("float64_scale")));
            ("after", "litert")
        }
        Requantization::Float(_) => {
            row.push(("kind", text("float_scale")));
            if !rule {
                row.push(("multiplier", multiplier(bits)));
            }
            ("after", if rule { "onnxruntime" } else { "free" })
        }
        Requantization::FloatZeroInside(_) => {
            row.push(("kind", text("float_scale")));
            ("inside_rounding", if rule { "onnxruntime" } else { "free" })
        }
        Requantization::AscendRequant(_) => {
            let packed = *subject == Subject::Rule(crate::Rule::AscendPacked);
            row.push(("kind", text("ascend_requant")));
            row.push(("multiplier", multiplier(if packed { 11 } else { 24 })));
            ("after", "ascend") // tidy: allow(names): the name of a rule of scales
        }
        // No hypothesis has another form.
        _ => return Vec::new(),
    };
    let mut outputs: Vec<&str> = forms.iter().map(|form| word(form.out())).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let per_channel = forms.iter().any(|form| form.channels().is_some());
    row.extend([
        ("zero_point", text(zero_point)),
        ("output", format!("{outputs:?}")),
        ("per", format!("[{:?}]", if per_channel { "channel" } else { "tensor" })),
        ("clamp", text(if clamps == [false; 2] { "none" } else { "any" })),
        ("from", text(from)),
    ]);
    row
}

/// The shifts to the right of a form, as tables have them.
fn shifts(form: &Requantization) -> Vec<i8> {
    let right = |exponents: &Per<i8>| exponents.values().iter().map(|exponent| -exponent).collect();
    match form {
        Requantization::Gemmlowp(form) => right(&form.exponent),
        Requantization::SixteenByEight(form) => right(&form.exponent),
        form => {
            let narrowing = form.narrowing();
            // A shift has 62 places at most.
            narrowing.map_or_else(Vec::new, |n| {
                n.shift.values().iter().map(|&shift| shift as i8).collect()
            })
        }
    }
}

/// The word of tables for a type.
fn word(out: IntType) -> &'static str {
    match out {
        IntType::I4 => "int4",
        IntType::U4 => "uint4",
        IntType::I8 => "int8",
        IntType::U8 => "uint8",
        IntType::I16 => "int16",
        IntType::U16 => "uint16",
        IntType::I32 => "int32",
    }
}
