//! Scope and findings of a verification.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use strait_compile::Shares;
use strait_container::{Artifact, Digest};
use strait_core::Module;
use strait_verify::{Analysis, Finding};

use crate::Computed;

/// Scope and findings of a verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verification {
    /// The artifact's folder; empty of one in memory.
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
            artifact: artifact.folder().display().to_string(),
            ..Verification::default()
        }
    }

    /// Report on an artifact that cannot be opened.
    pub(super) fn unreadable(folder: &Path, finding: Unsound) -> Verification {
        Verification {
            artifact: folder.display().to_string(),
            findings: vec![finding],
            ..Verification::default()
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
            sources: of_value.map(|node| module.sources(node)).unwrap_or_default(),
            message: finding.fault.to_string(),
        }
    }

    /// The layers of the float model, in brackets behind the name.
    pub fn of(&self) -> String {
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
            sources: node.map(|node| module.sources(node)).unwrap_or_default(),
            message,
        }
    }
}
