//! The README shows what the program really prints. `STRAIT_BLESS=1` rewrites it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;

const BEGIN: &str =
    "<!-- begin: the output of the first command. A test holds it; `cargo xtask bless` rewrites it -->\n```\n";
const END: &str = "```\n<!-- end -->\n";

/// Output of compiling the model in the repository, up to the line that names the folder.
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

#[test]
fn the_readme_shows_what_the_first_command_prints() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    // A checkout may have other line ends.
    let readme = std::fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let printed = printed();
    if std::env::var_os("STRAIT_BLESS").is_some() {
        std::fs::write(&file, format!("{before}{BEGIN}{printed}{END}{after}")).unwrap();
    } else {
        assert!(
            shown == printed,
            "the README shows\n{shown}\nbut this is printed\n{printed}"
        );
    }
}
