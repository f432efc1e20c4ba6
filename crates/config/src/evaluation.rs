//! `[evaluation]` and the demands on what it finds.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use strait_evaluate::{Better, BoxFormat, Metric};

use super::{
    KeyPath,
    data::{Data, Unreadable},
    leaf::{LabelPath, Pointer},
};

/// Samples on which float and integer model are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// As `data` of `[calibration]`; the same preprocessing applies.
    pub data: Data,
    /// Images that cannot be decoded.
    #[serde(default)]
    pub unreadable: Unreadable,
    /// Labels for each sample of the set, or for those that `samples` takes, for the metrics that need them: an `.npy`, or an
    /// `.npz` with an array of the metric's or the output's name, or one array. Each metric says what it needs. Classes of
    /// images may be `"folders"`, the positions of the folders that they are in, in the order of names; or a `.csv` or `.txt` with lines
    /// of a name and a class, the name being that of an image, its path below the folder of the set, or that of a folder.
    pub labels: Option<LabelPath>,
    /// Only the first so many. Fewer in the set is an error. Absent: all.
    pub samples: Option<NonZeroU32>,
    /// The `top1` in percent that the float model is known to have, from its training or its paper. Less than that on
    /// these samples is warned of where their number cannot explain it. Needs `labels`.
    #[schemars(range(min = 0, max = 100))]
    pub expect_float: Option<f64>,
    /// Metrics that are computed, as they are by default. An output of codes that have a grid is judged as the numbers that
    /// they stand for. Absent, where there is no `[[evaluation.metric]]`: `agreement`, and `top1` where there are `labels`.
    #[schemars(length(min = 1))]
    pub metrics: Option<Vec<Metric>>,
    /// Metrics with settings of their own, and metrics of your own, which a command computes.
    #[serde(default)]
    pub metric: Vec<MetricTable>,
}

impl Evaluation {
    /// All metrics asked for, or those that the data allows, each with the place of its key.
    pub fn chosen_metrics(&self) -> Vec<(KeyPath, MetricTable)> {
        let words = match (&self.metrics, &self.labels) {
            (Some(metrics), _) => metrics.clone(),
            (None, _) if !self.metric.is_empty() => Vec::new(),
            (None, Some(_)) => vec![Metric::Top1, Metric::Agreement],
            (None, None) => vec![Metric::Agreement],
        };
        let words = words.into_iter().enumerate().map(|(index, metric)| {
            let place = KeyPath::of(&["evaluation", "metrics"]).index(index);
            (place, MetricTable::of(metric))
        });
        let tables = self.metric.iter().enumerate().map(|(index, table)| {
            let place = KeyPath::of(&["evaluation", "metric"]).index(index);
            (place, table.clone())
        });
        words.chain(tables).collect()
    }
}

/// A metric with settings of its own, or one that a command computes.
///
/// With `command` and `value` the metric is yours. For each model the command is started once, in the folder of this file, with
/// one more argument behind its own: the path of an `.npz` with the model's outputs on all samples, an array `[samples, …]`
/// for each output, by its name. It prints one JSON document to its standard output and ends with exit code 0. No shell
/// is between, standard input is empty, and the environment is that of `strait`. Commands run where the command line
/// says `--allow-commands`, and nowhere else.
///
/// With `command` and `kind = "map"` the command makes boxes of the outputs, and the precision is computed here, with its
/// interval: it prints a list with a list of boxes for each sample, `[class, score, left, top, right, bottom]` each, or with the
/// four numbers of `format`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricTable {
    /// The name by which report and gates know it; no two metrics have the same.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The metric. Absent: the one that `name` names.
    pub kind: Option<Metric>,
    /// The output that it looks at, by its name. Absent: each for `agreement`, `cosine` and `snr`, and the first for all others.
    pub output: Option<String>,
    /// Its labels, where they are not those of `[evaluation]`.
    pub labels: Option<LabelPath>,
    /// Of `miou`: the label of pixels that do not count. Absent: 255.
    pub ignore: Option<u32>,
    /// Of `psnr`: the largest that a number can be, such as 255. Absent: 1.
    #[schemars(range(min = 1e-30, max = 1e30))]
    pub peak: Option<f64>,
    /// Of `auc`: where the score comes from. Absent: `output`.
    pub score: Option<Score>,
    /// Of `auc`: so many samples that follow each other, such as the windows of a recording, have one label; their score is
    /// the mean. Absent: 1.
    pub group: Option<NonZeroU32>,
    /// Of `map`: the output of the boxes, four numbers each. Absent: the one of the name `boxes`.
    pub boxes: Option<String>,
    /// Of `map`: the output of the scores, one for each box, or one for each box and class. A score of 0 or below is padding.
    /// Absent: the one of the name `scores`.
    pub scores: Option<String>,
    /// Of `map`: the output of the classes, one for each box. Absent: the one of the name `classes`; without one, and without a
    /// score for each class, all boxes are of class 0.
    pub classes: Option<String>,
    /// Of `map`: the meaning of a box's four numbers. Absent: `xyxy`.
    pub format: Option<BoxFormat>,
    /// Of `map`: width and height of the image in the unit of the boxes, such as `[640, 480]`. Absent: `[1, 1]` for labels in
    /// parts of the image; those of COCO stay pixels.
    pub size: Option<[f64; 2]>,
    /// Of `map`: one overlap, such as 0.5, in place of the ten from 0.50 to 0.95.
    #[schemars(range(min = 0.01, max = 1))]
    pub overlap: Option<f64>,
    /// The command of a metric of your own, or of `kind = "map"`: the program and its arguments. A program without a `/` is looked for as a shell would.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// With `command`: where the figure is in what it prints. It is a number.
    pub value: Option<Pointer>,
    /// With `command`: where a list of numbers is in what it prints, one for each sample, whose mean the figure is. With it
    /// the change from float to integer has an interval, which gates with `confidence` need.
    pub each: Option<Pointer>,
    /// With `command`: which direction is better.
    pub better: Option<Better>,
    /// With `command`: what 1 means. Absent: `fraction`.
    pub unit: Option<OwnUnit>,
    /// With `command`: the longest that one run of it may take, in seconds. Absent: 600.
    pub seconds: Option<NonZeroU32>,
    /// The float model's figure, where it is known. Another one stops the work: then preprocessing or data are not those that
    /// the figure was measured on.
    pub expect_float: Option<Expected>,
}

impl MetricTable {
    /// A metric without settings.
    pub fn of(metric: Metric) -> MetricTable {
        MetricTable {
            name: metric.name().to_owned(),
            kind: Some(metric),
            output: None,
            labels: None,
            ignore: None,
            peak: None,
            score: None,
            group: None,
            boxes: None,
            scores: None,
            classes: None,
            format: None,
            size: None,
            overlap: None,
            command: None,
            value: None,
            each: None,
            better: None,
            unit: None,
            seconds: None,
            expect_float: None,
        }
    }

    /// The metric that is meant; none for one of the user's own, and for a name that says nothing.
    pub fn metric(&self) -> Option<Metric> {
        let named = || Metric::ALL.iter().copied().find(|metric| metric.name() == self.name);
        self.kind.or_else(named).filter(|_| !self.is_own())
    }

    /// True for a metric that a command computes.
    pub fn is_own(&self) -> bool {
        self.value.is_some() || (self.command.is_some() && self.kind.is_none())
    }

    /// The keys of a metric of the user's own that are given.
    pub(super) fn own(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("command", self.command.is_some()),
            ("value", self.value.is_some()),
            ("each", self.each.is_some()),
            ("better", self.better.is_some()),
            ("unit", self.unit.is_some()),
            ("seconds", self.seconds.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(key, _)| key)
    }

    /// The settings that are given, each with the metric that knows it.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, Metric)> {
        let all = [
            ("ignore", self.ignore.is_some(), Metric::Miou),
            ("peak", self.peak.is_some(), Metric::Psnr),
            ("score", self.score.is_some(), Metric::Auc),
            ("group", self.group.is_some(), Metric::Auc),
            ("boxes", self.boxes.is_some(), Metric::Map),
            ("scores", self.scores.is_some(), Metric::Map),
            ("classes", self.classes.is_some(), Metric::Map),
            ("format", self.format.is_some(), Metric::Map),
            ("size", self.size.is_some(), Metric::Map),
            ("overlap", self.overlap.is_some(), Metric::Map),
        ];
        all.into_iter()
            .filter(|(_, given, _)| *given)
            .map(|(key, _, metric)| (key, metric))
    }
}

/// Unit of a figure that a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnUnit {
    /// 1 is the whole: 100 points of a gate.
    #[default]
    Fraction,
    /// 1 is one point of a gate, as for percent and decibels.
    Points,
}

/// Where the score of `auc` comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// The output is the score, or has one for each of two classes.
    #[default]
    Output,
    /// The output reconstructs the input; the mean of the squared differences is the score, as of an autoencoder that is to find
    /// anomalies.
    Reconstruction,
}

/// A figure that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The figure, in the unit of the metric.
    pub value: f64,
    /// The largest distance from it.
    #[schemars(range(min = 0, max = 1e30))]
    pub within: f64,
}

/// The largest loss of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// In percentage points; of `psnr` in decibels, and in hundredths of `auc` and `cosine`.
    #[schemars(range(min = 0, max = 100))]
    pub points: f64,
    /// The loss is to be within `points` with this probability: the upper end of its one-sided interval is, not only the
    /// loss on these samples.
    #[schemars(range(min = 0.5, max = 0.9999))]
    pub confidence: Option<f64>,
}
