//! Tests of programs that end because of a signal or a lack of memory, and of the allocator. A test of an end runs this
//! program again as a child process that ends in this way.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::alloc::{GlobalAlloc as _, Layout};
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

/// Runs the named test again with little memory, which it uses up.
fn runs_out_of_memory(test: &str) {
    let output = child(test, Path::new("x"), "ulimit -v 500000;");
    let message = "error[S002]: the system has no memory left";
    assert!(told(&output).contains(message), "{output:?}");
}

#[test]
fn memory_that_is_refused_is_an_error() {
    if file().is_some() {
        let mut all = Vec::new();
        loop {
            all.push(std::hint::black_box(vec![1u8; 64 << 20]));
        }
    }
    runs_out_of_memory("memory_that_is_refused_is_an_error");
}

#[test]
fn small_memory_that_is_refused_is_an_error_too() {
    #[allow(dead_code, reason = "only its size counts")]
    struct Link(Option<Box<Link>>, [u8; 1000]);
    if file().is_some() {
        let mut chain = None;
        loop {
            chain = Some(Box::new(std::hint::black_box(Link(chain, [1; 1000]))));
        }
    }
    runs_out_of_memory("small_memory_that_is_refused_is_an_error_too");
}

/// Memory that is reserved counts towards the limits of a process. The child has one test, and so few threads.
#[test]
fn the_allocator_reserves_little() {
    if file().is_some() {
        let few: Vec<Box<[u8; 100]>> = (0..1000).map(|at| Box::new([at as u8; 100])).collect();
        std::hint::black_box(&few);
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let megabytes = |field: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
            line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() >> 10
        };
        assert!(megabytes("VmData:") < 24 && megabytes("VmSize:") < 320, "{status}");
        std::process::exit(CODE.into());
    }
    told(&child("the_allocator_reserves_little", Path::new("x"), ""));
}

/// Sizes on both sides of the border between small and large objects, in every order.
#[test]
#[allow(unsafe_code)]
fn an_object_keeps_its_bytes_and_its_alignment_when_its_size_changes() {
    const SIZES: [usize; 8] = [1, 24, 1000, 4095, 4096, 4097, 10_000, 300_000];
    let is_filled = |place: *const u8, count: usize, byte: u8| {
        // SAFETY: the callers pass an object with at least `count` bytes, all of which are set.
        unsafe { std::slice::from_raw_parts(place, count) }
            .iter()
            .all(|&found| found == byte)
    };
    for align in [1, 16, 64, 4096] {
        for (from, to) in SIZES.iter().flat_map(|&from| SIZES.map(|to| (from, to))) {
            let [before, after] = [from, to].map(|size| Layout::from_size_align(size, align).unwrap());
            // SAFETY: no size is zero, and each call gets the layout with which the object was made last.
            unsafe {
                let place = MEMORY.alloc_zeroed(before);
                assert!(is_filled(place, from, 0), "{from} bytes are not zero");
                place.write_bytes(7, from);
                let place = MEMORY.realloc(place, before, to);
                assert!(place.addr().is_multiple_of(align), "{from} to {to} bytes, {align}");
                assert!(is_filled(place, from.min(to), 7), "{from} to {to} bytes, {align}");
                MEMORY.dealloc(place, after);
            }
        }
    }
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
