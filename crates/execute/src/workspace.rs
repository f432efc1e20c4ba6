//! The memory that a run writes.

use crate::aligned::AlignedBytes;
use crate::error::ExecuteError;
use crate::plan::Plan;
use crate::threads::Threads;

/// The arena for one plan, and the threads that its runs use. Each thread that runs the plan needs one.
#[derive(Debug)]
pub struct Workspace {
    arena: AlignedBytes,
    threads: Threads,
}

impl Workspace {
    /// Allocates the memory for one run of `plan` at a time.
    pub fn new(plan: &Plan, threads: &Threads) -> Workspace {
        Workspace {
            arena: AlignedBytes::zeroed(plan.arena_bytes()),
            threads: threads.clone(),
        }
    }

    pub(crate) fn for_plan(&mut self, plan: &Plan) -> Result<(&mut [u8], &Threads), ExecuteError> {
        let arena = self.arena.as_mut_slice();
        if arena.len() != plan.arena_bytes() {
            return Err(ExecuteError::Ours("the workspace belongs to another plan".into()));
        }
        Ok((arena, &self.threads))
    }
}
