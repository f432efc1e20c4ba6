//! Shows the measured accuracy as a table for people.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use strait_evaluate::{Accuracy, Change, Figure, Measured, Unit};

use crate::table;

use super::Shown;

impl Display for Shown<'_, Accuracy> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(accuracy) = self;
        let samples = table::count(accuracy.samples as usize, "sample");
        writeln!(f, "accuracy on {samples}, with 95 % intervals:")?;
        let outputs = accuracy.metrics.iter().filter_map(|metric| metric.output.as_deref());
        let names = table::all_shortened(outputs);
        let heading = ["", "output", "float", "simulated", "integer", "change"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(heading)
            .chain(accuracy.metrics.iter().map(|metric| row(metric, &names)))
            .collect();
        // Columns that are empty for all metrics are left out.
        let filled: Vec<usize> = (0..6)
            .filter(|&column| rows.iter().skip(1).any(|row| !row[column].is_empty()))
            .collect();
        let cell =
            |row: &[String; 6], column: usize| filled.get(column).map_or_else(String::new, |&at| row[at].clone());
        let rows = rows
            .iter()
            .map(|row| std::array::from_fn::<String, 6, _>(|column| cell(row, column)));
        let mut text = String::new();
        table::write(&mut text, rows)?;
        for line in text.lines() {
            writeln!(f, "  {line}")?;
        }
        for metric in accuracy.metrics.iter().filter(|metric| !metric.parts.is_empty()) {
            let parts = metric.parts.iter().map(|part| {
                let shown = |figure: Option<Figure>| figure.map(|figure| metric.unit.shown(figure.value));
                let figures: Vec<String> = [shown(part.integer), shown(part.simulated)]
                    .into_iter()
                    .flatten()
                    .collect();
                format!("{} {}", part.part, figures.join(" and simulated "))
            });
            let output = metric.output.as_deref().unwrap_or_default();
            let parts: Vec<String> = parts.collect();
            writeln!(f, "  {} of {output} by part: {}", metric.name, parts.join(", "))?;
        }
        for metric in &accuracy.metrics {
            if let Some(answers) = metric.answers.filter(|&answers| answers != metric.samples) {
                let output = metric.output.as_deref().unwrap_or_default();
                let answers = table::count(answers as usize, "answer");
                writeln!(f, "  {} of {output} is over {answers}", metric.name)?;
            }
            if let Some(note) = &metric.note {
                writeln!(f, "  {}: {note}", metric.name)?;
            }
        }
        Ok(())
    }
}

/// The text for a measured number and its confidence interval. Empty if there is no number.
fn shown(metric: &Measured, figure: Option<Figure>) -> String {
    let interval = |figure: Figure| figure.interval.map(|ends| format!(" {}", ends_in(metric.unit, ends)));
    figure.map_or_else(String::new, |figure| {
        metric.unit.shown(figure.value) + &interval(figure).unwrap_or_default()
    })
}

/// The cells of one row.
fn row(metric: &Measured, names: &BTreeMap<&str, String>) -> [String; 6] {
    // For a metric that compares two models, the figure already is the difference between them, so no change is shown.
    let change = metric.change.as_ref().filter(|_| metric.float.is_some());
    let change = change.map(|change| changed(metric.unit, change));
    [
        metric.name.clone(),
        (metric.output.as_deref().and_then(|output| names.get(output)).cloned()).unwrap_or_default(),
        shown(metric, metric.float),
        shown(metric, metric.simulated),
        shown(metric, metric.integer),
        change.unwrap_or_default(),
    ]
}

/// The text for a change and its confidence interval.
pub(super) fn changed(unit: Unit, change: &Change) -> String {
    let value = match unit {
        Unit::Percent => format!("{:+.2} points", change.value),
        Unit::Decibel => format!("{:+.2} dB", change.value),
        Unit::Number => format!("{:+.5}", change.value),
        Unit::Points => format!("{:+.3}", change.value),
    };
    let interval = change.interval.map(|ends| format!(" {}", ends_in(unit, ends)));
    value + &interval.unwrap_or_default()
}

/// The text for the ends of an interval, with the unit.
fn ends_in(unit: Unit, [low, high]: [f64; 2]) -> String {
    match unit {
        Unit::Percent | Unit::Decibel => format!("[{low:.2}, {high:.2}]"),
        Unit::Number => format!("[{low:.5}, {high:.5}]"),
        Unit::Points => format!("[{low:.3}, {high:.3}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_evaluate::{Better, Paired, Proportion, Spread};

    #[test]
    fn people_read_what_was_measured_and_no_empty_columns() {
        let paired = Paired {
            gained: 1,
            lost: 2,
            samples: 640,
        };
        let share = |count| Proportion { count, samples: 640 };
        let top1 = Measured {
            name: "one".into(),
            output: Some("y".into()),
            samples: 640,
            answers: None,
            unit: Unit::Percent,
            better: Better::Higher,
            float: Some(share(632).into()),
            integer: Some(share(631).into()),
            simulated: None,
            change: Some(Change::new(paired.points(), Spread::Counted(paired))),
            note: None,
            parts: Vec::new(),
        };
        let accuracy = Accuracy {
            samples: 640,
            metrics: vec![top1],
        };
        let text = Shown(&accuracy).to_string();
        assert!(
            text.contains("98.75 % [97.55, 99.37]") && text.contains("-0.16 points ["),
            "{text}"
        );
        assert!(!text.contains("simulated"), "{text}");
        let json = serde_json::to_value(&accuracy).unwrap();
        assert_eq!(
            (&json["metrics"][0]["unit"], &json["metrics"][0]["integer"]["count"]),
            (&"percent".into(), &631.into())
        );
        let back: Accuracy = serde_json::from_value(json).unwrap();
        assert_eq!(back.metrics[0].integer, accuracy.metrics[0].integer);
    }
}
