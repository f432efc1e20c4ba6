//! Compares the results of the eleven float models with those of ONNX Runtime: max|a − b| ≤ 1e-4·max|b| for each output
//! of each sample, where a is Strait's output and b is the output of ONNX Runtime. Each model runs as it was read, and
//! also in canonical form. The tests are skipped on machines without these models.
#![allow(clippy::unwrap_used, clippy::panic)]

use ndarray::ArrayD;
use std::path::Path;
use std::time::Instant;
use strait_core::Module;
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};
use strait_import::{Decoded, ReadOptions, free_dimensions};
use strait_onnx::Model;
use strait_samples::Array;

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
const MODELS: [&str; 11] = [
    "cifar_resnet20",
    "cifar_resnet56",
    "kwt1_transformer",
    "mlperf_ad",
    "mlperf_kws",
    "mlperf_resnet8",
    "mlperf_vww",
    "mobilenet_v1_0.25_224",
    "mobilenet_v2_1.0_224",
    "squeezenet1.1",
    "yolox_nano",
];
/// Number of samples of each golden file that are tested. More samples would only take longer.
const SAMPLES: usize = 2;

fn array(path: &Path) -> ArrayD<f32> {
    let array = Array::open(path).unwrap();
    array.view().unwrap().to_owned()
}

/// The module with every symbolic dimension, the batch, bound to one.
fn read(path: &Path) -> Module {
    let model = Model::open(path).unwrap();
    let free = free_dimensions(&model.read(&ReadOptions::default()).unwrap());
    let bind = free.into_iter().map(|dimension| (dimension.name, 1)).collect();
    model
        .read(&ReadOptions {
            bind,
            ..ReadOptions::default()
        })
        .unwrap()
}

/// The largest difference to the golden outputs, relative to the largest of these, over some samples.
fn deviation(name: &str, module: &Module, inputs: &ArrayD<f32>, outputs: &ArrayD<f32>) -> f64 {
    let plan =
        Plan::new(module, module.main, &PlanOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut workspace = Workspace::new(&plan, &Threads::one());
    let port = plan.inputs().next().unwrap().clone();
    let (inputs, outputs) = (inputs.as_slice().unwrap(), outputs.as_slice().unwrap());
    let input_size: usize = port.shape.iter().product();
    let output_size: usize = plan.outputs().next().unwrap().shape.iter().product();
    assert_eq!(inputs.len() / input_size, outputs.len() / output_size, "{name}");
    let mut largest = 0.0f64;
    for (x, expected) in inputs
        .chunks_exact(input_size)
        .zip(outputs.chunks_exact(output_size))
        .take(SAMPLES)
    {
        let start = Instant::now();
        let found = plan
            .run(&mut workspace, &[TensorView::of(&port.shape, x).unwrap()])
            .unwrap();
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        let scale = expected.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let found = found[0].values::<f32>().unwrap();
        let difference = found
            .iter()
            .zip(expected)
            .fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
        println!(
            "{name}: {:e} of {scale}, {milliseconds:.1} ms, {} KB",
            difference / scale,
            plan.arena_bytes() / 1024
        );
        assert!(found.iter().all(|v| v.is_finite()));
        largest = largest.max(f64::from(difference / scale));
    }
    largest
}

#[test]
fn float_models_give_what_onnx_runtime_gave() {
    let shared = Path::new(SHARED);
    if !shared.join("golden").exists() {
        println!("skipped: {SHARED} is absent");
        return;
    }
    for name in MODELS {
        let mut module = read(&shared.join(format!("models/{name}.onnx")));
        let golden = |kind: &str| array(&shared.join(format!("golden/{name}.{kind}.npy")));
        let (inputs, outputs) = (golden("in"), golden("out"));
        let as_read = deviation(name, &module, &inputs, &outputs);
        assert!(as_read <= 1e-4, "{name} as read: {as_read:e}");
        let main = module.main;
        strait_rewrite::canonical().run(&mut module, main).unwrap();
        let canonical = deviation(name, &module, &inputs, &outputs);
        assert!(canonical <= 1e-4, "{name} canonical: {canonical:e}");
    }
}
