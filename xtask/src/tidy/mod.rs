//! `cargo xtask tidy`: checks the invariants of the architecture, as far as a program can.
//!
//! Each check is a module with a function `check(&Repository, &mut Findings)`. Exceptions that a check allows are in a
//! table in its module, with a reason for each entry. A single line is excused by a comment on the line or above it:
//! `// tidy: allow(CHECK): why`.

mod arrays;
mod arrows;
mod circles;
mod claims;
mod debug;
mod floors;
mod hash_tables;
mod independence;
mod leftovers;
mod length;
mod machine;
mod manifests;
mod names;
mod repository;
mod source;
mod tests_run;
mod unsafe_code;

use crate::{Command, Outcome, Stop, workspace};
use repository::Repository;

pub(crate) const COMMAND: Command = Command {
    name: "tidy",
    summary: "check the architecture's invariants",
    help: HELP,
    run,
};

const HELP: &str = "
Checks the invariants of ARCHITECTURE.md that a program can check, on the files that git knows or would add:
  arrows      which crate may depend on which; only `builtin` depends on a target
  floors      what a module of a crate may use of the others
  circles     no files of a crate use each other
  names       core names no target, format or dynamic library; nothing compares a target's id
  unsafe      unsafe code only where it is allowed
  leftovers   no todo!, unimplemented!, FIXME, ignored test without a reason
  length      no file over 600 lines that people write, no large file
  hash        no hash table in a library crate without a reason
  arrays      no reduction or product by ndarray, whose bits depend on the processor
  machine     no path of a machine, no other registry than the public one
  claims      nothing says to equal a chip bit for bit but the function that knows the evidence
  independence
              the verifier uses nothing by which the compiler decides on steps
  debug       no error and no Display in Rust's debug form
  manifests   every crate takes the workspace's lints and stands in ARCHITECTURE.md
  tests       each file of tests is part of a program of tests

A line is excused by a comment on it or above it:   // tidy: allow(hash): only ever looked up

Usage: cargo xtask tidy
";

/// The findings of all checks so far, each with its place.
#[derive(Default)]
pub(crate) struct Findings(Vec<String>);

impl Findings {
    /// Adds a finding about a file.
    fn add(&mut self, path: &str, text: impl std::fmt::Display) {
        self.0.push(format!("{path}: {text}"));
    }

    /// Adds a finding about a line of a file (counted from 1).
    fn at(&mut self, path: &str, line: usize, text: impl std::fmt::Display) {
        self.0.push(format!("{path}:{line}: {text}"));
    }
}

type Check = fn(&Repository, &mut Findings);

const CHECKS: &[(&str, Check)] = &[
    ("arrows", arrows::check),
    ("floors", floors::check),
    ("circles", circles::check),
    ("names", names::check),
    ("unsafe", unsafe_code::check),
    ("leftovers", leftovers::check),
    ("length", length::check),
    ("hash", hash_tables::check),
    ("arrays", arrays::check),
    ("machine", machine::check),
    ("claims", claims::check),
    ("independence", independence::check),
    ("debug", debug::check),
    ("manifests", manifests::check),
    ("tests", tests_run::check),
];

pub(crate) fn run(arguments: &[String]) -> Outcome {
    workspace::no_arguments(arguments)?;
    let repository = Repository::read(&workspace::root())?;
    let mut count = 0;
    for (name, check) in CHECKS {
        let mut findings = Findings::default();
        check(&repository, &mut findings);
        count += findings.0.len();
        for finding in findings.0 {
            println!("{finding} [{name}]");
        }
    }
    match count {
        0 => println!(
            "tidy: {} files, {} checks, nothing to say",
            repository.files.len(),
            CHECKS.len()
        ),
        _ => return Err(Stop::Failed(format!("tidy has {count} findings"))),
    }
    Ok(())
}

#[cfg(test)]
mod testing {
    use super::{Check, Findings, Repository};

    /// Runs a check on files given as (path, text); returns its findings.
    pub(crate) fn findings(check: Check, files: &[(&str, &str)]) -> Vec<String> {
        let mut findings = Findings::default();
        check(&Repository::of(files), &mut findings);
        findings.0
    }
}
