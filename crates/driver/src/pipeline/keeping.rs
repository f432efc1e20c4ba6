//! Stores new statistics while the compilation goes on.

use std::panic::resume_unwind;

use strait_container::ModelFiles;
use strait_execute::Aside;

use crate::{session::Session, stop::Stop};

use super::observe::Observed;

/// Statistics that are being stored beside the rest of the work. Before they are stored, all files of the model are read
/// again, which takes a while if the model is large. Dropping this waits until the statistics are stored.
pub(super) struct Keeping(Option<Aside<Result<Option<String>, Stop>>>);

impl Keeping {
    /// Starts to store the statistics and the outputs, if they are new.
    ///
    /// # Errors
    /// If there is only one thread and a file of the model was changed since it was read. With more threads,
    /// [`Keeping::finish`] has this error.
    pub(super) fn start(observed: &Observed, model: &ModelFiles, session: &Session<'_>) -> Result<Keeping, Stop> {
        let (own, files) = (observed.clone(), model.clone());
        let is_aside = observed.unkept.is_some() && session.threads.get() > 1;
        let started = is_aside.then(|| Aside::start(move || own.keep(&files))).flatten();
        if started.is_none() {
            tell(observed.keep(model)?, session);
        }
        Ok(Keeping(started))
    }

    /// Waits until the statistics are stored. If they cannot be, the user is told.
    ///
    /// # Errors
    /// As for [`Observed::keep`].
    pub(super) fn finish(&mut self, session: &Session<'_>) -> Result<(), Stop> {
        if let Some(aside) = self.0.take() {
            let kept = aside.join().unwrap_or_else(|panic| resume_unwind(panic));
            tell(kept?, session);
        }
        Ok(())
    }

    /// Returns `done`. If it is an error and a file of the model was changed since it was read, returns that error, since
    /// the change may be the reason for any other.
    pub(super) fn explained<T>(&mut self, done: Result<T, Stop>, session: &Session<'_>) -> Result<T, Stop> {
        if done.as_ref().is_err_and(|stop| !matches!(stop, Stop::Interrupted)) {
            self.finish(session)?;
        }
        done
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        // The user is told why the other work has failed.
        drop(self.0.take().map(Aside::join));
    }
}

fn tell(unkept: Option<String>, session: &Session<'_>) {
    unkept.iter().for_each(|text| session.say(text));
}
