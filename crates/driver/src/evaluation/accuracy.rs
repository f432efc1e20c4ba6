//! Measured accuracy, as reports state it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::config::types::Better;

use super::{
    interval::Spread,
    meter::{Measure, Note, Runs},
    share::Share,
};

/// Measured accuracy of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// On how many samples.
    pub samples: u64,
    /// The metrics in the order in which they are asked for; one that looks at several outputs is there once for each.
    pub metrics: Vec<Measured>,
}

impl Accuracy {
    /// The figures of all metrics, from what they noted of each model.
    pub(crate) fn new<'a>(
        measures: &[Measure],
        samples: usize,
        integer: &'a [Vec<Note>],
        float: Option<&'a [Vec<Note>]>,
        simulated: Option<&'a [Vec<Note>]>,
    ) -> Accuracy {
        let of = |notes: Option<&'a [Vec<Note>]>, index: usize| -> Option<&'a [Note]> {
            notes?.get(index).map(Vec::as_slice)
        };
        let measured = measures
            .iter()
            .zip(integer)
            .enumerate()
            .map(|(index, (measure, integer))| {
                let runs = Runs {
                    integer,
                    float: of(float, index),
                    simulated: of(simulated, index),
                };
                measure.measured(samples, runs)
            });
        Accuracy {
            samples: samples as u64,
            metrics: measured.collect(),
        }
    }

    /// The first metric of this name.
    pub fn of(&self, name: &str) -> Option<&Measured> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// One metric of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The name by which configuration and gates know it.
    pub name: String,
    /// The output that it looks at; absent where it looks at several together.
    pub output: Option<String>,
    /// Number of samples, or of groups of samples that have a label together.
    pub samples: u64,
    /// Unit of the figures.
    pub unit: Unit,
    /// Direction in which figures get better.
    pub better: Better,
    /// The float model; absent where it was not measured, and where the metric compares with it.
    pub float: Option<Figure>,
    /// The integer model, or how it compares with the float model; absent where only the simulation was there to compare
    /// with.
    pub integer: Option<Figure>,
    /// The float graph that rounds where the integer one has codes, or how the integer model compares with it; measured
    /// where it is asked for. Against the float model it says what the grids cost, against the integer model what the
    /// target's arithmetic does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Figure>,
    /// From float to integer.
    pub change: Option<Change>,
    /// Why there is no interval, or what else is worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of `snr`: the parts of the output, where a concatenation makes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartFigure>,
}

/// The figure of a part of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFigure {
    /// The tensor that is the part.
    pub part: String,
    /// As the integer figure of the whole.
    pub integer: Option<Figure>,
    /// As that of the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Figure>,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Percent.
    Percent,
    /// Decibels.
    Decibel,
    /// None. A point is a hundredth.
    Number,
    /// None. A point is 1.
    Points,
}

impl Unit {
    /// A figure for people.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Unit::Percent => format!("{value:.2} %"),
            Unit::Decibel => format!("{value:.2} dB"),
            Unit::Number => format!("{value:.5}"),
            Unit::Points => format!("{value:.3}"),
        }
    }

    /// The ends of an interval, for people.
    fn ends(self, [low, high]: [f64; 2]) -> String {
        match self {
            Unit::Percent | Unit::Decibel => format!("[{low:.2}, {high:.2}]"),
            Unit::Number => format!("[{low:.5}, {high:.5}]"),
            Unit::Points => format!("[{low:.3}, {high:.3}]"),
        }
    }

    /// A difference in points: percentage points, decibels, or hundredths.
    pub(crate) fn points(self, difference: f64) -> f64 {
        match self {
            Unit::Percent | Unit::Decibel | Unit::Points => difference,
            Unit::Number => 100.0 * difference,
        }
    }
}

/// A figure of one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// In the metric's unit.
    pub value: f64,
    /// The 95 % interval, where there is one.
    pub interval: Option<[f64; 2]>,
    /// The samples that are counted, where the figure is a share of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl Figure {
    /// A figure without an interval.
    pub(crate) fn plain(value: f64) -> Figure {
        Figure {
            value,
            interval: None,
            count: None,
        }
    }

    /// A mean over samples, with the interval of its spread.
    pub(crate) fn mean(numbers: &[f64]) -> Figure {
        let (value, spread) = Spread::of_mean(numbers);
        Figure {
            interval: spread.interval(value),
            ..Figure::plain(value)
        }
    }
}

impl From<Share> for Figure {
    fn from(share: Share) -> Figure {
        Figure {
            value: share.percent(),
            interval: Some(share.interval()),
            count: Some(share.count),
        }
    }
}

/// Difference of two models on the same samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The integer model's figure less the float model's, in the metric's unit.
    pub value: f64,
    /// Standard error of the difference, where it is known.
    pub standard_error: Option<f64>,
    /// The paired 95 % interval of the difference, where there is one.
    pub interval: Option<[f64; 2]>,
    /// The way in which the interval was found.
    pub by: Option<String>,
    /// The distribution behind the interval, for gates with another confidence.
    #[serde(skip)]
    pub(crate) spread: Spread,
}

impl Change {
    /// A difference that is spread so.
    pub(crate) fn new(value: f64, spread: Spread) -> Change {
        Change {
            value,
            standard_error: spread.standard_error(),
            interval: spread.interval(value),
            by: spread.by().map(str::to_owned),
            spread,
        }
    }

    /// The change of a mean over samples, from the numbers of each.
    pub(crate) fn of_means(float: &[f64], integer: &[f64]) -> Change {
        let differences: Vec<f64> = float
            .iter()
            .zip(integer)
            .map(|(float, integer)| integer - float)
            .collect();
        let (value, spread) = Spread::of_mean(&differences);
        Change::new(value, spread)
    }
}

impl Measured {
    /// Points that the integer model loses, and with a confidence from 0 to 1 the points that it loses at most.
    ///
    /// `None` where the metric has no loss, and where its interval is not known.
    pub(crate) fn loss(&self, confidence: Option<f64>) -> Option<f64> {
        let change = self.change.as_ref()?;
        let (sign, p) = match self.better {
            Better::Higher => (-1.0, 1.0 - confidence.unwrap_or_default()),
            Better::Lower => (1.0, confidence.unwrap_or_default()),
        };
        let value = match confidence {
            None => change.value,
            Some(_) => change.spread.quantile(change.value, p)?,
        };
        Some(self.unit.points(sign * value))
    }

    fn figure(&self, figure: Option<Figure>) -> String {
        let interval = |figure: Figure| figure.interval.map(|ends| format!(" {}", self.unit.ends(ends)));
        figure.map_or_else(String::new, |figure| {
            self.unit.shown(figure.value) + &interval(figure).unwrap_or_default()
        })
    }

    /// The cells of a table for people.
    fn row(&self, names: &BTreeMap<&str, String>) -> [String; 6] {
        // Of a metric that compares, the figure says the same.
        let change = self.change.as_ref().filter(|_| self.float.is_some()).map(|change| {
            let value = match self.unit {
                Unit::Percent => format!("{:+.2} points", change.value),
                Unit::Decibel => format!("{:+.2} dB", change.value),
                Unit::Number => format!("{:+.5}", change.value),
                Unit::Points => format!("{:+.3}", change.value),
            };
            let interval = change.interval.map(|ends| format!(" {}", self.unit.ends(ends)));
            value + &interval.unwrap_or_default()
        });
        [
            self.name.clone(),
            (self.output.as_deref().and_then(|output| names.get(output)).cloned()).unwrap_or_default(),
            self.figure(self.float),
            self.figure(self.simulated),
            self.figure(self.integer),
            change.unwrap_or_default(),
        ]
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = crate::table::count(self.samples as usize, "sample");
        writeln!(f, "accuracy on {samples}, with 95 % intervals:")?;
        let outputs = self.metrics.iter().filter_map(|metric| metric.output.as_deref());
        let names = crate::table::all_shortened(outputs);
        let heading = ["", "output", "float", "simulated", "integer", "change"].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(heading)
            .chain(self.metrics.iter().map(|metric| metric.row(&names)))
            .collect();
        // Columns in which no metric has anything are left out.
        let filled: Vec<usize> = (0..6)
            .filter(|&column| rows.iter().skip(1).any(|row| !row[column].is_empty()))
            .collect();
        let cell =
            |row: &[String; 6], column: usize| filled.get(column).map_or_else(String::new, |&at| row[at].clone());
        let rows = rows
            .iter()
            .map(|row| std::array::from_fn::<String, 6, _>(|column| cell(row, column)));
        let mut text = String::new();
        crate::table::write(&mut text, rows)?;
        for line in text.lines() {
            writeln!(f, "  {line}")?;
        }
        for metric in self.metrics.iter().filter(|metric| !metric.parts.is_empty()) {
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
        for metric in &self.metrics {
            if let Some(note) = &metric.note {
                writeln!(f, "  {}: {note}", metric.name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::share::Paired;

    fn measured(unit: Unit, better: Better, change: Change) -> Measured {
        Measured {
            name: "one".into(),
            output: Some("y".into()),
            samples: 100,
            unit,
            better,
            float: Some(Figure::plain(0.5)),
            integer: Some(Figure::plain(0.4)),
            simulated: None,
            change: Some(change),
            note: None,
            parts: Vec::new(),
        }
    }

    #[test]
    fn a_loss_is_in_points_whatever_is_better() {
        let change = |value| Change::new(value, Spread::Normal(0.01));
        let higher = measured(Unit::Number, Better::Higher, change(-0.1));
        assert!((higher.loss(None).unwrap() - 10.0).abs() < 1e-9);
        // One-sided: 1.645 standard errors further.
        assert!((higher.loss(Some(0.95)).unwrap() - 11.645).abs() < 1e-3);
        let lower = measured(Unit::Points, Better::Lower, change(0.1));
        assert!((lower.loss(None).unwrap() - 0.1).abs() < 1e-9);
        assert!((lower.loss(Some(0.95)).unwrap() - 0.116_45).abs() < 1e-5);
        let unknown = measured(Unit::Percent, Better::Higher, Change::new(-3.0, Spread::Unknown));
        assert_eq!((unknown.loss(None), unknown.loss(Some(0.9))), (Some(3.0), None));
    }

    #[test]
    fn people_read_what_was_measured_and_no_empty_columns() {
        let paired = Paired {
            gained: 1,
            lost: 2,
            samples: 640,
        };
        let mut top1 = measured(
            Unit::Percent,
            Better::Higher,
            Change::new(paired.points(), Spread::Counted(paired)),
        );
        top1.float = Some(
            Share {
                count: 632,
                samples: 640,
            }
            .into(),
        );
        top1.integer = Some(
            Share {
                count: 631,
                samples: 640,
            }
            .into(),
        );
        let accuracy = Accuracy {
            samples: 640,
            metrics: vec![top1],
        };
        let text = accuracy.to_string();
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
