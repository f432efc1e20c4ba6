//! Finds out which integer arithmetic explains the recorded outputs of a chip.
//!
//! [`Vectors`] are recorded layers. They contain outputs with their accumulators, or with the integers from which the
//! accumulators are computed as sums of products. [`identify`] compares a layer with every [`Hypothesis`]. A hypothesis
//! fixes the form, the rounding, the multiplier's width, one rounding or two, and where the zero point is added. If the
//! file has scales, the layer is also compared with the [rules](RuntimeRule) by which runtimes compute integers from
//! scales.
//!
//! # The method
//!
//! **Bounds.** The result of a form never decreases when the accumulator grows. So for each run of accumulators with
//! the same output, the first and the last accumulator say everything: at the first, the result is at least the output,
//! and at the last, it is at most the output. For a given rounding, shift and zero point, each of these two facts gives
//! an exact bound on the multiplier, in integers. Let x be the accumulator, m the multiplier, and t the smallest
//! product x·m that reaches the output. Then x·m ≥ t means m ≥ ⌈t / x⌉ for x > 0, and m ≤ ⌊t / x⌋ for x < 0.
//!
//! **Intervals.** The multipliers that meet all bounds of a channel form an interval. If it is empty, no multiplier
//! explains the channel. If not, the number with the fewest bits in the interval shows how wide the multiplier has to
//! be. For forms with one rounding, the factor is searched with a shift of 62. With this shift, factors with fewer bits
//! are multiples of a power of two. Float factors are found by bisection over their bit patterns.
//!
//! **Constants.** If a constant of any size is added before the shift, there are two unknowns. For each multiplier, the
//! constants that meet all bounds form an interval. The length of this interval is a concave function of the
//! multiplier, so its maximum is found by bisection, too.
//!
//! **Wrong values.** Recordings contain wrong values. For a given rounding, width and zero point, every value votes for
//! an interval of parameters. The parameters that explain the most values are where the most intervals overlap. They
//! are found by sorting the ends of the intervals. This also finds the best parameters of arithmetics that are refuted.
//! If a constant of any size is added, the values that fit worst are left out until the rest is explained, and are then
//! taken back one at a time if they fit. If no arithmetic produces every value, the layer is explained by the best
//! arithmetic and by those that are wrong for so few more values that this can be chance.
//!
//! Every result is checked against every recorded value with the definition of the form (`strait-requantize`). This
//! gives the outliers and the witnesses.
//!
//! The lowest and the highest output of a layer may come from saturation or from the clamp of an activation. So the
//! lowest output only shows that the unclamped result is not higher, and the highest output only shows that it is not
//! lower.

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
