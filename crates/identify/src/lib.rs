//! Which integer arithmetic explains what a chip was recorded to compute.
//!
//! [`Vectors`] are recorded layers: accumulators, or the integers that they are sums of, and outputs. [`identify`] holds
//! a layer against every [`Hypothesis`] of a form, a rounding, a width of the multiplier, one rounding or two, and a place
//! of the zero point; with scales in the file also against the [rules](Rule) by which runtimes make integers of them.
//!
//! # The method
//!
//! No form decreases, so of each run of accumulators with one output the first and the last say all: the form reaches the
//! output at the first, and does not reach past it at the last. For a given rounding, shift and zero point each of these is
//! a bound of the multiplier, exact in integers: with t the least product that reaches an output, x·m ≥ t is
//! m ≥ ⌈t / x⌉ for x > 0 and m ≤ ⌊t / x⌋ below. What is left of the bounds of a channel is an interval. Where it is empty,
//! no multiplier explains the channel; where it is not, the one with the fewest bits in it says how wide the multiplier has
//! to be. A factor of one rounding is looked for with a shift of 62, where all narrower ones are multiples of a power of
//! two. Factors in float are found by bisection over their bit patterns. With a constant of any size in front of the shift
//! there is a second unknown: for each multiplier the bounds of the constant are an interval, whose length is a concave
//! function of the multiplier, so that its maximum is found by bisection, too.
//!
//! Recordings have wrong values. For a given rounding, width and zero point every value votes for an interval of
//! parameters, and where most intervals lie over each other are the parameters that give most values: sorting the ends finds
//! them. So the nearest parameters of what is refuted are found, too. With a constant of any size the values that fit worst are
//! left out until the rest is explained, and taken back one at a time as far as they fit. Where nothing gives every value, the
//! arithmetics that miss no more than the best one does, but for chance, explain the layer.
//!
//! All is held against every recorded value by the definition of the form (`strait-requantize`), which gives the outliers and
//! the witnesses.
//!
//! The lowest and the highest output of a layer may be where results saturate, or an activation clamps them. They say that
//! results there are at most and at least so large, and no more.

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
pub use rules::Rule;
pub use toml::{document, json};
pub use vectors::{Axis, InputZero, Layer, Scales, Source, Value, Vectors, VectorsError};
