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
//! All that is explained is held against every recorded value by the definition of the form (`strait-requantize`), and so
//! is the nearest arithmetic of what is refuted, which gives the witness.
//!
//! The lowest and the highest output of a layer may be where results saturate, or an activation clamps them. They say that
//! results there are at most and at least so large, and no more.

mod answer;
mod edges;
mod hypothesis;
mod rules;
mod search;
mod toml;
mod vectors;

pub use answer::{Answer, Explained, Refuted, Subject, Witness, identify};
pub use hypothesis::{Family, Hypothesis};
pub use rules::Rule;
pub use toml::{document, json};
pub use vectors::{Layer, Scales, Vectors, VectorsError};
