//! Revisions: compiling a model again with other rules, and quantizing only the part that the new rules touch.
//!
//! Placing is one pass over the graph, so all of it is done again. The lowered graph is also made as a whole, once
//! every node is known to have a form. Annotation and baking redo only the regions that the change touches. The later
//! steps, fusion and verification, look at the whole model.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use strait_core::Bodies;
use strait_execute::Limits;
use strait_target::Target;

use crate::{Built, CompileError, Quantized, Simulated, Task, Watch, compile::build_from, hold, quantize::FirstTurn};

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

impl Built {
    /// Compiles with other rules. The result is the same as what [`compile`](crate::compile()) makes of `task`. The
    /// task has to be the one that this model was compiled from, except for the rules and the statistics that they
    /// need.
    ///
    /// # Errors
    /// As for [`compile`](crate::compile()).
    pub fn revise(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        let mut built = self.rebuild(task, watch)?;
        hold(task, &mut built, watch)?;
        Ok(built)
    }

    /// Like [`Built::revise`], but without the final check [`hold`], just as [`build`](crate::build()) is
    /// [`compile`](crate::compile()) without it. A search uses this and checks only the model that it ends with.
    ///
    /// # Errors
    /// The same as those of [`build`](crate::build()).
    pub fn rebuild(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        build_from(task, Some(self), watch)
    }
}
