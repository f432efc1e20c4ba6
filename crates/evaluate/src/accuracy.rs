//! Measured accuracy, as reports state it.

use serde::{Deserialize, Serialize};

use crate::{interval::Spread, proportion::Proportion, words::Better};

/// Measured accuracy of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// On how many samples.
    pub samples: u64,
    /// The metrics in the order in which they are asked for; one that looks at several outputs is there once for each.
    pub metrics: Vec<Measured>,
}

impl Accuracy {
    /// The first metric of this name.
    pub fn of(&self, name: &str) -> Option<&Measured> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// One metric of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub fn shown(self, value: f64) -> String {
        match self {
            Unit::Percent => format!("{value:.2} %"),
            Unit::Decibel => format!("{value:.2} dB"),
            Unit::Number => format!("{value:.5}"),
            Unit::Points => format!("{value:.3}"),
        }
    }

    /// A difference in points: percentage points, decibels, or hundredths.
    pub fn points(self, difference: f64) -> f64 {
        match self {
            Unit::Percent | Unit::Decibel | Unit::Points => difference,
            Unit::Number => 100.0 * difference,
        }
    }
}

/// A figure of one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub fn plain(value: f64) -> Figure {
        Figure {
            value,
            interval: None,
            count: None,
        }
    }

    /// A mean over samples, with the interval of its spread.
    pub fn mean(numbers: &[f64]) -> Figure {
        let (value, spread) = Spread::of_mean(numbers);
        Figure {
            interval: spread.interval(value),
            ..Figure::plain(value)
        }
    }
}

impl From<Proportion> for Figure {
    fn from(share: Proportion) -> Figure {
        Figure {
            value: share.percent(),
            interval: Some(share.interval()),
            count: Some(share.count),
        }
    }
}

/// Difference of two models on the same samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub spread: Spread,
}

impl Change {
    /// A difference that is spread so.
    pub fn new(value: f64, spread: Spread) -> Change {
        Change {
            value,
            standard_error: spread.standard_error(),
            interval: spread.interval(value),
            by: spread.by().map(str::to_owned),
            spread,
        }
    }

    /// The change of a mean over samples, from the numbers of each.
    pub fn of_means(float: &[f64], integer: &[f64]) -> Change {
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
    pub fn loss(&self, confidence: Option<f64>) -> Option<f64> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
