//! A plugin in a library, as a program uses it that embeds Strait and is no worker itself.

use crate::build::{TABLE, build, repository, workshop};
use std::path::Path;
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
