//! Compiles the model in the repository for every built-in target, from end to end. Tests what a user gets, and that
//! the bytes depend on nothing but the input.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

pub(crate) mod changed;
mod control;
mod loops;
mod tokens;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Mutex,
};

use strait_builtin as _;
use strait_container::{Artifact, TargetOrigin, TargetVersion};
use strait_core::{Elem, Op, Placement};
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline::{self, Compiled},
    run,
    session::{Progress, Session, Silent},
    shown::Shown,
    stop::Stop,
    targets,
};
use strait_kernels::{Context, Isa};
use strait_samples::{Array, LabelCount, read_labels};
use strait_target::Registry;

const TARGETS: [&str; 4] = ["ascend", "generic-int8", "onnxruntime", "sima"];

#[test]
fn no_target_in_the_box_is_left_out() {
    let registry = Registry::builtin().unwrap();
    assert_eq!(registry.entries().map(|(id, _)| id).collect::<Vec<_>>(), TARGETS);
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn digits(file: &str) -> PathBuf {
    repository().join("models/digits").join(file)
}

/// A path as a TOML string.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

/// Everything that a compilation may be varied in.
struct Setting<'a> {
    folder: &'a Path,
    threads: usize,
    isa: Isa,
    registry: Option<Registry>,
    progress: &'a dyn Progress,
    set: Vec<String>,
}

impl<'a> Setting<'a> {
    fn new(folder: &'a Path) -> Setting<'a> {
        Setting {
            folder,
            threads: 2,
            isa: Isa::detect(),
            registry: None,
            progress: &Silent,
            set: Vec::new(),
        }
    }

    fn set(mut self, assignment: impl Into<String>) -> Self {
        self.set.push(assignment.into());
        self
    }

    /// Compiles configs/TARGET.toml to `folder`/TARGET, with its own statistics.
    fn compile(self, target: &str) -> Result<Compiled, Stop> {
        let mut overrides = vec![
            Override::output(self.folder.join(target).to_string_lossy()),
            Override::set(format!("calibration.cache={}", quoted(&self.folder.join("cache")))),
        ];
        overrides.extend(self.set.iter().map(Override::set));
        let loaded = config::load(&repository().join(format!("configs/{target}.toml")), &overrides)?;
        let registry = self.registry.map_or_else(|| targets::registry([]), Ok)?;
        let threads = NonZeroUsize::new(self.threads).unwrap();
        let session = Session::new(threads, Context::with_isa(self.isa), self.progress);
        let mut compiled = pipeline::compile(&loaded, registry, &session)?;
        assert_eq!(compiled.len(), 1);
        Ok(compiled.remove(0))
    }
}

/// The files in which two artifacts differ.
fn differences(first: &Compiled, second: &Compiled) -> Vec<String> {
    let [first, second] = [first, second].map(|compiled| {
        let files = content(&compiled.folder).into_iter();
        let name = |path: &Path| path.strip_prefix(&compiled.folder).unwrap().display().to_string();
        let files = files.map(|(path, bytes)| (name(&path), bytes));
        files.collect::<BTreeMap<String, Vec<u8>>>()
    });
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let other = names.into_iter().filter(|name| first.get(*name) != second.get(*name));
    other.cloned().collect()
}

/// Every file below a folder, with its bytes.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false => _ = found.insert(path.clone(), fs::read(path).unwrap()),
        }
    }
    found
}

fn message(stop: Stop) -> String {
    match stop {
        Stop::Found(found) => found.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn every_target_gives_a_sound_artifact_that_is_nearly_as_good_as_the_float_model() {
    let folder = tempfile::tempdir().unwrap();
    for target in TARGETS {
        let compiled = Setting::new(folder.path()).compile(target).unwrap();
        assert_eq!(
            Artifact::open(&compiled.folder).unwrap().check().unwrap(),
            [],
            "{target}"
        );
        let accuracy = compiled.report.accuracy.unwrap();
        let [top1, agreement] = ["top1", "agreement"].map(|name| accuracy.of(name).unwrap().clone());
        assert_eq!(
            (accuracy.samples, top1.float.unwrap().count),
            (640, Some(632)),
            "{target}"
        );
        assert!(top1.change.as_ref().unwrap().value >= -1.0, "{target}: {top1:?}");
        assert!(agreement.integer.unwrap().value >= 98.5, "{target}: {accuracy:?}");
        assert!(
            compiled.report.size.integer_bytes * 3 < compiled.report.size.float_bytes,
            "{target}"
        );
        assert!(compiled.folder.join("model.qdq.onnx").is_file(), "{target}");
    }
}

#[test]
fn neither_threads_nor_the_instruction_set_change_a_byte() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for target in TARGETS {
        let scalar = Setting {
            threads: 1,
            isa: Isa::Scalar,
            ..Setting::new(one.path())
        };
        let first = scalar.compile(target).unwrap();
        let second = Setting::new(two.path()).compile(target).unwrap();
        assert_eq!(differences(&first, &second), [""; 0], "{target}");
    }
}

#[test]
fn a_table_in_a_file_gives_the_same_bytes_as_built_in_but_for_its_origin() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let table = repository().join("targets/generic-int8/target.toml");
    let from_file = Setting {
        registry: Some(Registry::default()),
        ..Setting::new(one.path())
    };
    let from_file = from_file
        .set(format!("target.file=[{}]", quoted(&table)))
        .compile("generic-int8")
        .unwrap();
    let built_in = Setting::new(two.path()).compile("generic-int8").unwrap();
    let other = differences(&from_file, &built_in);
    assert!(other.iter().all(|file| file == "manifest.json"), "{other:?}");
    let [from_file, built_in] =
        [from_file, built_in].map(|compiled| Artifact::open(&compiled.folder).unwrap().manifest().clone());
    assert_eq!(
        (&from_file.files, &from_file.sources),
        (&built_in.files, &built_in.sources)
    );
    assert_eq!(from_file.target.origin, None);
    assert!(
        matches!(&built_in.target.origin, Some(TargetOrigin::Package(package)) if package.starts_with("strait-target-generic-int8 "))
    );
    let without = |target: &TargetVersion| TargetVersion {
        origin: None,
        ..target.clone()
    };
    assert_eq!(without(&from_file.target), without(&built_in.target));
}

/// Records messages and phases.
#[derive(Default)]
struct Listener(Mutex<Vec<String>>);

impl Listener {
    fn heard(&self, text: &str) -> bool {
        self.0.lock().unwrap().iter().any(|line| line.contains(text))
    }
}

impl Progress for Listener {
    fn begin(&self, phase: &str, _: Option<usize>) {
        self.0.lock().unwrap().push(format!("phase {phase}"));
    }

    fn say(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn statistics_are_reused_where_nothing_has_changed_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let compile = |set: &str| {
        let listener = Listener::default();
        let setting = Setting {
            progress: &listener,
            ..Setting::new(folder.path())
        };
        setting.set(set).compile("sima").unwrap();
        (listener.heard("phase observe"), listener.heard("reused"))
    };
    assert_eq!(compile("calibration.samples=32"), (true, false));
    assert_eq!(compile("calibration.samples=32"), (false, true));
    // Other data, then other preprocessing.
    assert_eq!(compile("calibration.samples=31"), (true, false));
    assert_eq!(
        compile("preprocess.steps=[{ scale = 0.125 }, { layout = \"NCHW\" }]"),
        (true, false)
    );
}

#[test]
fn a_run_that_fails_leaves_the_previous_artifact_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let compiled = Setting::new(folder.path()).compile("generic-int8").unwrap();
    let before = content(&compiled.folder);
    for (set, expected) in [
        ("calibration.samples=100000", "samples are asked for"),
        ("evaluation.samples=100000", "samples are asked for"),
        ("model.outputs=[\"nothing\"]", "neither a tensor nor a layer"),
        (
            "quantize.rule=[{ op = [\"Softmax\"], run = \"float\" }]",
            "matches nothing",
        ),
    ] {
        let stop = Setting::new(folder.path())
            .set(set)
            .compile("generic-int8")
            .unwrap_err();
        let message = message(stop);
        assert!(message.contains(expected), "{set}: {message}");
        assert_eq!(content(&compiled.folder), before, "{set}");
    }
    // Nothing is left beside the artifact, either.
    let entries = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    assert_eq!(entries, ["cache", "generic-int8"]);
}

#[test]
fn a_folder_that_is_not_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("sima/thesis.txt");
    fs::create_dir_all(precious.parent().unwrap()).unwrap();
    fs::write(&precious, "all of it").unwrap();
    let message = message(Setting::new(folder.path()).compile("sima").unwrap_err());
    assert!(message.contains("thesis.txt"), "{message}");
    assert_eq!(fs::read(&precious).unwrap(), b"all of it");
}

#[test]
fn a_package_is_written_where_a_target_has_one_and_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let with = |emit: &str| Setting::new(folder.path()).set(format!("output.emit={emit}"));
    let compiled = with("[\"package\"]").compile("sima").unwrap();
    let written = |compiled: &Compiled, file: &str| compiled.folder.join(file).is_file();
    let files = ["model.sima", "model_mpk.json", "model.qdq.onnx"];
    assert_eq!(files.map(|file| written(&compiled, file)), [true, true, false]);
    let compiled = with("[]").compile("sima").unwrap();
    assert_eq!(files.map(|file| written(&compiled, file)), [false; 3]);
    let message = message(with("[\"package\"]").compile("generic-int8").unwrap_err());
    for expected in [
        "`generic-int8` has no format `package`",
        "--set:1:14",
        "what can be written for it: `qdq-onnx`",
    ] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_run_writes_is_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let compiled = Setting::new(folder.path()).compile("sima").unwrap();
    let registry = targets::registry([]).unwrap();
    let opened = Opened::open(&compiled.folder, &registry).unwrap();
    let session = Session::new(NonZeroUsize::new(2).unwrap(), Context::detect(), &Silent);
    let files = BTreeMap::from([("image".to_owned(), digits("eval_x.npy"))]);
    let (floats, integers) = (folder.path().join("y.npy"), folder.path().join("raw/"));
    run::run(&opened, &files, &floats, false, &session).unwrap();
    let written = run::run(&opened, &files, &integers, true, &session).unwrap();

    let floats = Array::open(&floats).unwrap();
    assert_eq!(floats.shape(), [640, 10]);
    let numbers: Vec<f32> = floats.view().unwrap().iter().copied().collect();
    let largest = |row: &[f32]| {
        let class = (0..10u32)
            .rev()
            .max_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize]));
        class.unwrap()
    };
    let answers = numbers.chunks(10).map(largest);
    let wanted = LabelCount {
        samples: 640,
        stored: 640,
    };
    let labels = read_labels(&digits("eval_y.npy"), &[], wanted).unwrap();
    let right = answers.zip(labels).filter(|(answer, label)| answer == label).count();
    let top1 = compiled.report.accuracy.unwrap().of("top1").unwrap().integer.unwrap();
    assert_eq!(top1.count, Some(right as u64));

    // The integers, scaled, are the floats.
    let index: serde_json::Value = serde_json::from_slice(&fs::read(integers.join(run::INDEX_FILE)).unwrap()).unwrap();
    assert_eq!(index["outputs"][0]["name"], "logits");
    let grid = &index["outputs"][0]["grid"];
    let (scale, zero) = (
        grid["scale"][0].as_f64().unwrap() as f32,
        grid["zero_point"][0].as_f64().unwrap() as f32,
    );
    let integers = Array::open(&written[0]).unwrap();
    let integers = integers.view::<i8>().unwrap();
    let dequantized = integers.iter().map(|&code| scale * (f32::from(code) - zero));
    assert!(dequantized.eq(numbers), "real = scale x (code - zero point)");
}

#[test]
fn rules_move_layers_and_the_report_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "quantize.rule=[{ layers = [\"/head/**\"], op = [\"Conv\"], run = \"float\", reason = \"a test\" }]";
    let compiled = Setting::new(folder.path()).set(rule).compile("generic-int8").unwrap();
    let report = &compiled.report;
    let host: Vec<_> = report
        .layers
        .iter()
        .filter_map(|layer| Some((&layer.op, layer.host.as_ref()?)))
        .collect();
    assert!(
        host.iter().any(|(op, reason)| *op == "conv" && reason.text == "a test"),
        "{host:?}"
    );
    assert_eq!(report.rules[0].layers, ["/head/conv/Conv"]);
    let text = Shown(report).to_string();
    assert!(
        text.contains("\n  /head/conv/Conv (conv): a test [configuration]\n"),
        "{text}"
    );

    let rule = "quantize.rule=[{ op = [\"Conv\"], run = \"integer\" }]";
    Setting::new(folder.path()).set(rule).compile("generic-int8").unwrap();
    let rule = "quantize.rule=[{ op = [\"GlobalAveragePool\"], run = \"integer\" }]";
    let message = message(Setting::new(folder.path()).set(rule).compile("ascend").unwrap_err());
    assert!(message.contains("`ascend` cannot"), "{message}");
}

#[test]
fn gates_are_held_against_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let gate = "gate={ accuracy_drop = { top1 = { points = 50 }, agreement = { points = 0 } }, host_layers = [], fusions = \"exact\" }";
    let compiled = Setting::new(folder.path()).set(gate).compile("ascend").unwrap();
    let met: Vec<_> = compiled
        .report
        .gates
        .iter()
        .map(|gate| (gate.gate.as_str(), gate.met))
        .collect();
    let expected = [
        ("accuracy_drop.agreement", false),
        ("accuracy_drop.top1", true),
        ("host_layers", false),
        // Ascend's only fusion merges two scales: the results are within one unit, but not exact.
        ("fusions", false),
    ];
    assert_eq!(met, expected);
}

#[test]
fn one_configuration_compiles_for_several_targets_from_one_observation() {
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::default();
    let overrides = [
        Override::output(folder.path().join("{target}").to_string_lossy()),
        Override::targets(TARGETS.map(str::to_owned).to_vec()),
        Override::set(format!("calibration.cache={}", quoted(&folder.path().join("cache")))),
    ];
    let loaded = config::load(&repository().join("configs/sima.toml"), &overrides).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &listener);
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).unwrap();
    assert_eq!(
        compiled.iter().map(|one| one.target.as_str()).collect::<Vec<_>>(),
        TARGETS
    );
    let observed = listener
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|line| *line == "phase observe")
        .count();
    assert_eq!(observed, 1);
    // The artifact is the same as from a configuration for this target alone, except for the configuration's digest in
    // the manifest.
    let other = tempfile::tempdir().unwrap();
    let alone = Setting::new(other.path()).compile("ascend").unwrap();
    assert_eq!(differences(&compiled[0], &alone), [""; 0]);
}
