//! Prints where the operators of TFLite files would run with each accelerator: a line for each operator, with file,
//! accelerator, operator, result, reason and estimated cycles between tabs. The reason is empty for an operator that the
//! accelerator takes.
//! Run by `cargo xtask oracles --devices`.

use std::path::Path;
use strait_tflite::accelerator::{Accelerator, verdicts};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let bytes = strait_mapped::map(Path::new(&file), 1 << 31)?;
        for accelerator in Accelerator::ALL {
            for verdict in verdicts(&bytes, accelerator)? {
                let why = verdict.why.unwrap_or_default();
                let cycles = verdict.cycles.map(|cycles| cycles.to_string()).unwrap_or_default();
                println!(
                    "{}",
                    [
                        &file,
                        accelerator.name(),
                        &verdict.operator,
                        &verdict.result,
                        &why,
                        &cycles
                    ]
                    .join("\t")
                );
            }
        }
    }
    Ok(())
}
