//! Tests of which libraries load and which are refused.

use crate::build::{TABLE, build, load, workshop};
use strait_plugin_host::sha256;

#[test]
fn a_library_says_who_it_is_and_hands_over_its_table() {
    let Some(folder) = workshop() else { return };
    let path = build(folder.path(), "acme", TABLE, &[]);
    let digest = sha256(&path).unwrap();
    let library = load(&path, Some(&digest)).unwrap();
    assert_eq!(
        (
            &*library.description().package,
            library.sha256(),
            library.description().interface
        ),
        ("acme-npu 1.2.0", digest.as_str(), [1, 0])
    );
    assert_eq!(
        (
            library.table(),
            library.description().requantizes,
            library.description().emits
        ),
        (TABLE, true, Some([2, 0]))
    );
}

#[test]
fn each_library_that_cannot_be_taken_says_why() {
    let Some(folder) = workshop() else { return };
    let (folder, refused) = (folder.path(), |path: &std::path::Path, pinned| {
        load(path, pinned).unwrap_err().to_string()
    });
    let text = folder.join("text.so");
    std::fs::write(&text, "#!/bin/sh\n").unwrap();
    let absent = folder.join("absent.so");
    let foreign = folder.join("foreign.so");
    let right = build(folder, "right", TABLE, &[]);
    let mut bytes = std::fs::read(&right).unwrap();
    bytes[18..20].copy_from_slice(&[8, 0]);
    std::fs::write(&foreign, bytes).unwrap();
    let zeros = "0".repeat(64);
    for (path, pinned, part) in [
        (absent, None, "it cannot be read"),
        (text, None, "it is not a shared library"),
        (folder.to_owned(), None, "it is not a shared library"),
        // The processor type for which a library was built is checked before the digest.
        (
            foreign,
            Some(zeros.as_str()),
            "it is a library for machine 8 of ELF on linux, and this is ",
        ),
        (right.clone(), Some(zeros.as_str()), "is pinned"),
        (
            build(folder, "none", TABLE, &["NO_ENTRY"]),
            None,
            "it is no plugin: it has no symbol `strait_plugin_entry`",
        ),
        (
            build(folder, "undefined", TABLE, &["UNDEFINED"]),
            None,
            "vendor_licence",
        ),
        (
            build(folder, "old", TABLE, &["MAJOR=0"]),
            None,
            "version 0.0 of the interface, which is too old",
        ),
        (
            build(folder, "new", TABLE, &["MAJOR=2"]),
            None,
            "version 2.0 of the interface, which is too new",
        ),
        (
            build(folder, "schema", TABLE, &["SCHEMA=7"]),
            None,
            "its table is of schema 7, and this program reads 2",
        ),
        (
            build(folder, "refusing", TABLE, &["REFUSE"]),
            None,
            "it does not serve version 1.0 of the interface",
        ),
        (
            build(folder, "crashing", TABLE, &["IN_ENTRY=CRASH"]),
            None,
            "its entry crashed: signal 11",
        ),
        (
            build(folder, "nameless", TABLE, &["PACKAGE=\"\""]),
            None,
            "it does not say its name and version",
        ),
    ] {
        let error = refused(&path, pinned);
        assert!(error.contains(part), "{error}");
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn what_is_not_what_is_pinned_does_not_run() {
    let Some(folder) = workshop() else { return };
    // This plugin's entry function ends the process. The digest is checked before the entry runs.
    let path = build(folder.path(), "exiting", TABLE, &["IN_ENTRY=EXIT"]);
    let runs = load(&path, None).unwrap_err().to_string();
    assert!(
        runs.ends_with("its entry ended the process, with exit code 3"),
        "{runs}"
    );
    let pinned = load(&path, Some(&"f".repeat(64))).unwrap_err().to_string();
    assert!(pinned.contains("its SHA-256 is "), "{pinned}");
}

#[test]
fn a_manifest_is_read_before_anything_of_the_library_runs() {
    let Some(folder) = workshop() else { return };
    let path = build(folder.path(), "exiting", TABLE, &["IN_ENTRY=EXIT"]);
    for (interface, schema, part) in [
        ([0, 9], 2, "version 0.9 of the interface, which is too old"),
        ([2, 0], 2, "version 2.0 of the interface, which is too new"),
        ([1, 0], 7, "its table is of schema 7"),
        ([1, 0], 1, "its table is of schema 1"),
    ] {
        let manifest = format!("schema = 1\ninterface = {interface:?}\ntable_schema = {schema}\n");
        std::fs::write(folder.path().join("libexiting.so.toml"), manifest).unwrap();
        let error = load(&path, None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
