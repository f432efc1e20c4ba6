//! The signal handlers. A signal may interrupt the process anywhere, so the handlers allocate no memory and take no
//! locks: messages are written piece by piece from data on the stack.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use libc::siginfo_t;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read, write};
use signal_hook::low_level::exit;

use crate::memory::refused;

/// The largest number of bytes of a line of `/proc/self/maps` that are parsed. The path in a line may have 4096 bytes.
const LONGEST: usize = 4096 + 128;

#[allow(unsafe_code)]
pub(crate) fn install(code: i32) {
    // If a handler cannot be installed, its signal has the same effect as without this crate.
    let cut = move |info: &siginfo_t| {
        // SAFETY: the handler runs only for SIGBUS, for which the system sets the address.
        let address = unsafe { info.si_addr() } as usize;
        with_file_at(address, |file| {
            say(&[
                b"error[D001]: ",
                file,
                b" was cut by another process while it was read\n",
            ]);
            exit(code);
        });
    };
    // SAFETY: the handler allocates nothing, takes no locks and only calls functions that a handler may call.
    let _ = unsafe { signal_hook_registry::register_sigaction(libc::SIGBUS, cut) };
    let aborted = move || {
        if refused() > 0 {
            say(&[
                b"error[S002]: the system has no memory left for this process\n",
                b"  = help: raise the limit on it (`ulimit -v`, that of a container), or have less done at a time: `--threads 1`, `--memory`\n",
            ]);
            exit(code);
        }
    };
    // SAFETY: this handler, too, allocates nothing, takes no locks and only calls functions that a handler may call.
    let _ = unsafe { signal_hook_registry::register(libc::SIGABRT, aborted) };
    // With any handler for this signal, a write beyond the limit returns an error instead of ending the process.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

fn say(parts: &[&[u8]]) {
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            match write(rustix::stdio::stderr(), rest) {
                Ok(written) if written > 0 => rest = &rest[written..],
                _ => return,
            }
        }
    }
}

/// Calls `found` with the path of the file that is mapped at this address, if there is one.
fn with_file_at(address: usize, found: impl Fn(&[u8])) {
    let Ok(maps) = open(c"/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let mut line = [0; LONGEST];
    let mut length = 0;
    let mut block = [0; 1024];
    while let Ok(count @ 1..) = read(&maps, &mut block) {
        for &byte in &block[..count] {
            if byte != b'\n' {
                // If a line is too long, its end is dropped.
                if let Some(place) = line.get_mut(length) {
                    *place = byte;
                    length += 1;
                }
                continue;
            }
            if let Some(path) = file_at(&line[..length], address) {
                return found(path);
            }
            length = 0;
        }
    }
}

/// Returns the path in a line such as `7f0000-7f1000 r--p 00000000 fd:01 1234   /a/path`, if the address lies in the
/// range with which the line begins.
fn file_at(line: &[u8], address: usize) -> Option<&[u8]> {
    let path = line.iter().position(|&byte| byte == b'/')?;
    let number = |digits: &[u8]| usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let range = line.split(|&byte| byte == b' ').next()?;
    let dash = range.iter().position(|&byte| byte == b'-')?;
    let (begin, end) = (number(&range[..dash])?, number(&range[dash + 1..])?);
    (begin..end).contains(&address).then(|| &line[path..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_is_found_by_an_address_in_it() {
        let line = b"7f10-7f20 r--p 00000000 fd:01 1234    /a b/c";
        assert_eq!(file_at(line, 0x7f10), Some(&b"/a b/c"[..]));
        assert_eq!((file_at(line, 0x7f20), file_at(line, 0x7f0f)), (None, None));
        assert_eq!(file_at(b"7f10-7f20 rw-p 00000000 00:00 0    [heap]", 0x7f10), None);
        assert_eq!(file_at(b"", 0), None);
    }

    #[test]
    fn this_program_is_a_file_that_is_mapped() {
        let here = std::env::current_exe().unwrap();
        let seen = std::cell::Cell::new(false);
        with_file_at(install as *const () as usize, |file| {
            seen.set(file == here.as_os_str().as_encoded_bytes());
        });
        assert!(seen.get());
    }
}
