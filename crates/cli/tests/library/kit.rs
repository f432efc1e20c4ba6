//! Runs the conformance kit on libraries: a correct one passes, and each planted mistake fails at its own line.

use crate::build::{build, load, program, workshop};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strait_conformance::{Examination, Group, Kit, examine};
use strait_plugin_host::{Library, Patience, register};
use strait_target::{Options, Registry};

/// The table that a new project starts with. It has one form: a 31-bit multiplier with rounding half up.
fn table() -> String {
    include_str!("../../templates/target.toml").replace("NAME", "acme")
}

pub(crate) fn of_library(library: Library) -> Kit {
    let library = Arc::new(library);
    let mut registry = Registry::default();
    let entry = register(&mut registry, library.clone()).unwrap();
    let how = Examination {
        options: &Options::new(),
        library: Some(&library),
        recordings: &[],
        patience: Duration::from_secs(20),
        progress: &(),
    };
    examine(entry, &how).unwrap()
}

fn kit(folder: &Path, name: &str, definitions: &[&str]) -> Kit {
    of_library(load(&build(folder, name, &table(), definitions), None).unwrap())
}

/// The lines of the kit that failed.
fn failed(kit: &Kit) -> Vec<(Group, &str)> {
    let lines = kit.lines.iter().filter(|line| !line.findings.is_empty());
    lines.map(|line| (line.group, line.name.as_str())).collect()
}

#[test]
fn a_library_that_is_right_passes() {
    let Some(folder) = workshop() else { return };
    let kit = kit(folder.path(), "right", &[]);
    assert!(kit.is_ok(), "{kit}");
    let checked = |name| {
        kit.lines
            .iter()
            .any(|line| line.name == name && line.outcome() == "passed")
    };
    for name in [
        "other versions",
        "smaller and larger structs",
        "no arguments",
        "ties",
        "no read past the input",
        "no hang",
    ] {
        assert!(checked(name), "{name}: {kit}");
    }
}

#[test]
fn each_mistake_against_the_interface_fails_at_its_own_line() {
    let Some(folder) = workshop() else { return };
    for (mistake, line, part) in [
        ("ECHO", "other versions", "it says that it is built for version 1000"),
        (
            "NO_LATER",
            "other versions",
            "it does not serve a host of a later minor version",
        ),
        (
            "EXACT_SIZES",
            "smaller and larger structs",
            "strait_tile with fields that nobody knows yet: it does not answer as it does without them",
        ),
    ] {
        let kit = kit(
            folder.path(),
            &mistake.to_lowercase(),
            &[&format!("AGAINST_INTERFACE={mistake}")],
        );
        assert_eq!(failed(&kit), [(Group::Interface, line)], "{kit}");
        assert!(kit.to_string().contains(part), "{kit}");
    }
}

#[test]
fn a_library_that_writes_past_its_room_or_trusts_what_it_is_given_is_found() {
    let Some(folder) = workshop() else { return };
    let spilling = kit(folder.path(), "spilling", &["AGAINST_INTERFACE=SPILLING"]);
    let found = failed(&spilling);
    assert!(
        found.contains(&(Group::Interface, "smaller and larger structs")),
        "{spilling}"
    );
    assert!(
        spilling.to_string().contains("it writes past what it was given"),
        "{spilling}"
    );
    let trusting = kit(folder.path(), "trusting", &["AGAINST_INTERFACE=TRUSTING"]);
    let found = failed(&trusting);
    for line in [
        (Group::Interface, "smaller and larger structs"),
        (Group::Interface, "no arguments"),
        (Group::Robustness, "garbage is refused"),
    ] {
        assert!(found.contains(&line), "{line:?}: {trusting}");
    }
    assert!(
        trusting
            .to_string()
            .contains("requantize without a tile: the plugin acme-npu 1.2.0: requantize crashed: signal 11"),
        "{trusting}"
    );
    // The results of this library are right nevertheless.
    assert!(found.iter().all(|(group, _)| *group != Group::Semantics), "{trusting}");
}

#[test]
fn each_mistake_in_what_a_library_computes_fails_at_its_own_line() {
    let Some(folder) = workshop() else { return };
    for (mistake, line) in [
        ("TIES", (Group::Semantics, "ties")),
        ("SHIFT", (Group::Semantics, "thresholds and their predecessors")),
        ("CANNOT", (Group::Semantics, "kernels take what rows accept")),
        ("PAST", (Group::Robustness, "no read past the input")),
        ("CHANGING", (Group::Robustness, "the same result each time")),
        ("CRASH", (Group::Robustness, "no panic")),
        ("SAY_PANIC", (Group::Robustness, "no panic")),
    ] {
        let kit = kit(
            folder.path(),
            &mistake.to_lowercase(),
            &[&format!("IN_REQUANTIZE={mistake}")],
        );
        let found = failed(&kit);
        assert!(found.contains(&line), "{mistake}: {kit}");
        // A shift that is off by one is wrong for almost every accumulator. Each of the other mistakes shows at one
        // line only.
        if mistake != "SHIFT" {
            assert!(
                found.iter().all(|of| *of == line || of.0 == Group::Interface),
                "{mistake}: {kit}"
            );
        }
    }
}

#[test]
fn a_library_that_hangs_fails_at_hangs_and_the_kit_comes_to_an_end() {
    let Some(folder) = workshop() else { return };
    let path = build(folder.path(), "loop", &table(), &["IN_REQUANTIZE=LOOP"]);
    let patience = Patience {
        call: Duration::from_millis(300),
        ..Patience::default()
    };
    let begun = Instant::now();
    let kit = of_library(Library::load(&path, None, program(), patience).unwrap());
    // The kit makes one call that hangs, and no further call after it.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(failed(&kit), [(Group::Robustness, "no hang")], "{kit}");
    let hang = kit.lines.iter().find(|line| line.name == "no hang").unwrap();
    assert_eq!((hang.findings.len(), hang.more), (1, 0), "{kit}");
    for line in kit.lines.iter().filter(|line| line.group > Group::Table) {
        assert!(line.name == "no hang" || line.outcome() == "not checked", "{kit}");
    }
}

#[test]
fn of_a_library_that_computes_none_of_its_forms_nothing_has_passed() {
    let Some(folder) = workshop() else { return };
    // No accumulator has 7 bits, so the library computes nothing.
    let kit = kit(folder.path(), "nothing", &["ONLY_BITS=7"]);
    assert!(kit.is_ok(), "{kit}");
    let groups = [Group::Semantics, Group::Robustness];
    for line in kit.lines.iter().filter(|line| groups.contains(&line.group)) {
        if !line.name.starts_with("fusion") {
            let why = Some("the library computes none of its forms");
            assert_eq!(line.skipped.as_deref(), why, "{}: {kit}", line.name);
        }
    }
}
