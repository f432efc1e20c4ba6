//! Tests that Q/DQ files, which are written with an artifact, are models like any other: compiled for the same target,
//! they compute the same bytes.

use super::*;
use std::{collections::BTreeMap, path::PathBuf};
use strait_driver::run;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Results of an artifact for the samples in a file, byte by byte; codes if outputs have them.
fn outputs(artifact: &Path, samples: &Path, folder: &Path) -> Vec<Vec<u8>> {
    let opened = Opened::open(artifact, &targets::registry([]).unwrap()).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let files = BTreeMap::from([(
        strait_driver::artifact::inputs(&opened).unwrap()[0].name.clone(),
        samples.to_owned(),
    )]);
    fs::create_dir_all(folder).unwrap();
    let written = run::run(&opened, &files, folder, true, &session).unwrap();
    let arrays = written
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "npy"));
    arrays.map(|path| fs::read(path).unwrap()).collect()
}

/// Compiles a model and the file that is written with it, and compares the outputs of both.
fn reads_back(compile: impl Fn(&Path, Option<&Path>) -> PathBuf, samples: &Path, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let first = compile(&at("first"), None);
    let second = compile(&at("second"), Some(&first.join("model.qdq.onnx")));
    let expected = outputs(&first, samples, &at("expected"));
    assert!(!expected.is_empty(), "{case}");
    assert!(expected == outputs(&second, samples, &at("found")), "{case}");
}

pub(super) fn compile(loaded: &config::Loaded) -> PathBuf {
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let compiled = pipeline::compile(loaded, targets::registry([]).unwrap(), &session);
    compiled.unwrap_or_else(|stop| panic!("{stop}")).remove(0).folder
}

/// Compiles a file with a configuration that says nothing else.
pub(super) fn compile_for(target: &str, file: &Path, samples: &Path, folder: &Path) -> PathBuf {
    compile_with(target, file, samples, folder, "")
}

/// The same, with more lines.
fn compile_with(target: &str, file: &Path, samples: &Path, folder: &Path, more: &str) -> PathBuf {
    let text = format!(
        "schema = 1\nmodel.file = '{}'\ntarget.use = ['{target}']\ncalibration.data = '{}'\n\
         calibration.cache = '{}'\noutput.dir = '{}'\n{more}",
        file.display(),
        samples.display(),
        folder.with_extension("cache").display(),
        folder.display()
    );
    compile(&config::parse("model.toml", text, folder, &[]).unwrap())
}

#[test]
fn the_files_of_the_digits_read_back_to_the_same_bytes() {
    for target in TARGETS {
        let of = |folder: &Path, file: Option<&Path>| {
            let mut overrides = vec![
                Override::output(folder.to_string_lossy()),
                Override::set("calibration.samples=64"),
                Override::set(format!(
                    "calibration.cache='{}'",
                    folder.with_extension("cache").display()
                )),
            ];
            let file = file.map(|file| format!("model={{ file='{}' }}", file.display()));
            overrides.extend(file.map(Override::set));
            let config = repository().join(format!("configs/{target}.toml"));
            compile(&config::load(&config, &overrides).unwrap())
        };
        reads_back(of, &repository().join("models/digits/eval_x.npy"), target);
    }
}

/// Functions that are several nodes in the operator set that is written.
const FUNCTIONS: [&str; 5] = [
    "Y = Gelu(X)",
    "Y = Gelu(X) {approximate='tanh'}",
    "Y = Mish(X)",
    "Z = Sigmoid(X)\nY = Mul(X, Z)",
    "Y = RMSNormalization(X, ones) {epsilon=0.001}",
];

/// A network with one of these functions after each product.
fn functions() -> String {
    let weights = |at: usize| -> String {
        let number = |index: usize| ((index * 53 + at * 29) % 97) as f32 / 97.0 - 0.5;
        (0..64).map(|index| format!("{:.3} ", number(index))).collect()
    };
    let mut text = format!("opset 23\ninput x: f32[1,8]\nconst ones: f32[8] = {}\n", "1 ".repeat(8));
    let mut last = "x".to_owned();
    for (at, function) in FUNCTIONS.iter().enumerate() {
        let [x, y, z] = ["x", "y", "z"].map(|name| format!("{name}{at}"));
        let function = function.replace('X', &x).replace('Y', &y).replace('Z', &z);
        text += &format!(
            "const w{at}: f32[8,8] = {}\n{x} = MatMul({last}, w{at})\n{function}\n",
            weights(at)
        );
        last = y;
    }
    let at = FUNCTIONS.len();
    text + &format!(
        "const w{at}: f32[8,8] = {}\ny = MatMul({last}, w{at})\noutput y\n",
        weights(at)
    )
}

/// A concatenation of values with different ranges. The file rounds once, after it.
const JOINED: &str = "opset 17\ninput x: f32[1,8]\nconst w: f32[8,8] = WEIGHTS\nconst v: f32[8,8] = WEIGHTS\nconst u: f32[8,16] = WEIGHTS\n\
    const eight: f32[] = 8\na = MatMul(x, w)\nb = MatMul(a, v)\nc = Mul(b, eight)\nz = Concat(a, c) {axis=1}\ny = Gemm(z, u) {transB=1}\noutput y\n";

#[test]
fn a_join_and_activations_with_a_sign_read_back_to_the_same_bytes() {
    let numbers = |count: usize| -> String {
        (0..count)
            .map(|at| format!("{:.3} ", ((at * 53) % 97) as f32 / 97.0 - 0.5))
            .collect()
    };
    let text = JOINED
        .replacen("WEIGHTS", &numbers(64), 2)
        .replace("WEIGHTS", &numbers(128));
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.onnx");
    fs::write(&model, onnx::file(&text)).unwrap();
    samples(folder.path(), &text);
    let samples = folder.path().join("x.npy");
    // Ascend does not requantize codes, so it reads no concatenation of several scales.
    for target in ["generic-int8", "sima"] {
        for activations in ["uint8", "int8"] {
            let of = |folder: &Path, file: Option<&Path>| {
                let file = file.unwrap_or(&model);
                compile_with(
                    target,
                    file,
                    &samples,
                    folder,
                    &format!("output.qdq_activations = '{activations}'\n"),
                )
            };
            reads_back(of, &samples, &format!("{target}, {activations}"));
        }
    }
}

#[test]
fn functions_that_are_written_as_several_nodes_read_back_to_the_same_bytes() {
    let (text, folder) = (functions(), tempfile::tempdir().unwrap());
    let model = folder.path().join("model.onnx");
    fs::write(&model, onnx::file(&text)).unwrap();
    samples(folder.path(), &text);
    let samples = folder.path().join("x.npy");
    for target in TARGETS {
        let of = |folder: &Path, file: Option<&Path>| compile_for(target, file.unwrap_or(&model), &samples, folder);
        reads_back(of, &samples, target);
    }
}

#[test]
fn the_files_of_real_models_read_back_to_the_same_bytes() {
    let shared = repository().join("../shared/data");
    if !shared.join("golden").exists() {
        println!("skipped: {} is absent", shared.display());
        return;
    }
    for name in [
        "mlperf_resnet8",
        "mlperf_kws",
        "mlperf_ad",
        "mlperf_vww",
        "cifar_resnet20",
        "kwt1_transformer",
    ] {
        let samples = shared.join(format!("golden/{name}.in.npy"));
        for target in TARGETS {
            let model = shared.join(format!("models/{name}.onnx"));
            let of = |folder: &Path, file: Option<&Path>| compile_for(target, file.unwrap_or(&model), &samples, folder);
            reads_back(of, &samples, &format!("{name} for {target}"));
        }
    }
}
