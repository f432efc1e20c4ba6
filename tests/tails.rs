//! Tests cuts: where they are proposed, and what lies behind them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::fs;

use strait_driver::{artifact::Opened, cuts, pipeline::Compiled, targets};
use strait_execute::{Tensor, TensorView};
use strait_import::ReadOptions;
use strait_kernels::Isa;
use strait_samples::{Array, NumberType};

use crate::deploy::Bench;

const CONV: &str = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}";
const SAMPLES: usize = 5;

/// A detector: boxes of a wide range and scores from 0 to 1 in one tensor.
fn detector() -> String {
    format!(
        "strait 1 float
         graph @main(%x: f32[1,8,4,4]) {{
           %stem_out: f32[1,8,4,4] = conv(%x, @w) {CONV} name=\"stem\"
           %act_out: f32[1,8,4,4] = relu(%stem_out) name=\"act\"
           %box_out: f32[1,4,4,4] = conv(%act_out, @b) {CONV} name=\"box\"
           %cls_out: f32[1,8,4,4] = conv(%act_out, @w) {CONV} name=\"cls\"
           %hot_out: f32[1,8,4,4] = relu(%cls_out) name=\"hot\"
           %far_out: f32[1,4,4,4] = mul(%box_out, @far) {{a_zero=0, b_zero=0, accumulator=i32}} name=\"far\"
           %score_out: f32[1,8,4,4] = unary(%hot_out) {{function=sigmoid}} name=\"score\"
           %all_out: f32[1,12,4,4] = concat(%far_out, %score_out) {{axis=1}} name=\"all\"
           return %all_out
         }}
         data @w: f32[8,8,1,1] = random 3
         data @b: f32[4,8,1,1] = random 4
         data @far: f32[1,1,4,4] = random 6"
    )
}

/// The end of a classifier.
fn classifier() -> String {
    format!(
        "strait 1 float
         graph @main(%x: f32[1,8,4,4]) {{
           %c: f32[1,8,4,4] = conv(%x, @w) {CONV}
           %r: f32[1,8,4,4] = relu(%c)
           %m: f32[1,8,1,1] = global_average_pool(%r)
           %f: f32[1,8] = flatten(%m) {{axis=1}}
           %g: f32[1,10] = gemm(%f, @g) {{transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}}
           %s: f32[1,10] = softmax(%g) {{axis=1}}
           return %s
         }}
         data @w: f32[8,8,3,3] = random 3
         data @g: f32[8,10] = random 4"
    )
    .replace(
        "%c: f32[1,8,4,4] = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0]",
        "%c: f32[1,8,4,4] = conv(%x, @w) {stride=[1,1], pad=[1,1,1,1]",
    )
}

fn bench(model: &str) -> Bench {
    let bench = Bench::new(model);
    let numbers: Vec<f32> = (0..SAMPLES * 128)
        .map(|at| ((at * at * 37) % 101) as f32 / 50.0 - 1.0)
        .collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bench.samples(NumberType::F32, &[SAMPLES, 8, 4, 4], &bytes);
    bench
}

fn compile(bench: &Bench, name: &str, lines: &str) -> Result<Compiled, String> {
    let lines = format!("{lines}\n[evaluation]\ndata = \"x.npy\"\nmetrics = [\"snr\"]");
    bench.compile("generic-int8", name, &lines)
}

#[test]
fn a_detector_is_cut_behind_its_layers_with_weights() {
    let bench = bench(&detector());
    let found = cuts::cuts(&bench.at("model.onnx")).unwrap_or_else(|stop| panic!("{stop}"));
    assert_eq!(found.outputs, ["box_out", "hot_out"]);
    let layers: Vec<&str> = found.reasons.iter().map(|sign| sign.layer.as_str()).collect();
    assert_eq!(layers, ["far", "all"]);
    assert_eq!((found.behind, found.operations), (3, 8));
    let shown = found.to_string();
    assert!(
        shown.contains("outputs = [\n  \"box_out\",\n  \"hot_out\",\n]\ntail = \"onnx\""),
        "{shown}"
    );
}

#[test]
fn in_a_classifier_there_is_nothing_to_cut() {
    let bench = bench(&classifier());
    let found = cuts::cuts(&bench.at("model.onnx")).unwrap_or_else(|stop| panic!("{stop}"));
    assert_eq!((found.outputs.len(), found.behind), (0, 0), "{found}");
    assert!(found.to_string().starts_with("nothing to cut"), "{found}");
}

#[test]
fn the_tail_is_a_file_and_part_of_runs_and_metrics() {
    let bench = bench(&detector());
    let cut = "model.outputs = [\"box_out\", \"hot_out\"]\nmodel.tail = \"onnx\"";
    let [first, again] = ["first", "again"].map(|name| compile(&bench, name, cut).unwrap());
    let file = first.folder.join("tail.onnx");
    assert_eq!(first.digest, again.digest);
    assert_eq!(
        fs::read(&file).unwrap(),
        fs::read(again.folder.join("tail.onnx")).unwrap()
    );
    let tail = first.report.tail.unwrap();
    assert_eq!(
        (tail.inputs, tail.outputs),
        (vec!["box_out".into(), "hot_out".into()], vec!["all_out".to_owned()])
    );
    // The metric is that of the whole model, and of the model that is not cut.
    let accuracy = first.report.accuracy.unwrap();
    assert_eq!(accuracy.metrics[0].output.as_deref(), Some("all_out"));
    let found = bench.run(&first.folder);
    // The reader of ONNX runs the file on the dequantized outputs to the same results.
    let opened = Opened::open(&first.folder, &targets::registry([]).unwrap()).unwrap_or_else(|stop| panic!("{stop}"));
    let module = strait_onnx::read(&file, &ReadOptions::default()).unwrap();
    let samples = Array::open(&bench.at("x.npy")).unwrap();
    let mut expected = Vec::new();
    for sample in 0..SAMPLES {
        let bytes = samples.sample(sample);
        let x = TensorView::new(strait_core::Elem::F32, &[1, 8, 4, 4], &bytes)
            .unwrap()
            .to_tensor();
        let cut: Vec<Tensor> =
            strait_tests::numeric::run(opened.module(), opened.module().main, &[x], Isa::detect(), 1);
        let whole = strait_tests::numeric::run(&module, module.main, &cut, Isa::detect(), 1);
        expected.extend_from_slice(whole[0].values::<f32>().unwrap());
    }
    assert_eq!(found, expected);
}

#[test]
fn a_model_that_ends_at_its_cut_has_no_tail_and_says_so() {
    let bench = bench(&detector());
    let compiled = compile(&bench, "end", "model.outputs = [\"all_out\"]\nmodel.tail = \"onnx\"").unwrap();
    assert!(!compiled.folder.join("tail.onnx").exists());
    let remarks: Vec<&str> = (compiled.report.remarks.iter())
        .map(|remark| remark.text.as_str())
        .collect();
    assert!(
        remarks.iter().any(|text| text.contains("nothing lies behind")),
        "{remarks:?}"
    );
}

#[test]
fn a_tail_that_reads_more_than_outputs_is_refused_with_what_to_add() {
    let bench = bench(&detector());
    let told = compile(&bench, "less", "model.outputs = [\"hot_out\"]\nmodel.tail = \"onnx\"").unwrap_err();
    for part in [
        "also reads `act_out` from before it",
        "add to `model.outputs`: \"act_out\"",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let text = detector()
        .replace("mul(%box_out, @far)", "mul(%box_out, %stem_part)")
        .replace(
            "%box_out:",
            "%stem_part: f32[1,4,4,4] = slice(%stem_out) {starts=[0], ends=[4], axes=[1], steps=[1]} name=\"part\"
         %box_out:",
        );
    let bench = self::bench(&text);
    let told = compile(
        &bench,
        "part",
        "model.outputs = [\"box_out\", \"hot_out\"]\nmodel.tail = \"onnx\"",
    )
    .unwrap_err();
    assert!(told.contains("also reads `stem_out`"), "{told}");
    assert!(told.contains("add to `model.outputs`: \"stem_out\""), "{told}");
    let told = compile(&bench, "whole", "model.tail = \"onnx\"").unwrap_err();
    assert!(told.contains("the model is not cut"), "{told}");
}
