//! Compares the results of other programs (such as LiteRT and ONNX Runtime) with those of our forms. `cargo xtask
//! oracles` writes the files with the programs' results and runs this example.
//!
//! `cargo run -p strait-requantize --example oracles -- FOLDER DOCUMENT`
//!
//! Each file in the folder contains the cases of one kernel of a program. A case consists of the parameters that the
//! program got (scales, zero points, integers), the rows of integers that it got, and its results. Our rules make forms
//! from the same parameters. The example prints how many results are equal and how many differ, and writes these
//! numbers to the document as a table. The exit code is 1 if a kernel's results differ from those of a rule that should
//! give the same results.

mod compare;
mod functions;
mod rules;
mod table;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, document] = arguments.as_slice() else {
        return Err("a folder of vectors and a document to write are expected".into());
    };
    let mut files = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort();
    let mut kernels = Vec::new();
    for path in &files {
        let kernel = compare::Kernel::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        kernel.print();
        kernels.push(kernel);
    }
    std::fs::write(document, table::markdown(&kernels)?)?;
    let held = kernels.iter().all(compare::Kernel::holds);
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
