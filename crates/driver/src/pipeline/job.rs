//! The inputs of the phases of the compilation for one target.

use super::ready::Ready;
use crate::{
    config::{Loaded, Params},
    session::Session,
};
use std::sync::Arc;
use strait_compile::{
    Algorithms, Resolved, Task,
    rules::{Rules, Selection},
};
use strait_core::Module;
use strait_quantize::Observation;
use strait_target::{Origin, Target, spec::Format};
use strait_verify::Ranges;

/// The inputs of the phases of the compilation for one target.
#[derive(Clone)]
pub(super) struct Job<'a> {
    pub(super) loaded: &'a Loaded,
    /// What is the same for all targets.
    pub(super) ready: &'a Ready,
    /// The float model, as the rules of the target leave it.
    pub(super) canonical: &'a Module,
    pub(super) rules: &'a Rules,
    pub(super) selection: &'a Selection,
    pub(super) observation: &'a Observation,
    pub(super) target: Arc<dyn Target>,
    /// Where the target comes from.
    pub(super) origin: Origin,
    /// The formats that are written besides the artifact.
    pub(super) formats: Vec<Format>,
    /// For each input of integers, the range of its numbers in the calibration samples.
    pub(super) ranges: &'a Ranges,
    /// The file that gives scale and zero point to single tensors, if there is one.
    pub(super) params: Option<&'a Params>,
    /// The algorithms that choose codes, biases and ranges. `None` if none runs.
    pub(super) algorithms: Option<Algorithms>,
}

impl<'a> Job<'a> {
    /// The inputs for a target, whose module, observation and selection come from [`Ready::of_target`]. No formats are
    /// written besides the artifact.
    pub(super) fn new(
        loaded: &'a Loaded,
        ready: &'a Ready,
        (canonical, observation, selection): (&'a Module, &'a Observation, &'a Selection),
        (target, origin): (Arc<dyn Target>, Origin),
        ranges: &'a Ranges,
    ) -> Job<'a> {
        Job {
            loaded,
            ready,
            canonical,
            rules: &ready.rules,
            selection,
            observation,
            target,
            origin,
            formats: Vec::new(),
            ranges,
            params: ready.params.as_ref(),
            algorithms: loaded.config.optimize.algorithms(),
        }
    }
}

impl Job<'_> {
    /// True if there are neither calibration samples nor a record of a vendor's tool, so that all scales come from the
    /// model.
    pub(super) fn has_nothing_measured(&self) -> bool {
        self.ready.record.is_none() && self.loaded.config.calibration.data.is_none()
    }

    pub(super) fn id(&self) -> &str {
        self.target.spec().id.as_str()
    }

    pub(super) fn task<'a>(&'a self, resolved: &'a Resolved, session: &Session<'_>) -> Task<'a> {
        Task {
            float: self.canonical,
            bodies: &self.ready.bodies,
            observation: self.observation,
            target: &self.target,
            resolved,
            ranges: self.ranges,
            optimise: None,
            on_copy: None,
            random_inputs: 1,
            is_revised: false,
            limits: session.limits,
            threads: session.threads,
        }
    }
}
