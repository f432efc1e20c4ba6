//! `strait check`: where layers run, without samples.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::copy;

use std::collections::BTreeSet;

use copy::{repository, said, strait};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = strait(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of the layers on the host, apart from conversions.
fn on_host(layers: &Value) -> BTreeSet<String> {
    let layers = layers.as_array().unwrap().iter();
    let host = layers.filter(|layer| !layer["host"].is_null());
    let own = host.filter(|layer| !["quantize", "dequantize"].contains(&layer["op"].as_str().unwrap()));
    own.map(|layer| layer["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn layers_are_where_a_compilation_with_samples_puts_them() {
    let model = repository("models/digits/digits.onnx").to_string_lossy().into_owned();
    let samples = repository("models/digits/calib_x.npy").to_string_lossy().into_owned();
    for target in ["generic-int8", "sima", "ascend"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("artifact").to_string_lossy().into_owned();
        let both = ["--model", &model, "--target", target, "--json"];
        let compiled = json(&[&["compile", "--calibration", &samples, "--out", &out], &both[..]].concat());
        let checked = json(&[&["check"], &both[..]].concat());
        let report = &compiled["artifacts"][0]["report"];
        let checked = &checked["targets"][0];
        assert_eq!(on_host(&checked["layers"]), on_host(&report["layers"]), "{target}");
        assert_eq!(checked["summary"], report["summary"], "{target}");
    }
}

#[test]
fn several_targets_are_compared_in_one_table_and_nothing_is_written() {
    let model = repository("models/digits/digits.onnx").to_string_lossy().into_owned();
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_strait"));
    command.args([
        "check",
        "--model",
        &model,
        "--target",
        "generic-int8",
        "--target",
        "ascend",
    ]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let row = printed.lines().find(|line| line.starts_with("/block/Add ")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words, ["/block/Add", "add", "generic-int8", "ascend", "[target-host]"]);
    assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn samples_of_the_configuration_are_not_read() {
    let config = repository("configs/generic-int8.toml").to_string_lossy().into_owned();
    let (code, printed) = said(&["check", &config, "--set", "calibration.data='absent.npy'", "--all"]);
    assert!(code == 0 && printed.contains("/block/depthwise/Conv"), "{printed}");
    let (code, printed) = said(&["check", &config, "--target", "simma"]);
    assert!(code == 1 && printed.contains("did you mean `sima`?"), "{printed}");
}

#[test]
fn cycles_are_estimated_by_the_rates_of_a_table() {
    let model = repository("models/digits/digits.onnx").to_string_lossy().into_owned();
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("rated.toml");
    let rates = "[silicon]\nfidelity = \"derived\"\nrates = { multiply_adds = 16, elements = 4, bytes = 8 }\n\n[types]";
    let text = include_str!("../templates/target.toml").replace("NAME", "rated");
    let text = text.replacen("[types]", rates, 1);
    std::fs::write(&table, text).unwrap();
    let registered = format!("target.file=['{}']", table.to_string_lossy());
    let checked = json(&[
        "check",
        "--model",
        &model,
        "--target",
        "rated",
        "--set",
        &registered,
        "--json",
    ]);
    for layer in checked["targets"][0]["layers"].as_array().unwrap() {
        let figure = |key: &str| layer[key].as_u64().unwrap();
        let rate = match layer["op"].as_str().unwrap() {
            "conv" | "gemm" => 16,
            _ => 4,
        };
        let computing = figure("operations").div_ceil(rate);
        let moving = (figure("constant_bytes") + figure("value_bytes")).div_ceil(8);
        assert_eq!(figure("cycles"), computing.max(moving), "{layer}");
    }
}
