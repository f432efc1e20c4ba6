//! Tests that workers end when their host ends, together with every process that they started.

use crate::build::{TABLE, build, load, workshop};
use crate::command::{CHIP, configuration, text};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use strait_plugin_host::sha256;

/// Waits up to 30 seconds for a condition to become true; returns whether it did.
pub(crate) fn soon(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Whether the process exists and is not a zombie.
fn runs(process: u32) -> bool {
    let out = Command::new("ps")
        .args(["-o", "stat=", "-p", &process.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn a_worker_in_an_endless_loop_ends_when_its_host_is_killed_or_told_to_end() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    for signal in ["KILL", "TERM"] {
        let file = folder.join(format!("process-{signal}"));
        let definitions = [
            format!("PID_FILE=\"{}\"", file.display()),
            "IN_REQUANTIZE=LOOP".to_owned(),
        ];
        let path = build(folder, signal, CHIP, &definitions.each_ref().map(String::as_str));
        let plugin = format!(
            "[[plugin]]\npath = '{}'\nsha256 = '{}'\n",
            path.display(),
            sha256(&path).unwrap()
        );
        let configured = configuration(folder, signal, "", &plugin);
        let mut host = Command::new(env!("CARGO_BIN_EXE_strait"))
            .args(["compile", text(&configured)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let worker = || std::fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok();
        assert!(soon(|| worker().is_some()), "{signal}: the library was not called");
        let worker = worker().unwrap();
        assert!(runs(worker));
        let sent = Command::new("kill")
            .args(["-s", signal, &host.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        host.wait().unwrap();
        assert!(soon(|| !runs(worker)), "{signal}: the worker runs on");
    }
}

#[test]
fn a_crash_is_told_at_once_although_a_process_of_the_library_holds_the_pipe() {
    let Some(folder) = workshop() else { return };
    let path = build(folder.path(), "child", TABLE, &["IN_ENTRY=CHILD"]);
    let start = Instant::now();
    let error = load(&path, None).unwrap_err().to_string();
    assert!(error.ends_with("its entry crashed: signal 6 (aborted)"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_has_no_end_is_no_library_and_nobody_waits_for_it() {
    let Some(folder) = workshop() else { return };
    let pipe = folder.path().join("pipe.so");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [Path::new("/dev/zero"), &pipe] {
        let error = load(path, None).unwrap_err().to_string();
        assert!(error.contains("it is not a shared library"), "{error}");
        let pinned = load(path, Some(&"0".repeat(64))).unwrap_err().to_string();
        assert!(pinned.contains("it is not a shared library"), "{pinned}");
    }
}

#[test]
fn no_variable_of_the_environment_names_libraries_for_a_worker() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    let path = build(folder, "saying", CHIP, &["IN_ENTRY=SAY"]);
    let plugin = format!(
        "[[plugin]]\npath = '{}'\nsha256 = '{}'\n",
        path.display(),
        sha256(&path).unwrap()
    );
    let configured = configuration(folder, "saying", "", &plugin);
    let out = Command::new(env!("CARGO_BIN_EXE_strait"))
        .args(["compile", text(&configured)])
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success() && said.contains("LD_LIBRARY_PATH is absent"),
        "{said}"
    );
}
