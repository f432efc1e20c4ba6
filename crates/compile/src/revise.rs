//! Revisions: other rules for a model that is compiled, of which only what they touch is quantized anew.
//!
//! Placing is one pass over the graph and is done whole, and so is making the lowered graph, once every node is known to have a
//! form. Annotation and baking make the regions anew that the difference touches. What is behind them, fusion and verification, looks at
//! the whole model.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use strait_core::Bodies;
use strait_execute::Limits;
use strait_target::Target;

use crate::{Built, CompileError, Quantized, Simulated, Task, Watch, compile::build_from, hold, quantize::FirstTurn};

/// Material that is kept of a model that was built, for what is asked of it later.
pub(crate) struct Kept {
    pub(crate) first: Option<FirstTurn>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) bodies: Bodies,
    pub(crate) limits: Limits,
    pub(crate) threads: NonZeroUsize,
    /// The last simulation, and that of the model that this was revised from.
    pub(crate) simulated: [Last; 2],
}

/// The last simulation of a model, once there is one.
pub(crate) type Last = Arc<Mutex<Option<Arc<Simulated>>>>;

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// The part of a model that a revision made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The number of nodes that were annotated in the first turn.
    pub annotated: usize,
    /// The number of nodes that there are.
    pub nodes: usize,
    /// Reason why that was the whole model.
    pub anew: Option<Anew>,
}

/// Reason why a revision begins with nothing. The result is the same in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anew {
    /// The model came with grids of its own.
    OwnGrids,
    /// Annotation refused nodes of the model that is revised.
    RefusedBefore,
    /// Annotation refuses nodes by the new rules.
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
    /// Compiles by other rules: the result is what [`compile`](crate::compile()) makes of `task`, which is the one that this was
    /// compiled by, but for the rules and the statistics that they ask for.
    ///
    /// # Errors
    /// As for [`compile`](crate::compile()).
    pub fn revise(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        let mut built = self.rebuild(task, watch)?;
        hold(task, &mut built, watch)?;
        Ok(built)
    }

    /// The same without [`hold`], as [`build`](crate::build()) is to [`compile`](crate::compile()): for a search, which holds what
    /// it has found.
    ///
    /// # Errors
    /// As for [`build`](crate::build()).
    pub fn rebuild(&self, task: &Task<'_>, watch: &dyn Watch) -> Result<Built, CompileError> {
        build_from(task, Some(self), watch)
    }
}
