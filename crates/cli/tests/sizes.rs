//! A small model file that would need too much memory or time is refused before any work, and the message names the
//! layer. Limits do not change a byte of the artifact.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::copy;

use std::{fs, path::Path};

use copy::{Copy, repository, said};
use tempfile::TempDir;

/// Encodes a protobuf field that is a number.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// Encodes a protobuf field that is bytes.
fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(content.len() as u64), content].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// An ONNX node whose attributes are lists of integers.
fn node(op: &str, input: &str, output: &str, lists: &[(&str, &[u64])]) -> Vec<u8> {
    let mut node = [
        bytes(1, input.as_bytes()),
        bytes(2, output.as_bytes()),
        bytes(4, op.as_bytes()),
    ]
    .concat();
    for (name, values) in lists {
        let mut attribute = bytes(1, name.as_bytes());
        values.iter().for_each(|&value| attribute.extend(number(8, value)));
        attribute.extend(number(20, 7));
        node.extend(bytes(5, &attribute));
    }
    bytes(1, &node)
}

/// A float tensor of an ONNX graph. If `extents` is empty, its shape is not declared.
fn tensor(field: u64, name: &str, extents: &[u64]) -> Vec<u8> {
    let dims: Vec<u8> = extents
        .iter()
        .flat_map(|&extent| bytes(1, &number(1, extent)))
        .collect();
    let shape = if extents.is_empty() {
        Vec::new()
    } else {
        bytes(2, &dims)
    };
    let ty = bytes(1, &[number(1, 1), shape].concat());
    bytes(field, &[bytes(1, name.as_bytes()), bytes(2, &ty)].concat())
}

/// An ONNX model of operator set 10 with one input of 1 × 1 × 4 × 4.
fn model(nodes: &[Vec<u8>]) -> Vec<u8> {
    let graph = [
        nodes.concat(),
        bytes(2, b"g"),
        tensor(11, "x", &[1, 1, 4, 4]),
        tensor(12, "y", &[]),
    ]
    .concat();
    [number(1, 5), bytes(8, &number(2, 10)), bytes(7, &graph)].concat()
}

fn npy(shape: &str, count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend((0..count).flat_map(|i| (i as f32).to_le_bytes()));
    out
}

fn compile(folder: &TempDir, model: &[u8], more: &[&str]) -> (i32, String) {
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(path("model.onnx"), model).unwrap();
    fs::write(path("calib.npy"), npy("2, 1, 4, 4", 32)).unwrap();
    let cache = format!("calibration.cache='{}'", path("cache"));
    let (model, samples, out) = (path("model.onnx"), path("calib.npy"), path("out"));
    let mut arguments = vec!["compile", "--model", &model, "--calibration", &samples, "--out", &out];
    arguments.extend(["--target", "generic-int8", "--set", &cache]);
    arguments.extend(more);
    said(&arguments)
}

#[test]
fn a_hundred_bytes_that_ask_for_fifty_gigabytes_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let pad = |by: u64| node("Pad", "x", "wide", &[("pads", &[0, 0, 0, 0, 0, 0, by, by])]);
    let relu = node("Relu", "wide", "y", &[]);
    let file = model(&[pad(113_000), relu.clone()]);
    assert!(file.len() < 160, "{}", file.len());
    let (code, message) = compile(&folder, &file, &["--memory", "16GiB"]);
    assert_eq!(code, 1, "{message}");
    assert!(
        message.contains("error[S002]") && message.contains("17.2 GB may be used"),
        "{message}"
    );
    assert!(
        message.contains("at `y` (relu)") && message.contains("`--memory SIZE`"),
        "{message}"
    );
    // This size exceeds the memory of any machine, whatever the limit is.
    let (code, message) = compile(&folder, &model(&[pad(1 << 40), relu.clone()]), &["--memory", "64T"]);
    assert!(code == 1 && !message.contains("S999"), "{message}");
    assert!(!folder.path().join("out").exists(), "something was made");
    // The same graph with a smaller size compiles.
    let (code, message) = compile(&folder, &model(&[pad(60), relu]), &["--memory", "16GiB"]);
    assert_eq!(code, 0, "{message}");
}

/// Running the float model fits into memory. Verifying the fused graph, which keeps all its integers at once, does not.
#[test]
fn integers_that_cannot_be_held_are_refused_before_anything_is_observed() {
    let folder = tempfile::tempdir().unwrap();
    let pad = node("Pad", "x", "s0", &[("pads", &[0, 0, 0, 0, 0, 0, 4000, 4000])]);
    let names: Vec<String> = (0..40).map(|at| format!("s{at}")).chain(["y".to_owned()]).collect();
    let steps = names.windows(2).map(|pair| node("Sigmoid", &pair[0], &pair[1], &[]));
    let file = model(&[pad].into_iter().chain(steps).collect::<Vec<_>>());
    let (code, message) = compile(&folder, &file, &["--memory", "500M", "--operations", "unlimited"]);
    assert!(code == 1 && message.contains("error[S002]"), "{message}");
    assert!(!folder.path().join("cache").exists(), "it was observed");
    // With a rule that keeps these layers in float, verification has no integers to keep.
    let rule = "quantize.rule=[{ op = ['sigmoid', 'pad'], run = 'float' }]";
    let (_, message) = compile(
        &folder,
        &file,
        &["--memory", "500M", "--set", rule, "--operations", "1000"],
    );
    assert!(
        message.contains("error[S003]") && !message.contains("S002"),
        "{message}"
    );
}

#[test]
fn a_window_that_would_take_hours_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = |by: u64, window: u64| {
        let pad = node("Pad", "x", "wide", &[("pads", &[0, 0, 0, 0, 0, 0, by, by])]);
        model(&[
            pad,
            node("MaxPool", "wide", "y", &[("kernel_shape", &[window, window])]),
        ])
    };
    let (code, message) = compile(&folder, &nodes(20_000, 10_000), &["--memory", "16GiB"]);
    assert_eq!(code, 1, "{message}");
    assert!(
        message.contains("error[S003]") && message.contains("1.00e16 operations, and 1.00e12 are allowed"),
        "{message}"
    );
    assert!(
        message.contains("in `y` (max_pool)") && message.contains("`--operations 1.10e16`"),
        "{message}"
    );
    // The user can set the limit lower or higher.
    let small = nodes(20, 10);
    assert_eq!(compile(&folder, &small, &["--operations", "1e3"]).0, 1);
    assert_eq!(compile(&folder, &small, &["--operations", "unlimited"]).0, 0);
}

#[test]
fn whatever_the_memory_the_bytes_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let config = repository("configs/generic-int8.toml").to_string_lossy().into_owned();
    let compile = |name: &str, more: &[&str]| {
        // Each run has its own cache, so that it really observes.
        let (out, cache) = (
            path(name),
            format!("calibration.cache='{}'", path(&format!("{name}.cache"))),
        );
        said(
            &[
                &["compile", &config, "--out", &out, "--set", &cache, "--threads", "4"][..],
                more,
            ]
            .concat(),
        )
    };
    let digest = |printed: &str| {
        printed
            .lines()
            .find_map(|line| line.strip_prefix("digest: ").map(str::to_owned))
    };
    let (code, printed) = compile("plenty", &[]);
    let expected = digest(&printed);
    assert!(code == 0 && expected.is_some(), "{printed}");
    for (name, memory) in [("two", "5MB"), ("one", "3500K")] {
        let (code, printed) = compile(name, &["--memory", memory]);
        assert!(code == 0 && digest(&printed) == expected, "{memory}: {printed}");
    }
    let (code, printed) = compile("none", &["--memory", "100K"]);
    assert!(
        code == 1 && printed.contains("S002") && printed.contains("statistics"),
        "{printed}"
    );
    assert!(!Path::new(&path("none")).exists());
    // If the statistics are in the cache, no sample is observed, so the memory for observing is not needed.
    let at_hand = format!("calibration.cache='{}'", path("plenty.cache"));
    let (code, printed) = compile("cached", &["--memory", "1M", "--set", &at_hand]);
    assert!(code == 0 && digest(&printed) == expected, "{printed}");
}

#[test]
fn every_command_that_runs_a_graph_heeds_the_limits() {
    let artifact = Copy::new();
    let digits = |file: &str| repository("models/digits").join(file).to_string_lossy().into_owned();
    let (samples, labels, model) = (digits("eval_x.npy"), digits("eval_y.npy"), digits("digits.onnx"));
    let (folder, out) = (artifact.path(), artifact.folder().with_file_name("y.npy"));
    let out = out.to_string_lossy().into_owned();
    for command in [
        &["run", &folder, "--input", &samples, "--output", &out][..],
        &["eval", &folder, "--data", &samples, "--labels", &labels],
        &["eval", &folder, "--data", &samples, "--model", &model],
        &["verify", &folder, "--data", &samples],
    ] {
        for (limit, code) in [(["--memory", "10K"], "S002"), (["--operations", "1000"], "S003")] {
            let (exit, message) = said(&[command, &limit].concat());
            assert!(exit == 1 && message.contains(code), "{command:?}: {message}");
        }
        let (exit, message) = said(&[command, &["--memory", "8M", "--operations", "1e9"]].concat());
        assert_eq!(exit, 0, "{command:?}: {message}");
    }
}
