//! From a path to a plugin: the bytes are read once, hashed, and those very bytes are loaded.

#![allow(unsafe_code, reason = "the C interface")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use strait_plugin_interface::{ENTRY, Entry, INTERFACE_MAJOR, INTERFACE_MINOR, Layout, Plugin, received};

use crate::{LoadError, digest, header, sidecar};

/// Larger files are no libraries.
const MOST_BYTES: u64 = 2 << 30;

/// A library that is loaded.
pub(super) struct Loaded {
    pub(super) plugin: Plugin,
    pub(super) entry: Entry,
}

/// Loads a library, for ever: it is never unloaded, since nobody can know what of it is still in use.
///
/// Before its constructors run, its bytes are found to be a library for this machine, and to have the digest
/// `pinned`.
pub(super) fn load(path: &Path, pinned: &str) -> Result<Loaded, LoadError> {
    let bytes = read(path)?;
    header::check(&bytes)?;
    let found = digest::of_bytes(&bytes);
    if pinned != found {
        return Err(LoadError::Hash {
            found,
            pinned: pinned.to_owned(),
        });
    }
    let private = private(&bytes).map_err(|error| LoadError::Open(error.to_string()))?;
    drop(bytes);
    // SAFETY: constructors of the library run here, and whatever they do, they do it to this worker. All symbols are bound at
    // once, so that one that is missing is found now.
    let library = unsafe { Library::open(Some(&private), RTLD_NOW | RTLD_LOCAL) };
    // Never unloaded, not even if it is refused: its destructors would run.
    let library = ManuallyDrop::new(library.map_err(|error| LoadError::Open(whole(&error)))?);
    // SAFETY: the symbol is of this type in every version of the interface.
    let entry: Result<Symbol<Entry>, _> = unsafe { library.get(ENTRY.as_bytes()) };
    let entry = *entry.map_err(|_| LoadError::Symbol)?;
    // SAFETY: as the interface lays it down.
    let plugin = unsafe { entry(INTERFACE_MAJOR, INTERFACE_MINOR) };
    let refused = |text: &str| LoadError::Refused(text.to_owned());
    // SAFETY: null, or a description that stays where it is.
    let plugin = unsafe { received(plugin) }.ok_or_else(|| {
        refused(&format!(
            "it does not serve version {INTERFACE_MAJOR}.{INTERFACE_MINOR} of the interface, which this program speaks"
        ))
    })?;
    // Of another major version nothing is known but these numbers.
    let known = |field: &str| {
        Plugin::FIELDS
            .iter()
            .any(|&(name, at)| name == field && plugin.struct_size as usize > at)
    };
    if !known("interface_minor") {
        return Err(refused("its description ends before its version"));
    }
    sidecar::versions([plugin.interface_major, plugin.interface_minor], plugin.table_schema)?;
    if plugin.table.is_null() {
        return Err(refused("it has no table"));
    }
    Ok(Loaded { plugin, entry })
}

/// An error with all that is behind it: the system's loader says there what it misses.
fn whole(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let file = digest::regular(path).map_err(LoadError::unreadable)?;
    let size = file.metadata().map_err(LoadError::unreadable)?.len();
    if size > MOST_BYTES {
        return Err(LoadError::NotALibrary);
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(LoadError::unreadable)?;
    Ok(bytes)
}

/// The path of a copy that nobody can change any more: a sealed file in memory. It stays open: the loader knows libraries by
/// their path, and would take the next one under the same number for this one.
#[cfg(target_os = "linux")]
fn private(bytes: &[u8]) -> io::Result<PathBuf> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::{fs::File, os::fd::AsRawFd};
    let mut file = File::from(memfd_create(
        "strait-plugin",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )?);
    file.write_all(bytes)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::mem::forget(file);
    Ok(path.into())
}

/// The path of a copy that only this user can change: a file of the temporary folder, which the system empties.
#[cfg(not(target_os = "linux"))]
fn private(bytes: &[u8]) -> io::Result<PathBuf> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(bytes)?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}
