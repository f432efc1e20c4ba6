//! The observers: their names, the operands that each of them can be used for, and their settings. Tables,
//! configurations, documentation and errors are made from this list. The crate `strait-quantize` implements what each
//! observer computes.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_document::words;

words! {
    /// An observer: a way to determine the range of a grid from the values that were measured.
    #[derive(Default)]
    Observer {
        /// The smallest and the largest value.
        #[default]
        MinMax = "minmax",
        /// A moving average of the smallest and the largest value of each sample. Later samples have more weight.
        MovingAverage = "moving_average",
        /// A percentile: the outermost values are left out.
        Percentile = "percentile",
        /// The range with the smallest relative entropy (Kullback-Leibler divergence) after quantization.
        Kl = "kl",
        /// The range with the smallest mean squared error after quantization.
        Mse = "mse",
        /// For outputs where only the index of the largest element in each row matters, such as class scores. The range is the
        /// one with which this index stays the same in most rows.
        Isotone = "isotone",
        /// Ascend's IFMR. It starts with a percentile and then searches for the upper end with the smallest squared error.
        Ifmr = "ifmr",
        /// Ascend's HFMG. It removes bins from both sides of the histogram and takes the rest with the smallest squared error.
        Hfmg = "hfmg",
        /// Ascend's ARQ, for weights: the smallest and the largest value. If the smallest value is farther from zero than the
        /// largest, it gets the lowest code.
        Arq = "arq",
        /// For grids of small floats: the scale is 1. No table has such grids, so no table or configuration can name this observer.
        #[cfg_attr(feature = "schema", schemars(skip))]
        Constant = "constant",
        /// For grids of small floats: the scale is chosen from a few powers of two, by the smallest squared error. No
        /// table or configuration can name this observer.
        #[cfg_attr(feature = "schema", schemars(skip))]
        Floating = "floating",
    }
}

/// A kind of operand for which an observer determines a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Every activation.
    Activations,
    /// Activations for which only the index of the largest element in each row matters.
    Ranked,
    /// Weights, of a tensor or of one channel.
    Weights,
}

/// The kind of numbers for which the codes of a grid stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// Equally spaced numbers.
    Integers,
    /// Small floats.
    Floats,
}

impl Observer {
    /// True if the observer can be used for this kind of operands with this kind of codes.
    pub fn serves(self, observed: Observed, codes: CodeKind) -> bool {
        let (integers, weights) = (codes == CodeKind::Integers, observed == Observed::Weights);
        match self {
            Observer::MinMax => true,
            Observer::Mse => integers,
            Observer::MovingAverage | Observer::Percentile | Observer::Kl | Observer::Ifmr | Observer::Hfmg => {
                integers && !weights
            }
            Observer::Isotone => integers && observed == Observed::Ranked,
            Observer::Arq => integers && weights,
            Observer::Constant | Observer::Floating => !integers,
        }
    }

    /// Returns a sentence that refuses the observer and names the observers that can be used instead. Returns `None` if
    /// the observer can be used for such operands and codes.
    pub fn refusal(self, observed: Observed, codes: CodeKind) -> Option<String> {
        if self.serves(observed, codes) {
            return None;
        }
        let serving = Observer::ALL.iter().filter(|observer| observer.serves(observed, codes));
        let words: Vec<&str> = serving.map(|observer| observer.name()).collect();
        let of = match codes {
            CodeKind::Integers => "integers",
            CodeKind::Floats => "small floats",
        };
        let operands = match observed {
            Observed::Activations => "activations",
            Observed::Ranked => "outputs whose largest elements are read",
            Observed::Weights => "weights",
        };
        let words = words.join(", ");
        Some(format!(
            "the observer `{self}` makes no ranges of {of} for {operands}; those that do are {words}"
        ))
    }
}

/// Settings of the observer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ObserverOptions {
    /// For `percentile` and `ifmr`: the percentage of values that stay inside the range, counted for each side. Default: 99.99
    /// for `percentile`, 99.9999 for `ifmr`.
    #[cfg_attr(feature = "schema", schemars(range(min = 50, max = 100)))]
    pub percentile: Option<f64>,
    /// For `percentile` and `ifmr`: the percentage for the lower end of the range, if it differs from that for the
    /// upper end. Default: as `percentile`.
    #[cfg_attr(feature = "schema", schemars(range(min = 50, max = 100)))]
    pub lower_percentile: Option<f64>,
    /// For `hfmg`: the largest number of bins of the histogram. Default: 4096.
    #[cfg_attr(feature = "schema", schemars(range(min = 256, max = 4096)))]
    pub bins: Option<u32>,
    /// For `moving_average`: the weight of a new sample. Default: 0.01.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub averaging_constant: Option<f64>,
    /// For `isotone`: the axis along which the index of the largest element is taken. Negative axes count from the
    /// last. Default: -1.
    pub axis: Option<i64>,
    /// For `ifmr`: the smallest and the largest factor by which the upper end of the range may be multiplied in the
    /// search. Default: 0.7 and 1.3.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "range"), inner(range(min = 0.01, max = 10))))]
    pub search_range: Option<[f64; 2]>,
    /// For `ifmr`: the distance between two neighbouring factors that the search tries. Default: 0.01.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1)))]
    pub search_step: Option<f64>,
}

impl ObserverOptions {
    /// The keys of the settings that are given, each with the observers that read it.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &'static [Observer])> {
        use Observer::{Hfmg, Ifmr, Isotone, MovingAverage, Percentile};
        let keys: [(bool, &'static str, &'static [Observer]); 7] = [
            (self.percentile.is_some(), "percentile", &[Percentile, Ifmr]),
            (self.lower_percentile.is_some(), "lower_percentile", &[Percentile, Ifmr]),
            (self.bins.is_some(), "bins", &[Hfmg]),
            (
                self.averaging_constant.is_some(),
                "averaging_constant",
                &[MovingAverage],
            ),
            (self.axis.is_some(), "axis", &[Isotone]),
            (self.search_range.is_some(), "search_range", &[Ifmr]),
            (self.search_step.is_some(), "search_step", &[Ifmr]),
        ];
        keys.into_iter()
            .filter(|(given, ..)| *given)
            .map(|(_, key, readers)| (key, readers))
    }

    /// The settings of `self`. A setting that `self` does not give is taken from `other`.
    #[must_use]
    pub fn or(self, other: &ObserverOptions) -> ObserverOptions {
        ObserverOptions {
            percentile: self.percentile.or(other.percentile),
            lower_percentile: self.lower_percentile.or(other.lower_percentile),
            bins: self.bins.or(other.bins),
            averaging_constant: self.averaging_constant.or(other.averaging_constant),
            axis: self.axis.or(other.axis),
            search_range: self.search_range.or(other.search_range),
            search_step: self.search_step.or(other.search_step),
        }
    }
}
