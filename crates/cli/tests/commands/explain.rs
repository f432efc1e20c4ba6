//! Tests of `strait explain`: every code that is declared has an entry, the examples lead to their codes, and what is
//! to be pasted is a configuration.

use std::collections::BTreeSet;

use strait_driver::{
    config::{Override, parse},
    report::{Fault, LintCode, LossCode, Unjudged},
};
use strait_explain::{Entry, groups};

use super::*;

/// The keys that a complete configuration needs, for examples that show only the part that matters.
const BASE: [(&str, &str); 5] = [
    ("schema", "1"),
    ("model.file", "\"models/digits/digits.onnx\""),
    ("target.use", "[\"generic-int8\"]"),
    ("calibration.data", "\"models/digits/calib_x.npy\""),
    ("output.dir", "\"build/{target}\""),
];

fn entries() -> impl Iterator<Item = &'static Entry> {
    groups().iter().flat_map(|group| &group.codes)
}

/// The values for `--set` of those keys that a part of a configuration leaves out. `code` is the code that the part
/// leads to, if it is an example.
fn missing(code: &str, part: &str) -> Vec<String> {
    let line = |name: &str| part.lines().any(|line| line.trim_start().starts_with(name));
    // What is wrong in these examples is that a key is missing, or that nothing can be read.
    let whole = |key: &str| match code {
        "C002" => true,
        "C007" => key == "target.use",
        _ => false,
    };
    let has = |key: &str| match key.split_once('.') {
        Some((table, name)) => {
            let lines: Vec<&str> = part
                .lines()
                .skip_while(|line| *line != format!("[{table}]"))
                .skip(1)
                .collect();
            let own = lines.iter().take_while(|line| !line.starts_with('['));
            own.into_iter().any(|line| line.starts_with(&format!("{name} =")))
        }
        None => line(key),
    };
    let needed = BASE.iter().filter(|(key, _)| !whole(key) && !has(key));
    needed.map(|(key, value)| format!("{key}={value}")).collect()
}

#[test]
fn every_example_that_is_a_configuration_leads_to_its_code() {
    let bench = Bench::new();
    std::os::unix::fs::symlink(repository("models"), bench.path("models")).unwrap();
    let mut tried = 0;
    for entry in entries() {
        let Some(config) = &entry.config else { continue };
        fs::write(bench.path("deploy.toml"), config).unwrap();
        let sets = missing(&entry.code, config);
        let mut command = strait();
        command.current_dir(bench.0.path()).args(["compile", "deploy.toml"]);
        let output = command
            .args(sets.iter().flat_map(|set| ["--set", set]))
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert!(said.contains(&format!("[{}]", entry.code)), "{}: {said}", entry.code);
        tried += 1;
    }
    assert!(tried >= 20, "{tried}");
}

#[test]
fn what_is_to_be_pasted_is_part_of_a_configuration_or_of_a_table() {
    for entry in entries() {
        let Some(paste) = &entry.paste else { continue };
        if paste.starts_with("[op.") {
            continue;
        }
        let sets: Vec<Override> = missing("", paste).into_iter().map(Override::set).collect();
        let read = parse(&entry.code, paste.clone(), Path::new(""), &sets);
        assert!(read.is_ok(), "{}: {}", entry.code, read.unwrap_err());
    }
}

#[test]
fn lints_losses_and_words_of_the_sanity_check_have_entries_and_no_others_do() {
    let faults = [
        Fault::Noise,
        Fault::Constant,
        Fault::Answers,
        Fault::Empty,
        Fault::NotANumber,
    ];
    let unjudged = [
        Unjudged::Extents,
        Unjudged::Empty,
        Unjudged::Integers,
        Unjudged::NotANumber,
        Unjudged::Zero,
    ];
    // A new variant has to be added to the lists above.
    for fault in faults {
        match fault {
            Fault::Noise | Fault::Constant | Fault::Answers | Fault::Empty | Fault::NotANumber => {}
        }
    }
    for word in unjudged {
        match word {
            Unjudged::Extents | Unjudged::Empty | Unjudged::Integers | Unjudged::NotANumber | Unjudged::Zero => {}
        }
    }
    let words = faults.map(|fault| serde_json::to_value(fault).unwrap());
    let words = words
        .into_iter()
        .chain(unjudged.map(|word| serde_json::to_value(word).unwrap()));
    let words: BTreeSet<String> = words.map(|word| word.as_str().unwrap().to_owned()).collect();
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    for (title, expected) in [
        ("Lints", owned(LintCode::NAMES)),
        ("Losses", owned(LossCode::NAMES)),
        ("The sanity check", words),
    ] {
        let group = groups().iter().find(|group| group.title == title).unwrap();
        let codes: BTreeSet<String> = group.codes.iter().map(|entry| entry.code.clone()).collect();
        assert_eq!(codes, expected, "{title}");
    }
}

#[test]
fn a_code_of_a_diagnostic_is_declared_in_one_of_two_files() {
    let declared = ["crates/core/src/codes.rs", "crates/document/src/codes.rs"].map(repository);
    let mut folders = vec![repository("crates"), repository("targets")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if path.is_dir() && !path.ends_with("tests") && !path.ends_with("target") {
                folders.push(path);
            } else if is_source && !declared.contains(&path) && !path.ends_with("tests.rs") {
                let source = fs::read_to_string(&path).unwrap();
                let code = source.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
                let literal = code
                    .filter(|line| !line.trim_start().starts_with("//"))
                    .find(|line| has_code(line));
                assert_eq!(literal, None, "{}: declare the code in codes.rs", path.display());
            }
        }
    }
}

/// True if a line has a string such as `"M003"`.
fn has_code(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.windows(6).any(|six| {
        let quoted = six[0] == b'"' && six[5] == b'"';
        quoted && six[1].is_ascii_uppercase() && six[2..5].iter().all(u8::is_ascii_digit)
    }) && !line.contains("*b\"")
}

#[test]
fn a_code_is_explained_and_a_near_miss_suggests_the_nearest() {
    let output = run(&["explain", "error[M003]"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(said.starts_with("M003: ") && said.contains("bind = { height"), "{said}");
    let output = run(&["explain", "no-shfit"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean `no-shift`"));
    let all = text(&run(&["explain"]).stdout);
    assert!(all.lines().all(|line| line.chars().count() <= 100));
    assert!(
        ["C003", "no-shift", "range-unlike", "outliers"]
            .iter()
            .all(|code| all.contains(code))
    );
}

#[test]
fn an_explanation_as_json_has_the_parts_of_the_text() {
    let output = run(&["explain", "C003", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let entry = &found["entries"][0];
    assert_eq!(entry["code"], "C003");
    for part in ["group", "means", "example", "config", "remedy", "paste"] {
        assert!(entry[part].is_string(), "{part}");
    }
}
