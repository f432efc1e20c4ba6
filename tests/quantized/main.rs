//! Tests quantized models as tools write them. Each file of `forms` has one form, and the scales and codes that it
//! gives for each built-in target, with the messages. `STRAIT_BLESS=1` rewrites what follows the line `---`.
//!
//! For generic-int8, the scales and codes of the model are in the artifact unchanged. The artifact computes what ONNX
//! defines, within one step of the result.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod codes_at_outputs;
#[path = "../../crates/tflite/tests/common/mod.rs"]
mod flat;
mod free_batches;
mod narrow;
mod onnx;
mod read_back;
mod saturated;
mod without_samples;
mod written;

use std::fmt::Write as _;
use std::{fs, num::NonZeroUsize, path::Path};

use strait_builtin as _;
use strait_core::{Elem, Module, Op, TensorData};
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline,
    session::{Session, Silent},
    targets,
};
use strait_kernels::Context;
use strait_samples::{NumberType, encode};

const TARGETS: [&str; 3] = ["ascend", "generic-int8", "sima"];
const SAMPLES: usize = 4;
const RESULT: &str = "---\n";

/// Samples for the inputs of a form, made from its text.
fn samples(folder: &Path, text: &str) {
    fs::create_dir_all(folder).unwrap();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("input ")) {
        let (name, ty) = line.split_once(": ").unwrap();
        let (elem, dims) = ty.strip_suffix(']').unwrap().split_once('[').unwrap();
        // A name stands for the batch.
        let mut shape: Vec<usize> = dims.split(',').map(|dim| dim.parse().unwrap_or(1)).collect();
        shape[0] *= SAMPLES;
        let count: usize = shape.iter().product();
        let number = |at: usize| (at * 37 % 101) as f32 / 50.0 - 1.0;
        let (kind, bytes): (NumberType, Vec<u8>) = match Elem::parse(elem).unwrap() {
            Elem::F32 => (
                NumberType::F32,
                (0..count).flat_map(|at| number(at).to_le_bytes()).collect(),
            ),
            Elem::U8 => (NumberType::U8, (0..count).map(|at| (at * 37 % 256) as u8).collect()),
            Elem::I8 => (NumberType::I8, (0..count).map(|at| (at * 37 % 256) as u8).collect()),
            other => panic!("{other}"),
        };
        fs::write(folder.join(format!("{name}.npy")), encode(kind, &shape, &bytes)).unwrap();
    }
}

/// Compiles a form for a target with these settings. Returns the result in words.
fn compiled(text: &str, target: &str, settings: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("form.onnx"), onnx::file(text)).unwrap();
    samples(&at("samples"), text);
    let config = "schema = 1\nmodel.file = 'form.onnx'\ncalibration.data = 'samples'\noutput.dir = 'artifact'\n";
    let config = format!("{config}target.use = ['{target}']\n");
    let mut overrides = vec![Override::set(format!("calibration.cache='{}'", at("cache").display()))];
    overrides.extend(settings.iter().map(|&set| Override::set(set)));
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let loaded = config::parse("form.toml", config, folder.path(), &overrides).unwrap();
    let compiled = match pipeline::compile(&loaded, targets::registry([]).unwrap(), &session) {
        Ok(mut compiled) => compiled.remove(0),
        Err(stop) => return format!("{stop}\n"),
    };
    let mut out = String::new();
    let quantization = fs::read_to_string(compiled.folder.join(strait_container::QUANTIZATION_FILE)).unwrap();
    let quantization: strait_container::Quantization = serde_json::from_str(&quantization).unwrap();
    for layer in &quantization.layers {
        for config in layer.configs.iter().filter(|config| !config.scale.is_empty()) {
            let origin = config.origin.as_deref().unwrap_or("none");
            let codes = &quantization.schemes[config.scheme].codes;
            let (scale, zero) = (numbers(&config.scale), numbers(&config.zero_point));
            writeln!(
                out,
                "{} {}: {} {codes} {origin} {scale} {zero}",
                layer.name, config.port, config.tensor
            )
            .unwrap();
        }
    }
    let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
    weights(&mut out, opened.module());
    let report = &compiled.report;
    let hosted = report
        .layers
        .iter()
        .filter_map(|layer| Some((layer, layer.host.as_ref()?)));
    for (layer, host) in hosted.filter(|(_, host)| host.code != "border") {
        writeln!(out, "{} on the host, {}: {}", layer.name, host.code, host.text).unwrap();
    }
    for remark in &report.remarks {
        writeln!(out, "{}: {}", remark.severity, remark.text).unwrap();
    }
    for lint in report.lints.iter().filter(|lint| lint.code == "grid-requantized") {
        writeln!(out, "{}: {}", lint.code, lint.text).unwrap();
    }
    out
}

fn numbers<T: PartialEq + ToString>(all: &[T]) -> String {
    let same = all.windows(2).all(|two| two[0] == two[1]);
    let shown: Vec<String> = all
        .iter()
        .take(if same { 1 } else { 8 })
        .map(ToString::to_string)
        .collect();
    shown.join(",")
}

/// Writes the codes of weights and biases in the artifact.
fn weights(out: &mut String, module: &Module) {
    let graph = module.main();
    for id in graph.topological_order().unwrap() {
        let node = graph.node(id).unwrap();
        if !matches!(
            node.op,
            Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_) | Op::ConvTranspose(_)
        ) {
            continue;
        }
        for (what, operand) in [("weights", 1), ("bias", 2)] {
            let value = node.inputs.get(operand).copied().flatten();
            let codes = value.and_then(|value| module.constant(graph, value));
            if let Some(codes) = codes.filter(|codes| codes.elem() != Elem::F32) {
                writeln!(
                    out,
                    "{} {what} {} {}",
                    module.name(node.name),
                    codes.elem(),
                    listed(codes)
                )
                .unwrap();
            }
        }
    }
}

fn listed(tensor: &TensorData) -> String {
    let codes: Vec<String> = tensor.to_i64().unwrap().iter().map(ToString::to_string).collect();
    codes.join(" ")
}

#[test]
fn forms_of_quantized_models_become_what_they_say_on_each_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("quantized/forms");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let wanted = std::env::var("STRAIT_FORM").unwrap_or_default();
    let mut wrong = String::new();
    for path in paths.iter().filter(|path| path.to_string_lossy().contains(&wanted)) {
        let file = fs::read_to_string(path).unwrap();
        let (text, expected) = file.split_once(RESULT).unwrap_or((&file, ""));
        let settings = text.lines().filter_map(|line| line.strip_prefix("; set "));
        let settings: Vec<&str> = settings.collect();
        let text = text
            .lines()
            .filter(|line| !line.starts_with("; set "))
            .collect::<Vec<_>>()
            .join("\n");
        let mut found = String::new();
        for target in TARGETS {
            write!(found, "== {target}\n{}", compiled(&text, target, &settings)).unwrap();
        }
        if found == expected {
            continue;
        }
        if strait_testkit::is_blessing() {
            let (text, _) = file.split_once(RESULT).unwrap_or((&file, ""));
            fs::write(path, format!("{text}{RESULT}{found}")).unwrap();
        } else {
            writeln!(wrong, "{}: found is\n{found}", path.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nSTRAIT_BLESS=1 accepts what was found");
}
