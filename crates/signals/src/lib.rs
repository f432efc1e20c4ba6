//! Ends that the system would give a process by a signal, as errors with a sentence and an exit code.
//!
//! | what happens | without this crate | with it |
//! |---|---|---|
//! | another process cuts a file while it is mapped, and a page behind its new end is touched | SIGBUS | an error that names the file |
//! | the system refuses memory (`ulimit -v`, a full machine) | SIGABRT | an error that says so |
//! | a file would grow beyond `ulimit -f` | SIGXFSZ | the write fails, and whoever writes says so |
//!
//! What a process does on a signal is the business of the program and not of its libraries, so the command line alone calls
//! [`install`]. Elsewhere than on Linux nothing is changed. Depends on nothing of ours.

#[cfg(target_os = "linux")]
mod linux;
mod memory;

pub use memory::Memory;

/// Has the process end with `code` and a sentence on standard error where the table above says so.
pub fn install(code: u8) {
    #[cfg(target_os = "linux")]
    linux::install(code.into());
    #[cfg(not(target_os = "linux"))]
    let _ = code;
}
