//! Tests files of operators on codes for models with any batch: the TFLite file, and the ONNX file of quantized operators.

use super::read_back::compile;
use super::written::ports;
use super::*;
use std::{collections::BTreeMap, path::PathBuf};
use strait_core::Dim;
use strait_execute::{Tensor, reference};
use strait_import::{Decoded as _, ReadOptions};

const SIZE: usize = 2 * 3 * 4;

/// A convolution, a slice, a reshape to a constant shape, and a product.
const LAYERS: &str = "opset 17
input x: f32[n,2,3,4]
const w: f32[2,2,1,1] = 0.5 -1 0.25 1
const v: f32[18,3] = WEIGHTS
const one: i64[1] = 1
const four: i64[1] = 4
const last: i64[1] = 3
const rest: i64[1] = 18
c = Conv(x, w)
s = Slice(c, one, four, last)
batch = Shape(s) {end=1}
list = Concat(batch, rest) {axis=0}
r = Reshape(s, list)
z = MatMul(r, v)
output z: f32[n,3]
";

fn layers() -> String {
    let weights = (0..54).map(|at| format!("{:.2}", (at * 29 % 53) as f32 / 53.0 - 0.5));
    LAYERS.replace("WEIGHTS", &weights.collect::<Vec<_>>().join(" "))
}

/// Compiles a model for a target, with a file of this format. Returns the folder of the artifact.
fn written(model: &Path, target: &str, format: &str, folder: &Path, more: &str) -> PathBuf {
    let text = format!(
        "schema = 1\nmodel.file = '{}'\ntarget.use = ['{target}']\noutput.dir = '{}'\noutput.emit = ['{format}']\n{more}\n",
        model.display(),
        folder.join("out").display()
    );
    compile(&config::parse("model.toml", text, folder, &[]).unwrap())
}

fn of_text(text: &str, target: &str, format: &str, folder: &Path) -> PathBuf {
    fs::write(folder.join("model.onnx"), onnx::file(text)).unwrap();
    samples(folder, text);
    let more = "calibration.data = 'x.npy'\ncalibration.cache = 'cache'";
    written(&folder.join("model.onnx"), target, format, folder, more)
}

/// The module of a TFLite file, for this number of samples. `None`: for any number.
fn read(file: &Path, count: Option<u64>) -> Module {
    let model = strait_tflite::Model::decode(fs::read(file).unwrap().into()).unwrap();
    let free = strait_import::free_dimensions(&model.read(&ReadOptions::default()).unwrap());
    let bind: BTreeMap<String, u64> = free
        .iter()
        .filter_map(|free| Some((free.name.clone(), count?)))
        .collect();
    let options = ReadOptions {
        bind,
        ..ReadOptions::default()
    };
    model.read(&options).unwrap()
}

#[test]
fn a_tflite_file_takes_any_batch_and_so_does_the_file_that_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let first = of_text(&layers(), "generic-int8", "tflite", folder.path()).join("model.tflite");
    let module = read(&first, None);
    let graph = module.main();
    for &port in graph.inputs().iter().chain(graph.outputs()) {
        let shape = &graph.value(port).unwrap().ty.shape;
        assert!(matches!(shape[0], Dim::Named(_)), "{shape:?}");
        assert!(shape[1..].iter().all(|dim| dim.fixed().is_some()), "{shape:?}");
    }
    let run = |count: usize, values: &[f32]| {
        let module = read(&first, Some(count as u64));
        let input = Tensor::from_values(&[count, 2, 3, 4], values).unwrap();
        let made = reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
        made[0].values::<f32>().unwrap().to_vec()
    };
    let values: Vec<f32> = (0..2 * SIZE).map(|at| (at * 37 % 101) as f32 / 50.0 - 1.0).collect();
    let single: Vec<f32> = values.chunks(SIZE).flat_map(|sample| run(1, sample)).collect();
    assert_eq!(run(2, &values), single);
    let again = folder.path().join("again");
    fs::create_dir(&again).unwrap();
    let again = written(&first, "generic-int8", "tflite", &again, "").join("model.tflite");
    assert_eq!(strait_import::free_dimensions(&read(&again, None)).len(), 1);
}

#[test]
fn a_file_of_quantized_operators_takes_any_batch_by_the_name_in_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let file = of_text(&layers(), "onnxruntime", "qoperator-onnx", folder.path()).join("model.qoperator.onnx");
    let module = strait_onnx::read(&file, &ReadOptions::default()).unwrap();
    let graph = module.main();
    let found = ports(&module, &[graph.inputs(), graph.outputs()].concat());
    assert_eq!(found, ["x[n,2,3,4]", "z[n,3]"]);
}

#[test]
fn files_take_one_sample_where_a_layer_computes_along_the_batch() {
    let text = "opset 17
input x: f32[n,3]
s = Softmax(x) {axis=0}
output s: f32[n,3]
";
    for (target, format, file) in [
        ("generic-int8", "tflite", "model.tflite"),
        ("onnxruntime", "qoperator-onnx", "model.qoperator.onnx"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let artifact = of_text(text, target, format, folder.path());
        let report = fs::read_to_string(artifact.join("report.json")).unwrap();
        let remark =
            format!("{file} takes one sample at a time, and no other batch: in `s`, it computes along the batch");
        assert!(artifact.join(file).exists() && report.contains(&remark), "{report}");
    }
}

#[test]
fn a_tflite_file_takes_one_sample_where_an_operator_wants_a_shape() {
    let text = "opset 17
input x: f32[n,1,3]
const by: i64[3] = 1 2 3
e = Expand(x, by)
r = Relu(e)
output r: f32[n,2,3]
";
    let folder = tempfile::tempdir().unwrap();
    let artifact = of_text(text, "generic-int8", "tflite", folder.path());
    let report = fs::read_to_string(artifact.join("report.json")).unwrap();
    let remark = "model.tflite takes one sample at a time, and no other batch: in `e`, BROADCAST_TO takes a shape for a \
                  fixed number of samples";
    assert!(report.contains(remark), "{report}");
    assert!(strait_import::free_dimensions(&read(&artifact.join("model.tflite"), None)).is_empty());
}
