//! Libraries with one planted fault each, all compiled from one C file. The faults cover every combination of interface
//! function, channel layout, width, number of channels and kind of fault. The kit has to find each at its own line.

use crate::build::{compiled, load_with, workshop, write_table};
use crate::kit::of_library;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use strait_conformance::Kit;

/// The kit lines at which a kind of fault may be found. At least one of them has to fail.
type Lines = &'static [&'static str];

const VALUES: Lines = &[
    "thresholds and their predecessors",
    "ties",
    "extremes",
    "edges of the domain",
    "each channel by its own integers",
];
const WRITES: Lines = &["no write outside of the results"];
const UNWRITTEN: Lines = &["every result is written"];
const READS: Lines = &["no read past the input"];
const AGAIN: Lines = &["the same result each time"];
const AT_ONCE: Lines = &["several threads at once"];
const PROCESSES: Lines = &["the same in each process"];
const TRACES: Lines = &["its process stays as it was"];
const PANICS: Lines = &["no panic"];
const ENDS: Lines = &["no panic", "several threads at once"];

/// The kinds of fault that are planted for every layout, width and number of channels.
const KINDS: [(&str, Lines); 7] = [
    ("WRONG", VALUES),
    ("BEFORE", WRITES),
    ("BEHIND", WRITES),
    ("UNWRITTEN", UNWRITTEN),
    ("SECOND", AGAIN),
    ("PARALLEL", AT_ONCE),
    ("PROCESS", PROCESSES),
];
const AXES: [&str; 2] = ["STRAIT_CHANNELS_ALONG_ROWS", "STRAIT_CHANNELS_ALONG_COLUMNS"];
const WIDTHS: [u32; 4] = [8, 16, 32, 64];
const COUNTS: [u32; 6] = [1, 5, 19, 33, 70, 300];

/// Further faults of `requantize`, each planted for one combination only.
const FURTHER: &[(&str, u32, Lines)] = &[
    ("NEGATIVE", 8, VALUES),
    ("SATURATING", 8, VALUES),
    ("LAST", 16, VALUES),
    ("FIRST", 32, VALUES),
    ("OFF_BY_ONE_CHANNEL", 8, &["each channel by its own integers"]),
    ("IGNORES_FIRST", 16, &["each channel by its own integers"]),
    ("ROW_MAJOR", 32, &["each channel by its own integers"]),
    ("ZERO_POINT", 8, VALUES),
    ("TIES", 8, &["ties"]),
    ("ADDEND", 8, VALUES),
    // With 8 bits, this fault would not show: the result is right for all shifts of the table. So only 32 bits are
    // tried.
    ("DOUBLE", 32, &["thresholds and their predecessors"]),
    ("SINGLE", 8, VALUES),
    ("OVERFLOWS", 32, VALUES),
    ("CUT", 64, VALUES),
    ("BEYOND", 64, &["edges of the domain", "ties"]),
    ("EXTREME", 32, &["extremes"]),
    ("LARGE_SHIFT", 8, VALUES),
    ("LARGE_TILE", 8, VALUES),
    ("WRONG_WIDTH", 32, UNWRITTEN),
    ("PARTLY", 8, UNWRITTEN),
    ("FAR_BEHIND", 8, WRITES),
    ("TOUCHES_INPUT", 8, WRITES),
    ("TOUCHES_FORM", 8, WRITES),
    ("TOUCHES_TILE", 8, WRITES),
    ("READS_BEFORE", 8, READS),
    ("READS_BEHIND", 64, READS),
    ("FORM_BEHIND", 8, READS),
    ("FORM_BEFORE", 16, READS),
    ("ACCUMULATES", 8, AGAIN),
    ("FIRST_CALL", 8, AGAIN),
    (
        "LATER_CALL",
        8,
        &[
            "ties",
            "thresholds and their predecessors",
            "extremes",
            "the same result each time",
        ],
    ),
    ("RANDOM", 8, AGAIN),
    (
        "KEEPS_FORM",
        8,
        &[
            "ties",
            "thresholds and their predecessors",
            "extremes",
            "several threads at once",
        ],
    ),
    ("LEAKS_MEMORY", 8, TRACES),
    ("LEAKS_FILES", 8, TRACES),
    ("LEAKS_THREADS", 8, TRACES),
    ("LEAKS_PROCESSES", 8, TRACES),
    ("ROUNDS_UP", 8, TRACES),
    ("HANDLES", 8, TRACES),
    ("BLOCKS", 8, TRACES),
    ("MOVES", 8, TRACES),
    ("MASKS", 8, TRACES),
    // These faults happen at one particular call, and any line of the kit may make this call.
    ("EXITS", 8, ENDS),
    ("ABORTS", 8, ENDS),
    ("CRASHES", 8, PANICS),
    ("SAYS_GARBAGE", 8, ENDS),
    ("HANGS", 8, &["no hang"]),
    ("STATUS", 8, &["kernels take what rows accept"]),
    ("DECLINES_LATER", 8, &["kernels take what rows accept"]),
];

/// Faults of the functions other than `requantize`.
const OTHERS: &[(&str, &str, Lines)] = &[
    ("ENTRY", "WRONG", &["other versions"]),
    ("ENTRY", "UNWRITTEN", &["other versions"]),
    ("ENTRY", "SECOND", &["other versions"]),
    ("ENTRY", "PROCESS", &["the same table in each process"]),
    ("OPEN", "UNWRITTEN", &["several targets"]),
    ("OPEN", "SECOND", &["several targets"]),
    ("OPEN", "TRUSTS", &["no arguments"]),
    ("OPEN", "PROCESS", PROCESSES),
    ("CLOSE", "WRONG", &["several targets"]),
    ("CLOSE", "TRUSTS", &["no arguments"]),
    ("CLOSE", "CRASHES", &["several targets"]),
    ("ADMITS", "ALL", &["admits"]),
    ("ADMITS", "SECOND", &["admits"]),
    ("ADMITS", "PROCESS", &["admits"]),
    ("ADMITS", "TRUSTS", &["no arguments"]),
    ("ADMITS", "TOUCHES_INPUT", &["pooled"]),
    ("ADMITS", "EMPTY", &["pooled"]),
    ("ADMITS", "STATUS", &["pooled"]),
    ("ADMITS", "CRASHES", &["pooled"]),
    ("EMIT", "WRONG", &["emit"]),
    ("EMIT", "UNWRITTEN", &["emit"]),
    ("EMIT", "SECOND", &["emit"]),
    ("EMIT", "PROCESS", &["emit"]),
    ("EMIT", "PATH", &["emit"]),
    ("EMIT", "CASE", &["emit"]),
    ("EMIT", "STATUS", &["emit"]),
    ("EMIT", "CRASHES", &["emit"]),
    ("EMIT", "BEFORE", &["emit"]),
    ("EMIT", "BEHIND", &["emit"]),
    ("EMIT", "TOUCHES_INPUT", &["emit"]),
    ("EMIT", "TRUSTS", &["no arguments"]),
];

/// A library with a planted fault, and the lines at which the kit has to find it.
#[derive(Clone, Debug)]
struct Fault {
    definitions: Vec<String>,
    lines: Lines,
}

impl Fault {
    fn of_requantize(kind: &str, lines: Lines, axis: &str, width: u32, count: u32) -> Fault {
        let place = [
            ("AXIS", axis.to_owned()),
            ("WIDTH", width.to_string()),
            ("COUNT", count.to_string()),
        ];
        let what = [("FUNCTION", "REQUANTIZE".to_owned()), ("KIND", kind.to_owned())];
        let definitions = what.iter().chain(&place).map(|(name, value)| format!("{name}={value}"));
        Fault {
            definitions: definitions.collect(),
            lines,
        }
    }

    fn name(&self) -> String {
        let values = self
            .definitions
            .iter()
            .filter_map(|definition| definition.split_once('='));
        let short = values.map(|(_, value)| value.trim_start_matches("STRAIT_CHANNELS_ALONG_").to_lowercase());
        short.collect::<Vec<_>>().join("-")
    }
}

fn space() -> Vec<Fault> {
    let mut all = Vec::new();
    for (kind, lines) in KINDS {
        for axis in AXES {
            for width in WIDTHS {
                all.extend(COUNTS.map(|count| Fault::of_requantize(kind, lines, axis, width, count)));
            }
        }
    }
    all
}

fn further() -> Vec<Fault> {
    let of_requantize = |&(kind, width, lines): &(&str, u32, Lines)| {
        let count = if kind == "LARGE_TILE" { 300 } else { 19 };
        Fault::of_requantize(kind, lines, AXES[0], width, count)
    };
    let other = |&(function, kind, lines): &(&str, &str, Lines)| Fault {
        definitions: vec![format!("FUNCTION={function}"), format!("KIND={kind}")],
        lines,
    };
    FURTHER
        .iter()
        .map(of_requantize)
        .chain(OTHERS.iter().map(other))
        .collect()
}

/// The table of a new project, extended by 16-bit codes and by emitted files.
fn table() -> String {
    let table = include_str!("../../templates/target.toml").replace("NAME", "planted");
    let wide = table.replace("[\"int8\", \"int32\"]", "[\"int8\", \"int16\", \"int32\"]");
    assert_ne!(wide, table);
    wide.replacen("schema  = 2", "schema  = 2\nemit    = [\"package\"]", 1)
}

fn build(folder: &Path, fault: &Fault) -> PathBuf {
    compiled(folder, &fault.name(), "planted.c", &fault.definitions)
}

fn examined(folder: &Path, fault: &Fault) -> Kit {
    of_library(load_with(&build(folder, fault), Duration::from_secs(10)).unwrap())
}

/// Runs the kit on a library with a fault. Returns a message if the kit does not find it.
fn missed(folder: &Path, fault: &Fault) -> Option<String> {
    let kit = examined(folder, fault);
    let found =
        |line: &strait_conformance::Line| !line.findings.is_empty() && fault.lines.contains(&line.name.as_str());
    if kit.lines.iter().any(found) {
        return None;
    }
    let failed: Vec<&str> = kit
        .lines
        .iter()
        .filter(|line| !line.findings.is_empty())
        .map(|line| line.name.as_str())
        .collect();
    Some(format!("{}: not at {:?}, but at {failed:?}", fault.name(), fault.lines))
}

/// Plants each of these faults and runs the kit, on one thread per processor.
fn all_are_found(faults: &[Fault]) {
    let Some(folder) = workshop() else { return };
    write_table(folder.path(), &table());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(faults.len()) {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(missed(folder.path(), fault));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        faults.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_library_without_a_fault_passes_and_each_function_of_it_was_called() {
    let Some(folder) = workshop() else { return };
    write_table(folder.path(), &table());
    let right = Fault {
        definitions: Vec::new(),
        lines: &[],
    };
    let kit = examined(folder.path(), &right);
    assert!(kit.is_ok(), "{kit}");
    for name in ["strait_plugin_entry", "open", "close", "requantize", "emit", "admits"] {
        let line = kit.lines.iter().find(|line| line.name == name).unwrap();
        assert_eq!(line.outcome(), "passed", "{kit}");
        assert!(line.checked.starts_with("called "), "{kit}");
    }
}

#[test]
fn a_table_that_is_another_one_in_another_process_is_the_librarys_fault() {
    let Some(folder) = workshop() else { return };
    write_table(folder.path(), &table());
    let changing = Fault {
        definitions: vec!["FUNCTION=ENTRY".into(), "KIND=PROCESS".into()],
        lines: &[],
    };
    let library = load_with(&build(folder.path(), &changing), Duration::from_secs(20)).unwrap();
    // The fault depends on the process id, and starting a thread also uses up an id. Other processes use up ids as well, so
    // that a few processes in turn may have ids of the same kind.
    let refused = (0..32).find_map(|at| {
        (0..at % 2).for_each(|_| std::thread::spawn(|| {}).join().unwrap());
        library.again().err()
    });
    let text = refused.expect("all processes have the same table").to_string();
    assert!(
        text.contains("in another process the same file answers with another table: line 5 of it differs"),
        "{text}"
    );
}

#[test]
fn planted_faults_are_found_at_their_own_lines_here_and_there_in_the_space() {
    // Test one fault of each kind, each for another combination. The ignored test below takes all combinations.
    let space = space();
    let each = space.len() / KINDS.len();
    let some = (0..KINDS.len()).map(|kind| space[kind * each + (kind * 17 + 5) % each].clone());
    all_are_found(&some.collect::<Vec<_>>());
}

#[test]
#[ignore = "takes minutes"]
fn planted_faults_are_found_at_their_own_lines_everywhere_in_the_space() {
    all_are_found(&space());
}

#[test]
#[ignore = "takes minutes"]
fn planted_faults_of_each_function_and_of_every_kind_are_found_at_their_own_lines() {
    all_are_found(&further());
}
