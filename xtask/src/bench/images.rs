//! Compares how fast Strait reads images with how fast Pillow and NumPy do. `image_bench.py` makes the images and
//! measures both.

use crate::{Outcome, process, python, workspace};

pub(super) fn run(arguments: &[String]) -> Outcome {
    let interpreter = python::interpreter()?;
    let mut script = python::script(&interpreter, "image_bench.py");
    script.arg("--repository").arg(workspace::root());
    script.arg("--work").arg(workspace::target().join("image_bench"));
    if let Some(shared) = workspace::shared_data() {
        script.arg("--data").arg(shared);
    }
    process::run(script.args(arguments))
}
