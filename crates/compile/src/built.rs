//! The integer model for one target, and intermediate results that later requests can use.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use strait_core::{Bodies, CertificateRecord, Module, ValueId};
use strait_execute::{Limits, Tensor};
use strait_lower::Fusion;
use strait_quantize::{annotate::Findings, observe::Samples};
use strait_target::{Target, spec::Nearness};

use crate::{MigratedCopy, OptimisedModel, OwnGrids, Quantized, Shares, quantize::FirstTurn};

/// The integer model for one target.
#[derive(Debug)]
pub struct Built {
    /// The module with the lowered graph and the fused graph. The fused graph is the main graph. Both graphs share one
    /// pool of tensors.
    pub module: Module,
    /// The same module with the bodies of control flow inlined in both graphs. `None` if the model has no control flow.
    pub open: Option<Module>,
    /// The annotated float graph from which the integer graphs were made. Its parameters are baked.
    pub annotated: Module,
    /// The codes and biases that were chosen from samples, if the task asked for it.
    pub optimised: Option<OptimisedModel>,
    /// Grids that cost accuracy, as annotation has found them.
    pub findings: Findings,
    /// The grids that the model came with, and which of them could not be kept.
    pub own_grids: OwnGrids,
    /// For each node of the lowered graph, by its name, the row of the target's table from which it was made.
    pub origins: BTreeMap<String, String>,
    /// For each requantization, by its name: how close its integers come to the exact scale.
    pub nearness: BTreeMap<String, Nearness>,
    /// The fusions that were made, and those that were refused.
    pub fusion: Fusion,
    /// The certificates of the fusions, with the claim of each.
    pub certificates: Vec<CertificateRecord>,
    /// The number of layers whose requantizations were compared with the target's own model of its arithmetic, and the
    /// number of layers that this model does not cover. `None` if the target has no such model, or if
    /// [`hold`](crate::hold) has not run yet.
    pub own_model: Option<Shares>,
    /// If this model was revised from another model: which part of it was made anew.
    pub revision: Option<Revision>,
    pub(crate) kept: Kept,
}

impl Built {
    /// The float model from which the integer model was made: the module that was compiled, or the copy of it in which scale
    /// was moved between layers. Both compute the same, except for the rounding of floats, but values of the copy can be divided
    /// by factors, and the copy can have further multiplications.
    pub fn float<'a>(&'a self, compiled: &'a Module) -> &'a Module {
        self.migrated().map_or(compiled, |copy| &copy.float)
    }

    /// The number of threads with which the model was made.
    pub fn threads(&self) -> NonZeroUsize {
        self.kept.threads
    }

    /// The copy of the float model in which scale was moved between layers, if there is one.
    pub fn migrated(&self) -> Option<&MigratedCopy> {
        self.optimised.as_ref()?.migration.as_ref()?.copy.as_ref()
    }

    /// The module with the bodies of control flow inlined in both graphs.
    pub fn open(&self) -> &Module {
        self.open.as_ref().unwrap_or(&self.module)
    }
}

/// Intermediate results that a built model stores for later requests.
pub(crate) struct Kept {
    pub(crate) first: Option<FirstTurn>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) bodies: Bodies,
    pub(crate) limits: Limits,
    pub(crate) threads: NonZeroUsize,
    /// The last simulation of this model, and the last one of the model from which this model was revised.
    pub(crate) simulated: [Last; 2],
}

/// The last simulation of a model. `None` before the first simulation.
pub(crate) type Last = Arc<Mutex<Option<Arc<Simulated>>>>;

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// Which part of a model a revision annotated again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The number of nodes that were annotated before the first lowering.
    pub annotated: usize,
    /// The number of nodes in the model.
    pub nodes: usize,
    /// The reason why the whole model was compiled again. `None` if only a part of it was compiled again.
    pub anew: Option<Anew>,
}

/// The reason why a revision had to compile the whole model again. The compiled model is the same as after a partial
/// revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anew {
    /// The model came with grids of its own.
    OwnGrids,
    /// Annotation refused nodes of the model that is being revised.
    RefusedBefore,
    /// Annotation refuses nodes under the new rules.
    Refused,
}

impl Revision {
    pub(crate) fn new(before: &Built, quantized: &Quantized) -> Revision {
        let anew = match before.kept.first {
            None if quantized.own_grids.grids.is_empty() => Anew::RefusedBefore,
            None => Anew::OwnGrids,
            Some(_) => Anew::Refused,
        };
        Revision {
            annotated: quantized.visited,
            nodes: quantized.annotated.main().nodes().count(),
            anew: quantized.is_anew.then_some(anew),
        }
    }
}

/// The outputs of the fake-quantized model on samples.
pub struct Simulated {
    /// The model's outputs for each sample, in the order of the outputs.
    pub outputs: Vec<Vec<Arc<Tensor>>>,
    /// The number of nodes of the model that were run on each sample to compute the outputs.
    pub nodes: usize,
    pub(super) samples: Arc<dyn Samples>,
    pub(super) annotated: Module,
    /// The values that are kept for later simulations.
    pub(super) keeps: BTreeSet<ValueId>,
    /// For each sample, the values that were kept in memory.
    pub(super) kept: Vec<Values>,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Simulated");
        shown.field("samples", &self.outputs.len()).finish_non_exhaustive()
    }
}

pub(crate) type Values = BTreeMap<ValueId, Arc<Tensor>>;
