//! Tests of programs that embed Strait: the example, and a program that uses a plugin library but cannot be a worker
//! itself.

use crate::build::{TABLE, build, repository, workshop};
use crate::outside::{Compiler, done, tree};
use std::fs;
use std::path::Path;
use std::process::Command;
use strait::{Fault, Model, Rules, Samples, Target, Tensor};

#[test]
fn a_program_that_embeds_strait_names_the_worker_of_a_plugin() {
    let Some(folder) = workshop() else { return };
    let library = build(folder.path(), "embedded", TABLE, &[]);
    let nobody = Target::from_library(&library, None).err().unwrap();
    assert_eq!((nobody.fault(), nobody.code()), (Fault::Call, "T001"));
    assert!(
        nobody.hint().is_some_and(|hint| hint.contains("strait-cli")),
        "{nobody:?}"
    );

    let target = Target::from_library(&library, Some(Path::new(env!("CARGO_BIN_EXE_strait")))).unwrap();
    let model = Model::open(repository("models/digits/digits.onnx")).unwrap();
    let samples = Samples::new([vec![Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64]).unwrap()]]);
    let built = strait::compile(&model, &target, &samples, &Rules::new()).unwrap();
    assert_eq!(built.target(), target.id());
}

#[test]
fn the_example_of_a_program_compiles_the_model_runs_it_and_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let [source, root] = ["examples/embed", ""].map(|path| repository(path).canonicalize().unwrap());
    let manifests = folder.path().join("manifests");
    fs::create_dir_all(manifests.join("src")).unwrap();
    fs::copy(source.join("src/main.rs"), manifests.join("src/main.rs")).unwrap();
    let manifest = fs::read_to_string(source.join("Cargo.toml")).unwrap();
    let crates = root.join("crates").display().to_string();
    fs::write(manifests.join("Cargo.toml"), manifest.replace("../../crates", &crates)).unwrap();
    assert!(tree(&manifests).contains("strait v"));

    let compiler = Compiler {
        source: &source,
        version: "0.1.0",
        out: folder.path(),
    };
    compiler.run("bin", "embed", "src/main.rs", &["strait"], &[]);
    let digits = folder.path().join("models/digits");
    fs::create_dir_all(&digits).unwrap();
    for file in ["digits.onnx", "calib_x.npy"] {
        fs::copy(root.join("models/digits").join(file), digits.join(file)).unwrap();
    }
    let said = done(Command::new(folder.path().join("embed")).current_dir(folder.path()));
    assert!(said.contains("7 fusions of which 7 are exact"), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with('[')).count(), 10, "{said}");
    let verified = done(
        Command::new(env!("CARGO_BIN_EXE_strait"))
            .arg("verify")
            .arg(folder.path().join("build/embedded")),
    );
    assert!(verified.contains("sound"), "{verified}");
}
