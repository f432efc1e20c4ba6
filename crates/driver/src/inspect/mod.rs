//! Looks at a model or an artifact: what it consists of, all of it or the layers that a pattern chooses.

mod extract;
mod fusions;
mod quantization;
mod summary;

use std::path::Path;

use serde::de::DeserializeOwned;
use strait_compile::rules::matches_layer;
use strait_container::{Artifact, Digest, Integrity, MANIFEST_FILE, MODEL_FILE};
use strait_core::{Bodies, Module, text};
use strait_document::nearest;
use strait_import::ReadOptions;

use crate::{
    config::Glob,
    diagnostic::Diagnostic,
    failure::{self, codes},
    model, recognise,
    report::{Layer, REPORT_FILE, Report},
    stop::Stop,
};

pub use fusions::{Fusions, Row, fusions};
pub use quantization::quantization;
pub use summary::{LayerLine, OpCount, Port, Summary};

/// A module to look at.
#[derive(Debug)]
pub struct Inspected {
    module: Module,
    /// The same with the bodies of control flow open in it.
    open: Module,
    bodies: Bodies,
    /// Of an artifact.
    digest: Option<Digest>,
    pattern: Option<Glob>,
    /// The layers of an artifact's report; none of a model.
    reported: Vec<Layer>,
}

/// The report in an artifact's folder.
fn report(folder: &Path, artifact: &Artifact) -> Result<Report, Stop> {
    json(folder, artifact, REPORT_FILE)
}

/// A JSON file in an artifact's folder.
fn json<T: DeserializeOwned>(folder: &Path, artifact: &Artifact, file: &str) -> Result<T, Stop> {
    let bytes = artifact.file(file).map_err(failure::reading)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{}: {file} cannot be read: {error}", folder.display());
        Diagnostic::error(codes::DAMAGED, message).into()
    })
}

/// The artifact in a folder; for what a model lacks, because compiling `makes` it.
fn compiled(folder: &Path, makes: &str) -> Result<Artifact, Stop> {
    if folder.is_file() {
        let message = format!("{} is a model; {makes} when it is compiled", folder.display());
        let help = "name the folder of an artifact";
        return Err(Diagnostic::error(codes::ARTIFACT, message).help(help).into());
    }
    Artifact::open(folder).map_err(failure::reading)
}

impl Inspected {
    /// Opens the artifact in a folder, or the model in a file; symbolic dimensions stay as they are. `pattern` chooses
    /// layers by their source names.
    ///
    /// # Errors
    /// Fails for a file that cannot be read, and for a pattern that matches nothing.
    pub fn open(subject: &Path, pattern: Option<&str>) -> Result<Inspected, Stop> {
        let (module, digest, reported) = if subject.is_dir() {
            let artifact = Artifact::open(subject).map_err(|error| match recognise::folder(subject) {
                // With either file the folder is a damaged artifact.
                Some(found)
                    if [MANIFEST_FILE, MODEL_FILE]
                        .iter()
                        .all(|file| !subject.join(file).exists()) =>
                {
                    found.into()
                }
                _ => failure::reading(error),
            })?;
            let model = artifact.model(Integrity::SkipTensors).map_err(failure::reading)?;
            let reported = report(subject, &artifact)?.layers;
            (model.module, Some(artifact.manifest().digest()), reported)
        } else {
            let model = model::open(subject).and_then(|model| model.read(&ReadOptions::default()));
            (
                model.map_err(|error| failure::model(&error, subject))?,
                None,
                Vec::new(),
            )
        };
        let glob = pattern.map(Glob::new);
        let mut open = module.clone();
        let bodies = match digest {
            Some(_) => strait_verify::lay_open(&mut open),
            None => open.lay_open(module.main),
        };
        if let Some(glob) = &glob {
            let graph = open.main();
            if !graph
                .nodes()
                .any(|(_, node)| matches_layer(&open, node, std::slice::from_ref(glob)))
            {
                let names = graph
                    .nodes()
                    .flat_map(|(_, node)| node.sources.iter().map(|&source| open.name(source)));
                return Err(no_layer(pattern.unwrap_or_default(), names).into());
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

    /// Inputs, outputs, operators and the layers that were chosen.
    pub fn summary(&self) -> Summary {
        Summary {
            digest: self.digest,
            ..summary::summary((&self.open, &self.bodies), self.pattern.as_ref(), &self.reported)
        }
    }

    /// The text form; tensors of more than 64 elements are not shown.
    pub fn text(&self) -> String {
        let options = text::PrintOptions::default();
        self.with_module(|module| text::print(module, &options))
    }

    /// The graph for Graphviz.
    pub fn dot(&self) -> String {
        self.with_module(text::to_dot)
    }

    fn with_module(&self, show: impl Fn(&Module) -> String) -> String {
        match &self.pattern {
            None => show(&self.module),
            Some(pattern) => show(&extract::extract(&self.open, pattern)),
        }
    }
}

/// A pattern that matches none of these names.
fn no_layer<'a>(pattern: &str, names: impl Iterator<Item = &'a str>) -> Diagnostic {
    let near = nearest::closest(pattern, names, 3).join("`, `");
    let message = format!("no layer is called `{pattern}`");
    Diagnostic::error(codes::RULE, message).help(format!("near it are `{near}`"))
}
