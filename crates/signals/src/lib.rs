//! Turns signals that would kill the process into errors with a message and an exit code.
//!
//! | what happens | without this crate | with it |
//! |---|---|---|
//! | another process cuts a file while it is mapped, and a page after its new end is used | SIGBUS | an error that names the file |
//! | the system refuses memory (`ulimit -v`, a full machine) | SIGABRT | an error that says so |
//! | a file would grow beyond `ulimit -f` | SIGXFSZ | the write fails with an error |
//!
//! How signals are handled is up to the program, and not to its libraries. So only the command line calls [`install`].
//! On systems other than Linux nothing is changed.

#[cfg(target_os = "linux")]
mod linux;
mod memory;

pub use memory::Memory;

/// Makes the process end with exit code `code` and a message on standard error, in the cases of the table above.
pub fn install(code: u8) {
    #[cfg(target_os = "linux")]
    linux::install(code.into());
    #[cfg(not(target_os = "linux"))]
    let _ = code;
}
