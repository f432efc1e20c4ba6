//! `cargo xtask bless`: rewrites the expected results of tests and the generated documents after the code was changed
//! on purpose.

use crate::{Command, Outcome, process, workspace};

pub(crate) const COMMAND: Command = Command {
    name: "bless",
    summary: "rewrite the expectations of tests and the generated documents",
    help: HELP,
    run,
};

const HELP: &str = "
Runs the tests with STRAIT_BLESS=1: filetests, expected diagnostics and the generated documents (the JSON schema, the
reference pages) are rewritten to what the code now says. Look at `git diff` before you commit.

Usage: cargo xtask bless [TEST NAME]
";

fn run(arguments: &[String]) -> Outcome {
    let mut cargo = process::cargo();
    // trybuild has its own variable for rewriting expectations.
    cargo
        .current_dir(workspace::root())
        .env("STRAIT_BLESS", "1")
        .env("TRYBUILD", "overwrite");
    cargo
        .args(["test", "--workspace", "--quiet", "--no-fail-fast"])
        .args(arguments);
    process::run(&mut cargo)
}
