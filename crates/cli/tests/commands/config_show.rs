//! Tests of `strait config show`: each key with its value, and where the value comes from.

use serde_json::Value;

use super::*;

const CONFIG: &str = r#"schema = 1
[model]
file = "models/digits/digits.onnx"
[target]
use = ["generic-int8"]
[calibration]
data = "calib.npy"
samples = 8
[optimize]
preset = "quick"
[[quantize.rule]]
layers = ["/head/**"]
weights.type = "int8"
[output]
dir = "build/{target}"
"#;

/// What the command prints for the configuration above, with further arguments.
fn shown(more: &[&str]) -> String {
    let bench = Bench::new();
    fs::write(bench.path("deploy.toml"), CONFIG).unwrap();
    let mut command = strait();
    command
        .current_dir(bench.0.path())
        .args(["config", "show", "deploy.toml"]);
    let output = command.args(more).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The line of a key, with single blanks between its parts.
fn line(shown: &str, key: &str) -> String {
    let line = shown.lines().find(|line| line.split(' ').next() == Some(key));
    line.unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_value_comes_from_a_line_an_option_a_table_a_preset_or_a_default() {
    let shown = shown(&["--set", "calibration.samples=4", "--set", "fusion.accept=\"bounded\""]);
    for expected in [
        "model.file \"models/digits/digits.onnx\" deploy.toml:3",
        "calibration.samples 4 --set calibration.samples=4",
        "calibration.nan \"skip\" default",
        "calibration.record - not set",
        "quantize.activations.type \"int8\" the target's table",
        "quantize.weights.per \"channel\" the target's table",
        "quantize.weights.unfit \"coarser\" default",
        "quantize.rule[0].weights { type = \"int8\" } deploy.toml:13",
        "optimize.correct_bias true preset \"quick\"",
        "optimize.round false preset \"quick\"",
        "fusion.max_lsb 1 default",
    ] {
        let key = expected.split(' ').next().unwrap();
        assert_eq!(line(&shown, key), expected, "{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn what_targets_decide_differently_is_shown_for_each() {
    let shown = shown(&["--target", "sima", "--target", "generic-int8"]);
    let emit: Vec<&str> = shown.lines().filter(|line| line.starts_with("output.emit")).collect();
    assert!(
        emit.len() == 2 && emit[0].contains("sima: ") && emit[1].contains("generic-int8: "),
        "{shown}"
    );
    assert!(
        line(&shown, "target.use").ends_with("--target sima generic-int8"),
        "{shown}"
    );
    assert!(shown.contains("target.options.sima.correction_bits"), "{shown}");
}

#[test]
fn a_configured_type_decides_which_of_the_targets_schemes_is_shown() {
    let shown = shown(&["--set", "quantize.activations.type=\"int16\""]);
    assert_eq!(
        line(&shown, "quantize.activations.symmetric"),
        "quantize.activations.symmetric true the target's table"
    );
}

#[test]
fn without_a_file_the_defaults_of_a_target_are_shown() {
    let output = run(&["config", "show", "--target", "sima"]);
    assert!(line(&text(&output.stdout), "quantize.activations.type").ends_with("the target's table"));
    let output = run(&["config", "show"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--target"));
}

#[test]
fn json_has_every_key_of_the_reference_with_its_origin() {
    let found: Value = serde_json::from_str(&shown(&["--json"])).unwrap();
    let settings = found["settings"].as_array().unwrap();
    let of = |key: &str| settings.iter().find(|setting| setting["key"] == key).unwrap();
    assert_eq!(of("model.file")["from"]["line"], 3);
    assert_eq!(of("quantize.weights.type")["target"], "generic-int8");
    assert_eq!(of("calibration.record")["value"], Value::Null);
    // Each table of the reference page has a key here.
    for table in [
        "model",
        "preprocess",
        "input",
        "target",
        "plugin",
        "trust",
        "calibration",
        "rewrite",
        "quantize",
    ]
    .iter()
    .chain(&["optimize", "fusion", "evaluation", "gate", "output", "schema"])
    {
        let is_in = |setting: &&Value| setting["key"].as_str().unwrap().split(['.', '[']).next() == Some(table);
        assert!(settings.iter().any(|setting| is_in(&setting)), "{table}");
    }
}
