//! Tests that every key of a target's table and of a configuration takes effect or is refused. The keys are read from
//! the schemas of the types, so a new key without a case makes the test fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod calibration;
mod configuration;
mod dialect;
mod evaluation;
mod images;
mod inputs;
mod optimize;
mod table;

use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, path::PathBuf, sync::Mutex};
use strait_core::text::{PrintOptions, print};
use strait_document::Shape;
use strait_driver::{
    artifact::Opened,
    catalogue,
    config::{self, Override},
    diagnostic::Diagnostic,
    pipeline,
    session::{Progress, Session},
};
use strait_kernels::Context;
use strait_target::Registry;

/// Where a change shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// In graphs, parameters or forms of the integer model.
    Bits,
    /// In which layers run on the host, and why.
    Placement,
    /// In the report of the compilation.
    Report,
    /// In the output of `strait targets ID`.
    Sheet,
    /// In the files of the artifact, or the folder of measurements.
    Files,
    /// In a warning of the compilation.
    Warning,
    /// In an error of the compilation.
    Error,
}

/// Collects warnings.
#[derive(Default)]
struct Warnings(Mutex<String>);

impl Progress for Warnings {
    fn remark(&self, found: &Diagnostic) {
        self.0.lock().unwrap().push_str(&found.message);
    }
}

/// What one compilation gives.
type Outcome = BTreeMap<Effect, String>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A path as a TOML string.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

/// Compiles the digits model for `target` of the registry with these assignments.
fn compiled(registry: impl Fn() -> Registry, target: &str, set: &[String]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let mut overrides = vec![
        Override::output(folder.path().join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache={}", quoted(&folder.path().join("cache")))),
        Override::set("calibration.samples=8"),
        Override::targets(vec![target.to_owned()]),
    ];
    overrides.extend(set.iter().map(Override::set));
    let mut outcome = Outcome::new();
    if let Ok(sheet) = catalogue::sheet(&registry(), target) {
        outcome.insert(Effect::Sheet, sheet.text(10_000));
    }
    let text = fs::read_to_string(repository().join("configs/generic-int8.toml")).unwrap();
    let evaluation = text.find("[evaluation]").unwrap()..text.find("[output]").unwrap();
    let text = [&text[..evaluation.start], &text[evaluation.end..]].concat();
    let warnings = Warnings::default();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &warnings).with_commands(true);
    let compiled = config::parse("keys.toml", text, &repository().join("configs"), &overrides)
        .map_err(|findings| findings.to_string())
        .and_then(|loaded| pipeline::compile(&loaded, registry(), &session).map_err(|stop| stop.to_string()));
    let compiled = match compiled {
        Ok(mut compiled) => compiled.remove(0),
        Err(error) => {
            outcome.insert(Effect::Error, error.replace(&folder.path().display().to_string(), ""));
            return outcome;
        }
    };
    let opened = Opened::open(&compiled.folder, &registry()).unwrap_or_else(|stop| panic!("{stop}"));
    outcome.insert(Effect::Bits, print(opened.module(), &PrintOptions::whole()));
    let hosted = compiled.report.layers.iter().filter_map(|layer| {
        let host = layer.host.as_ref()?;
        Some(format!("{} {} {}\n", layer.name, host.code, host.text))
    });
    outcome.insert(Effect::Placement, hosted.collect());
    outcome.insert(Effect::Report, serde_json::to_string_pretty(&compiled.report).unwrap());
    let mut files = Vec::new();
    for place in [folder.path(), &compiled.folder] {
        files.extend(fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()));
    }
    files.sort();
    let graphs = ["model.qdq.onnx", "model.tflite"].map(|name| fs::read(compiled.folder.join(name)).ok());
    outcome.insert(Effect::Files, format!("{files:?} {graphs:?}"));
    drop(session);
    outcome.insert(Effect::Warning, warnings.0.into_inner().unwrap());
    outcome
}

/// In which respects two outcomes differ.
fn differences(one: &Outcome, other: &Outcome) -> Vec<Effect> {
    let all = [
        Effect::Bits,
        Effect::Placement,
        Effect::Report,
        Effect::Sheet,
        Effect::Files,
        Effect::Warning,
        Effect::Error,
    ];
    all.into_iter()
        .filter(|effect| one.get(effect) != other.get(effect))
        .collect()
}

/// Each key of the shape that is not a table of further keys.
fn leaves(shape: &Shape) -> Vec<String> {
    let keys = shape.keys();
    let inside = |key: &str, other: &str| {
        let rest = other.strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    let is_leaf = |key: &&String| !keys.iter().any(|other| inside(key, other));
    keys.iter().filter(is_leaf).cloned().collect()
}

/// The keys without a case, and the cases without a key.
fn unmatched(shape: &Shape, cases: &[&str]) -> Vec<String> {
    let leaves = leaves(shape);
    let missing = leaves.iter().filter(|key| !cases.contains(&key.as_str()));
    let missing = missing.map(|key| format!("`{key}` has no case"));
    let keys = shape.keys();
    let unknown = cases.iter().filter(|case| !keys.iter().any(|key| key == *case));
    missing
        .chain(unknown.map(|case| format!("there is no key `{case}`")))
        .collect()
}

/// Every part of the schemas is understood, and every key is documented.
#[test]
fn every_part_of_the_schemas_is_understood_and_documented() {
    use strait_document::Document as _;
    let config = config::types::Config::shape();
    let table = strait_target::TargetSpec::shape();
    for shape in [config, table] {
        let mut seen = 0;
        shape.visit("", &mut |shape, path| {
            assert_ne!(*shape, Shape::Unknown, "at {path}");
            if let Shape::Table(keys) | Shape::OneKey(keys) = shape {
                for (name, key) in keys {
                    assert!(!key.doc.is_empty(), "{path}.{name}");
                }
            }
            seen += 1;
        });
        assert!(seen > 60, "{seen}");
    }
    for schema in [config::json_schema(), strait_target::spec::json_schema()] {
        assert!(!schema.to_string().contains("null"));
    }
}
