//! The graphs below `rows/TARGET`. Each row of a built-in table is used by one of them. A file has a float graph, which
//! is compiled, and the rows that made its integers:
//!
//! ```text
//! ; options: requantization_mode=tflite
//! ; accept: 1
//! ; scale: 4.0
//! ; types: type=int16 leaves:NAME=int16
//! strait 1 float
//! graph @main(%x: f32[2]) { … }
//! ; fires
//! ; op conv: conv on int8, int8
//! ```
//!
//! `accept` is the largest difference that a fusion may make, `scale` the largest input.
#![allow(clippy::unwrap_used, reason = "it serves tests, which may panic")]

use crate::integer::{InMemory, Integer, integer_with};
use crate::numeric::inputs;
use crate::passes::types;
use std::path::{Path, PathBuf};
use strait_builtin as _;
use strait_core::Module;
use strait_core::text::parse;
use strait_lower::FusionPolicy;
use strait_quantize::Settings;
use strait_target::Registry;

/// Every built-in table: its id, and the name by which tests ask for it.
pub fn tables() -> Vec<(String, String)> {
    let registry = Registry::builtin().unwrap();
    let built_in = registry.entries().map(|(id, _)| (id.to_owned(), id.to_owned()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/targets");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    files.sort();
    let files = files
        .into_iter()
        .map(|id| (id.clone(), format!("../configs/targets/{id}.toml")));
    built_in.chain(files).collect()
}

/// The line between a graph and its rows.
pub const FIRES: &str = "; fires\n";

/// The contents of a file.
pub struct RowGraph {
    /// Path of the file.
    pub path: PathBuf,
    /// Values of the target's options, `OPTION=VALUE[,OPTION=VALUE]…`; empty if all have their defaults.
    pub options: String,
    /// Everything before the line `; fires`: the settings and the graph.
    pub graph: String,
    /// The rows, each in a comment of its own.
    pub fires: String,
    policy: FusionPolicy,
    scale: f32,
    types: String,
}

/// A graph and its integer model.
pub struct Made {
    /// The graph as it was read.
    pub float: Module,
    /// The samples that it was calibrated on.
    pub samples: InMemory,
    /// The integer model.
    pub integer: Integer,
}

impl RowGraph {
    /// All files of a target, sorted by name.
    pub fn of_target(id: &str) -> Vec<RowGraph> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rows").join(id);
        let entries = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(RowGraph::read).collect()
    }

    fn read(path: PathBuf) -> RowGraph {
        let text = std::fs::read_to_string(&path).unwrap();
        let (graph, fires) = text.split_once(FIRES).unwrap_or((&text, ""));
        let key = |key: &str| {
            let mut lines = graph
                .lines()
                .filter_map(|line| line.strip_prefix("; ")?.split_once(": "));
            lines.find(|(found, _)| *found == key).map(|(_, value)| value)
        };
        let bound = key("accept").map(|bound| FusionPolicy::Bounded(bound.parse().unwrap()));
        RowGraph {
            options: key("options").unwrap_or_default().to_owned(),
            policy: bound.unwrap_or(FusionPolicy::Exact),
            scale: key("scale").map_or(1.0, |scale| scale.parse().unwrap()),
            types: key("types").unwrap_or_default().to_owned(),
            graph: graph.to_owned(),
            fires: fires.to_owned(),
            path,
        }
    }

    /// The rows that made its integers, as the file states them.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        self.fires.lines().filter_map(|line| line.strip_prefix("; "))
    }

    /// Compiles the graph for a target, which is named as in the filetests.
    ///
    /// # Errors
    /// Any error of compiling, as text.
    pub fn make(&self, target: &str) -> Result<Made, String> {
        let float = parse(&self.graph).map_err(|error| error.to_string())?;
        let samples = InMemory((0..4).map(|seed| inputs(&float, seed, self.scale)).collect());
        let words: Vec<&str> = self.types.split_whitespace().collect();
        let resolve = |module: &Module, settings: &mut Settings| types(module, &words, settings).map(drop);
        let integer = integer_with(&resolve, self.policy, &float, target, &samples)?;
        Ok(Made {
            float,
            samples,
            integer,
        })
    }
}
