//! The inputs of the compilation for one target.

use crate::{CompileError, Resolved};
use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc};
use strait_core::{Bodies, Module, NodeId};
use strait_execute::Limits;
use strait_optimize::{Algorithms, Balance};
use strait_quantize::{Observation, observe::Samples};
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
    /// For each integer input, the range of its numbers in the samples. The random inputs for verification are drawn
    /// from this range.
    pub ranges: &'a Ranges,
    /// How codes and biases are optimised. `None` if they are not.
    pub optimise: Option<Optimising<'a>>,
    /// What the caller gives to the copy of the model in which scale was moved, once the scale is known. `None`: nothing.
    pub on_copy: Option<&'a OnCopy<'a>>,
    /// The number of random inputs on which the fused graph is compared with the lowered graph.
    pub random_inputs: usize,
    /// True if the built model will be revised ([`Built::revise`](crate::Built::revise)). It then keeps a copy of the
    /// annotated graph, without which a revision compiles the whole model anew.
    pub is_revised: bool,
    /// The limits that each run must not exceed.
    pub limits: Limits,
    /// The number of threads that work. The result does not depend on it.
    pub threads: NonZeroUsize,
}

/// Returns the settings of the copy of the model in which scale was moved, from the copy, the factors of each layer, and the
/// settings without more. They may have grids of the copy's tensors.
pub type OnCopy<'a> =
    dyn Fn(&Module, &BTreeMap<NodeId, Balance>, &Resolved) -> Result<Resolved, CompileError> + Sync + 'a;

/// How codes and biases are optimised.
#[derive(Clone, Copy)]
pub struct Optimising<'a> {
    /// The samples from which they are chosen.
    pub samples: &'a dyn Samples,
    /// What may be done.
    pub algorithms: Algorithms,
}
