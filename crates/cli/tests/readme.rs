//! Checks that the README shows what the program really prints. `STRAIT_BLESS=1` rewrites it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;

const BEGIN: &str =
    "<!-- begin: the output of the first command. A test holds it; `cargo xtask bless` rewrites it -->\n```\n";
const END: &str = "```\n<!-- end -->\n";
const BEGIN_OF_CODE: &str = "<!-- begin: lines of examples/embed/src/main.rs. A test holds them; `cargo xtask bless` rewrites them -->\n```rust\n";

/// The text that compiling the digits model prints, up to the line that names the artifact's folder.
fn printed() -> String {
    let folder = tempfile::tempdir().unwrap();
    let cache = format!("calibration.cache={:?}", folder.path().join("cache"));
    let output = Command::new(env!("CARGO_BIN_EXE_strait"))
        .arg("compile")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sima.toml"))
        .arg("--out")
        .arg(folder.path().join("artifact"))
        .args(["--set", &cache])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (report, _) = text.split_once("\nartifact: ").unwrap();
    report.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Checks that a block of the README is up to date.
fn shows(begin: &str, expected: &str) {
    let file = repository("README.md");
    // A git checkout may have converted the line ends.
    let readme = std::fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
    let (before, rest) = readme.split_once(begin).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    strait_testkit::is_current("README.md", &format!("{before}{begin}{expected}{END}{after}"));
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The lines of the embedding example that compile a model and run it.
fn example() -> String {
    let code = std::fs::read_to_string(repository("examples/embed/src/main.rs")).unwrap();
    let lines = code.lines().skip_while(|line| !line.contains("let model ="));
    let lines = lines.take_while(|line| !line.contains("built.fusions()"));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// Both blocks are checked in one test, because both rewrite the same file.
#[test]
fn the_readme_shows_what_the_first_command_prints_and_the_example() {
    shows(BEGIN, &printed());
    shows(BEGIN_OF_CODE, &example());
}
