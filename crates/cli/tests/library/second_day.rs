//! Checks the page about a vendor's second afternoon: writes the files that it shows and runs its commands.

use crate::build::{repository, workshop};
use std::path::Path;
use std::process::Command;
use strait_plugin_host::sha256;
use strait_samples::{NumberType, Pack, encode};

/// The code blocks of the page, each as its language and its lines.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fences = page.split("\n```").skip(1).step_by(2);
    fences.filter_map(|block| block.split_once('\n')).collect()
}

/// Writes the file that a block shows into the checkout and fills in the digests of the files that it names.
fn write(checkout: &Path, block: &str) {
    let Some(name) = block.lines().next().and_then(|first| first.strip_prefix("# ")) else {
        panic!("a block without a name of a file:\n{block}")
    };
    let path = checkout.join(name);
    let folder = path.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    let with_digest = |line: &str| match line.split_once("file = \"") {
        Some((_, rest)) if line.contains('…') => {
            let named = rest.split('"').next().unwrap();
            line.replacen('…', &sha256(&folder.join(named)).unwrap(), 1)
        }
        _ => line.to_owned(),
    };
    let lines: Vec<String> = block.lines().map(with_digest).collect();
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// Writes recorded vectors: accumulators from -40000 to 39999, and their codes after a multiplication, a shift and
/// rounding half up.
fn record(path: &Path) {
    let sums: Vec<i32> = (-40_000..40_000).collect();
    let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let mut pack = Pack::default();
    for (layer, factor) in [("conv1", 0x5555_5555i64), ("conv2", 0x4000_0000)] {
        let code = |&sum: &i32| ((((i64::from(sum) * factor) + (1 << 38)) >> 39) + 3).clamp(-128, 127) as i8;
        let codes: Vec<u8> = sums.iter().map(code).map(i8::cast_unsigned).collect();
        let arrays = [
            ("accumulator", encode(NumberType::I32, &[sums.len()], &bytes)),
            ("output", encode(NumberType::I8, &[sums.len()], &codes)),
            ("zero_point", encode(NumberType::I32, &[], &3i32.to_le_bytes())),
        ];
        for (field, array) in arrays {
            pack.add(&format!("{layer}/{field}.npy"), &array).unwrap();
        }
    }
    std::fs::write(path, pack.finish().unwrap()).unwrap();
}

/// Copies the repository files that the page needs into a folder.
fn checkout(folder: &Path) {
    for file in [
        "include/strait_plugin.h",
        "include/strait_ir.h",
        "examples/vendor-c/Makefile",
        "examples/vendor-c/acme_edge.c",
        "examples/vendor-rust/chip/target.toml",
        "models/digits/digits.onnx",
        "models/digits/calib_x.npy",
    ] {
        let to = folder.join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(repository(file), to).unwrap();
    }
}

/// Runs one command line of the page; returns everything it printed.
fn run(checkout: &Path, line: &str) -> String {
    let (line, remark) = line.split_once('#').unwrap_or((line, ""));
    let mut words = line.split_whitespace();
    let program = match words.next().unwrap() {
        "strait" => env!("CARGO_BIN_EXE_strait"),
        "make" => "make",
        other => panic!("the page has the command {other}"),
    };
    let done = Command::new(program)
        .args(words)
        .current_dir(checkout)
        .output()
        .unwrap();
    let said = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let expected = remark
        .trim()
        .strip_prefix("ends with ")
        .map_or(0, |code| code.parse().unwrap());
    assert_eq!(done.status.code(), Some(expected), "{line}\n{}", said.concat());
    said.concat()
}

#[test]
fn every_command_of_the_second_afternoon_runs() {
    let Some(folder) = workshop() else { return };
    let root = folder.path();
    checkout(root);
    let page = std::fs::read_to_string(repository("docs/plugins/second-day.md")).unwrap();
    let page = page.replace("\r\n", "\n");
    let blocks = blocks(&page);
    let mut said = Vec::new();
    let commands = |block: &str, said: &mut Vec<(String, String)>| {
        for line in block.lines().filter(|line| !line.is_empty()) {
            said.push((line.to_owned(), run(root, line)));
        }
    };
    // The first commands create the table that the page's files build on.
    let (first, rest) = blocks.split_first().unwrap();
    assert_eq!(first.0, "sh");
    commands(first.1, &mut said);
    record(&root.join("my-npu/b0.npz"));
    for (_, block) in rest.iter().filter(|(language, _)| *language == "toml") {
        write(root, block);
    }
    for (_, block) in rest.iter().filter(|(language, _)| *language == "sh") {
        commands(block, &mut said);
    }
    let of = |part: &str| {
        let found = said.iter().find(|(line, _)| line.contains(part));
        found.map(|(_, said)| said.as_str()).unwrap()
    };
    let compiled = of("compile rows.toml");
    assert!(
        compiled.contains("  scale31  ") && compiled.contains("  scale15  "),
        "{compiled}"
    );
    assert!(
        of("check my-npu/b0.toml").contains("evidence for form scale31"),
        "{}",
        of("check my-npu/b0.toml")
    );
    assert!(
        of("identify my-npu/b0.npz").contains("[form.multiply-"),
        "{}",
        of("identify my-npu/b0.npz")
    );
    assert!(said.len() > 12, "{}", said.len());
}
