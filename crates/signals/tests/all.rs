//! Tests of programs that end because of a signal or a lack of memory. Each test runs this program again as a child
//! process that ends in this way.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

#[global_allocator]
static MEMORY: strait_signals::Memory = strait_signals::Memory;

const FILE: &str = "STRAIT_SIGNALS_TEST";
const CODE: u8 = 17;

/// Runs the named test again in a child process, under a shell limit.
fn child(test: &str, file: &Path, limit: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let command = format!("{limit} exec \"$0\" --exact {test} --nocapture");
    Command::new("sh")
        .args(["-c", &command])
        .arg(program)
        .env(FILE, file)
        .output()
        .unwrap()
}

/// In the child process, installs the handlers and returns its file. Returns `None` in the parent.
fn file() -> Option<std::path::PathBuf> {
    let file = std::env::var_os(FILE)?;
    strait_signals::install(CODE);
    Some(file.into())
}

fn told(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(CODE.into()), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[allow(unsafe_code)]
fn a_file_that_is_cut_under_its_map_is_an_error_that_names_it() {
    if let Some(file) = file() {
        // SAFETY: the test truncates the file while it is mapped, on purpose.
        let map = unsafe { memmap2::Mmap::map(&File::open(&file).unwrap()).unwrap() };
        OpenOptions::new().write(true).open(&file).unwrap().set_len(0).unwrap();
        let sum: u64 = map.iter().map(|&byte| u64::from(byte)).sum();
        unreachable!("{sum}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.npy");
    fs::write(&file, [7; 100_000]).unwrap();
    let output = child("a_file_that_is_cut_under_its_map_is_an_error_that_names_it", &file, "");
    let expected = format!(
        "error[D001]: {} was cut by another process while it was read",
        file.display()
    );
    assert!(told(&output).contains(&expected), "{output:?}");
}

#[test]
fn memory_that_is_refused_is_an_error() {
    if file().is_some() {
        let mut all = Vec::new();
        loop {
            all.push(std::hint::black_box(vec![1u8; 64 << 20]));
        }
    }
    let output = child(
        "memory_that_is_refused_is_an_error",
        Path::new("x"),
        "ulimit -v 500000;",
    );
    assert!(
        told(&output).contains("error[S002]: the system has no memory left"),
        "{output:?}"
    );
}

#[test]
fn a_file_that_may_not_grow_is_a_write_that_fails() {
    if let Some(file) = file() {
        let error = File::create(file).unwrap().write_all(&[0; 100_000]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
        std::process::exit(CODE.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let output = child(
        "a_file_that_may_not_grow_is_a_write_that_fails",
        &folder.path().join("x"),
        "ulimit -f 8;",
    );
    told(&output);
}

/// No allocation failed here, so the abort must not be reported as lack of memory.
#[test]
fn an_abort_of_another_kind_stays_one() {
    if file().is_some() {
        std::process::abort();
    }
    let output = child("an_abort_of_another_kind_stays_one", Path::new("x"), "");
    assert_eq!(output.status.signal(), Some(6), "{output:?}");
}
