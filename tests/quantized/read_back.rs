//! Q/DQ files that are written with an artifact are models like any other: compiled for the same target, they compute the same
//! bytes.

use super::*;
use std::{collections::BTreeMap, path::PathBuf};
use strait_driver::run;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Results of an artifact for samples in a file, byte by byte; codes where outputs have them.
fn outputs(artifact: &Path, samples: &Path, folder: &Path) -> Vec<Vec<u8>> {
    let opened = Opened::open(artifact, &targets::registry([]).unwrap()).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let files = BTreeMap::from([(opened.inputs().unwrap()[0].name.clone(), samples.to_owned())]);
    fs::create_dir_all(folder).unwrap();
    let written = run::run(&opened, &files, folder, true, &session).unwrap();
    let arrays = written
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "npy"));
    arrays.map(|path| fs::read(path).unwrap()).collect()
}

/// Compiles a model and the file that is written with it, and holds the outputs of both against each other.
fn reads_back(compile: impl Fn(&Path, Option<&Path>) -> PathBuf, samples: &Path, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let first = compile(&at("first"), None);
    let second = compile(&at("second"), Some(&first.join("model.qdq.onnx")));
    let expected = outputs(&first, samples, &at("expected"));
    assert!(!expected.is_empty(), "{case}");
    assert!(expected == outputs(&second, samples, &at("found")), "{case}");
}

fn compile(loaded: &config::Loaded) -> PathBuf {
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let compiled = pipeline::compile(loaded, targets::registry([]).unwrap(), &session);
    compiled.unwrap_or_else(|stop| panic!("{stop}")).remove(0).folder
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
    ] {
        let samples = shared.join(format!("golden/{name}.in.npy"));
        for target in TARGETS {
            let of = |folder: &Path, file: Option<&Path>| {
                let model = shared.join(format!("models/{name}.onnx"));
                let text = format!(
                    "schema = 1\nmodel.file = '{}'\ntarget.use = ['{target}']\ncalibration.data = '{}'\n\
                     calibration.cache = '{}'\noutput.dir = '{}'\n",
                    file.unwrap_or(&model).display(),
                    samples.display(),
                    folder.with_extension("cache").display(),
                    folder.display()
                );
                compile(&config::parse("model.toml", text, folder, &[]).unwrap())
            };
            reads_back(of, &samples, &format!("{name} for {target}"));
        }
    }
}
