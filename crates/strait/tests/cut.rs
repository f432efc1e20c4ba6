//! A model that is cut, as a deployment writes it and the library runs it.

use std::path::Path;

use strait::{Artifact, SessionOptions};
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline,
    session::{Session, Silent},
    targets,
};
use strait_kernels::Context;

use crate::{REPOSITORY, samples_of};

#[test]
fn a_model_that_is_cut_runs_with_its_tail_and_gives_the_codes_at_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new(strait_execute::Threads::available(), Context::detect(), &Silent);
    let out = folder.path().join("cut");
    let overrides = [
        format!("output.dir={out:?}"),
        format!("calibration.cache={:?}", folder.path().join("cache")),
        "model.outputs=['/pool/MaxPool_output_0']".to_owned(),
        "model.tail='onnx'".to_owned(),
    ];
    let overrides: Vec<Override> = overrides.into_iter().map(Override::set).collect();
    let loaded = config::load(&Path::new(REPOSITORY).join("configs/generic-int8.toml"), &overrides).unwrap();
    pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).unwrap();
    let opened = Opened::open(&out, &targets::registry([]).unwrap()).unwrap();
    let samples = Path::new(REPOSITORY).join("models/digits/calib_x.npy");
    // What the program writes.
    let run = |raw: bool| {
        let file = folder.path().join("y.npy");
        let inputs = [("image".to_owned(), samples.clone())].into();
        strait_driver::run::run(&opened, &inputs, &file, raw, &session).unwrap();
        strait_samples::Array::open(&file).unwrap()
    };
    let (codes, whole) = (run(true), run(false));

    let artifact = Artifact::open(&out).unwrap();
    let options = SessionOptions::default();
    let mut of_codes = artifact.session_of_codes(&options).unwrap();
    let mut of_whole = artifact.session_of_whole(&options).unwrap();
    let ports = |session: &strait::Session| -> Vec<(String, strait::Elem)> {
        let ports = session.outputs().into_iter();
        ports.map(|port| (port.name, port.elem)).collect()
    };
    let cut = "/pool/MaxPool_output_0";
    assert_eq!(
        ports(&artifact.session().unwrap()),
        [(cut.to_owned(), strait::Elem::F32)]
    );
    assert_eq!(ports(&of_codes), [(cut.to_owned(), strait::Elem::I8)]);
    assert_eq!(ports(&of_whole), [("logits".to_owned(), strait::Elem::F32)]);
    for (index, sample) in samples_of(&opened).iter().enumerate() {
        let input = [("image", sample[0].view())];
        let found = of_codes.run(&input).unwrap();
        assert_eq!(found[cut].bytes(), &codes.sample(index)[..]);
        let found = of_whole.clone().run(&input).unwrap();
        assert_eq!((found.len(), found["logits"].bytes()), (1, &whole.sample(index)[..]));
        assert_eq!(of_whole.run(&input).unwrap()["logits"].bytes(), found["logits"].bytes());
    }
    // A model without a cut is whole by itself.
    let loaded = config::load(
        &Path::new(REPOSITORY).join("configs/generic-int8.toml"),
        &overrides[..2],
    )
    .unwrap();
    pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).unwrap();
    let plain = Artifact::open(&out).unwrap();
    assert_eq!(
        ports(&plain.session_of_whole(&options).unwrap()),
        ports(&plain.session().unwrap())
    );
    // The artifact that was opened first is no longer there.
    assert!(
        artifact
            .session_of_whole(&options)
            .unwrap_err()
            .message()
            .contains("another artifact")
    );
}
