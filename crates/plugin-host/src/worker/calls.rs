//! Calls the functions of the library.

#![allow(unsafe_code, reason = "the C interface")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{ptr, slice, str};

use strait_core::bytes::{MAJOR, MINOR};
use strait_plugin_interface as c;
use strait_plugin_interface::Layout;
use strait_requantize::Requantization;
use strait_target::spec::MAX_TABLE_BYTES;
use strait_target::{OptionValue, Options};

use super::forms::Arrays;
use super::load::{self, Loaded};
use super::memory::{Aligned, Fenced};
use crate::LoadError;
use crate::library::MOST_PIECE;
use crate::wire::{self, Answer, Description, Fence, TensorHeader};

/// The longest text that a plugin may report, in bytes.
const MOST_TEXT: u64 = 64 << 10;

/// The longest file name that is passed on to the host, in bytes. The host itself accepts only shorter names.
const MOST_NAME: u64 = 4 << 10;

/// Why a call failed.
pub(super) struct Fault {
    pub(super) status: i32,
    pub(super) node: Option<u32>,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn ours(message: impl Into<String>) -> Fault {
        Fault {
            status: c::INVALID_ARGUMENT,
            node: None,
            message: message.into(),
        }
    }
}

/// A library, with the targets that it has made and the forms that were sent to it.
pub(super) struct Plugin {
    pub(super) plugin: c::Plugin,
    pub(super) entry: c::Entry,
    package: String,
    table: &'static str,
    /// The targets, each with the options that it was made with.
    targets: Vec<(Options, *mut c_void)>,
    forms: BTreeMap<u64, Arrays>,
}

/// Reads a text of the library, which is never unloaded.
///
/// # Safety
/// `at` is null or points to `size` bytes that stay there.
unsafe fn text(at: *const u8, size: u64, most: u64) -> Option<&'static str> {
    if at.is_null() || size > most {
        return None;
    }
    // SAFETY: the caller guarantees that `at` points to `size` bytes that stay valid.
    str::from_utf8(unsafe { slice::from_raw_parts(at, usize::try_from(size).ok()?) }).ok()
}

/// The messages that the library reports during one call. If the call fails, the last reported error is its message.
#[derive(Default)]
pub(super) struct Reports {
    package: String,
    /// The last reported error, with its node. It is behind a lock, since a library may report from several threads at
    /// once.
    error: Mutex<Option<(Option<u32>, String)>>,
}

/// The most remarks and warnings that are shown, over all calls.
const MOST_REMARKS: u32 = 100;

/// Shows a remark or a warning. If standard error is closed, nothing is shown.
fn remark(kind: &str, package: &str, text: &str) {
    static SHOWN: AtomicU32 = AtomicU32::new(0);
    let mut error = io::stderr();
    let _ = match SHOWN.fetch_add(1, Ordering::Relaxed) {
        ..MOST_REMARKS => writeln!(error, "{kind}: {package}: {text}"),
        MOST_REMARKS => writeln!(
            error,
            "remark: {package}: it says more than {MOST_REMARKS} things; the others are left out"
        ),
        // The counter stays at this value, so that it never wraps around.
        _ => {
            SHOWN.store(MOST_REMARKS + 1, Ordering::Relaxed);
            Ok(())
        }
    };
}

/// The function that the library calls as [`c::Host::report`].
unsafe extern "C" fn report(context: *mut c_void, severity: u32, node: u32, at: *const u8, size: u64) {
    if context.is_null() || (at.is_null() && size > 0) {
        return;
    }
    let kept = usize::try_from(size.min(MOST_TEXT)).unwrap_or(0);
    let bytes = if kept == 0 {
        &[][..]
    } else {
        // SAFETY: the plugin promises that `at` points to `size` bytes, and `kept` is at most `size`.
        unsafe { slice::from_raw_parts(at, kept) }
    };
    let text = crate::plain::plain(&String::from_utf8_lossy(bytes));
    // SAFETY: the context points to the `Reports` of this call. They live until the call returns, and threads may share
    // them.
    let reports = unsafe { &*context.cast::<Reports>() };
    match severity {
        c::REMARK => remark("remark", &reports.package, &text),
        c::WARNING => remark("warning", &reports.package, &text),
        _ => *reports.lock() = Some(((node != c::NO_NODE).then_some(node), text)),
    }
}

/// The host struct with the versions of this program, and without functions.
pub(super) fn this_host() -> c::Host {
    c::Host {
        interface_major: c::INTERFACE_MAJOR,
        interface_minor: c::INTERFACE_MINOR,
        table_schema: c::TABLE_SCHEMA,
        ir_major: MAJOR.into(),
        ir_minor: MINOR.into(),
        ..c::Host::EMPTY
    }
}

impl Reports {
    pub(super) fn new(package: &str) -> Reports {
        Reports {
            package: package.to_owned(),
            error: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Option<u32>, String)>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call with a host struct whose function `report` stores the library's messages in `self`.
    pub(super) fn of(self, call: impl FnOnce(*const c::Host) -> c::Status) -> Result<(), Fault> {
        let host = c::Host {
            context: ptr::from_ref(&self).cast_mut().cast(),
            report: Some(report),
            ..this_host()
        };
        let status = call(&host);
        if status == c::OK {
            return Ok(());
        }
        let said = match status {
            c::UNSUPPORTED => "it does not do this",
            c::INVALID_ARGUMENT => "it refuses an argument",
            c::PANIC => "it panicked",
            c::RESOURCE => "memory or space is short",
            c::VERSION => "versions do not fit",
            _ => "it failed without a message",
        };
        let (node, message) = self.lock().take().unwrap_or_else(|| (None, said.to_owned()));
        Err(Fault { status, node, message })
    }
}

impl Plugin {
    /// Loads a library; see [`load::load`].
    pub(super) fn load(path: &Path, pinned: &str) -> Result<(Plugin, Description), LoadError> {
        let Loaded { plugin, entry } = load::load(path, pinned)?;
        let refused = |text: &str| LoadError::Refused(text.to_owned());
        // SAFETY: everything that the plugin's description points to stays valid, since a library is never unloaded.
        let package = unsafe { text(plugin.package, plugin.package_size, 1 << 10) };
        let package = package
            .filter(|package| !package.is_empty())
            .ok_or_else(|| refused("it does not say its name and version in at most 1024 bytes of UTF-8"))?;
        let package = package.to_owned();
        // SAFETY: as for the package, the table stays valid.
        let table = unsafe { text(plugin.table, plugin.table_size, MAX_TABLE_BYTES as u64) };
        let table = table.ok_or_else(|| {
            refused(&format!(
                "its table is not UTF-8 text, or has more than {MAX_TABLE_BYTES} bytes"
            ))
        })?;
        let description = Description {
            package: package.clone(),
            interface: [plugin.interface_major, plugin.interface_minor],
            opens: plugin.open.is_some(),
            closes: plugin.close.is_some(),
            requantizes: plugin.requantize.is_some(),
            admits: plugin.admits.is_some(),
            emits: plugin.emit.map(|_| [plugin.ir_major, plugin.ir_minor]),
        };
        let plugin = Plugin {
            plugin,
            entry,
            package,
            table,
            targets: Vec::new(),
            forms: BTreeMap::new(),
        };
        Ok((plugin, description))
    }

    pub(super) fn table(&self) -> &'static str {
        self.table
    }

    /// Name and version of the package, as the plugin states them.
    pub(super) fn package(&self) -> &str {
        &self.package
    }

    pub(super) fn reports(&self) -> Reports {
        Reports::new(&self.package)
    }

    /// Makes a target. Returns the number by which it is known from now on.
    pub(super) fn open(&mut self, options: Options) -> Result<u32, Fault> {
        let target = self.opened(&options, ptr::null_mut())?;
        self.targets.push((options, target));
        Ok((self.targets.len() - 1) as u32)
    }

    /// Makes a target with these options and returns the pointer to it. Before the call, the place for this pointer
    /// contains `target`. So `target` is returned if the library has no `open`, or if `open` does not write to the
    /// place.
    pub(super) fn opened(&self, options: &Options, target: *mut c_void) -> Result<*mut c_void, Fault> {
        // The entries before and after the place for the target show whether the library writes to other memory than
        // this place.
        let beside = ptr::dangling_mut::<u32>().cast::<c_void>();
        let mut place = [beside, target, beside];
        if let Some(open) = self.plugin.open {
            let entries: Vec<c::OptionEntry> = options.iter().map(|(name, value)| entry(name, value)).collect();
            let options = c::Open {
                option_count: entries.len() as u32,
                options: entries.as_ptr(),
                option_stride: size_of::<c::OptionEntry>() as u64,
                ..c::Open::EMPTY
            };
            let reports = self.reports();
            // SAFETY: all arguments live until the call returns.
            reports.of(|host| unsafe { open(host, &options, &mut place[1]) })?;
        }
        match place {
            [before, target, behind] if [before, behind] == [beside; 2] => Ok(target),
            _ => Err(Fault::ours("it writes beside the place for the target")),
        }
    }

    pub(super) fn target(&self, number: u32) -> Result<*mut c_void, Fault> {
        self.target_and_options(number).map(|(_, target)| *target)
    }

    pub(super) fn target_and_options(&self, number: u32) -> Result<&(Options, *mut c_void), Fault> {
        let target = self.targets.get(number as usize);
        target.ok_or_else(|| Fault::ours("no such target"))
    }

    /// A form that the host has sent, by its number.
    pub(super) fn form(&self, number: u64) -> Result<&Arrays, Fault> {
        self.forms.get(&number).ok_or_else(|| Fault::ours("no such form"))
    }

    /// Stores a form under a number, for later calls.
    pub(super) fn prepare(&mut self, number: u64, row: String, json: &[u8]) -> Result<(), Fault> {
        let form: Requantization = serde_json::from_slice(json).map_err(|error| Fault::ours(error.to_string()))?;
        let arrays = Arrays::new(&form, row, json).map_err(|error| Fault::ours(error.to_string()))?;
        self.forms.insert(number, arrays);
        Ok(())
    }

    /// Lets the library write files. Each piece is sent to the host as soon as the library writes it.
    pub(super) fn emit(
        &self,
        target: u32,
        ir: u64,
        tensors: &[TensorHeader],
        (body, fenced): (&Aligned, Option<Fence>),
        to: &mut File,
    ) -> io::Result<Result<(), Fault>> {
        let Some(emit) = self.plugin.emit else {
            return Ok(Err(Fault::ours("it has no `emit`")));
        };
        let target = match self.target(target) {
            Ok(target) => target,
            Err(fault) => return Ok(Err(fault)),
        };
        let short = || wire::garbage("a model that is shorter than its parts".into());
        let (ir, mut rest) = body
            .bytes()
            .split_at_checked(usize::try_from(ir).map_err(|_| short())?)
            .ok_or_else(short)?;
        // If guard pages are asked for, each part of the model is copied next to a guard page of its own.
        let mut fences = Vec::new();
        let mut placed = |part: &[u8]| match fenced {
            Some(side) => {
                let fence = Fenced::holding(part, side, 1)?;
                let start = fence.start().cast_const();
                fences.push(fence);
                Ok(start)
            }
            None => io::Result::Ok(part.as_ptr()),
        };
        let ir_at = placed(ir)?;
        let mut described = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            let size = usize::try_from(tensor.size).map_err(|_| short())?;
            let (data, behind) = rest.split_at_checked(size).ok_or_else(short)?;
            rest = behind;
            described.push(c::Tensor {
                element: tensor.element.into(),
                extents: tensor.extents.as_ptr(),
                rank: tensor.extents.len() as u64,
                data: placed(data)?,
                data_size: tensor.size,
                ..c::Tensor::EMPTY
            });
        }
        let sink = Sink(Mutex::new(Pieces {
            to,
            failed: None,
            refused: None,
        }));
        let model = c::Emit {
            tensor_count: described.len() as u32,
            tensors: described.as_ptr(),
            tensor_stride: size_of::<c::Tensor>() as u64,
            ir: ir_at,
            ir_size: ir.len() as u64,
            sink: ptr::from_ref(&sink).cast_mut().cast(),
            write: Some(write),
            ..c::Emit::EMPTY
        };
        // SAFETY: all arguments live until the call returns.
        let outcome = self.reports().of(|host| unsafe { emit(host, target, &model) });
        let pieces = sink.lock();
        match (&pieces.failed, &pieces.refused) {
            (Some(error), _) => Err(io::Error::new(error.kind(), error.to_string())),
            (None, Some(text)) => Ok(Err(Fault::ours(text.as_str()))),
            (None, None) => Ok(outcome),
        }
    }
}

fn entry(name: &str, value: &OptionValue) -> c::OptionEntry {
    let (kind, text, number) = match value {
        OptionValue::String(text) => (c::OPTION_TEXT, Some(text), 0),
        OptionValue::Integer(number) => (c::OPTION_INTEGER, None, *number),
        OptionValue::Bool(flag) => (c::OPTION_BOOL, None, (*flag).into()),
    };
    c::OptionEntry {
        kind,
        name: name.as_ptr(),
        name_size: name.len() as u64,
        text: text.map_or(ptr::null(), |text| text.as_ptr()),
        text_size: text.map_or(0, |text| text.len() as u64),
        number,
        ..c::OptionEntry::EMPTY
    }
}

/// Sends to the host the pieces of files that a call writes. The state is behind a lock, since a library may write from
/// several threads at once.
struct Sink<'a>(Mutex<Pieces<'a>>);

struct Pieces<'a> {
    to: &'a mut File,
    failed: Option<io::Error>,
    /// Why a file was refused. If the library continues to write after that, the pieces are dropped.
    refused: Option<String>,
}

impl<'a> Sink<'a> {
    fn lock(&self) -> MutexGuard<'_, Pieces<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The function that the library calls as [`c::Emit::write`].
unsafe extern "C" fn write(
    sink: *mut c_void,
    path: *const u8,
    path_size: u64,
    bytes: *const u8,
    size: u64,
) -> c::Status {
    if sink.is_null() {
        return c::INVALID_ARGUMENT;
    }
    // SAFETY: `sink` points to the sink of this call. It lives until the call returns, and threads may share it.
    let sink = unsafe { &*sink.cast::<Sink<'_>>() };
    let mut sink = sink.lock();
    if sink.refused.is_some() {
        return c::INVALID_ARGUMENT;
    }
    let mut refuse = |text: String| {
        sink.refused = Some(text);
        c::INVALID_ARGUMENT
    };
    if path.is_null() || path_size > MOST_NAME {
        return refuse(format!(
            "it wrote a file whose name is not there or has more than {MOST_NAME} bytes"
        ));
    }
    // SAFETY: the plugin promises that `path` points to `path_size` bytes.
    let path = unsafe { slice::from_raw_parts(path, path_size as usize) };
    let Ok(path) = str::from_utf8(path) else {
        let shown = path.escape_ascii();
        return refuse(format!(
            "it wrote a file whose name is not UTF-8, `{shown}`; names are ASCII, as `files/weights.bin`"
        ));
    };
    let (false, Ok(size)) = (bytes.is_null() && size > 0, usize::try_from(size)) else {
        return refuse(format!(
            "it wrote bytes that are not there into `{}`",
            path.escape_debug()
        ));
    };
    let bytes = if size == 0 {
        &[][..]
    } else {
        // SAFETY: the plugin promises that `bytes` points to `size` bytes.
        unsafe { slice::from_raw_parts(bytes, size) }
    };
    // An empty file is sent as one empty piece.
    let empty = bytes.is_empty().then_some(bytes);
    for piece in empty.into_iter().chain(bytes.chunks(MOST_PIECE as usize)) {
        let answer = Answer::Piece { path: path.to_owned() };
        if let Err(error) = wire::write(sink.to, &answer, piece) {
            sink.failed = Some(error);
            return c::RESOURCE;
        }
    }
    c::OK
}
