//! Tests that the parameters of tensors can be written to a file, edited, and taken back, that changes can be tried, and that
//! tensors inside a model can be written.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, sync::Mutex};

use strait_builtin as _;
use strait_driver::{
    artifact::{self, Opened},
    config::{self, Override, Params, Says},
    diagnostic::Diagnostic,
    dump::{self, Dumped, Others, Stage},
    eval::{FloatSide, SimulatedSide},
    imported::{From, import},
    pipeline,
    session::{Progress, Session, Silent},
    targets,
};
use strait_kernels::Context;
use strait_samples::Array;

/// Collects remarks.
#[derive(Default)]
struct Remarks(Mutex<String>);

impl Progress for Remarks {
    fn remark(&self, found: &Diagnostic) {
        self.0.lock().unwrap().push_str(&format!("{}\n", found.message));
    }
}

/// Compiles the digits model to `folder/NAME`. Returns the remarks.
fn compiled(folder: &Path, name: &str, target: &str, set: &[String]) -> Result<String, String> {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let text = fs::read_to_string(configs.join("generic-int8.toml")).unwrap();
    let evaluation = text.find("[evaluation]").unwrap()..text.find("[output]").unwrap();
    let text = [&text[..evaluation.start], &text[evaluation.end..]].concat();
    let mut overrides = vec![
        Override::output(folder.join(name).to_string_lossy()),
        Override::set(format!("calibration.cache='{}'", folder.join("cache").display())),
        Override::set("calibration.samples=8"),
        Override::targets(vec![target.to_owned()]),
    ];
    overrides.extend(set.iter().map(Override::set));
    let loaded = config::parse("digits.toml", text, &configs, &overrides).map_err(|found| found.to_string())?;
    let remarks = Remarks::default();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &remarks);
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    compiled.map_err(|stop| stop.to_string())?;
    drop(session);
    Ok(remarks.0.into_inner().unwrap())
}

fn taking(file: &Path) -> String {
    format!("quantize.params='{}'", file.display())
}

/// What an artifact computes, and its parameters.
fn read(folder: &Path, name: &str) -> (Vec<u8>, String) {
    let file = |file: &str| fs::read(folder.join(name).join(file)).unwrap();
    (file("model.strait"), String::from_utf8(file("params.toml")).unwrap())
}

#[test]
fn a_compilation_with_its_own_parameters_gives_the_same_model() {
    for (target, set) in [
        ("generic-int8", &[][..]),
        (
            "generic-int8",
            &["quantize.rule=[{ layers=['/block/pointwise/Conv'], activations={ type='int16' } }]"],
        ),
        (
            "generic-int8",
            &[
                "optimize.preset='quick'",
                "optimize.equalize=false",
                "optimize.smooth=false",
            ],
        ),
        ("onnxruntime", &[]),
        ("sima", &[]),
        ("ascend", &[]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut set: Vec<String> = set.iter().map(|&set: &&str| set.to_owned()).collect();
        compiled(folder.path(), "first", target, &set).unwrap();
        let first = read(folder.path(), "first");
        set.push(taking(&folder.path().join("first/params.toml")));
        let remarks = compiled(folder.path(), "second", target, &set).unwrap();
        let second = read(folder.path(), "second");
        assert!(!remarks.contains("file of parameters"), "{target}: {remarks}");
        assert!(first.0 == second.0, "{target} {set:?}");
        // Apart from who chose them, the parameters are the same too.
        let bare = |text: &str| {
            text.lines()
                .filter(|line| !line.starts_with("origin"))
                .collect::<String>()
        };
        assert_eq!(bare(&first.1), bare(&second.1), "{target}");
        assert!(second.1.contains("origin = \"given\""), "{}", second.1);
    }
}

#[test]
fn parameters_of_a_model_in_which_scale_was_moved_are_those_of_the_same_model_again() {
    let uneven = Path::new(env!("CARGO_MANIFEST_DIR")).join("days/uneven.onnx");
    for algorithms in ["optimize.equalize=true", "optimize.preset='thorough'"] {
        let folder = tempfile::tempdir().unwrap();
        let model = format!("model.file='{}'", uneven.display());
        let plain = vec![model.clone(), algorithms.to_owned()];
        compiled(folder.path(), "first", "generic-int8", &plain).unwrap();
        let first = read(folder.path(), "first");
        let file = folder.path().join("first/params.toml");
        assert!(first.1.contains("migrated = true\nfactors = \""), "{}", first.1);
        let given = [&plain[..], &[taking(&file)]].concat();
        let remarks = compiled(folder.path(), "second", "generic-int8", &given).unwrap();
        assert!(!remarks.contains("file of parameters"), "{remarks}");
        let second = read(folder.path(), "second");
        assert!(first.0 == second.0, "{algorithms}");
        // An edited scale is held, and nothing else changes.
        let tensor = "name = \"/stem/act/Relu_output_0\"";
        let (before, entry) = first.1.split_once(tensor).unwrap();
        let (entry, after) = entry.split_once("\n\n").unwrap();
        let own = "scale = 0.5\nzero_point = -128";
        let edited = folder.path().join("edited.toml");
        let text = format!("{before}{tensor}\n{own}\n\n{after}");
        fs::write(&edited, &text).unwrap();
        let given = [&plain[..], &[taking(&edited)]].concat();
        compiled(folder.path(), "third", "generic-int8", &given).unwrap();
        let third = read(folder.path(), "third").1;
        assert!(
            third.contains(&format!("{tensor}\n{own}")) && !entry.contains(own),
            "{third}"
        );
        // Other factors, or none, are an error.
        let others = folder.path().join("others.toml");
        fs::write(&others, first.1.replace("factors = \"", "factors = \"0")).unwrap();
        for (set, part) in [
            (
                [&plain[..], &[taking(&others)]].concat(),
                "are others than those of the file",
            ),
            (vec![model.clone(), taking(&file)], "this one moves none"),
        ] {
            let error = compiled(folder.path(), "other", "generic-int8", &set).unwrap_err();
            assert!(error.contains(part) && error.contains("factors = "), "{error}");
            assert!(error.contains("`optimize.equalize = false`"), "{error}");
        }
    }
}

#[test]
fn a_tensor_takes_exactly_what_the_file_says_and_a_rule_wins() {
    let folder = tempfile::tempdir().unwrap();
    let name = "/stem/act/Relu_output_0";
    let file = folder.path().join("params.toml");
    let text = format!("schema = 1\n[[tensor]]\nname = \"{name}\"\nscale = 0.03125\nzero_point = -120\n");
    fs::write(&file, text).unwrap();
    let set = [taking(&file)];
    assert_eq!(compiled(folder.path(), "exact", "generic-int8", &set).unwrap(), "");
    let entry = format!("name = \"{name}\"\nscale = 0.03125\nzero_point = -120\nrange = [-0.25, 7.71875]\n");
    assert!(
        read(folder.path(), "exact").1.contains(&entry),
        "{}",
        read(folder.path(), "exact").1
    );
    let rule = format!("quantize.rule=[{{ tensors=['{name}'], range=[0, 8] }}]");
    let remarks = compiled(folder.path(), "ruled", "generic-int8", &[taking(&file), rule]).unwrap();
    assert!(
        remarks.contains("by a rule, which wins: `/stem/act/Relu_output_0`"),
        "{remarks}"
    );
    let (_, params) = read(folder.path(), "ruled");
    assert!(
        params.contains("range = [0.0, 8.0") && !params.contains("0.03125"),
        "{params}"
    );
}

/// The Q/DQ file has all grids, in unsigned codes, so the model is the same with them.
#[test]
fn the_grids_of_a_qdq_file_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), "first", "generic-int8", &[]).unwrap();
    let file = folder.path().join("imported.toml");
    let imported = import(&folder.path().join("first/model.qdq.onnx"), None, &file).unwrap();
    assert!(imported.from == From::Onnx && imported.taken > 10, "{imported:?}");
    let remarks = compiled(folder.path(), "second", "generic-int8", &[taking(&file)]).unwrap();
    assert!(!remarks.contains("file of parameters"), "{remarks}");
    assert!(read(folder.path(), "first").0 == read(folder.path(), "second").0);
}

/// Loads the configuration of the digits model with few samples.
fn loaded(folder: &Path, set: &[&str]) -> config::Loaded {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let text = fs::read_to_string(configs.join("generic-int8.toml")).unwrap();
    let mut overrides = vec![
        Override::output(folder.join("artifact").to_string_lossy()),
        Override::set(format!("calibration.cache='{}'", folder.join("cache").display())),
        Override::set("calibration.samples=8"),
        Override::set("evaluation.samples=40"),
    ];
    overrides.extend(set.iter().map(|&set| Override::set(set)));
    config::parse("digits.toml", text, &configs, &overrides).unwrap()
}

/// Whether a change is revised from the first model or compiled anew, it is what a compilation with it gives.
#[test]
fn a_tried_change_is_what_a_compilation_with_it_gives() {
    for set in [
        "calibration.observer='mse'",
        "quantize.rule=[{ layers=['/block/pointwise/Conv'], activations={ type='int16' } }]",
        "quantize.rule=[{ layers=['/head/conv/Conv'], run='float' }]",
        "calibration.samples=2",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let registry = || Ok(targets::registry([])?);
        let versions = [loaded(folder.path(), &[]), loaded(folder.path(), &[set])];
        let asked = (vec![set.to_owned()], NonZeroUsize::MIN);
        let revised = pipeline::revised(versions.each_ref(), registry, asked, &session).unwrap();
        assert!(!folder.path().join("artifact").exists());
        for (at, loaded) in versions.iter().enumerate() {
            let compiled = pipeline::compile(loaded, targets::registry([]).unwrap(), &session).unwrap();
            let report = &compiled[0].report;
            assert_eq!(revised.outputs[0].snr[at], report.sanity.outputs[0].snr, "{set}");
            assert_eq!(revised.bytes[at], report.size.integer_bytes, "{set}");
            assert_eq!(revised.host[at], report.summary.host, "{set}");
            let metrics = report.accuracy.as_ref().unwrap().metrics.iter();
            let figures = metrics.map(|metric| metric.integer.map(|figure| figure.value));
            assert!(
                figures.eq(revised.metrics.iter().map(|metric| metric.integer[at])),
                "{set}"
            );
        }
        let changes = revised
            .layers
            .iter()
            .filter_map(|layer| Some(layer.snr[0]? - layer.snr[1]?));
        assert!(changes.map(f64::abs).is_sorted_by(|one, other| one >= other), "{set}");
        assert!(!revised.layers.is_empty(), "{set}");
    }
}

/// Writes the tensors of the digits model that match, and reads the file.
fn dumped(folder: &Path, pattern: &str, stage: Stage) -> Result<(Dumped, BTreeMap<String, Array>), String> {
    let (digits, set) = (
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/digits"),
        ["evaluation.samples=40"],
    );
    let registry = || targets::registry([]).unwrap();
    let opened = Opened::open(&folder.join("artifact"), &registry()).unwrap();
    let inputs = artifact::inputs(&opened).unwrap();
    let data = digits.join("calib_x.npy");
    let (samples, files) = artifact::given_samples(&[data.display().to_string()], &inputs).unwrap();
    let float = digits.join("digits.onnx");
    let others = Others {
        float: Some(FloatSide {
            file: &float,
            any: false,
        }),
        simulated: Some(SimulatedSide {
            loaded: loaded(folder, &set),
            registry: registry(),
        }),
    };
    let out = folder.join("dumped.npz");
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let written = dump::dump(&opened, (&samples, &files), (pattern, stage), (others, &out), &session);
    let written = written.map_err(|stop| stop.to_string())?;
    Ok((written, strait_samples::read_arrays(&out, 1 << 30).unwrap()))
}

/// The numbers of four bytes in an array, which may begin anywhere in the file.
fn of_four(array: &Array) -> impl Iterator<Item = [u8; 4]> {
    array.bytes().chunks_exact(4).map(|four| four.try_into().unwrap())
}

#[test]
fn tensors_are_written_at_each_stage_and_those_that_are_gone_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let loaded = loaded(folder.path(), &["evaluation.samples=40"]);
    pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).unwrap();
    let name = "/block/norm2/BatchNormalization_output_0";
    let all = [Stage::Float, Stage::Simulated, Stage::Accumulator, Stage::Integer];
    let [float, simulated, sums, codes] = all.map(|stage| {
        let (written, mut arrays) = dumped(folder.path(), "/block/**", stage).unwrap();
        assert_eq!(written.tensors.len(), arrays.len());
        let array = arrays.remove(name).unwrap_or_else(|| panic!("{stage:?}: {written:?}"));
        let samples = written.samples;
        assert_eq!(array.shape(), [samples, 16, 8, 8], "{stage:?}");
        array
    });
    let reals = |array: &Array| of_four(array).map(f32::from_le_bytes).collect::<Vec<f32>>();
    assert_eq!(
        [codes.number_type().name(), sums.number_type().name()],
        ["int8", "int32"]
    );
    let codes: Vec<i8> = codes.bytes().iter().map(|&byte| byte as i8).collect();
    let sums: Vec<i32> = of_four(&sums).map(i32::from_le_bytes).collect();
    let params = Params::load(&folder.path().join("artifact/params.toml")).unwrap();
    let given = params.tensors.iter().find(|given| given.name == name).unwrap();
    let Says::Grid(_, grid) = &given.says else {
        panic!("{given:?}")
    };
    let (scale, zero) = grid.as_tensor().unwrap();
    // Each code stands for the number that the simulation has, but for a step in a few places, and the sums have its sign.
    let simulated = reals(&simulated);
    let steps = codes
        .iter()
        .zip(&simulated)
        .map(|(&code, real)| (f32::from(code) - zero as f32) - real / scale);
    let (count, off) = (codes.len(), steps.filter(|step| step.abs() > 0.5).count());
    assert!(off * 50 < count, "{off} of {count}");
    let signs = sums
        .iter()
        .zip(reals(&float))
        .filter(|(sum, real)| (**sum < 0) != (*real < 0.0));
    assert!(signs.count() * 20 < count);
    let (written, _) = dumped(folder.path(), "/block/**", Stage::Integer).unwrap();
    let gone = written
        .left_out
        .iter()
        .find(|left| left.name == "/block/Add_output_0")
        .unwrap();
    assert!(
        gone.why
            .contains("into the layer that makes `/block/act2/Relu_output_0`"),
        "{}",
        gone.why
    );
    let error = dumped(folder.path(), "/blokk/*", Stage::Integer).unwrap_err();
    assert!(
        error.contains("matches `/blokk/*`") && error.contains("near it are"),
        "{error}"
    );
    let error = dumped(folder.path(), "/stem/norm/*", Stage::Integer).unwrap_err();
    assert!(error.contains("`/stem/act/Relu_output_0`"), "{error}");
}

/// Each file in `tests/params/bad` is refused with the text beside it.
#[test]
fn wrong_parameters_are_refused_with_what_would_be_right() {
    let bad = Path::new(env!("CARGO_MANIFEST_DIR")).join("params/bad");
    let mut count = 0;
    for entry in fs::read_dir(&bad).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let folder = tempfile::tempdir().unwrap();
        let error = compiled(folder.path(), "out", "generic-int8", &[taking(&path)]).unwrap_err();
        let error = error.replace(&format!("{}/", bad.display()), "");
        strait_testkit::is_current(&path.with_extension("txt").display().to_string(), &error);
    }
    assert!(count > 8, "{count}");
}
