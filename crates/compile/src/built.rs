//! The integer model of one target, and what is kept of the way to it.

use crate::Quantized;
use crate::quantize::FirstTurn;
use crate::{OwnGrids, Shares};
use std::collections::BTreeSet;
use std::fmt;
use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};
use strait_core::CertificateRecord;
use strait_core::ValueId;
use strait_core::{Bodies, Module};
use strait_execute::Limits;
use strait_execute::Tensor;
use strait_lower::Fusion;
use strait_quantize::annotate::Findings;
use strait_quantize::observe::Samples;
use strait_target::{Target, spec::Nearness};

/// The integer model for one target.
#[derive(Debug)]
pub struct Built {
    /// The lowered graph and the fused one, which is `main`. Both share one pool of tensors.
    pub module: Module,
    /// The same module with the bodies of control flow inlined in both graphs. `None` if the model has no control flow.
    pub open: Option<Module>,
    /// The annotated float graph that the integers were made from, with its parameters baked.
    pub annotated: Module,
    /// What annotation noticed that costs accuracy.
    pub findings: Findings,
    /// What became of the grids that the model came with.
    pub own_grids: OwnGrids,
    /// For each node of the lowered graph, by its name, the row of the target's table that it was made by.
    pub origins: BTreeMap<String, String>,
    /// How near each requantization is to the ideal one, by the requantization's name.
    pub nearness: BTreeMap<String, Nearness>,
    /// The fusions that were made, and those that were refused.
    pub fusion: Fusion,
    /// The certificates of the fusions: what each of them claims.
    pub certificates: Vec<CertificateRecord>,
    /// How many layers were compared with the target's own model of its arithmetic. `None` if the target has no such
    /// model, or before [`hold`](crate::hold) has run.
    pub own_model: Option<Shares>,
    /// If this model was revised from another one: which part of it was made anew.
    pub revision: Option<Revision>,
    pub(crate) kept: Kept,
}

impl Built {
    /// The module with the bodies of control flow inlined in both graphs.
    pub fn open(&self) -> &Module {
        self.open.as_ref().unwrap_or(&self.module)
    }
}

/// What a built model keeps for later requests.
pub(crate) struct Kept {
    pub(crate) first: Option<FirstTurn>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) bodies: Bodies,
    pub(crate) limits: Limits,
    pub(crate) threads: NonZeroUsize,
    /// The last simulation of this model, and that of the model from which this one was revised.
    pub(crate) simulated: [Last; 2],
}

/// The last simulation of a model. `None` inside until there is one.
pub(crate) type Last = Arc<Mutex<Option<Arc<Simulated>>>>;

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// Which part of a model a revision made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// How many nodes were annotated in the first turn.
    pub annotated: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// Why the whole model was made anew, if it was.
    pub anew: Option<Anew>,
}

/// Why a revision had to start from nothing. The result is the same either way.
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
    /// For each sample, the model's outputs in their order.
    pub outputs: Vec<Vec<Arc<Tensor>>>,
    /// How many nodes of the model were run on each sample to get these outputs.
    pub nodes: usize,
    pub(super) samples: Arc<dyn Samples>,
    pub(super) annotated: Module,
    /// The values that are worth keeping.
    pub(super) keeps: BTreeSet<ValueId>,
    /// For each sample, the values of `keeps` that are in memory.
    pub(super) kept: Vec<Values>,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Simulated");
        shown.field("samples", &self.outputs.len()).finish_non_exhaustive()
    }
}

pub(crate) type Values = BTreeMap<ValueId, Arc<Tensor>>;
