//! Turns signals that would kill the process into errors with a message and an exit code.
//!
//! | what happens | without this crate | with it |
//! |---|---|---|
//! | another process cuts a file while it is mapped, and a page after its new end is used | SIGBUS | an error that names the file |
//! | the system refuses memory (`ulimit -v`, a full machine) | SIGABRT | an error that says so |
//! | a file would grow beyond `ulimit -f` | SIGXFSZ | the write fails with an error |
//!
//! The crate also has the program's allocator ([`Memory`]), and sets how threads share what glibc's allocator keeps.
//!
//! A program decides how signals are handled; a library must not. So only the command line calls [`install`]. On
//! systems other than Linux, [`install`] does nothing.

#[cfg(target_os = "linux")]
mod linux;
mod memory;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod small;

pub use memory::Memory;

/// In the cases of the table above, makes the process write a message to standard error and end with exit code `code`. Also lets
/// threads share what glibc's allocator keeps. To be called before the first thread is started.
pub fn install(code: u8) {
    memory::share_arenas();
    #[cfg(target_os = "linux")]
    linux::install(code.into());
    #[cfg(not(target_os = "linux"))]
    let _ = code;
}
