//! The exchange of results between the processes that share a compilation.

use crate::error::ExchangeError;
use crate::file::{Head, Incoming, Outgoing};
use crate::portable::Portable;
use crate::share::Share;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a process waits between two looks for a file, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(250)];

/// After this time, the user is told whom the process waits for.
const WORTH_SAYING: Duration = Duration::from_secs(10);

/// Follows an exchange and may stop it.
pub trait Follower: Send + Sync {
    /// `done` samples of the own share are done.
    fn advance(&self, done: usize) {
        let _ = done;
    }

    /// Gets a text that the user may want to know.
    fn say(&self, text: &str) {
        let _ = text;
    }

    /// True if the work should stop as soon as possible.
    fn interrupted(&self) -> bool {
        false
    }
}

/// A [`Follower`] that shows nothing and never stops the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Follower for Quiet {}

/// The exchange of a process with those that have the other shares. They come to the same steps in the same order.
pub struct Exchange<'a> {
    folder: PathBuf,
    share: Share,
    /// How long the process waits for the others while nothing comes from them.
    patience: Duration,
    follower: Box<dyn Follower + 'a>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("folder", &self.folder)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    /// The number of the next step.
    next: u64,
    /// Has seen all that was exchanged and noted.
    seen: blake3::Hasher,
}

impl<'a> Exchange<'a> {
    /// Begins an exchange in a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn new(
        folder: &Path,
        share: Share,
        patience: Duration,
        follower: impl Follower + 'a,
    ) -> Result<Exchange<'a>, ExchangeError> {
        fs::create_dir_all(folder).map_err(|error| ExchangeError::file(folder, &error))?;
        Ok(Exchange {
            folder: folder.to_owned(),
            share,
            patience,
            follower: Box::new(follower),
            state: Mutex::default(),
        })
    }

    /// The share of this process.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Tells that so many samples of the own share are done. Returns false if the work should stop.
    pub fn advance(&self, done: usize) -> bool {
        self.follower.advance(done);
        !self.follower.interrupted()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is complete after every statement, so it can be used even if a thread panicked while it held the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step at which all shares make sure that they have the same. `facts` are names and digests.
    ///
    /// # Errors
    /// [`ExchangeError::Different`] with the name of the fact that is different in another share, or
    /// [`ExchangeError::Parts`] if there are files of another number of shares.
    pub fn agree(&self, name: &str, facts: &[(&str, [u8; 32])]) -> Result<(), ExchangeError> {
        self.same_parts()?;
        let step = self.step(name, &[]);
        if step.own()?.is_none() {
            let mut out = step.begin(facts.len())?;
            for (name, digest) in facts {
                out.put(&[digest.as_slice(), name.as_bytes()].concat())?;
            }
            step.finish(out)?;
        }
        for file in step.all()? {
            let records = file.records(facts.len()).map_err(|_| ExchangeError::Different {
                own: self.share,
                share: file.share(),
                what: "command".to_owned(),
                path: file.path.clone(),
            })?;
            for ((name, digest), record) in facts.iter().zip(records) {
                if *record != [digest.as_slice(), name.as_bytes()].concat() {
                    return Err(ExchangeError::Different {
                        own: self.share,
                        share: file.share(),
                        what: (*name).to_owned(),
                        path: file.path.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// A step at which each share delivers one result. Returns the results of all shares, in their order.
    ///
    /// # Errors
    /// If files cannot be exchanged, or belong to another step.
    pub fn together<R: Portable>(&self, name: &str, own: &R) -> Result<Vec<R>, ExchangeError> {
        let step = self.step(name, &[]);
        let (mut out, mut bytes) = (step.begin(1)?, Vec::new());
        own.write(&mut bytes);
        out.put(&bytes)?;
        step.finish(out)?;
        let read = |file: &Incoming| -> Result<R, ExchangeError> {
            let records = file.records(1)?;
            file.read(records.first().copied().unwrap_or_default())
        };
        step.all()?.iter().map(read).collect()
    }

    /// Refuses a folder with files of another number of shares.
    fn same_parts(&self) -> Result<(), ExchangeError> {
        let failed = |error| ExchangeError::file(&self.folder, &error);
        let entries = fs::read_dir(&self.folder).map_err(failed)?;
        let paths: Result<BTreeSet<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
        for path in paths.map_err(failed)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let parsed = name.as_deref().and_then(|name| {
                let (part, parts) = name.split_once('-')?.1.split_once("-of-")?;
                Share::new(part.parse().ok()?, parts.parse().ok()?)
            });
            if let Some(found) = parsed.filter(|found| found.parts() != self.share.parts()) {
                let own = self.share;
                return Err(ExchangeError::Parts { own, found, path });
            }
        }
        Ok(())
    }

    /// Notes a result that every process has computed by itself. If another process has another result, this is an error at
    /// the next step.
    pub fn note(&self, result: &[u8]) {
        let mut state = self.state();
        state.seen.update(&(result.len() as u64).to_le_bytes());
        state.seen.update(result);
    }

    /// Begins the next step. `about` describes what is computed in it.
    pub fn step(&self, name: &str, about: &[u8]) -> Step<'_> {
        let mut state = self.state();
        let mut hasher = state.seen.clone();
        for part in [name.as_bytes(), about] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        state.next += 1;
        Step {
            folder: &self.folder,
            patience: self.patience,
            follower: self.follower.as_ref(),
            state: &self.state,
            head: Head {
                share: self.share,
                number: state.next - 1,
                digest: *hasher.finalize().as_bytes(),
                name: name.to_owned(),
            },
        }
    }
}

/// A step, at which all processes exchange their results.
pub struct Step<'e> {
    folder: &'e Path,
    patience: Duration,
    follower: &'e dyn Follower,
    state: &'e Mutex<State>,
    head: Head,
}

impl Step<'_> {
    /// The file of the own share, if an earlier process has written it.
    ///
    /// # Errors
    /// If the file is damaged or belongs to another step.
    pub fn own(&self) -> Result<Option<Incoming>, ExchangeError> {
        self.file(self.head.share)
    }

    /// Begins the file of the own share, which will have so many records.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(&self, records: usize) -> Result<Outgoing, ExchangeError> {
        Outgoing::new(self.folder, &self.head, records)
    }

    /// Completes the file of the own share. If there is one from an earlier process, it has to be equal.
    ///
    /// # Errors
    /// If the file cannot be written, or the earlier one is not equal.
    pub fn finish(&self, out: Outgoing) -> Result<(), ExchangeError> {
        let before = self.own()?.map(|file| file.hash);
        match out.finish(before)? {
            true => Ok(()),
            false => Err(ExchangeError::Changed {
                share: self.head.share,
                step: self.head.name.clone(),
                path: self.head.path(self.folder),
            }),
        }
    }

    /// Waits for the files of all shares, and returns them in the order of the shares.
    ///
    /// # Errors
    /// If a file is damaged, belongs to another step, or does not come in time, or if the caller asks to stop.
    pub fn all(self) -> Result<Vec<Incoming>, ExchangeError> {
        let mut files = Vec::new();
        let (mut since, mut is_told) = (Instant::now(), false);
        for share in self.head.share.all() {
            let mut pause = PAUSES[0];
            let file = loop {
                if let Some(file) = self.file(share)? {
                    break file;
                }
                if self.follower.interrupted() {
                    return Err(ExchangeError::Stopped);
                }
                let (name, waited) = (&self.head.name, since.elapsed());
                if waited > self.patience {
                    return Err(ExchangeError::Missing {
                        share,
                        step: name.clone(),
                        seconds: waited.as_secs(),
                        path: self.path(share),
                    });
                }
                if waited > WORTH_SAYING && !is_told {
                    is_told = true;
                    self.follower
                        .say(&format!("waiting for share {share} at the step `{name}`"));
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSES[1]);
            };
            since = Instant::now();
            files.push(file);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen.update(&self.head.digest);
        files.iter().for_each(|file| _ = state.seen.update(&file.hash));
        Ok(files)
    }

    fn path(&self, share: Share) -> PathBuf {
        let head = Head {
            share,
            ..self.head.clone()
        };
        head.path(self.folder)
    }

    /// The file of a share, if it is there.
    fn file(&self, share: Share) -> Result<Option<Incoming>, ExchangeError> {
        let path = self.path(share);
        let Some(file) = Incoming::open(&path)? else {
            return Ok(None);
        };
        let expected = Head {
            share,
            ..self.head.clone()
        };
        match file.head == expected {
            true => Ok(Some(file)),
            false => Err(ExchangeError::OutOfStep {
                own: self.head.share,
                share,
                step: self.head.name.clone(),
                path,
            }),
        }
    }
}
