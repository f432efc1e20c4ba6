//! Loads a plugin from a path. The file is read once and hashed, and exactly the bytes that were read are loaded.

#![allow(unsafe_code, reason = "the C interface")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use strait_plugin_interface::{ENTRY, Entry, INTERFACE_MAJOR, INTERFACE_MINOR, Layout, Plugin, received};

use crate::{LoadError, digest, header, sidecar};

/// The largest size of a library in bytes. Larger files are refused.
const MOST_BYTES: u64 = 2 << 30;

/// A library that has been loaded.
pub(super) struct Loaded {
    pub(super) plugin: Plugin,
    pub(super) entry: Entry,
}

/// Loads a library. It is never unloaded, since nobody can know which parts of it are still in use.
///
/// Before its constructors run, its bytes are checked: they must be a library for this machine and have the digest
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
    // SAFETY: the library's constructors run here. They can only harm this worker. All symbols are bound at once, so
    // that a missing symbol is found now.
    let library = unsafe { Library::open(Some(&private), RTLD_NOW | RTLD_LOCAL) };
    // The library is never unloaded, even if it is refused, since unloading would run its destructors.
    let library = ManuallyDrop::new(library.map_err(|error| LoadError::Open(whole(&error)))?);
    // SAFETY: the symbol has this type in every version of the interface.
    let entry: Result<Symbol<Entry>, _> = unsafe { library.get(ENTRY.as_bytes()) };
    let entry = *entry.map_err(|_| LoadError::Symbol)?;
    // SAFETY: the entry function is called as the interface prescribes.
    let plugin = unsafe { entry(INTERFACE_MAJOR, INTERFACE_MINOR) };
    let refused = |text: &str| LoadError::Refused(text.to_owned());
    // SAFETY: `plugin` is null, or it points to a description that stays valid.
    let plugin = unsafe { received(plugin) }.ok_or_else(|| {
        refused(&format!(
            "it does not serve version {INTERFACE_MAJOR}.{INTERFACE_MINOR} of the interface, which this program speaks"
        ))
    })?;
    // If the major version differs, only the first fields, which are numbers, have a known meaning.
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

/// The text of an error with all its causes. The system's loader names missing libraries in the causes.
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

/// Path of a copy of the library that nobody can change: a sealed file in memory. The file stays open, because the
/// loader recognizes libraries by their path, which contains the number of the open file. If another library got the
/// same number, the loader would take it for this one.
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

/// Path of a copy of the library that only this user can change: a file in the temporary folder, which the system
/// cleans up.
#[cfg(not(target_os = "linux"))]
fn private(bytes: &[u8]) -> io::Result<PathBuf> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(bytes)?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}
