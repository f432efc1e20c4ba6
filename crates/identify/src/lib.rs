//! Finds out which integer arithmetic explains what a chip was recorded to compute.
//!
//! [`Vectors`] are recorded layers. They hold outputs with their accumulators, or with the integers that the
//! accumulators are sums of. [`identify`] compares a layer with every [`Hypothesis`]. A hypothesis fixes the form, the
//! rounding, the multiplier's width, one rounding or two, and where the zero point is added. If the file has scales,
//! the layer is also compared with the [rules](RuntimeRule) by which runtimes compute integers from them.
//!
//! # The method
//!
//! **Bounds.** No form decreases. So for each run of accumulators with the same output, the first and the last one say
//! everything: the form reaches the output at the first, and does not exceed it at the last. For a given rounding,
//! shift and zero point, each of these is a bound on the multiplier, exact in integers. With t the smallest product
//! that reaches an output, x·m ≥ t means m ≥ ⌈t / x⌉ for x > 0, and m ≤ ⌊t / x⌋ for x < 0.
//!
//! **Intervals.** The bounds of a channel together leave an interval. If it is empty, no multiplier explains the
//! channel. If not, the number with the fewest bits in it shows how wide the multiplier has to be. For one rounding,
//! the factor is searched with a shift of 62: there, all narrower factors are multiples of a power of two. Float
//! factors are found by bisection over their bit patterns.
//!
//! **Constants.** If a constant of any size is added before the shift, there are two unknowns. For each multiplier the
//! bounds leave an interval of constants. Its length is a concave function of the multiplier, so its maximum is found
//! by bisection, too.
//!
//! **Wrong values.** Recordings contain wrong values. For a given rounding, width and zero point, every value votes for
//! an interval of parameters. The parameters that explain most values are where most intervals overlap; sorting the
//! ends of the intervals finds them. This also finds the nearest parameters of arithmetics that are refuted. With a
//! constant of any size, the values that fit worst are left out until the rest is explained, and then taken back one at
//! a time if they fit. If nothing produces every value, the layer is explained by the best arithmetic and by those that
//! miss no more than chance allows.
//!
//! Every result is checked against every recorded value with the definition of the form (`strait-requantize`). This
//! gives the outliers and the witnesses.
//!
//! At the lowest and the highest output of a layer, results may saturate or an activation may clamp them. So these
//! outputs only show that the unclamped results are at most, or at least, that large.

mod answer;
mod edges;
mod ends;
mod hypothesis;
mod identify;
mod open;
mod readings;
mod rows;
mod rules;
mod search;
mod toml;
mod tried;
mod vectors;
mod zeros;

pub use answer::{Answer, Explained, OUTLIERS, Refuted, Rereading, Subject, Tolerance, ToleranceError, Witness};
pub use hypothesis::{Family, Hypothesis};
pub use identify::identify;
pub use open::left_open;
pub use rules::RuntimeRule;
pub use toml::{document, json};
pub use vectors::{
    AccumulatorSource, ChannelAxis, InputZero, LayerScales, RecordedLayer, RecordedValue, Vectors, VectorsError,
};
