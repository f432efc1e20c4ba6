//! Measures how fast Strait is beside the runtimes and quantizers that people use.

use super::samples::samples;
use super::shapes::{self, SHAPES};
use crate::{Outcome, Stop, process, python, workspace};
use std::path::Path;
use std::process::Command;

/// The numbers of nodes of the large graphs.
const NODES: [usize; 2] = [100_000, 1_000_000];
const SAMPLES: usize = 4;

/// Makes the models and graphs that are missing, and runs `speed.py`.
pub(super) fn run(arguments: &[String]) -> Outcome {
    let folder = workspace::target().join("bench").join("peers");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    graphs(&folder)?;
    let python = python::interpreter()?;
    let mut script = python::start(&python, "speed")?;
    script.arg("--models").arg(&folder).arg("--graphs").arg(&folder);
    match workspace::shared_data() {
        None => println!("skipped: the real models, {}", python::NO_DATA),
        Some(shared) => {
            models(&python, &shared, &folder)?;
            let data = python::prepared_data(&python, &shared)?;
            script.arg("--shared").arg(&shared).arg("--data").arg(data);
        }
    }
    process::run(script.args(arguments))
}

/// Makes the models with random weights. Only their structure is stored.
fn models(python: &Path, shared: &Path, folder: &Path) -> Result<(), Stop> {
    let script = shared.with_file_name("perf").join("make_models.py");
    match script.is_file() {
        false => println!(
            "skipped: the models of five architectures, as there is no {}",
            script.display()
        ),
        true if folder.join("yolon.onnx").is_file() => {}
        true => process::run(Command::new(python).arg(&script).arg(folder))?,
    }
    Ok(())
}

/// Makes the large graphs, and samples for them.
fn graphs(folder: &Path) -> Result<(), Stop> {
    let write = |name: &str, make: &dyn Fn() -> Vec<u8>| {
        let path = folder.join(name);
        match path.is_file() {
            true => Ok(()),
            false => std::fs::write(&path, make()).map_err(|error| format!("{}: {error}", path.display())),
        }
    };
    for residual in SHAPES.iter().filter(|shape| shape.is_marked) {
        for nodes in NODES {
            write(&format!("chains_{nodes}.onnx"), &|| (residual.model)(nodes))?;
        }
    }
    Ok(write("samples.npy", &|| samples(SAMPLES, &shapes::INPUT))?)
}
