//! The result of a verification: what was checked, and what is wrong.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use strait_compile::Shares;
use strait_container::{Artifact, Digest};
use strait_core::Module;
use strait_verify::{Analysis, Finding};

use crate::Computed;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verification {
    /// The artifact's folder; empty if it is in memory.
    pub artifact: String,
    /// The digest that identifies the artifact; absent if its manifest cannot be read.
    pub digest: Option<Digest>,
    /// The target that the artifact is for, with its version.
    pub target: Option<String>,
    /// What the target consists of besides its table. Absent if the target is a single table in a file and this table
    /// extends no other.
    pub origin: Option<String>,
    /// The origin of the registered target, if the artifact was made with a target of another origin.
    pub elsewhere: Option<String>,
    /// Number of files that the manifest lists.
    pub files: usize,
    /// Who computed the fused graph; absent if it was not run.
    pub computed: Option<Computed>,
    /// How many layers the target's own model of its arithmetic computed, and how many the host computed in its place.
    /// Absent if the target's own model was not asked for.
    pub own_model: Option<Shares>,
    /// The fusions, grouped by the row of the target's table that is named in their certificates.
    pub fusions: Vec<FusionLine>,
    /// Which samples the graphs were run on.
    pub runs: Runs,
    /// What is wrong; empty for a sound artifact.
    pub findings: Vec<Unsound>,
}

/// Counts the certificates that name the same row of the target's table and are proved by the same argument. There is
/// one number for each outcome of the verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FusionLine {
    /// Name of the row; empty for fusions that have no certificate.
    pub row: String,
    /// Name of the argument that proves the certificates, such as `same_accumulator`.
    pub argument: String,
    /// Number of fusions that change no result.
    pub exact: usize,
    /// Number of fusions that may change a result.
    pub bounded: usize,
    /// The largest change of a result, in LSB. `u32::MAX` stands for a change for which no bound is known.
    pub max_lsb: u32,
    /// The first layer at which the change is largest.
    pub worst: Option<String>,
}

/// How often the graphs were run and compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Runs {
    /// Number of random samples.
    pub random: usize,
    /// Number of samples that the user gave.
    pub given: usize,
    /// Number of layers that were compared with the lowered graph, each on its own operands.
    pub layers: usize,
    /// True if the outputs of both graphs were also required to have the same bits.
    pub outputs: bool,
}

/// Something that is wrong with an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsound {
    /// What the finding is about.
    pub subject: Subject,
    /// Name of the file, or of the value that the layer computes.
    pub name: String,
    /// The layers of the float model that the layer was made from.
    pub sources: Vec<String>,
    /// What is wrong.
    pub message: String,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The artifact as a whole.
    Artifact,
    /// A file of the artifact.
    File,
    /// A layer of the artifact's graphs.
    Layer,
}

impl Verification {
    /// True if nothing is wrong.
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

    /// The result for an artifact that cannot be opened.
    pub(super) fn unreadable(folder: &Path, finding: Unsound) -> Verification {
        Verification {
            artifact: folder.display().to_string(),
            findings: vec![finding],
            ..Verification::default()
        }
    }
}

/// Groups the fusions by row and argument.
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

    /// The names of the layers of the float model, in brackets. They are shown after the finding's name.
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
