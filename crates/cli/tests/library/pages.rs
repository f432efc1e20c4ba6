//! Checks the documentation pages for vendors: the code that they show is in the examples, and their commands exist.

use crate::build::repository;
use std::path::PathBuf;
use std::process::Command;

fn pages() -> Vec<(PathBuf, String)> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(repository("docs/plugins"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.sort();
    let read = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).unwrap();
        (page, text)
    };
    pages.into_iter().map(read).collect()
}

#[test]
fn what_a_page_shows_of_an_example_stands_there() {
    let mut shown = 0;
    for (page, text) in pages() {
        for part in text.split("<!-- from: ").skip(1) {
            let (path, rest) = part.split_once(" -->\n```").unwrap();
            let (_, rest) = rest.split_once('\n').unwrap();
            let (code, _) = rest.split_once("```").unwrap();
            let source = std::fs::read_to_string(repository(path)).unwrap();
            assert!(source.contains(code), "{}: not in {path}:\n{code}", page.display());
            shown += 1;
        }
    }
    assert!(shown >= 8, "{shown}");
}

#[test]
fn the_commands_of_the_pages_are_there() {
    let mut tried = 0;
    for (page, text) in pages() {
        for line in text.lines().filter_map(|line| line.strip_prefix("    strait ")) {
            let line = line.split(" #").next().unwrap_or(line);
            let words: Vec<&str> = line.split_whitespace().collect();
            let names = words
                .iter()
                .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()));
            let out = Command::new(env!("CARGO_BIN_EXE_strait"))
                .args(names)
                .arg("--help")
                .output()
                .unwrap();
            let help = String::from_utf8_lossy(&out.stdout);
            assert!(out.status.success(), "{}: {line}", page.display());
            for option in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(option), "{}: {line}: {option}", page.display());
            }
            tried += 1;
        }
    }
    assert!(tried > 0);
}

#[test]
fn the_versions_of_the_pages_are_those_of_the_headers() {
    let header = std::fs::read_to_string(repository("include/strait_plugin.h")).unwrap();
    let reader = std::fs::read_to_string(repository("include/strait_ir.h")).unwrap();
    let number = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("#define {name} ")).unwrap();
        rest.lines().next().unwrap().to_owned()
    };
    let of = |name: &str| number(&header, name);
    let page = std::fs::read_to_string(repository("docs/plugins/versioning.md")).unwrap();
    for row in [
        format!(
            "| interface | {}.{} |",
            of("STRAIT_INTERFACE_MAJOR"),
            of("STRAIT_INTERFACE_MINOR")
        ),
        format!("| schema of tables | {} |", of("STRAIT_TABLE_SCHEMA")),
        format!("| IR bytes | {}.{} |", of("STRAIT_IR_MAJOR"), of("STRAIT_IR_MINOR")),
    ] {
        assert!(page.contains(&row), "{row}");
    }
    for part in ["MAJOR", "MINOR"] {
        assert_eq!(
            number(&reader, &format!("STRAIT_IR_READER_{part}")),
            of(&format!("STRAIT_IR_{part}"))
        );
    }
    // The C reader knows every element type.
    let last = strait_core::Elem::ALL.iter().map(|elem| elem.tag()).max().unwrap();
    assert!(reader.contains(&format!("value->type > {last}")) && reader.contains(&format!("type > {last} ||")));
}
