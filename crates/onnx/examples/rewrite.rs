//! Reads a model, in ONNX or in text form (`.strait`), and writes it as ONNX, so that other programs that read ONNX can
//! be compared with Strait.
//!
//! `cargo run -p strait-onnx --example rewrite -- MODEL OUTPUT`

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use strait_import::ReadOptions;
use strait_onnx::{read, write};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, output] = arguments.as_slice() else {
        return Err("a model and an output are expected".into());
    };
    let module = match model.ends_with(".strait") {
        true => strait_core::text::parse(&std::fs::read_to_string(model)?)?,
        false => read(Path::new(model), &ReadOptions::default())?,
    };
    write(&module, &mut BufWriter::new(File::create(output)?))?;
    Ok(())
}
