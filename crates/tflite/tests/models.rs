//! Runs five float models as they are read and in canonical form. Tests that both give the results of ONNX Runtime for
//! the same models in ONNX. One of the models has hybrid layers; its ONNX model has, as weights, the numbers that the
//! codes stand for. The tests are skipped if the shared models are absent.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use ndarray::{ArrayD, Axis};
use std::path::Path;
use strait_core::{Module, Op};
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};
use strait_import::Decoded;
use strait_samples::Array;
use strait_tflite::{Model, ReadOptions};

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

/// For each model: its file, the name of its recorded results, and the number of transposes in its canonical graph.
/// There is one transpose at the border if the input is an image.
const MODELS: [(&str, &str, usize); 5] = [
    ("mlperf_resnet8", "mlperf_resnet8_float", 1),
    ("mlperf_vww", "mlperf_vww_float", 1),
    ("mlperf_kws", "mlperf_kws_float", 0),
    ("mlperf_ad", "mlperf_ad_float", 0),
    ("mobilenet_v1_0.25_224", "mobilenet_v1_0.25_224_float", 1),
];

/// The number of samples from each file of recorded results; more would only take longer.
const SAMPLES: usize = 2;

fn array(path: &Path) -> ArrayD<f32> {
    let array = Array::open(path).unwrap();
    array.view().unwrap().to_owned()
}

/// The ratio, in dB, between the recorded outputs and the differences from them, for the worst of some samples.
fn near(name: &str, module: &Module, inputs: &ArrayD<f32>, outputs: &ArrayD<f32>) -> f64 {
    let plan =
        Plan::new(module, module.main, &PlanOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut workspace = Workspace::new(&plan, &Threads::one());
    let port = plan.inputs().next().unwrap().clone();
    let mut worst = f64::INFINITY;
    for (x, expected) in inputs.axis_iter(Axis(0)).zip(outputs.axis_iter(Axis(0))).take(SAMPLES) {
        // The recorded inputs have channels first, as in ONNX.
        let x = match x.ndim() {
            4 => x.permuted_axes(vec![0, 2, 3, 1]),
            _ => x,
        };
        let x: Vec<f32> = x.iter().copied().collect();
        let found = plan
            .run(&mut workspace, &[TensorView::of(&port.shape, &x).unwrap()])
            .unwrap();
        let found = found[0].values::<f32>().unwrap();
        assert_eq!(found.len(), expected.len());
        let (mut signal, mut noise) = (0.0, 0.0);
        for (&a, &b) in found.iter().zip(&expected) {
            signal += f64::from(b) * f64::from(b);
            noise += (f64::from(a) - f64::from(b)).powi(2);
        }
        worst = worst.min(10.0 * (signal / noise).log10());
    }
    worst
}

#[test]
fn float_models_give_what_their_siblings_gave() {
    let shared = Path::new(SHARED);
    if !shared.join("golden").exists() {
        println!("skipped: {SHARED} is absent");
        return;
    }
    for (golden, file, transposes) in MODELS {
        let model = Model::open(&shared.join(format!("models/{file}.tflite"))).unwrap();
        let is_hybrid = file == "mlperf_kws_float";
        assert_eq!(model.read(&ReadOptions::default()).is_err(), is_hybrid, "{file}");
        let options = ReadOptions {
            hybrid_as_float: is_hybrid,
            ..ReadOptions::default()
        };
        let (mut module, _) = model.read_single(&options).unwrap();
        let side = |kind: &str| array(&shared.join(format!("golden/{golden}.{kind}.npy")));
        let (inputs, outputs) = (side("in"), side("out"));
        let as_read = near(file, &module, &inputs, &outputs);
        assert!(as_read >= 70.0, "{file} as read: {as_read} dB");
        let main = module.main;
        strait_rewrite::canonical().run(&mut module, main).unwrap();
        let canonical = near(file, &module, &inputs, &outputs);
        assert!(canonical >= 70.0, "{file} canonical: {canonical} dB");
        let left = module
            .main()
            .nodes()
            .filter(|(_, node)| matches!(node.op, Op::Transpose(_)))
            .count();
        println!("{file}: {as_read:.1} dB, {canonical:.1} dB, {left} transposes left");
        assert_eq!(left, transposes, "{file}");
    }
}
