//! The memory in which a run works.

use crate::aligned::AlignedBytes;
use crate::error::ExecuteError;
use crate::threads::Threads;

/// The arena for one plan, and the threads that its runs use. Each thread that runs the plan needs a workspace of its
/// own.
#[derive(Debug)]
pub struct Workspace {
    arena: AlignedBytes,
    threads: Threads,
}

impl Workspace {
    pub(crate) fn with_arena(bytes: usize, threads: &Threads) -> Workspace {
        Workspace {
            arena: AlignedBytes::zeroed(bytes),
            threads: threads.clone(),
        }
    }

    /// Returns the arena, which must have this many bytes, and the threads.
    pub(crate) fn arena(&mut self, bytes: usize) -> Result<(&mut [u8], &Threads), ExecuteError> {
        let arena = self.arena.as_mut_slice();
        if arena.len() != bytes {
            return Err(ExecuteError::Ours("the workspace belongs to another plan".into()));
        }
        Ok((arena, &self.threads))
    }
}
