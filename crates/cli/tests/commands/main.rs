//! Tests of the program as users and scripts see it: its exit codes, what goes to standard output and to standard
//! error, and one clear message for each bad input.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod arguments;
mod bench;
mod calibrate;
mod config_show;
mod explain;
mod identify;
mod inspect;
mod made;
mod plugin;
mod report;
mod shares;

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use strait_samples::Pack;
use tempfile::TempDir;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn digits(file: &str) -> String {
    repository("models/digits").join(file).to_string_lossy().into_owned()
}

fn strait() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
    command.env_remove("STRAIT_ISA").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    strait().args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A temporary folder for artifacts, with helpers that compile into it.
struct Bench(TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Compiles the digits model of the repository into `out`, with further arguments.
    fn compile(&self, more: &[&str]) -> Output {
        let config = repository("configs/generic-int8.toml");
        let cache = format!("calibration.cache='{}'", self.path("cache"));
        let mut command = strait();
        command
            .arg("compile")
            .arg(config)
            .args(["--out", &self.path("out"), "--set", &cache]);
        command.args(more).output().unwrap()
    }

    /// Writes a float32 `.npy` file.
    fn floats(&self, name: &str, shape: &str, values: &[f32]) -> String {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.file(name, &bytes)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

#[test]
fn a_layer_that_is_to_run_in_integers_does_or_the_rule_is_told() {
    let bench = Bench::new();
    let config = fs::read_to_string(repository("configs/generic-int8.toml")).unwrap();
    let config = config.replace("../models/digits", &digits(""));
    let compile = |rule: &str| {
        let file = bench.file("wish.toml", format!("{config}\n[[quantize.rule]]\n{rule}\n").as_bytes());
        let output = run(&["compile", &file, "--out", &bench.path("out")]);
        (output.status.code(), text(&output.stderr))
    };
    let (code, stderr) = compile("layers = [\"/classifier/Gemm\"]\nrun = \"integer\"");
    assert_eq!(code, Some(0), "{stderr}");
    // No multiplier can scale the accumulators to such a fine grid. The compiler finds this only when it lowers the
    // layer.
    let tiny = "layers = [\"/classifier/Gemm\"]\nrange = [-1e-30, 1e-30]";
    let (code, stderr) = compile(tiny);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stderr) = compile(&format!("{tiny}\nrun = \"integer\""));
    assert_eq!(code, Some(1), "{stderr}");
    for part in [
        "`/classifier/Gemm` is to run in integers",
        "run = \"integer\"",
        "asked for here",
        "wish.toml:",
    ] {
        assert!(stderr.contains(part), "no {part:?} in:\n{stderr}");
    }
}

#[test]
fn data_that_is_hardly_meant_is_warned_of() {
    let bench = Bench::new();
    let labels = fs::read(digits("eval_y.npy")).unwrap();
    // Rotate the last 640 labels (one or more bytes each), so that each of these images has the label of another image.
    let width = (labels.len() - 128) / 640;
    let mut shifted = labels.clone();
    shifted[128..].rotate_right(width);
    let shifted = bench.file("shifted.npy", &shifted);
    let zeros = bench.floats("zeros.npy", "4, 8, 8, 1", &[0.0; 256]);
    let labels = |file: &str| format!("evaluation.labels='{file}'");
    for (arguments, expected) in [
        (&[][..], &[][..]),
        (&["--calibration", &zeros], &["warning[D011]", "\"image\" are 0"]),
        (
            &["--set", &labels(&shifted)],
            &["warning[E002]", "no better than guessing"],
        ),
        (
            &["--set", "evaluation.expect_float=99.9"],
            &["warning[E003]", "99.9 % are expected"],
        ),
        (&["--set", "evaluation.expect_float=98.5"], &[]),
    ] {
        let output = bench.compile(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(
            expected.iter().all(|part| stderr.contains(part)),
            "{arguments:?}: {stderr}"
        );
        assert!(
            !expected.is_empty() || !stderr.contains("warning"),
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn images_whose_layout_is_wrong_are_refused_though_they_have_one_channel() {
    let bench = Bench::new();
    let images = bench.floats("nchw.npy", "4, 1, 8, 8", &[1.0; 256]);
    let output = bench.compile(&["--calibration", &images]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("[8, 1, 8]") && stderr.contains("stored = { layout = \"NCHW\" }"),
        "{stderr}"
    );
}

#[test]
fn bad_input_gives_one_clear_message_and_exit_code_1() {
    let bench = Bench::new();
    let model = fs::read(digits("digits.onnx")).unwrap();
    let nan = bench.floats("nan.npy", "2, 8, 8, 1", &[&[0.0; 127][..], &[f32::NAN]].concat());
    let empty = bench.floats("empty.npy", "0, 8, 8, 1", &[]);
    let wide = bench.floats("wide.npy", "1, 9, 8, 1", &[0.0; 72]);
    let flat = bench.floats("flat.npy", "1, 64", &[0.0; 64]);
    let cut = bench.file("cut.onnx", &model[..model.len() / 2]);
    let garbled = bench.file("garbled.onnx", b"this is not a model, whatever its name says");
    let nothing = bench.file("empty.onnx", b"");
    let pointer = bench.file(
        "pointer.onnx",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
    );
    let saved = bench.path("saved");
    fs::create_dir(&saved).unwrap();
    bench.file("saved/saved_model.pb", b"\x08\x01");
    let (folder, folder_as_table) = (bench.path("."), format!("target.file=['{}']", bench.path(".")));
    let below_a_file = format!("output.dir='{}'", bench.path("empty.onnx/out"));
    for (arguments, expected) in [
        (&["--target", "generic-int9"][..], "generic-int8"),
        (&["--model", &cut], "cut.onnx is cut: at least"),
        (&["--model", &digits("calib_x.npy")], "it is a file of NumPy arrays"),
        (&["--model", &saved], "saved is a TensorFlow SavedModel"),
        (&["--model", &pointer], "`git lfs pull --include"),
        (&["--model", &garbled], "garbled.onnx is no model: it is a text"),
        (
            &["--model", &nothing],
            "empty.onnx is no model that is read: it is an empty file",
        ),
        (&["--model", "/no/such/model.onnx"], "cannot be read"),
        (
            &[
                "--set",
                "model.sha256='0000000000000000000000000000000000000000000000000000000000000000'",
            ],
            "not the one",
        ),
        (&["--set", "model.outputs=['/pool/MaxPol']"], "/pool/MaxPool"),
        (
            &["--set", "quantize.rule=[{ op = ['Convv'], run = 'float' }]"],
            "no layer has an operator `Convv`; near it is `conv`",
        ),
        (
            &["--calibration", &nan, "--set", "calibration.nan='error'"],
            "sample 1 of the input \"image\" contains NaN",
        ),
        (&["--calibration", &empty], "there are no samples"),
        (&["--calibration", &wide], "do not fit the input"),
        (&["--calibration", &flat], "4 axes"),
        (&["--calibration", "/no/such/x.npy"], "cannot be read"),
        (&["--calibration", &digits("digits.onnx")], "neither .npy nor .npz"),
        (
            &["--set", "input={ imag = { range = [0, 1] } }"],
            "did you mean \"image\"?",
        ),
        (
            &["--set", "target.options.generic-int8={ speed = 1 }"],
            "option `speed`",
        ),
        (
            &["--set", "quantize.activations={ type = 'uint16' }"],
            "no uint16 activations",
        ),
        (
            &["--set", "quantize.rule=[{ layers = ['/steem/**'], run = 'float' }]"],
            "matches nothing",
        ),
        (&["--set", "evaluation.samples=641"], "641 samples are asked for"),
        (&["--set", "calibration.sample=3"], "unknown key"),
        (&["--set", &below_a_file], "empty.onnx"),
        (
            &["--set", "output.emit=['package']"],
            "the target `generic-int8` has no format `package`",
        ),
        (
            &["--set", "output.emit=['qdq-onnx', 'package']"],
            "what can be written for it: `qdq-onnx`",
        ),
        (&["--model", &folder], "this is not a regular file"),
        (
            &["--set", &folder_as_table],
            "this is not a regular file\n --> --set:1:14",
        ),
    ] {
        let output = bench.compile(arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(
            message.starts_with("error[") && message.contains(expected),
            "{arguments:?}: {message}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
    }
    assert!(!Path::new(&bench.path("out")).exists(), "nothing was made");
}

/// Compiles the README's configuration exactly as printed there, for a model whose batch size is not set.
#[test]
fn the_nine_lines_of_the_readme_compile_a_model_whose_batch_is_free() {
    let readme = fs::read_to_string(repository("README.md")).unwrap();
    let (_, behind) = readme.split_once("```toml\n").unwrap();
    let lines = behind.split_once("```").unwrap().0;
    assert_eq!(lines.lines().count(), 9);
    let bench = Bench::new();
    let config = bench.file("deploy.toml", lines.as_bytes());
    bench.file("model.onnx", &fs::read(digits("digits.onnx")).unwrap());
    let values: Vec<f32> = (0..8 * 64).map(|i| (i * 37 % 101) as f32 / 101.0).collect();
    bench.floats("calib.npy", "8, 1, 8, 8", &values);
    let output = strait()
        .current_dir(bench.path("."))
        .args(["compile", &config])
        .output()
        .unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    let sentence = "`N`, the first dimension of \"image\", has no size: it is taken for the batch, and is 1";
    assert!(
        message.contains(&format!("note[M007]: {sentence}")) && message.contains("`bind = { N = 1 }`"),
        "{message}"
    );
    let report = text(&output.stdout);
    assert!(report.contains(&format!("note: {sentence} [M007]\n")), "{report}");
    let report = fs::read(bench.path("build/generic-int8/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["remarks"][0]["code"], "M007");
    assert_eq!(
        report["layers"][0]["results"][0]["shape"],
        serde_json::json!([1, 1, 8, 8])
    );

    // If the configuration sets the batch size, nothing is assumed, and there is no note. The same holds for a batch
    // size other than 1.
    let bound = strait()
        .current_dir(bench.path("."))
        .args(["compile", &config, "--set", "model.bind.N=1"])
        .output()
        .unwrap();
    assert_eq!(bound.status.code(), Some(0));
    assert!(!text(&bound.stderr).contains("M007"), "{}", text(&bound.stderr));
    let two = run(&[
        "compile",
        &config,
        "--set",
        "model.bind.N=2",
        "--out",
        &bench.path("two"),
    ]);
    assert!(!text(&two.stderr).contains("M007"), "{}", text(&two.stderr));
}

/// Opening a pipe blocks until another process opens the other end, so pipes are refused before they are opened.
#[cfg(unix)]
#[test]
fn pipes_are_refused_and_not_waited_for() {
    let bench = Bench::new();
    let pipe = bench.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let set = |key: &str| format!("{key}='{pipe}'");
    let (evaluation, labels) = (set("evaluation.data"), set("evaluation.labels"));
    let table = format!("target.file=['{pipe}']");
    let compiled = [
        &["--model", &pipe][..],
        &["--calibration", &pipe],
        &["--set", &evaluation],
        &["--set", &labels],
        &["--set", &table],
    ];
    let artifact = bench.path("out");
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let (samples, out) = (digits("eval_x.npy"), bench.path("y.npy"));
    let others = [
        &["compile", &pipe][..],
        &["inspect", &pipe],
        &["targets", "--file", &pipe],
        &["verify", &artifact, "--data", &pipe],
        &["eval", &artifact, "--data", &samples, "--labels", &pipe],
        &["eval", &artifact, "--data", &samples, "--model", &pipe],
        &["run", &artifact, "--input", &pipe, "--output", &out],
        // Writing the output would replace the pipe by a regular file.
        &["run", &artifact, "--input", &samples, "--output", &pipe],
    ];
    let compiled = compiled.iter().map(|more| bench.compile(more));
    for output in compiled.chain(others.iter().map(|arguments| run(arguments))) {
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("error[") && message.contains("pipe"), "{message}");
    }
}

#[test]
fn a_label_that_is_no_class_and_too_few_labels_are_named() {
    let bench = Bench::new();
    let mut labels = vec![0.0; 640];
    labels[7] = 10.0;
    let wrong = bench.floats("wrong.npy", "640,", &labels);
    let few = bench.floats("few.npy", "3,", &[0.0; 3]);
    for (file, expected) in [(wrong, "label 7 is 10"), (few, "3 labels for 640 samples")] {
        let output = bench.compile(&["--set", &format!("evaluation.labels='{file}'")]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn a_gate_that_is_not_met_leaves_the_artifact_and_exit_code_3() {
    let bench = Bench::new();
    let output = bench.compile(&["--set", "gate.accuracy_drop={ agreement = { points = 0 } }"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("accuracy_drop.agreement"));
    assert!(Path::new(&bench.path("out/manifest.json")).is_file());
}

#[test]
fn with_json_standard_output_is_one_object() {
    let bench = Bench::new();
    let output = bench.compile(&["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases = found["phases"].as_array().unwrap();
    assert!(
        phases
            .iter()
            .any(|phase| phase["name"] == "observe" && phase["seconds"].is_f64()),
        "{phases:?}"
    );
    assert_eq!(phases[0]["peak_bytes"].is_u64(), cfg!(target_os = "linux"));
    assert_eq!(found["artifacts"][0]["report"]["accuracy"]["samples"], 640);

    let artifact = bench.path("out");
    let (data, labels, model) = (digits("eval_x.npy"), digits("eval_y.npy"), digits("digits.onnx"));
    let output = run(&[
        "eval", &artifact, "--data", &data, "--labels", &labels, "--model", &model, "--json",
    ]);
    let measured: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(measured["accuracy"], found["artifacts"][0]["report"]["accuracy"]);

    for arguments in [
        &["inspect", &model, "--json"][..],
        &["inspect", &artifact, "--json"],
        &["targets", "--json"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(
            serde_json::from_slice::<serde_json::Value>(&output.stdout)
                .unwrap()
                .is_object()
        );
    }
    let output = bench.compile(&["--json", "--target", "nothing"]);
    let failed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &failed["stopped"]), (Some(1), &"failed".into()));
    assert_eq!(failed["diagnostics"][0]["code"], "T001");
}

#[test]
fn a_fusion_that_is_refused_can_be_an_error_and_what_no_row_is_for_is_none() {
    let bench = Bench::new();
    let output = bench.compile(&[
        "--target",
        "ascend",
        "--set",
        "fusion={ accept='exact', refused='error' }",
    ]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    for expected in [
        "`/block/depthwise/Conv:accumulate` is not fused by the row `requant`: the result would differ by up to 1 LSB",
        "`accept` and `max_lsb` in [fusion]",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert!(!Path::new(&bench.path("out")).exists(), "nothing was made");
    // Two additions are not fused: the operands of one are already codes, and the operand of the other is already part
    // of another fusion.
    let output = bench.compile(&["--target", "sima", "--set", "fusion.refused='error'"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for expected in ["not fused: 2 requantizations", "[chain]", "[type]"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    // The operands of the addition are shifted, and the table has no fusion row for this.
    let output = bench.compile(&["--set", "fusion.refused='error'"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("[no-row]"));
}

#[test]
fn outputs_go_where_they_are_asked_for() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let (artifact, data) = (bench.path("out"), digits("eval_x.npy"));
    for (output, expected) in [("y.npy", "y.npy"), ("folder/", "folder/000_logits.npy")] {
        let found = run(&["run", &artifact, "--input", &data, "--output", &bench.path(output)]);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        assert!(Path::new(&bench.path(expected)).is_file(), "{expected}");
    }
    for (output, expected) in [
        ("none/y.npy", "there is no folder"),
        ("out", "outputs are not written into the artifact"),
        ("out/more/", "outputs are not written into the artifact"),
    ] {
        let found = run(&["run", &artifact, "--input", &data, "--output", &bench.path(output)]);
        assert_eq!(found.status.code(), Some(1), "{output}");
        assert!(text(&found.stderr).contains(expected), "{}", text(&found.stderr));
        assert!(!Path::new(&bench.path("out/more")).exists());
    }
    let twice = format!("image={data}");
    for (inputs, expected) in [
        (["--input", "/no/such.npy"].as_slice(), "cannot be read"),
        (&["--input", "picture=/no/such.npy"], "there is no input `picture`"),
        (&["--input", &twice, "--input", &twice], "two files"),
    ] {
        let found = strait()
            .args(["run", &artifact, "--output", &bench.path("z.npy")])
            .args(inputs)
            .output()
            .unwrap();
        assert_eq!(found.status.code(), Some(1));
        assert!(text(&found.stderr).contains(expected), "{}", text(&found.stderr));
        assert!(!Path::new(&bench.path("z.npy")).exists());
    }
}

#[test]
fn a_damaged_artifact_is_not_run() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let (artifact, data, model) = (bench.path("out"), digits("eval_x.npy"), bench.path("out/model.strait"));
    let whole = fs::read(&model).unwrap();
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    for bytes in [&changed[..], &whole[..middle], b""] {
        fs::write(&model, bytes).unwrap();
        let found = run(&["run", &artifact, "--input", &data, "--output", &bench.path("y.npy")]);
        assert_eq!(found.status.code(), Some(4), "{}", text(&found.stderr));
        assert!(text(&found.stderr).contains("model.strait"), "{}", text(&found.stderr));
        assert!(!Path::new(&bench.path("y.npy")).exists());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = strait()
        .args(["inspect", &digits("digits.onnx"), "--graph", "text"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((child.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn an_instruction_set_that_is_not_there_is_refused() {
    let bench = Bench::new();
    let output = bench.compile(&["--isa", "mmx"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("it has scalar"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn one_archive_has_the_samples_of_all_inputs_and_several_arrays_are_batches() {
    let bench = Bench::new();
    let (first, second) = (numbers(128, 0), numbers(64, 7));
    bench.floats("s1.npy", "2, 8, 8, 1", &first);
    bench.floats("s2.npy", "1, 8, 8, 1", &second);
    let all: Vec<f32> = first.iter().chain(&second).copied().collect();
    let whole = bench.floats("whole.npy", "3, 8, 8, 1", &all);
    let pattern = bench.path("s*.npy");
    let digest = |data: &str| {
        let output = bench.compile(&["--calibration", data]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        fs::read(bench.path("out/model.strait")).unwrap()
    };
    assert!(digest(&pattern) == digest(&whole));
    let mut pack = Pack::default();
    pack.add("image.npy", &fs::read(&whole).unwrap()).unwrap();
    let archive = bench.file("all.npz", &pack.finish().unwrap());
    let made = |input: &str, output: &str| {
        let artifact = bench.path("out");
        let found = run(&["run", &artifact, "--input", input, "--output", &bench.path(output)]);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        fs::read(bench.path(output)).unwrap()
    };
    assert!(made(&whole, "one.npy") == made(&archive, "two.npy"));
}

/// Pseudo-random pixel values from 0 to 16.
fn numbers(count: usize, from: usize) -> Vec<f32> {
    (from..from + count).map(|at| (at * at * 7919 % 17) as f32).collect()
}
