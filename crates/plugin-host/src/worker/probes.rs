//! Makes the test calls described by [`Probe`].

#![allow(unsafe_code, reason = "the C interface")]

use std::ffi::c_void;
use std::ptr;

use strait_plugin_interface as c;
use strait_plugin_interface::Layout;
use strait_target::Options;

use super::calls::{Fault, Plugin, this_host};
use super::forms::Arrays;
use super::memory::Aligned;
use crate::probe::{Argument, FAR, Probe, Size, Struct};

/// Value of the guard bytes after the memory that the plugin may use.
const CANARY: u8 = 0xa5;

/// Number of guard bytes after each struct, and after the memory for codes.
const BEHIND: usize = 64;

/// Number of accumulators for each channel in test calls.
const COLUMNS: usize = 5;

/// A struct as a host of some version hands it over, with guard bytes after it.
pub(super) struct Handed {
    bytes: Aligned,
    before: Vec<u8>,
}

impl Handed {
    /// The struct of a host that knows only the struct's first `size` bytes, or more bytes than the struct has now.
    pub(super) fn new<T: Layout>(mut of: T, size: usize) -> Handed {
        of.set_size(size as u32);
        let mut bytes = Aligned::new(size.max(size_of::<T>()) + BEHIND);
        bytes.bytes_mut().fill(CANARY);
        let known = size.min(size_of::<T>());
        // SAFETY: structs of the interface have no gaps between their fields, and both the struct and the memory have
        // `known` bytes.
        unsafe { ptr::copy_nonoverlapping(ptr::from_ref(&of).cast(), bytes.bytes_mut().as_mut_ptr(), known) };
        let before = bytes.bytes().to_vec();
        Handed { bytes, before }
    }

    pub(super) fn at<T>(&self) -> *const T {
        self.bytes.bytes().as_ptr().cast()
    }

    pub(super) fn is_intact(&self) -> bool {
        self.bytes.bytes() == self.before
    }
}

/// How many bytes of a struct the imitated host knows.
fn known<T: Layout>(of: Struct, probe: Probe) -> usize {
    match probe {
        Probe::Sized(which, Size::Larger) if which == of => size_of::<T>() + 32,
        // In every version of the interface, the host struct has at least its size and the two version numbers.
        Probe::Sized(Struct::Host, Size::Smaller) if of == Struct::Host => 3 * size_of::<u32>(),
        Probe::Sized(which, Size::Smaller) if which == of => size_of::<u32>(),
        _ => size_of::<T>(),
    }
}

unsafe extern "C" fn report(_: *mut c_void, _: u32, _: u32, _: *const u8, _: u64) {}

unsafe extern "C" fn write(_: *mut c_void, _: *const u8, _: u64, _: *const u8, _: u64) -> c::Status {
    c::OK
}

fn host(probe: Probe) -> Handed {
    let host = c::Host {
        report: (probe != Probe::Null(Argument::Report)).then_some(report),
        ..this_host()
    };
    Handed::new(host, known::<c::Host>(Struct::Host, probe))
}

/// True if the function cannot do its work without the argument that is null.
fn is_needed(probe: Probe) -> bool {
    match probe {
        Probe::Sized(of, Size::Smaller) => !matches!(of, Struct::Host | Struct::Open),
        Probe::Null(argument) => !matches!(
            argument,
            Argument::Host
                | Argument::Report
                | Argument::Options
                | Argument::Target
                | Argument::Write
                | Argument::Refuse
                | Argument::Closed
        ),
        Probe::LessRoom | Probe::NoModel { .. } => true,
        _ => false,
    }
}

/// Returns what the library did wrong in a test call, judged by the returned status and the structs that were handed
/// over. Returns `None` if nothing is wrong.
fn judged(probe: Probe, status: c::Status, handed: &[Handed]) -> Option<String> {
    match status {
        _ if handed.iter().any(|handed| !handed.is_intact()) => Some("it writes into the host's structs".into()),
        c::OK if is_needed(probe) => Some("it answers that all went well".into()),
        c::PANIC => Some("it panics".into()),
        _ => None,
    }
}

/// Returns `pointer`, or null if the test call makes this argument null.
fn unless<T>(probe: Probe, argument: Argument, pointer: *const T) -> *const T {
    if probe == Probe::Null(argument) {
        ptr::null()
    } else {
        pointer
    }
}

impl Plugin {
    /// Makes a test call. Returns what the library did wrong, if anything.
    pub(super) fn probe(&self, target: u32, form: u64, probe: Probe) -> Result<Option<String>, Fault> {
        let (options, target) = self.target_and_options(target)?;
        let form = self.form(form)?;
        Ok(run(self, (options, *target), form, probe))
    }
}

/// Makes a test call. Returns what the library did wrong; `None` if it kept to the interface or does not have the
/// function that the call tests.
fn run(plugin: &Plugin, (options, target): (&Options, *mut c_void), form: &Arrays, probe: Probe) -> Option<String> {
    match probe {
        Probe::Entry { .. } | Probe::EntryAgain => entry(plugin, probe),
        Probe::Sized(Struct::Open, _) | Probe::Null(Argument::Options | Argument::Place) => open(plugin, probe),
        Probe::Sized(Struct::Emit, _) | Probe::Null(Argument::Model | Argument::Write) | Probe::NoModel { .. } => {
            emit(plugin, target, probe)
        }
        Probe::Sized(Struct::Node, _) | Probe::Null(Argument::Node | Argument::Refuse) => admits(plugin, target, probe),
        Probe::Null(Argument::Closed) => {
            if let Some(close) = plugin.plugin.close {
                // SAFETY: this call with a null pointer is the test itself.
                unsafe { close(ptr::null_mut()) };
            }
            None
        }
        Probe::Reopened => reopened(plugin, options, target, form),
        _ => requantize(plugin, target, form, probe),
    }
}

fn entry(plugin: &Plugin, probe: Probe) -> Option<String> {
    let ask = |major, minor| {
        // SAFETY: the result is null, or it points to a description that stays valid.
        unsafe { c::received((plugin.entry)(major, minor)) }
    };
    let Probe::Entry { major, minor } = probe else {
        let again = ask(c::INTERFACE_MAJOR, c::INTERFACE_MINOR);
        let own = &plugin.plugin;
        let same = again.is_some_and(|again| {
            (again.interface_major, again.table, again.package) == (own.interface_major, own.table, own.package)
        });
        return (!same).then(|| "it answers with another description than at first".into());
    };
    let answer = ask(major, minor);
    if minor == FAR {
        let serves = answer.is_some_and(|answer| answer.interface_major == major);
        return (!serves).then(|| "it does not serve a host of a later minor version".into());
    }
    let claims = answer.is_some_and(|answer| answer.interface_major == major);
    claims.then(|| format!("it says that it is built for version {major} of the interface"))
}

fn open(plugin: &Plugin, probe: Probe) -> Option<String> {
    let open = plugin.plugin.open?;
    let host = host(probe);
    let options = Handed::new(c::Open::EMPTY, known::<c::Open>(Struct::Open, probe));
    let mut target = ptr::null_mut();
    let place = match probe {
        Probe::Null(Argument::Place) => ptr::null_mut(),
        _ => &raw mut target,
    };
    // SAFETY: arguments that are not null live until the call returns.
    let status = unsafe { open(host.at(), unless(probe, Argument::Options, options.at()), place) };
    if status == c::OK
        && !target.is_null()
        && let Some(close) = plugin.plugin.close
    {
        // SAFETY: `open` has just made the target.
        unsafe { close(target) };
    }
    // If the struct of the options is larger than the library expects, `open` may return success or an error, because
    // the library may refuse options that its table does not have.
    judged(probe, status, &[host, options])
}

/// Makes a second target while the first one is open, and closes it again. The second target has to compute the same
/// codes as the first, and the first one has to continue to work.
fn reopened(plugin: &Plugin, options: &Options, target: *mut c_void, form: &Arrays) -> Option<String> {
    plugin.plugin.open?;
    // Before the call, the place for the target gets this value, which does not point to a target. If the place still
    // has this value after the call, `open` has not written to it.
    let nothing = ptr::dangling_mut::<u64>().cast();
    let second = match plugin.opened(options, nothing) {
        Ok(second) => second,
        Err(fault) => return Some(format!("it fails with status {}: {}", fault.status, fault.message)),
    };
    if second == nothing {
        return Some("it answers that all went well, and says no target".into());
    }
    let codes = |target| called(plugin, target, form, Probe::Plain);
    let (first, other) = (codes(target), codes(second));
    if let Some(close) = plugin.plugin.close {
        // SAFETY: `open` made the second target, and it is not used any more.
        unsafe { close(second) };
    }
    if first != other {
        return Some("with the same options it makes a target that computes otherwise".into());
    }
    (codes(target) != first).then(|| "with the second target closed, the first one computes otherwise".into())
}

fn emit(plugin: &Plugin, target: *mut c_void, probe: Probe) -> Option<String> {
    let emit = plugin.plugin.emit?;
    let size = match probe {
        Probe::NoModel { size } => size as usize,
        _ => 64,
    };
    let ir = vec![CANARY; size];
    let model = c::Emit {
        ir: ir.as_ptr(),
        ir_size: ir.len() as u64,
        write: (probe != Probe::Null(Argument::Write)).then_some(write),
        ..c::Emit::EMPTY
    };
    let (host, model) = (host(probe), Handed::new(model, known::<c::Emit>(Struct::Emit, probe)));
    // SAFETY: arguments that are not null live until the call returns.
    let status = unsafe { emit(host.at(), target, unless(probe, Argument::Model, model.at())) };
    judged(probe, status, &[host, model])
}

unsafe extern "C" fn refuse(_: *mut c_void, _: *const u8, _: u64, _: *const u8, _: u64) {}

fn admits(plugin: &Plugin, target: *mut c_void, probe: Probe) -> Option<String> {
    let admits = plugin.plugin.admits?;
    let (word, extents) = ("relu", [1u64, 4]);
    let operand = c::Operand {
        rank: extents.len() as u32,
        extents: extents.as_ptr(),
        ..c::Operand::EMPTY
    };
    let node = c::Node {
        operand_count: 1,
        name: word.as_ptr(),
        name_size: word.len() as u64,
        term: word.as_ptr(),
        term_size: word.len() as u64,
        operands: &raw const operand,
        operand_stride: size_of::<c::Operand>() as u64,
        result: &raw const operand,
        attribute_stride: size_of::<c::Attribute>() as u64,
        refuse: (probe != Probe::Null(Argument::Refuse)).then_some(refuse),
        ..c::Node::EMPTY
    };
    let (host, node) = (host(probe), Handed::new(node, known::<c::Node>(Struct::Node, probe)));
    // SAFETY: arguments that are not null live until the call returns.
    let status = unsafe { admits(host.at(), target, unless(probe, Argument::Node, node.at())) };
    judged(probe, status, &[host, node])
}

/// Calls `requantize`. Returns its status, the codes with the guard bytes after them, and whether the host's structs
/// are unchanged. Returns `None` if the library does not have the function.
fn called(plugin: &Plugin, target: *mut c_void, arrays: &Arrays, probe: Probe) -> Option<(c::Status, Vec<u8>, bool)> {
    let requantize = plugin.plugin.requantize?;
    let rows = arrays.channels().unwrap_or(1);
    let count = rows * COLUMNS;
    let room = count * arrays.width();
    let mut accumulators = Aligned::new(count * size_of::<i32>());
    fill(accumulators.bytes_mut());
    let mut codes = Aligned::new(room + BEHIND);
    codes.bytes_mut().fill(CANARY);
    let told = match probe {
        Probe::LessRoom => arrays.width() * (count - 1),
        _ => room,
    };
    let tile = c::Tile {
        accumulator_bits: 32,
        rows: rows as u64,
        columns: COLUMNS as u64,
        channel_axis: c::CHANNELS_ALONG_ROWS,
        first_channel: 0,
        accumulators: unless(probe, Argument::Accumulators, accumulators.bytes().as_ptr()).cast(),
        codes: match probe {
            Probe::Null(Argument::Codes) => ptr::null_mut(),
            _ => codes.bytes_mut().as_mut_ptr().cast(),
        },
        codes_size: told as u64,
        ..c::Tile::EMPTY
    };
    let host = host(probe);
    let form = Handed::new(arrays.form(), known::<c::Form>(Struct::Form, probe));
    let tile = Handed::new(tile, known::<c::Tile>(Struct::Tile, probe));
    let target = match probe {
        Probe::Null(Argument::Target) => ptr::null_mut(),
        _ => target,
    };
    // SAFETY: arguments that are not null live until the call returns.
    let status = unsafe {
        requantize(
            unless(probe, Argument::Host, host.at()),
            target,
            unless(probe, Argument::Form, form.at()),
            unless(probe, Argument::Tile, tile.at()),
        )
    };
    let intact = [&host, &form, &tile].iter().all(|handed| handed.is_intact())
        && codes.bytes()[told..].iter().all(|&byte| byte == CANARY);
    Some((status, codes.bytes()[..told].to_vec(), intact))
}

fn requantize(plugin: &Plugin, target: *mut c_void, arrays: &Arrays, probe: Probe) -> Option<String> {
    // The first call is a normal one, as this host makes it.
    let (usual, codes, _) = called(plugin, target, arrays, Probe::Plain)?;
    if usual != c::OK {
        return Some(format!("it answers with status {usual}"));
    }
    if probe == Probe::Plain {
        return None;
    }
    let (status, found, intact) = called(plugin, target, arrays, probe)?;
    if !intact {
        return Some("it writes past what it was given".into());
    }
    if matches!(probe, Probe::Sized(_, Size::Larger)) && (status, &found) != (c::OK, &codes) {
        return Some("it does not answer as it does without them".into());
    }
    judged(probe, status, &[])
}

/// Fills in small accumulators of both signs.
fn fill(accumulators: &mut [u8]) {
    for (at, bytes) in accumulators.chunks_exact_mut(size_of::<i32>()).enumerate() {
        bytes.copy_from_slice(&((at % 61) as i32 - 30).to_ne_bytes());
    }
}
