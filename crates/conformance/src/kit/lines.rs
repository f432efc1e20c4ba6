//! The report of the kit, with a line for each thing that is checked.

use serde_json::{Value, json};
use std::fmt;

/// The part of a target, or of its tests, that a line of the report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The C interface of a library.
    Interface,
    /// The functions of the interface, and how often each was called.
    Functions,
    /// The target's table itself.
    Table,
    /// What the kernels compute.
    Semantics,
    /// How the target's code behaves.
    Robustness,
    /// Small networks from end to end.
    Networks,
    /// Comparison with vectors that were recorded on a chip.
    Silicon,
}

/// A line of the report: one thing that the kit checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What this line of the report is about.
    pub group: Group,
    /// Name of this line of the report, such as `ties`.
    pub name: String,
    /// What was checked, and how much of it.
    pub checked: String,
    /// The first few faults that were found.
    pub findings: Vec<String>,
    /// Number of further faults, which are not listed.
    pub more: usize,
    /// Why the check of this line could not be made. `None` if it was made.
    pub skipped: Option<String>,
}

/// The kit's report on a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Kit {
    /// Id of the target.
    pub target: String,
    /// Version of the target's table.
    pub version: String,
    /// Where the target comes from.
    pub origin: String,
    /// Everything that was checked, and everything that was not.
    pub lines: Vec<Line>,
}

/// The reason that the report gives for lines that are not checked because a call has hung.
pub(super) const HUNG: &str = "not asked, since a call hangs";

/// A line of the report lists at most this many faults.
const KEPT: usize = 5;

impl Line {
    pub(super) fn new(group: Group, name: impl Into<String>) -> Line {
        Line {
            group,
            name: name.into(),
            checked: String::new(),
            findings: Vec::new(),
            more: 0,
            skipped: None,
        }
    }

    pub(super) fn skipped(group: Group, name: impl Into<String>, why: impl Into<String>) -> Line {
        Line {
            skipped: Some(why.into()),
            ..Line::new(group, name)
        }
    }

    pub(super) fn checked(mut self, checked: impl Into<String>) -> Line {
        self.checked = checked.into();
        self
    }

    pub(super) fn find(&mut self, fault: String) {
        if self.findings.len() >= KEPT || self.findings.contains(&fault) {
            self.more += usize::from(!self.findings.contains(&fault));
        } else {
            self.findings.push(fault);
        }
    }

    /// The outcome of the check: `passed`, `failed` or `not checked`.
    pub fn outcome(&self) -> &'static str {
        match (&self.findings[..], &self.skipped) {
            ([_, ..], _) => "failed",
            ([], Some(_)) => "not checked",
            ([], None) => "passed",
        }
    }
}

impl Kit {
    /// True if no check found a fault.
    pub fn is_ok(&self) -> bool {
        self.lines.iter().all(|line| line.findings.is_empty())
    }

    /// The report as JSON, for programs.
    pub fn to_json(&self) -> Value {
        let line = |line: &Line| {
            json!({
                "group": line.group.to_string(),
                "name": line.name,
                "outcome": line.outcome(),
                "checked": line.checked,
                "findings": line.findings,
                "more": line.more,
                "why": line.skipped,
            })
        };
        json!({
            "target": self.target,
            "version": self.version,
            "origin": self.origin,
            "ok": self.is_ok(),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Group::Interface => "interface",
            Group::Functions => "functions",
            Group::Table => "table",
            Group::Semantics => "semantics",
            Group::Robustness => "robustness",
            Group::Networks => "networks",
            Group::Silicon => "silicon",
        })
    }
}

impl fmt::Display for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}  {}", self.target, self.version, self.origin)?;
        let width = self
            .lines
            .iter()
            .map(|line| line.name.chars().count())
            .max()
            .unwrap_or(0);
        let mut group = None;
        for line in &self.lines {
            if group != Some(line.group) {
                group = Some(line.group);
                writeln!(f, "\n{}", line.group)?;
            }
            let about = line.skipped.as_ref().unwrap_or(&line.checked);
            writeln!(f, "  {:<11}  {:<width$}  {about}", line.outcome(), line.name)?;
            for finding in &line.findings {
                writeln!(f, "      {finding}")?;
            }
            if line.more > 0 {
                writeln!(f, "      and {} more", line.more)?;
            }
        }
        let count = |outcome: &str| self.lines.iter().filter(|line| line.outcome() == outcome).count();
        let [passed, failed, not] = ["passed", "failed", "not checked"].map(count);
        writeln!(f, "\n{passed} passed, {failed} failed, {not} not checked")
    }
}
