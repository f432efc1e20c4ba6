//! Compiles the int8 models of MLPerf Tiny for generic-int8 without samples. Every byte of their outputs equals that of
//! LiteRT's reference kernels. Skipped if the shared models are absent. `cargo xtask oracles --tflite` also compares
//! the tensors inside of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{num::NonZeroUsize, path::Path};

use strait_builtin as _;
use strait_core::Placement;
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline,
    session::{Session, Silent},
    targets,
};
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};
use strait_kernels::Context;
use strait_samples::Array;

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");

fn codes(path: &str) -> ndarray::ArrayD<i8> {
    Array::open(Path::new(path)).unwrap().view().unwrap().to_owned()
}

#[test]
fn models_of_codes_have_the_bytes_of_litert() {
    if !Path::new(SHARED).join("golden").exists() {
        println!("skipped: {SHARED} is absent");
        return;
    }
    for name in ["resnet8", "vww", "kws", "ad"] {
        let golden = format!("{SHARED}/golden/mlperf_{name}_int8");
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "schema = 1\nmodel.file = '{SHARED}/models/mlperf_{name}_int8.tflite'\ntarget.use = ['generic-int8']\n\
             output.dir = '{}'\n",
            folder.path().join("artifact").display()
        );
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let loaded = config::parse("tflite.toml", text, folder.path(), &[] as &[Override]).unwrap();
        let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session)
            .unwrap_or_else(|stop| panic!("{name}: {stop}"))
            .remove(0);
        let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap()).unwrap();
        let module = opened.module();
        let hosted = module
            .main()
            .nodes()
            .filter(|(_, node)| node.place != Placement::Accelerator);
        assert_eq!(hosted.count(), 0, "{name}: nothing of it is for the host");
        let plan = Plan::new(module, module.main, &PlanOptions::default()).unwrap();
        let mut workspace = Workspace::new(&plan, &Threads::one());
        let port = plan.inputs().next().unwrap().clone();
        let (inputs, outputs) = (
            codes(&format!("{golden}.in.npy")),
            codes(&format!("{golden}.out_ref.npy")),
        );
        for (sample, (x, expected)) in inputs.outer_iter().zip(outputs.outer_iter()).enumerate() {
            let x: Vec<i8> = x.iter().copied().collect();
            let found = plan
                .run(&mut workspace, &[TensorView::of(&port.shape, &x).unwrap()])
                .unwrap();
            let expected: Vec<i8> = expected.iter().copied().collect();
            assert_eq!(found[0].values::<i8>().unwrap(), expected, "{name}, sample {sample}");
        }
    }
}
