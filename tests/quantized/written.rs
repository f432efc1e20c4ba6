//! Tests names, including names of dimensions, in a model and its Q/DQ file.

use super::read_back::compile_for;
use super::*;
use std::{collections::BTreeMap, path::PathBuf};
use strait_core::{Dim, ValueId};
use strait_execute::{Tensor, reference};
use strait_import::ReadOptions;

/// Names and shapes of values.
pub(super) fn ports(module: &Module, ids: &[ValueId]) -> Vec<String> {
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => extent.to_string(),
        Dim::Named(name) => module.name(*name).to_owned(),
    };
    let port = |id: &ValueId| {
        let value = module.main().value(*id).unwrap();
        let extents: Vec<String> = value.ty.shape.iter().map(extent).collect();
        format!("{}[{}]", module.name(value.name), extents.join(","))
    };
    ids.iter().map(port).collect()
}

/// Inputs and outputs of the file that is written for a model, and the file's path.
fn written(text: &str, target: &str, folder: &Path) -> (Vec<String>, PathBuf) {
    fs::write(folder.join("model.onnx"), onnx::file(text)).unwrap();
    samples(folder, text);
    let artifact = compile_for(
        target,
        &folder.join("model.onnx"),
        &folder.join("x.npy"),
        &folder.join("out"),
    );
    let file = artifact.join("model.qdq.onnx");
    let module = strait_onnx::read(&file, &ReadOptions::default()).unwrap();
    let graph = module.main();
    (ports(&module, &[graph.inputs(), graph.outputs()].concat()), file)
}

const LAYERS: &str = "opset 17
input x: f32[n,2,3,3]
const w: f32[2,2,1,1] = 0.5 -1 0.25 1
const v: f32[18,3] = WEIGHTS
const rest: i64[1] = 18
c = Conv(x, w)
batch = Shape(c) {end=1}
list = Concat(batch, rest) {axis=0}
r = Reshape(c, list)
z = MatMul(r, v)
output z: f32[n,3]
output w: f32[2,2,1,1]
output x: f32[n,2,3,3]
output c: f32[n,2,3,3]
";

#[test]
fn a_file_has_the_names_of_the_model_and_takes_any_batch() {
    let weights: Vec<String> = (0..54)
        .map(|at| format!("{:.2}", (at * 29 % 53) as f32 / 53.0 - 0.5))
        .collect();
    let text = LAYERS.replace("WEIGHTS", &weights.join(" "));
    for target in TARGETS {
        let folder = tempfile::tempdir().unwrap();
        let (found, file) = written(&text, target, folder.path());
        let expected = ["x[n,2,3,3]", "z[n,3]", "w[2,2,1,1]", "x[n,2,3,3]", "c[n,2,3,3]"];
        assert_eq!(found, expected, "{target}");
        // Two samples in one run have the same numbers as in two runs.
        let run = |count: usize, values: &[f32]| {
            let bind = BTreeMap::from([("n".to_owned(), count as u64)]);
            let options = ReadOptions {
                bind,
                ..ReadOptions::default()
            };
            let module = strait_onnx::read(&file, &options).unwrap();
            let input = Tensor::from_values(&[count, 2, 3, 3], values).unwrap();
            let made = reference::run(&module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
            made[0].values::<f32>().unwrap().to_vec()
        };
        let values: Vec<f32> = (0..36).map(|at| (at * 37 % 101) as f32 / 50.0 - 1.0).collect();
        let single: Vec<f32> = values.chunks(18).flat_map(|sample| run(1, sample)).collect();
        assert_eq!(run(2, &values), single, "{target}");
    }
}

#[test]
fn a_file_takes_one_sample_where_a_layer_computes_along_the_batch() {
    let text = "opset 17
input x: f32[n,3]
s = Softmax(x) {axis=0}
output s: f32[n,3]
";
    let folder = tempfile::tempdir().unwrap();
    let (found, file) = written(text, "generic-int8", folder.path());
    assert_eq!(found, ["x[1,3]", "s[1,3]"]);
    let report = fs::read_to_string(file.with_file_name("report.json")).unwrap();
    let remark = "model.qdq.onnx takes one sample at a time, and no other batch: in `s`, it computes along the batch";
    assert!(report.contains(remark), "{report}");
}
