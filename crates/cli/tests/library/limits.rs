//! Tests of a worker's resource limits and of the errors when a plugin uses them up.

use crate::build::{TABLE, hostile, program, workshop};
use std::sync::Arc;
use std::time::Duration;
use strait_plugin_host::{Allowance, Library, Patience, register};
use strait_target::{Options, Registry};

const LITTLE: Allowance = Allowance {
    memory: Some(100 << 20),
    processor: 1,
    file: 1 << 20,
    open_files: 64,
};

/// Opens a target whose plugin runs this C code on open; returns the error.
fn opened(name: &str, what: &str) -> String {
    let Some(folder) = workshop() else { return String::new() };
    let path = hostile(folder.path(), name, TABLE, &[("IN_OPEN", what)]);
    let patience = Patience {
        load: Duration::from_secs(20),
        call: Duration::from_secs(20),
        emit: Duration::from_secs(20),
    };
    let library = Library::load(&path, None, program().with(LITTLE), patience).unwrap();
    let mut registry = Registry::default();
    let entry = register(&mut registry, Arc::new(library)).unwrap();
    entry.target(&Options::new()).err().unwrap().to_string()
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_used_up_a_limit_is_told_which() {
    if workshop().is_none() {
        return;
    }
    for (name, what, part) in [
        (
            "crash",
            "LOOP { kept = malloc(1 << 20); memset(kept, 1, 1 << 20); }",
            "open used up its memory: it may have 100 MiB (`--memory`)",
        ),
        (
            "resource",
            "LOOP { kept = malloc(1 << 20); if (kept == NULL) return STRAIT_RESOURCE; memset(kept, 1, 1 << 20); }",
            "open: memory or space is short (it has used up its memory: it may have 100 MiB (`--memory`))",
        ),
        (
            "processor",
            "LOOP { }",
            "open used up its processor time: a call may take 1 s of it",
        ),
        (
            "file",
            "FILE *file = tmpfile(); LOOP { fputs(\"0123456789\", file); }",
            "open used up its room in a file: one may have 1 MiB",
        ),
        (
            "files",
            "LOOP { if (dup(0) < 0) return STRAIT_RESOURCE; }",
            "open: memory or space is short (it has used up its open files: it may have 64 at a time)",
        ),
    ] {
        let error = opened(name, what);
        assert!(
            error.contains("the plugin hostile 1.0.0: ") && error.contains(part),
            "{name}: {error}"
        );
    }
}

/// The plugin puts what it reads about its own process into an error message, and the test checks this message.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_and_what_it_executes_have_no_more_rights_and_write_no_cores() {
    if workshop().is_none() {
        return;
    }
    // The plugin reads its rights from `/proc`, and its limits from the system.
    let what = "char text[4096]; FILE *status = fopen(\"/proc/self/status\", \"r\"); \
                while (fgets(text, sizeof text, status)) { if (strncmp(text, \"NoNewPrivs:\\t1\", 13) == 0) \
                { FILE *limits = fopen(\"/proc/self/limits\", \"r\"); \
                while (fgets(text, sizeof text, limits)) { if (strncmp(text, \"Max core file size\", 18) == 0 && atoi(text + 18) == 0 \
                && strstr(text, \"unlimited\") == NULL) return STRAIT_UNSUPPORTED; } } } return STRAIT_INTERNAL";
    let error = opened("rights", what);
    assert!(error.contains("open: it does not do this"), "{error}");
}
