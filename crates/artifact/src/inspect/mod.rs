//! Shows what a model or an artifact consists of, either all of it or the layers that a pattern chooses.

mod extract;
mod fusions;
mod quantization;
mod summary;

use std::collections::BTreeMap;
use strait_compile::rules::matches_layer;
use strait_container::{Artifact, Digest, Integrity};
use strait_core::{Bodies, Def, Module, NodeId, Placement, ValueId, text};
use strait_document::{Glob, nearest};
use strait_report::{Layer, REPORT_FILE, Report};

use crate::{Error, opened::json};

pub use fusions::{Fusions, Row, fusions};
pub use quantization::quantization;
pub use summary::{LayerLine, OpCount, Port, Summary};

/// A node of a graph, with what a drawing of the graph shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnNode {
    /// The name of the last node of the source model from which the node was made.
    pub name: String,
    /// The term of its op.
    pub op: String,
    /// True if it runs on the host.
    pub on_host: bool,
    /// The positions of the nodes whose results it reads.
    pub reads: Vec<usize>,
}

fn drawn(module: &Module) -> Vec<DrawnNode> {
    let graph = module.main();
    let order = graph.topological_order().unwrap_or_default();
    let places: BTreeMap<NodeId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let nodes = order.iter().filter_map(|&id| graph.node(id));
    let producer = |value: ValueId| match graph.value(value)?.def {
        Def::Node(node, _) => places.get(&node).copied(),
        _ => None,
    };
    nodes
        .map(|node| DrawnNode {
            name: module
                .name(node.sources.last().copied().unwrap_or(node.name))
                .to_owned(),
            op: node.op.term().to_string(),
            on_host: matches!(node.place, Placement::Host(_)),
            reads: node
                .inputs
                .iter()
                .flatten()
                .filter_map(|&value| producer(value))
                .collect(),
        })
        .collect()
}

/// A model or an artifact that is being inspected.
#[derive(Debug)]
pub struct Inspected {
    module: Module,
    /// The module with the bodies of its control flow (loops and branches) inlined in the main graph.
    open: Module,
    bodies: Bodies,
    /// The digest of the artifact; `None` for a model.
    digest: Option<Digest>,
    pattern: Option<Glob>,
    /// The layers in the artifact's report; empty for a model.
    reported: Vec<Layer>,
}

impl Inspected {
    /// Prepares to inspect an artifact. `pattern` chooses layers by their names in the source model.
    ///
    /// # Errors
    /// If a file is damaged, or the pattern matches nothing.
    pub fn artifact(artifact: &Artifact, pattern: Option<&str>) -> Result<Inspected, Error> {
        let module = artifact.model(Integrity::SkipTensors)?.module;
        let reported = json::<Report>(artifact, REPORT_FILE, strait_report::SCHEMA)?.layers;
        let mut open = module.clone();
        let bodies = strait_verify::lay_open(&mut open);
        let digest = Some(artifact.manifest().digest());
        Inspected::new((module, open, bodies), (digest, reported), pattern)
    }

    /// Prepares to inspect a model. Its symbolic dimensions stay as they are. `pattern` chooses layers by their names.
    ///
    /// # Errors
    /// If the pattern matches nothing.
    pub fn model(module: Module, pattern: Option<&str>) -> Result<Inspected, Error> {
        let mut open = module.clone();
        let bodies = open.lay_open(module.main);
        Inspected::new((module, open, bodies), (None, Vec::new()), pattern)
    }

    fn new(
        (module, open, bodies): (Module, Module, Bodies),
        (digest, reported): (Option<Digest>, Vec<Layer>),
        pattern: Option<&str>,
    ) -> Result<Inspected, Error> {
        let glob = pattern.map(Glob::new);
        if let Some(glob) = &glob {
            let nodes = || open.main().nodes().map(|(_, node)| node);
            if !nodes().any(|node| matches_layer(&open, node, std::slice::from_ref(glob))) {
                let names = nodes().flat_map(|node| node.sources.iter().map(|&source| open.name(source)));
                return Err(no_layer(pattern.unwrap_or_default(), names));
            }
        }
        Ok(Inspected {
            module,
            open,
            bodies,
            digest,
            pattern: glob,
            reported,
        })
    }

    /// Inputs, outputs, operators and the chosen layers.
    pub fn summary(&self) -> Summary {
        Summary {
            digest: self.digest,
            ..summary::summary((&self.open, &self.bodies), self.pattern.as_ref(), &self.reported)
        }
    }

    /// The text form of the module. Tensors of more than 64 elements are left out.
    pub fn text(&self) -> String {
        let options = text::PrintOptions::default();
        self.with_module(|module| text::print(module, &options))
    }

    /// The graph in the language of Graphviz.
    pub fn dot(&self) -> String {
        self.with_module(text::to_dot)
    }

    /// The nodes of the graph in the order in which they run.
    pub fn nodes(&self) -> Vec<DrawnNode> {
        match &self.pattern {
            None => drawn(&self.open),
            Some(pattern) => drawn(&extract::extract(&self.open, pattern)),
        }
    }

    fn with_module(&self, show: impl Fn(&Module) -> String) -> String {
        match &self.pattern {
            None => show(&self.module),
            Some(pattern) => show(&extract::extract(&self.open, pattern)),
        }
    }
}

/// The error if a pattern matches none of the names.
fn no_layer<'a>(pattern: &str, names: impl Iterator<Item = &'a str>) -> Error {
    Error::NoLayer {
        pattern: pattern.to_owned(),
        near: nearest::closest(pattern, names, 3)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    }
}
