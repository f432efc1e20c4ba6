//! Tests of command lines: wrong arguments, short forms, and files given where another kind of file is expected.

use super::*;

#[test]
fn a_command_line_that_is_not_understood_is_exit_code_2() {
    for arguments in [
        &[][..],
        &["compil"],
        &["compile"],
        &[
            "compile",
            "--model",
            "a.onnx",
            "--calibration",
            "x.npy",
            "--target",
            "sima",
        ],
        &["eval", "artifact", "--data", "x.npy"],
        &[
            "eval",
            "artifact",
            "--data",
            "x.npy",
            "--labels",
            "y.npy",
            "--any-model",
        ],
        &["compile", "a.toml", "--config", "b.toml"],
        &["compile", "a.toml", "--threads", "0"],
        &["run", "artifact"],
        &["inspect", "model.onnx", "--graph", "png"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
    let output = run(&["compile", "a.toml", "--threads", "0"]);
    let said = text(&output.stderr);
    assert!(
        said.contains("a number of threads is 1 or more") && !said.contains("non-zero"),
        "{said}"
    );
}

#[test]
fn quiet_says_where_the_artifact_is_and_verbose_everything() {
    let bench = Bench::new();
    let said = |more: &[&str]| {
        let output = bench.compile(more);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (out, told) = said(&["--quiet"]);
    let words: Vec<&str> = out.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(words, ["artifact:", "digest:"], "{out}");
    assert_eq!(told, "");
    let (usual, _) = said(&[]);
    let (out, told) = said(&["-v"]);
    assert!(out.len() > 2 * usual.len(), "{out}");
    assert!(told.contains("verify (generic-int8): "), "{told}");
    // A line of the report fits a terminal of 100 columns, except for what is to be pasted. A pipe sees no colours.
    let mut lines = usual.lines().filter(|line| !line.starts_with("       "));
    assert!(lines.all(|line| line.chars().count() <= 100), "{usual}");
    assert!(!usual.contains('\u{1b}'), "{usual}");
    assert!(usual.contains("what to do next:\n  1. "), "{usual}");
}

#[test]
fn what_several_arguments_can_say_is_asked_for_by_name() {
    let said = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        text(&output.stderr)
    };
    let message = said(&["compile", "--model", "a.onnx", "--target", "sima"]);
    assert!(message.contains("missing: --out"), "{message}");
    assert!(message.contains("Usage: strait compile"), "{message}");
    let message = said(&["eval", "artifact", "--data", "x.npy"]);
    assert!(
        message.contains("needs --labels") && message.contains("or --model"),
        "{message}"
    );
}

#[test]
fn four_arguments_are_enough_to_compile() {
    let bench = Bench::new();
    let values: Vec<f32> = (0..8 * 64).map(|i| (i * 37 % 101) as f32 / 101.0).collect();
    let samples = bench.floats("calib.npy", "8, 1, 8, 8", &values);
    let (model, out) = (digits("digits.onnx"), bench.path("build/{target}"));
    let compile = |more: &[&str]| {
        let mut command = strait();
        command
            .current_dir(bench.path("."))
            .args(["compile", "--model", &model, "--calibration", &samples]);
        command
            .args(["--target", "generic-int8", "--out", &out])
            .args(more)
            .output()
            .unwrap()
    };
    let output = compile(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(Path::new(&bench.path("build/generic-int8/manifest.json")).is_file());
    // A second target can be compiled next to the first. The error for a wrong key shows the argument that contains the
    // key.
    assert_eq!(compile(&["--target", "sima"]).status.code(), Some(0));
    assert!(Path::new(&bench.path("build/sima/manifest.json")).is_file());
    let output = compile(&["--set", "calibration.sample=3"]);
    assert!(
        text(&output.stderr).contains("--> --set:1:13"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_model_given_as_a_configuration_is_told_how_it_is_compiled() {
    let bench = Bench::new();
    let model = digits("digits.onnx");
    let tflite = bench.file("net.tflite", b"\x1c\0\0\0TFL3\x14\0");
    let page = bench.file("deploy.toml", b"<!DOCTYPE html><html></html>");
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let artifact = bench.path("out");
    for (file, expected) in [
        (
            &model,
            format!("`strait compile --model {model} --calibration SAMPLES.npy"),
        ),
        (&tflite, "is a model of TFLite, not a configuration".to_owned()),
        (&page, "is an HTML page, not a configuration".to_owned()),
        (&digits("calib_x.npy"), "samples are given as --calibration".to_owned()),
        (&artifact, "is an artifact, not a configuration".to_owned()),
    ] {
        let output = run(&["compile", file]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.starts_with("error[C001]") && message.contains(&expected),
            "{message}"
        );
    }
}

/// Without this check, `eval` would compare the artifact with a different model of the same shape without a warning.
#[test]
fn an_artifact_is_held_against_the_model_that_it_was_made_from() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    // The same model with another producer name appended: the digest differs, the graph is the same.
    let mut bytes = fs::read(digits("digits.onnx")).unwrap();
    bytes.extend(b"\x12\x05other");
    let other = bench.file("other.onnx", &bytes);
    let (artifact, data, labels) = (bench.path("out"), digits("eval_x.npy"), digits("eval_y.npy"));
    let eval = |more: &[&str]| run(&[&["eval", &artifact, "--data", &data, "--labels", &labels][..], more].concat());
    let output = eval(&["--model", &other]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("was not made from") && message.contains("`--any-model`"),
        "{message}"
    );
    let output = eval(&["--model", &other, "--any-model"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(output.stdout, eval(&["--model", &digits("digits.onnx")]).stdout);
}

#[test]
fn help_and_version_are_results() {
    for arguments in [&["--help"][..], &["--version"], &["compile", "--help"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(text(&output.stdout).contains("strait"), "{arguments:?}");
    }
}

#[test]
fn a_file_in_the_place_of_a_command_is_told_its_command() {
    for (given, expected) in [
        ("deploy.toml", "did you mean `strait compile deploy.toml`?"),
        (
            "net.onnx",
            "did you mean `strait compile --model net.onnx --calibration SAMPLES.npy",
        ),
    ] {
        let output = run(&[given]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    // A misspelled command gets the command of the nearest spelling as a suggestion.
    assert!(text(&run(&["compil"]).stderr).contains("'compile'"));
}

#[test]
fn what_is_no_artifact_is_told_how_it_becomes_one() {
    let bench = Bench::new();
    let model = digits("digits.onnx");
    let config = repository("configs/sima.toml").to_string_lossy().into_owned();
    let torch = bench.file("net.pt", b"weights");
    for (arguments, expected) in [
        (
            vec!["run", &model, "--input", "x.npy", "--output", "y.npy"],
            "digits.onnx is a model of ONNX, not an artifact",
        ),
        (
            vec!["run", &model, "--input", "x.npy", "--output", "y.npy"],
            "compile it first: `strait compile --model ",
        ),
        (vec!["verify", &config], "sima.toml is a configuration, not an artifact"),
        (
            vec!["eval", &config, "--data", "x.npy", "--labels", "y.npy"],
            "compile it first: `strait compile ",
        ),
        (
            vec![
                "compile",
                "--model",
                &torch,
                "--calibration",
                "x.npy",
                "--target",
                "sima",
                "--out",
                "o",
            ],
            "torch.onnx.export(model.eval(), (sample,), 'model.onnx')",
        ),
        (vec!["compile", &torch], "export the model to ONNX"),
    ] {
        let output = run(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
