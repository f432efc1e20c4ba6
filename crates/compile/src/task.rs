//! All that the compilation for one target rests on.

use crate::Resolved;
use std::{num::NonZeroUsize, sync::Arc};
use strait_core::{Bodies, Module};
use strait_execute::Limits;
use strait_quantize::Observation;
use strait_target::Target;
use strait_verify::Ranges;

/// Everything that the compilation for one target needs.
#[derive(Clone)]
pub struct Task<'a> {
    /// The float graph, after the rules of the target's table were applied.
    pub float: &'a Module,
    /// The bodies of control flow. The main graph of `float` has them inlined.
    pub bodies: &'a Bodies,
    /// The statistics of the values of `float`.
    pub observation: &'a Observation,
    /// The target to compile for.
    pub target: &'a Arc<dyn Target>,
    /// The user's rules, resolved to nodes and values of `float`.
    pub resolved: &'a Resolved,
    /// For each integer input, the range of its values in the samples. Random inputs for verification are drawn from
    /// it.
    pub ranges: &'a Ranges,
    /// How many random inputs the fused graph is compared with the lowered one on.
    pub random_inputs: usize,
    /// The limits that each run has to keep.
    pub limits: Limits,
    /// Number of threads to work on. It does not change a bit of the result.
    pub threads: NonZeroUsize,
}
