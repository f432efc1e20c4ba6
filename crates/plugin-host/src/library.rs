//! A plugin in a library, which stays available for as long as a target of it is in use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use strait_core::Reason;
use strait_document::is_plain_line;
use strait_plugin_interface::PANIC;
use strait_requantize::Requantization;
use strait_target::spec::MAX_TABLE_BYTES;
use strait_target::{Emitted, Options, Sink as _, TargetError};

use crate::child::Clock;
use crate::node::{NodeHeader, Refused};
use crate::process::{Broken, Patience, Program, Worker};
use crate::wire::{Answer, Description, Fence, Request, Sizes, TensorHeader, TileHeader};
use crate::{LoadError, PluginError, Probe, sha256, sidecar};

/// The most bytes in one piece of a file. The worker divides longer pieces.
pub(crate) const MOST_PIECE: u64 = 16 << 20;

/// A plugin in a library, which runs in a worker. Calls are made one after the other. If a worker has crashed, hung or
/// panicked, the next call starts a new one.
pub struct Library {
    /// Whether models are handed over next to guard pages, and how many models have been handed over in this way.
    fenced: (AtomicBool, AtomicU64),
    /// True if the library's codes for each tile are compared with the codes that the form computes.
    held: AtomicBool,
    /// How often each function of the interface was called.
    calls: Mutex<BTreeMap<&'static str, u64>>,
    path: PathBuf,
    program: Program,
    pub(crate) patience: Patience,
    sha256: String,
    description: Description,
    table: String,
    session: Mutex<Option<Session>>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A running worker, and the targets and forms that it has been told about.
pub(crate) struct Session {
    worker: Worker,
    /// The options of the targets that were opened. The worker identifies a target by its index in this list.
    targets: Vec<Options>,
    forms: BTreeSet<u64>,
}

/// A form that is sent to the library once and used for many tiles.
#[derive(Debug)]
pub struct RegisteredForm {
    /// The number that identifies the form in requests to workers.
    pub(crate) number: u64,
    /// Name of the form's row in the table.
    pub(crate) row: String,
    json: Vec<u8>,
}

impl RegisteredForm {
    /// Prepares the form of a row in the table.
    ///
    /// # Errors
    /// If the form cannot be written as JSON, which does not happen with forms of a valid table.
    pub fn new(row: &str, form: &Requantization) -> Result<RegisteredForm, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(RegisteredForm {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            row: row.to_owned(),
            json: serde_json::to_vec(form).map_err(|error| error.to_string())?,
        })
    }
}

/// Why a call failed.
pub(crate) enum Trouble {
    /// The worker has ended, or its answers make no sense.
    Broken(Broken),
    Refused(LoadError),
    Failed {
        status: i32,
        node: Option<u32>,
        message: String,
    },
}

impl From<Broken> for Trouble {
    fn from(broken: Broken) -> Trouble {
        Trouble::Broken(broken)
    }
}

impl Library {
    /// Checks a library and asks it, in a worker, for its table. `pinned` is the SHA-256 digest that the library must
    /// have. If it is `None`, the library must keep the digest that it has now.
    ///
    /// # Errors
    /// [`PluginError`] if the library is refused, if a worker does not start, or if it ends too early.
    pub fn load(
        path: &Path,
        pinned: Option<&str>,
        program: Program,
        patience: Patience,
    ) -> Result<Library, PluginError> {
        let refused = |error| refused(path, error);
        sidecar::check(path).map_err(refused)?;
        let pinned = match pinned {
            Some(pinned) => pinned.to_owned(),
            None => sha256(path).map_err(|error| refused(LoadError::unreadable(error)))?,
        };
        let mut library = Library {
            fenced: Default::default(),
            held: AtomicBool::new(false),
            calls: Mutex::default(),
            path: path.to_owned(),
            program,
            patience,
            sha256: pinned,
            description: Description {
                package: path.display().to_string(),
                ..Description::default()
            },
            table: String::new(),
            session: Mutex::new(None),
        };
        let (session, description, table) = library.first()?;
        library.description = description;
        library.table = table;
        library.session = Mutex::new(Some(session));
        Ok(library)
    }

    /// Path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the plugin says about itself.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// SHA-256 digest of the bytes that are loaded.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Text of the target's table. It has not been checked yet.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// From now on, models are handed over in read-only memory next to a guard page, so that reading too far crashes.
    /// The guard page lies before one model and after the next, in turns.
    pub fn fence(&self) {
        self.fenced.0.store(true, Ordering::Relaxed);
    }

    fn next_fence(&self) -> Option<Fence> {
        let (is_fenced, models) = &self.fenced;
        is_fenced
            .load(Ordering::Relaxed)
            .then(|| match models.fetch_add(1, Ordering::Relaxed) % 2 {
                0 => Fence::Behind,
                _ => Fence::Before,
            })
    }

    /// From now on, the codes of each tile that the library computes are compared with those that the form computes. A
    /// difference is an error.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    /// How often each function of the interface was called, by the function's name in the interface.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, function: &'static str, calls: usize) {
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(function).or_default() += calls as u64;
    }

    /// Loads the same library in another process.
    ///
    /// # Errors
    /// As for [`Library::load`], and [`LoadError::Changed`] if the library has another table in that process.
    pub fn again(&self) -> Result<Library, PluginError> {
        let twin = Library::load(&self.path, Some(&self.sha256), self.program.clone(), self.patience)?;
        self.compare(&twin.description, &twin.table)?;
        Ok(twin)
    }

    /// Refuses a library that describes itself differently than in its first worker. Otherwise the code that runs would
    /// not be the code that was checked, pinned and recorded in artifacts.
    fn compare(&self, description: &Description, table: &str) -> Result<(), PluginError> {
        let (what, other) = if table != self.table {
            let same = self.table.lines().zip(table.lines());
            let at = same.take_while(|(one, other)| one == other).count();
            ("another table", format!("line {} of it", at + 1))
        } else if *description != self.description {
            (
                "another description of itself",
                "its name, its versions or its functions".into(),
            )
        } else {
            return Ok(());
        };
        Err(refused(&self.path, LoadError::Changed(what.into(), other)))
    }

    /// Starts a worker that loads the library, and checks that the library describes itself as in the first worker.
    fn start(&self) -> Result<Session, PluginError> {
        let (session, description, table) = self.first()?;
        self.compare(&description, &table)?;
        Ok(session)
    }

    /// Starts a worker that loads the library. Returns how the library describes itself.
    fn first(&self) -> Result<(Session, Description, String), PluginError> {
        let worker = Worker::start(&self.program).map_err(|error| PluginError::Worker {
            path: self.path.display().to_string(),
            message: error.to_string(),
        })?;
        let mut session = Session {
            worker,
            targets: Vec::new(),
            forms: BTreeSet::new(),
        };
        let request = Request::Load {
            path: self.path.clone(),
            sha256: self.sha256.clone(),
        };
        let clock = Clock::new(self.patience.load);
        self.count("its entry", 1);
        let answer = session.ask(&request, &[], MAX_TABLE_BYTES as u64, &clock);
        match answer.map_err(|trouble| self.error("its entry", trouble))? {
            (Answer::Loaded(description), _) if !is_plain_line(&description.package) => {
                let text = format!("the package {:?}, which is not one plain line", description.package);
                Err(self.error("its entry", Broken::Garbage(text).into()))
            }
            (Answer::Loaded(description), table) => {
                let table = String::from_utf8(table)
                    .map_err(|_| self.error("its entry", Broken::Garbage("a table that is not UTF-8".into()).into()))?;
                Ok((session, description, table))
            }
            _ => Err(self.error("its entry", senseless())),
        }
    }

    /// Checks that a target can be opened with these options.
    ///
    /// # Errors
    /// [`PluginError`] if the library refuses the options, or the call fails.
    pub(crate) fn open(&self, options: &Options) -> Result<(), PluginError> {
        self.with("open", options, self.patience.call, |_, _, _| Ok(()))
    }

    /// Calls `ask` with a running worker and with the number of the target that has these options. If there is no
    /// worker, one is started.
    pub(crate) fn with<T>(
        &self,
        call: &'static str,
        options: &Options,
        time: Duration,
        ask: impl FnOnce(&mut Session, u32, &Clock) -> Result<T, Trouble>,
    ) -> Result<T, PluginError> {
        // During the call, `self` has no worker. So after a panic, later calls do not find a worker in an unknown
        // state.
        let mut kept = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = match kept.take() {
            Some(session) => session,
            None => self.start()?,
        };
        let known = session.targets.len();
        let (call, answer) = match session.target(options, &Clock::new(self.patience.call)) {
            Ok(target) => (call, ask(&mut session, target, &Clock::new(time))),
            Err(trouble) => ("open", Err(trouble)),
        };
        self.count(call, 1);
        self.count("open", session.targets.len() - known);
        let usable = match &answer {
            Ok(_) => true,
            Err(Trouble::Failed { status, .. }) => *status != PANIC,
            Err(Trouble::Broken(_) | Trouble::Refused(_)) => false,
        };
        if usable {
            *kept = Some(session);
        }
        answer.map_err(|trouble| self.error(call, trouble))
    }

    fn error(&self, call: &'static str, trouble: Trouble) -> PluginError {
        match trouble {
            Trouble::Broken(broken) => PluginError::Broken {
                plugin: self.description.package.clone(),
                call,
                how: broken.to_string(),
            },
            Trouble::Refused(error) => refused(&self.path, error),
            Trouble::Failed { status, node, message } => PluginError::Failed {
                plugin: self.description.package.clone(),
                call,
                node,
                status,
                message,
            },
        }
    }

    /// Makes a call that tests whether the library keeps to the interface, using a form that the library computes.
    /// Returns what the library did wrong; `None` if it did nothing wrong or does not have the function that the call
    /// tests.
    ///
    /// # Errors
    /// [`PluginError`] if the worker crashes or hangs. The library is at fault then, too.
    pub fn probe(
        &self,
        options: &Options,
        (row, form): (&str, &Requantization),
        probe: Probe,
    ) -> Result<Option<String>, PluginError> {
        self.with(probe.call(), options, self.patience.call, |session, target, clock| {
            let known = RegisteredForm::new(row, form).map_err(Broken::Garbage)?;
            session.form(&known, clock)?;
            let form = known.number;
            match session.ask(&Request::Probe { target, form, probe }, &[], 0, clock)? {
                (Answer::Probed(fault), _) => Ok(fault),
                _ => Err(senseless()),
            }
        })
    }

    /// Lets the library compute the codes for a tile of accumulators.
    pub(crate) fn requantize(
        &self,
        options: &Options,
        form: &RegisteredForm,
        tile: TileHeader,
        accumulators: &[u8],
        codes: &mut [u8],
    ) -> Result<(), PluginError> {
        self.with("requantize", options, self.patience.call, |session, target, clock| {
            session.form(form, clock)?;
            let request = Request::Requantize(TileHeader { target, ..tile });
            session.worker.send(&request, &[accumulators], clock)?;
            match session.header(clock)? {
                (Answer::Codes, sizes) => Ok(session.worker.body_into(&sizes, codes, clock)?),
                _ => Err(senseless()),
            }
        })
    }

    /// Asks the library about each of these nodes. Returns the reason for each node that the library refuses, and
    /// `None` for the others. An error comes with the index of the node. All questions are sent at once, and each has
    /// its own time limit.
    pub(crate) fn refusals(
        &self,
        options: &Options,
        nodes: &[NodeHeader],
    ) -> Result<Vec<Option<Reason>>, (usize, PluginError)> {
        let mut reasons = Vec::with_capacity(nodes.len());
        let asked = self.with("admits", options, self.patience.call, |session, target, clock| {
            let garbage = |error: serde_json::Error| Broken::Garbage(error.to_string());
            let body = serde_json::to_vec(nodes).map_err(garbage)?;
            session.worker.send(&Request::Admit { target }, &[&body], clock)?;
            loop {
                match session.answer(0, &Clock::new(self.patience.call))? {
                    (Answer::Admitted(refused), _) if reasons.len() < nodes.len() => {
                        reasons.push(refused.map(Refused::reason).transpose().map_err(Broken::Garbage)?);
                    }
                    (Answer::Done, _) if reasons.len() == nodes.len() => return Ok(()),
                    _ => return Err(senseless()),
                }
            }
        });
        self.count("admits", reasons.len().saturating_sub(1));
        match asked {
            Ok(()) => Ok(reasons),
            Err(error) => Err((reasons.len(), error)),
        }
    }

    /// Lets the library write the files of a model, and passes each piece of a file on to `sink` as soon as it arrives.
    /// The inner result is an error if the sink refused a piece.
    pub(crate) fn emit(
        &self,
        options: &Options,
        (ir, tensors, data): (&[u8], Vec<TensorHeader>, &[&[u8]]),
        sink: &mut Emitted<'_>,
    ) -> Result<Result<(), TargetError>, PluginError> {
        let mut refused = None;
        let emitted = self.with("emit", options, self.patience.emit, |session, target, clock| {
            let ir_size = ir.len() as u64;
            let request = Request::Emit {
                target,
                ir: ir_size,
                tensors,
                fenced: self.next_fence(),
            };
            let body: Vec<&[u8]> = std::iter::once(ir).chain(data.iter().copied()).collect();
            let mut answer = session.ask(&request, &body, MOST_PIECE, clock)?;
            loop {
                match answer {
                    (Answer::Done, _) => return Ok(()),
                    (Answer::Piece { path }, piece) => {
                        if let Err(error) = sink.append(&path, &piece) {
                            refused = Some(error);
                            // The worker would continue to send pieces of the refused file, so this worker is not used
                            // again.
                            return Err(senseless());
                        }
                    }
                    _ => return Err(senseless()),
                }
                answer = session.answer(MOST_PIECE, clock)?;
            }
        });
        match refused {
            Some(error) => Ok(Err(error)),
            None => emitted.map(Ok),
        }
    }
}

fn refused(path: &Path, error: LoadError) -> PluginError {
    let path = path.display().to_string();
    PluginError::Load { path, error }
}

/// The error for an answer that does not fit the request.
pub(crate) fn senseless() -> Trouble {
    Broken::Garbage("something that was not asked for".into()).into()
}

impl Session {
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        body: &[&[u8]],
        most: u64,
        clock: &Clock,
    ) -> Result<(Answer, Vec<u8>), Trouble> {
        self.worker.send(request, body, clock)?;
        self.answer(most, clock)
    }

    fn answer(&mut self, most: u64, clock: &Clock) -> Result<(Answer, Vec<u8>), Trouble> {
        let (answer, sizes) = self.header(clock)?;
        Ok((answer, self.worker.body(&sizes, most, clock)?))
    }

    /// Receives the header of an answer. Returns an error if the worker reports a failure. The body has to be received
    /// after this.
    fn header(&mut self, clock: &Clock) -> Result<(Answer, Sizes), Trouble> {
        let (answer, sizes) = self.worker.receive(clock)?;
        match answer {
            // The answer for a failed call has an empty body, which is read here, so that the next answer can follow.
            Answer::Failed { status, node, message } => {
                self.worker.body_into(&sizes, &mut [], clock)?;
                let message = crate::plain::plain(&message);
                Err(Trouble::Failed { status, node, message })
            }
            Answer::Refused(error) => Err(Trouble::Refused(error)),
            answer => Ok((answer, sizes)),
        }
    }

    /// The number of the target with these options. If the target is not open yet, it is opened.
    fn target(&mut self, options: &Options, clock: &Clock) -> Result<u32, Trouble> {
        if let Some(position) = self.targets.iter().position(|known| known == options) {
            return Ok(position as u32);
        }
        let request = Request::Open {
            options: options.clone(),
        };
        match self.ask(&request, &[], 0, clock)? {
            (Answer::Opened(number), _) if number as usize == self.targets.len() => {
                self.targets.push(options.clone());
                Ok(number)
            }
            _ => Err(senseless()),
        }
    }

    /// Sends a form to the worker, unless it has already been sent.
    pub(crate) fn form(&mut self, form: &RegisteredForm, clock: &Clock) -> Result<(), Trouble> {
        if self.forms.contains(&form.number) {
            return Ok(());
        }
        let request = Request::Prepare {
            form: form.number,
            row: form.row.clone(),
        };
        match self.ask(&request, &[&form.json], 0, clock)? {
            (Answer::Prepared, _) => {
                self.forms.insert(form.number);
                Ok(())
            }
            _ => Err(senseless()),
        }
    }
}
