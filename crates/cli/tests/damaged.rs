//! A damaged artifact ends every command with the same exit code.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::copy;

use std::fs;

use copy::{Copy, repository, said};

/// The commands that open an artifact, each with the files that it reads besides the manifest.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("run", &["model.strait", "deployment.json"]),
    ("eval", &["model.strait", "deployment.json"]),
    ("inspect", &["model.strait"]),
    ("inspect --fusions", &["report.json"]),
    ("inspect --quant", &["quantization.json"]),
    ("verify", &["model.strait", "deployment.json", "report.json"]),
];

/// Runs a command on an artifact; returns its exit code and everything it printed.
fn ran(command: &str, copy: &Copy) -> (i32, String) {
    let data = |name: &str| {
        repository(&format!("models/digits/{name}"))
            .to_string_lossy()
            .into_owned()
    };
    let (samples, labels, model) = (data("eval_x.npy"), data("eval_y.npy"), data("digits.onnx"));
    let output = copy.folder().with_extension("npy").to_string_lossy().into_owned();
    let mut arguments: Vec<&str> = command.split(' ').collect();
    let path = copy.path();
    arguments.push(&path);
    match command {
        "run" => arguments.extend(["--input", &samples, "--output", &output]),
        "eval" => arguments.extend(["--data", &samples, "--labels", &labels, "--model", &model]),
        "verify" => arguments.extend(["--samples", "0"]),
        _ => {}
    }
    said(&arguments)
}

#[test]
fn a_file_that_is_flipped_cut_or_gone_is_exit_code_4_in_every_command_that_reads_it() {
    let copy = Copy::new();
    for (command, _) in COMMANDS {
        let (code, printed) = ran(command, &copy);
        assert_eq!(code, 0, "{command}: {printed}");
    }
    let flipped = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        Some(bytes)
    };
    type Damage = Box<dyn Fn(&[u8]) -> Option<Vec<u8>>>;
    let damages: [(&str, Damage); 4] = [
        ("flipped", Box::new(flipped)),
        ("cut", Box::new(|bytes| Some(bytes[..bytes.len() - 1].to_vec()))),
        ("empty", Box::new(|_| Some(Vec::new()))),
        ("gone", Box::new(|_| None)),
    ];
    for file in [
        "model.strait",
        "manifest.json",
        "deployment.json",
        "report.json",
        "quantization.json",
    ] {
        let path = copy.folder().join(file);
        let whole = fs::read(&path).unwrap();
        for (what, damage) in &damages {
            match damage(&whole) {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            for (command, files) in COMMANDS {
                if file == "manifest.json" || files.contains(&file) {
                    let (code, printed) = ran(command, &copy);
                    assert!(
                        code == 4 && printed.contains(file),
                        "{file} {what}, {command}: {code}: {printed}"
                    );
                }
            }
        }
        fs::write(&path, whole).unwrap();
    }
}

/// A file that is no artifact at all is an ordinary error (exit code 1) and not a damaged artifact.
#[test]
fn what_is_no_artifact_is_exit_code_1_in_every_command() {
    let copy = Copy::new();
    fs::remove_dir_all(copy.folder()).unwrap();
    for empty in [false, true] {
        if empty {
            fs::create_dir(copy.folder()).unwrap();
        }
        for (command, _) in COMMANDS {
            let (code, printed) = ran(command, &copy);
            assert_eq!(code, 1, "{command}: {printed}");
        }
    }
}
