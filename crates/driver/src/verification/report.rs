//! Report of a verification, for people and for programs.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
    path::Path,
};

use serde::Serialize;
use strait_container::{Artifact, Digest};
use strait_core::{Module, Node};
use strait_verify::{Analysis, Finding};

use strait_compile::Shares;

use crate::{artifact::Computed, table};

/// Number of findings that are shown to people.
const MOST_FINDINGS: usize = 20;

/// Scope and findings of a verification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The artifact's folder.
    pub artifact: String,
    /// The digest by which the artifact is known; absent where its manifest cannot be read.
    pub digest: Option<Digest>,
    /// The target that it is for, with its version.
    pub target: Option<String>,
    /// Origin of the target besides its table; absent of a table in a file that stands on no other.
    pub origin: Option<String>,
    /// Where the target that is registered comes from, if that is elsewhere.
    pub elsewhere: Option<String>,
    /// Number of files that the manifest lists.
    pub files: usize,
    /// Who computed the fused graph; absent where it was not run.
    pub computed: Option<Computed>,
    /// The layers that the target's own model computed, and those that the host did in its stead; absent where it was not
    /// asked to.
    pub own_model: Option<Shares>,
    /// The fusions, by the row of the target's table that their certificates name.
    pub fusions: Vec<FusionLine>,
    /// On what the graphs were run.
    pub runs: Runs,
    /// Findings; empty for a sound artifact.
    pub findings: Vec<Unsound>,
}

/// Verdicts of the certificates of one row that hold by one argument, derived anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FusionLine {
    /// The row; empty for fusions that have no certificate.
    pub row: String,
    /// The word for the argument by which their certificates hold: `same_accumulator`, for instance.
    pub argument: String,
    /// Fusions that change nothing.
    pub exact: usize,
    /// Fusions that do.
    pub bounded: usize,
    /// By how much at most; the largest 32-bit number where that is not decided.
    pub max_lsb: u32,
    /// The first layer that differs by as much.
    pub worst: Option<String>,
}

/// Numbers of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Runs {
    /// Random samples.
    pub random: usize,
    /// Samples that were given.
    pub given: usize,
    /// Layers that were held against the lowered graph, each on its operands.
    pub layers: usize,
    /// True if the outputs had to be the same bits too.
    pub outputs: bool,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsound {
    /// Subject of the finding.
    pub subject: Subject,
    /// The name of the file or of the value that the layer computes.
    pub name: String,
    /// The layers of the float model that it was made from.
    pub sources: Vec<String>,
    /// The fault.
    pub message: String,
}

/// Subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The artifact as a whole.
    Artifact,
    /// One of its files.
    File,
    /// A layer of its graphs.
    Layer,
}

impl Verification {
    /// True if everything holds.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn new(artifact: &Artifact) -> Verification {
        let manifest = artifact.manifest();
        Verification {
            digest: Some(manifest.digest()),
            target: Some(format!("{} {}", manifest.target.id, manifest.target.version)),
            origin: manifest.target.origin.as_ref().map(ToString::to_string),
            files: manifest.files.len(),
            ..Verification::empty(artifact.folder())
        }
    }

    /// Report on an artifact that cannot be opened.
    pub(super) fn unreadable(folder: &Path, finding: Unsound) -> Verification {
        Verification {
            findings: vec![finding],
            ..Verification::empty(folder)
        }
    }

    fn empty(folder: &Path) -> Verification {
        Verification {
            artifact: folder.display().to_string(),
            digest: None,
            target: None,
            origin: None,
            elsewhere: None,
            files: 0,
            computed: None,
            own_model: None,
            fusions: Vec::new(),
            runs: Runs::default(),
            findings: Vec::new(),
        }
    }
}

/// The fusions by their rows.
pub(super) fn lines(analysis: &Analysis<'_>) -> Vec<FusionLine> {
    let mut lines: BTreeMap<(&str, &str), FusionLine> = BTreeMap::new();
    for fusion in analysis.fusions() {
        let row = fusion.row.as_deref().unwrap_or_default();
        let argument = fusion.argument.unwrap_or_default();
        let line = lines.entry((argument, row)).or_default();
        line.row = row.to_owned();
        line.argument = argument.to_owned();
        match fusion.max_lsb {
            0 => line.exact += 1,
            _ => line.bounded += 1,
        }
        if fusion.max_lsb > line.max_lsb {
            line.max_lsb = fusion.max_lsb;
            line.worst = Some(fusion.value.clone());
        }
    }
    lines.into_values().collect()
}

impl Unsound {
    pub(super) fn file(name: &str, message: String) -> Unsound {
        Unsound {
            subject: Subject::File,
            name: name.to_owned(),
            sources: Vec::new(),
            message,
        }
    }

    pub(super) fn another(artifact: &Artifact, expected: Digest) -> Unsound {
        Unsound {
            subject: Subject::Artifact,
            name: artifact.folder().display().to_string(),
            sources: Vec::new(),
            message: format!("this is another artifact than the one with the digest {expected}"),
        }
    }

    pub(super) fn layer(module: &Module, finding: &Finding) -> Unsound {
        let of_value = module.graphs.iter().rev().find_map(|graph| {
            let (id, _) = graph
                .values()
                .find(|(_, value)| module.name(value.name) == finding.value)?;
            graph.producer(id).map(|(_, node)| node)
        });
        Unsound {
            subject: Subject::Layer,
            name: finding.value.clone(),
            sources: sources(module, of_value),
            message: finding.fault.to_string(),
        }
    }

    /// The layers of the float model, behind the name.
    pub(super) fn of(&self) -> String {
        let others = self.sources.iter().filter(|&source| *source != self.name);
        let others: Vec<&str> = others.map(String::as_str).collect();
        match others[..] {
            [] => String::new(),
            _ => format!(" (of {})", others.join(", ")),
        }
    }

    pub(super) fn node(module: &Module, name: &str, message: String) -> Unsound {
        let nodes = module.graphs.iter().rev().flat_map(strait_core::Graph::nodes);
        let node = nodes.map(|(_, node)| node).find(|node| module.name(node.name) == name);
        Unsound {
            subject: Subject::Layer,
            name: name.to_owned(),
            sources: sources(module, node),
            message,
        }
    }
}

/// A difference as people say it.
fn bound(max_lsb: u32) -> String {
    match max_lsb {
        u32::MAX => "not decided".to_owned(),
        known => format!("at most {known} LSB"),
    }
}

fn sources(module: &Module, node: Option<&Node>) -> Vec<String> {
    let sources = node.iter().flat_map(|node| node.sources.iter());
    sources.map(|&source| module.name(source).to_owned()).collect()
}

impl Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = if self.is_sound() { "sound" } else { "NOT SOUND" };
        writeln!(f, "{}: {answer}\n", self.artifact)?;
        let mut rows: Vec<[String; 2]> = Vec::new();
        let mut say = |what: &str, text: String| rows.push([what.to_owned(), text]);
        if let Some(digest) = self.digest {
            say("digest", digest.to_string());
        }
        if let Some(target) = &self.target {
            let by = match &self.computed {
                Some(Computed::Target) => ", computed by the kernels that are registered for it",
                Some(Computed::OwnModel) => ", computed by its own model of its arithmetic",
                Some(Computed::Host(_)) => ", computed by the host",
                None => "",
            };
            let of = self.own_model.map_or_else(String::new, |shares| format!(": {shares}"));
            say("target", format!("{target}{by}{of}"));
        }
        if let Some(origin) = &self.origin {
            say("made with", origin.clone());
        }
        if let Some(elsewhere) = &self.elsewhere {
            say("", format!("the target that is registered here is {elsewhere}"));
        }
        if let Some(Computed::Host(reason)) = &self.computed {
            say("", reason.clone());
        }
        if self.digest.is_some() {
            let is_file = |finding: &&Unsound| finding.subject == Subject::File;
            let bad = self.findings.iter().filter(is_file).count();
            say("files", format!("{} in the manifest, {bad} not as it says", self.files));
        }
        if self.computed.is_some() {
            let total = |count: fn(&FusionLine) -> usize| self.fusions.iter().map(count).sum::<usize>();
            let (exact, bounded) = (total(|line| line.exact), total(|line| line.bounded));
            say("fusions", format!("{exact} exact, {bounded} bounded, derived anew"));
        }
        let worst = self.fusions.iter().filter_map(|line| line.worst.as_deref());
        let names = table::all_shortened(worst);
        for line in &self.fusions {
            let what = match &line.row[..] {
                "" => "without a certificate".to_owned(),
                row => format!("{row}, by {}", line.argument.replace('_', " ")),
            };
            let worst = line.worst.iter();
            let worst: String = worst
                .filter_map(|layer| names.get(layer.as_str()))
                .map(|layer| format!(", {}: {layer}", bound(line.max_lsb)))
                .collect();
            say(
                "",
                format!("{what}: {} exact, {} bounded{worst}", line.exact, line.bounded),
            );
        }
        let runs = &self.runs;
        if runs.random + runs.given > 0 {
            let outputs = if runs.outputs {
                ", and the outputs bit for bit"
            } else {
                ""
            };
            say(
                "runs",
                format!(
                    "{} random and {}: {} on the lowered graph's operands{outputs}",
                    runs.random,
                    table::count(runs.given, "given sample"),
                    table::count(runs.layers, "layer")
                ),
            );
        }
        table::write(f, rows.into_iter())?;
        for finding in self.findings.iter().take(MOST_FINDINGS) {
            writeln!(f, "\n{}{}\n  {}", finding.name, finding.of(), finding.message)?;
        }
        match self.findings.len().checked_sub(MOST_FINDINGS) {
            Some(more @ 1..) => writeln!(f, "\nand {more} more; --json has all of them"),
            _ => Ok(()),
        }
    }
}
