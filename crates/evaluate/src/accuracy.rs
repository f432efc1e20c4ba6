//! Types for the measured accuracy, as reports contain it.

use serde::{Deserialize, Serialize};

use crate::{clusters::ClusteredShare, interval::Spread, proportion::Proportion, words::Better};

/// The measured accuracy of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Number of samples that the model was measured on.
    pub samples: u64,
    /// One entry per metric and output, in the order in which the metrics were asked for. A metric that looks at
    /// several outputs together has one entry.
    pub metrics: Vec<Measured>,
}

impl Accuracy {
    /// The first entry for the metric with this name.
    pub fn of(&self, name: &str) -> Option<&Measured> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// The figures of one metric on one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Name of the metric, as the configuration and its gates use it.
    pub name: String,
    /// Output that the metric looks at; absent if it looks at several together.
    pub output: Option<String>,
    /// Number of samples. If several samples share a label, the number of such groups.
    pub samples: u64,
    /// Number of answers that the figures are about. Absent if each sample has one answer and all of them count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
    /// Unit of the figures.
    pub unit: Unit,
    /// Whether higher or lower figures are better.
    pub better: Better,
    /// Figure of the float model. Absent if it was not measured, or if the metric compares with the float model.
    pub float: Option<Figure>,
    /// Figure of the integer model. If the metric compares models, this figure compares the integer model with the
    /// float model, and is absent if there is no float model.
    pub integer: Option<Figure>,
    /// Figure of the simulation: the float graph with rounding wherever the integer graph has codes. If the metric
    /// compares models, this figure compares the integer model with the simulation. It is measured only if asked for.
    /// The difference from the float model to the simulation is the cost of quantizing the values. The difference from
    /// the simulation to the integer model comes from the target's arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Figure>,
    /// Change from the float model to the integer model.
    pub change: Option<Change>,
    /// Why there is no interval, or another remark about the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// For `snr`: a figure for each part of the output, if the output is a concatenation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartFigure>,
}

/// The figures for one part of a concatenated output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartFigure {
    /// Name of the tensor that is the part.
    pub part: String,
    /// Figure of the integer model for this part.
    pub integer: Option<Figure>,
    /// Figure of the simulation for this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Figure>,
}

/// The unit in which a metric's figures are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Percent; a point is one percentage point.
    Percent,
    /// Decibels; a point is one decibel.
    Decibel,
    /// A plain number; a point is 0.01.
    Number,
    /// A plain number; a point is 1.
    Points,
}

impl Unit {
    /// A figure with its unit, as text for people.
    pub fn shown(self, value: f64) -> String {
        match self {
            Unit::Percent => format!("{value:.2} %"),
            Unit::Decibel => format!("{value:.2} dB"),
            Unit::Number => format!("{value:.5}"),
            Unit::Points => format!("{value:.3}"),
        }
    }

    /// A difference in points: percentage points, decibels, hundredths, or units, depending on the unit.
    pub fn points(self, difference: f64) -> f64 {
        match self {
            Unit::Percent | Unit::Decibel | Unit::Points => difference,
            Unit::Number => 100.0 * difference,
        }
    }
}

/// The figure that a metric gives for one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Value in the unit of the metric.
    pub value: f64,
    /// The 95 % confidence interval, if there is one.
    pub interval: Option<[f64; 2]>,
    /// Number of samples or answers that count, if the figure is a percentage of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl Figure {
    /// Makes a figure without a confidence interval.
    pub fn plain(value: f64) -> Figure {
        Figure {
            value,
            interval: None,
            count: None,
        }
    }

    /// The mean of numbers for each sample, as a figure. Its interval follows from how much the numbers vary.
    pub fn mean(numbers: &[f64]) -> Figure {
        let (value, spread) = Spread::of_mean(numbers);
        Figure::spread(value, spread)
    }

    /// A figure whose interval is that of the spread.
    pub(crate) fn spread(value: f64, spread: Spread) -> Figure {
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

impl From<ClusteredShare> for Figure {
    fn from(share: ClusteredShare) -> Figure {
        Figure {
            value: share.percent(),
            interval: share.interval(),
            count: Some(share.count),
        }
    }
}

/// Difference of two models on the same samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The integer model's figure minus the float model's, in the unit of the metric.
    pub value: f64,
    /// Standard error of the difference, if it is known.
    pub standard_error: Option<f64>,
    /// The paired 95 % confidence interval of the difference, if there is one.
    pub interval: Option<[f64; 2]>,
    /// How the interval was computed.
    pub by: Option<String>,
    /// Distribution of the difference, from which gates with another confidence compute their interval.
    #[serde(skip)]
    pub spread: Spread,
}

impl Change {
    /// Makes the difference of two figures. Its interval follows from the distribution `spread`.
    pub fn new(value: f64, spread: Spread) -> Change {
        Change {
            value,
            standard_error: spread.standard_error(),
            interval: spread.interval(value),
            by: spread.by().map(str::to_owned),
            spread,
        }
    }

    /// The change of a mean over samples. Both models have one number for each sample.
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
    /// Returns how many points the integer model loses. If a confidence from 0 to 1 is given, returns the largest loss
    /// that is possible with this confidence.
    ///
    /// Returns `None` if there is no measured change. If a confidence is given, also returns `None` if the distribution
    /// of the change is not known.
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
            answers: None,
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
        // The one-sided 95 % bound is 1.645 standard errors further.
        assert!((higher.loss(Some(0.95)).unwrap() - 11.645).abs() < 1e-3);
        let lower = measured(Unit::Points, Better::Lower, change(0.1));
        assert!((lower.loss(None).unwrap() - 0.1).abs() < 1e-9);
        assert!((lower.loss(Some(0.95)).unwrap() - 0.116_45).abs() < 1e-5);
        let unknown = measured(Unit::Percent, Better::Higher, Change::new(-3.0, Spread::Unknown));
        assert_eq!((unknown.loss(None), unknown.loss(Some(0.9))), (Some(3.0), None));
    }
}
