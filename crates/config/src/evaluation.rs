//! `[evaluation]`, and the limits that gates set for its results.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use strait_evaluate::{Better, BoxFormat, Metric};

use super::{
    KeyPath,
    data::{Data, Unreadable},
    leaf::{LabelPath, Pointer},
};

/// The labelled samples on which the float and the integer model are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The samples, in the same forms as `data` of `[calibration]`. The same preprocessing applies.
    pub data: Data,
    /// What to do with images that cannot be decoded.
    #[serde(default)]
    pub unreadable: Unreadable,
    /// The labels of all samples of the set, or of the first `samples` of them. The description of a metric says
    /// whether it needs labels, and which. If a sample has several answers, such as one for each token, the array has a
    /// label for each of them. The file is an `.npy` or an `.npz`. An `.npz` has a single array, or one
    /// that is named after the metric or the output.
    ///
    /// If the labels are classes of images, there are two more forms. With `"folders"`, the class of an image is the index of
    /// its folder, in the order of the folders' names. A `.csv` or `.txt` has a name and a class in each line. The name is the
    /// name of an image, the path of an image below the folder of the set, or the name of a folder of images.
    pub labels: Option<LabelPath>,
    /// The number of samples to use. These are the first samples of the set. It is an error if the set has fewer. Absent: all.
    pub samples: Option<NonZeroU32>,
    /// The `top1` in percent that the float model is known to have, from its training or from a paper. You get a warning if the
    /// model's `top1` on these samples is so much lower that chance cannot explain it. Requires `labels`.
    #[schemars(range(min = 0, max = 100))]
    pub expect_float: Option<f64>,
    /// The metrics to compute with default settings. If an output is quantized, the metrics are computed on its dequantized
    /// numbers. If this key is absent and there is no `[[evaluation.metric]]`, the metrics are `agreement`, and also `top1` if
    /// there are `labels`.
    #[schemars(length(min = 1))]
    pub metrics: Option<Vec<Metric>>,
    /// Metrics with settings, and your own metrics, which a command computes.
    #[serde(default)]
    pub metric: Vec<MetricTable>,
}

impl Evaluation {
    /// Returns the metrics that the configuration asks for. If it asks for none, returns those default metrics that are
    /// possible with the data. Each metric comes with the path of its key.
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

/// A metric with settings, or one that a command computes.
///
/// With `command` and `value`, a command of your own computes the metric. Strait starts the command once for the float
/// model and once for the integer model, in the folder of the configuration file. It passes one additional argument: the
/// path of an `.npz` file with the model's outputs on all samples. This file has an array `[samples, …]` for each output,
/// named after the output. The command has to print one JSON document to standard output and to end with exit code 0. It is
/// started without a shell, with an empty standard input and the environment of `strait`. Commands only run if
/// `--allow-commands` is given on the command line.
///
/// With `command` and `kind = "map"`, the command converts the outputs of the model to boxes, and Strait computes the mean
/// average precision of these boxes and its confidence interval. The command prints a list that contains a list of boxes
/// for each sample. A box is `[class, score, left, top, right, bottom]`. If `format` is given, the last four numbers have
/// this format instead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricTable {
    /// The name of the metric in reports and gates. It has to be unique.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The metric. Absent: the metric that is called `name`.
    pub kind: Option<Metric>,
    /// The name of the output that is measured. By default, `agreement`, `cosine` and `snr` measure every output, and all other
    /// metrics the first output.
    pub output: Option<String>,
    /// The labels of this metric, if they are not those of `[evaluation]`.
    pub labels: Option<LabelPath>,
    /// For `top1`, `top5`, `agreement`, `perplexity` and `miou`: the label of answers or pixels that do not count, such as
    /// padding. `agreement` then needs labels. Default: 255 for `miou`; for the others, all answers count.
    #[schemars(range(min = -2147483648i64, max = 4294967295i64))]
    pub ignore: Option<i64>,
    /// For `top1`, `top5`, `agreement` and `perplexity`: the axis of the output that has the classes, counted from 0: 1 for
    /// an output `[1, classes, height, width]`. Default: the last axis, apart from trailing axes of 1.
    pub axis: Option<u32>,
    /// For `perplexity`: true if the output has probabilities, that is if the model ends with a softmax, and false if it has
    /// logits. Absent: logits, but an output that looks like probabilities is an error.
    pub probabilities: Option<bool>,
    /// For `psnr`: the largest possible number, such as 255. Default: 1.
    #[schemars(range(min = 1e-30, max = 1e30))]
    pub peak: Option<f64>,
    /// For `auc`: where the score comes from. Default: `output`.
    pub score: Option<Score>,
    /// For `auc`: the number of consecutive samples that share one label, for example the windows of a recording. The score of
    /// such a group is the mean of the scores of its samples. Absent: 1.
    pub group: Option<NonZeroU32>,
    /// For `map`: the name of the output with the boxes, four numbers each. Default: `boxes`.
    pub boxes: Option<String>,
    /// For `map`: the name of the output with the scores, one for each box, or one for each box and class. A score of 0 or less
    /// means padding. Default: `scores`.
    pub scores: Option<String>,
    /// For `map`: the name of the output with the classes, one for each box. Default: `classes`. If there is no such output and
    /// no score for each class, all boxes have class 0.
    pub classes: Option<String>,
    /// For `map`: the meaning of the four numbers of a box. Default: `xyxy`.
    pub format: Option<BoxFormat>,
    /// For `map`: width and height of the image in the unit of the boxes, such as `[640, 480]`. Default: `[1, 1]` for labels
    /// that are fractions of the image. Labels from COCO stay in pixels.
    pub size: Option<[f64; 2]>,
    /// For `map`: a single overlap, such as 0.5, instead of the ten from 0.50 to 0.95.
    #[schemars(range(min = 0.01, max = 1))]
    pub overlap: Option<f64>,
    /// The program and its arguments, for your own metric or for `kind = "map"`. A program without a `/` in its name is
    /// searched for in the same way as by a shell.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// With `command`: where the result is in the printed JSON. It has to be a number.
    pub value: Option<Pointer>,
    /// With `command`: where the printed JSON has a list of numbers, one for each sample. The result is their mean. With this
    /// list, the difference between the float and the integer model has a confidence interval, which gates with `confidence`
    /// need.
    pub each: Option<Pointer>,
    /// With `command`: which direction is better.
    pub better: Option<Better>,
    /// With `command`: the unit of the result. Default: `fraction`.
    pub unit: Option<OwnUnit>,
    /// With `command`: the time limit for one run, in seconds. Default: 600.
    pub seconds: Option<NonZeroU32>,
    /// The known result of the float model. If the float model has another result here, `strait` stops with an error:
    /// the preprocessing or the data then differ from those with which the known result was measured.
    pub expect_float: Option<Expected>,
}

impl MetricTable {
    /// A metric without settings.
    pub fn of(metric: Metric) -> MetricTable {
        MetricTable {
            name: metric.name().to_owned(),
            kind: Some(metric),
            ..MetricTable::default()
        }
    }

    /// The metric that the table stands for; `None` if a command computes the metric, or if `name` is not the name of a metric.
    pub fn metric(&self) -> Option<Metric> {
        let named = || Metric::ALL.iter().copied().find(|metric| metric.name() == self.name);
        self.kind.or_else(named).filter(|_| !self.is_own())
    }

    /// True if a command computes the metric.
    pub fn is_own(&self) -> bool {
        self.value.is_some() || (self.command.is_some() && self.kind.is_none())
    }

    /// Returns those of the given keys that belong to a metric which a command computes.
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

    /// The given settings, each with the metrics to which the setting belongs.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, &'static [Metric])> {
        let all: [(&'static str, bool, &'static [Metric]); _] = [
            ("ignore", self.ignore.is_some(), IGNORING),
            ("axis", self.axis.is_some(), ANSWERING),
            ("probabilities", self.probabilities.is_some(), &[Metric::Perplexity]),
            ("peak", self.peak.is_some(), &[Metric::Psnr]),
            ("score", self.score.is_some(), &[Metric::Auc]),
            ("group", self.group.is_some(), &[Metric::Auc]),
            ("boxes", self.boxes.is_some(), &[Metric::Map]),
            ("scores", self.scores.is_some(), &[Metric::Map]),
            ("classes", self.classes.is_some(), &[Metric::Map]),
            ("format", self.format.is_some(), &[Metric::Map]),
            ("size", self.size.is_some(), &[Metric::Map]),
            ("overlap", self.overlap.is_some(), &[Metric::Map]),
        ];
        all.into_iter()
            .filter(|(_, given, _)| *given)
            .map(|(key, _, metrics)| (key, metrics))
    }
}

/// The metrics that read an output as answers.
const ANSWERING: &[Metric] = &[Metric::Top1, Metric::Top5, Metric::Agreement, Metric::Perplexity];

/// The metrics that can leave out a label.
const IGNORING: &[Metric] = &[
    Metric::Top1,
    Metric::Top5,
    Metric::Agreement,
    Metric::Perplexity,
    Metric::Miou,
];

/// The unit of the number that a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnUnit {
    /// The number is a fraction: 1 is the whole, and counts as 100 points in a gate.
    #[default]
    Fraction,
    /// The number is in points, such as percent or decibels: 1 counts as one point in a gate.
    Points,
}

/// Where the score of `auc` comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// The output is the score, or has a score for each of two classes.
    #[default]
    Output,
    /// The output reconstructs the input, as in an autoencoder for anomaly detection. The score is the mean squared difference
    /// between the output and the input.
    Reconstruction,
}

/// The result that a metric is known to have for the float model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The result, in the unit of the metric.
    pub value: f64,
    /// The largest accepted difference from `value`.
    #[schemars(range(min = 0, max = 1e30))]
    pub within: f64,
}

/// The largest loss of one metric that a gate accepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// The limit in percentage points. For `psnr` it is in decibels, and for `auc` and `cosine` in hundredths. For
    /// `perplexity`, of which less is better, it is how much larger the perplexity may be.
    #[schemars(range(min = 0, max = 100))]
    pub points: f64,
    /// The loss has to be within `points` with this confidence. This means that not only the loss on these samples has to be
    /// within `points`, but also the upper end of the one-sided confidence interval of the loss.
    #[schemars(range(min = 0.5, max = 0.9999))]
    pub confidence: Option<f64>,
}
