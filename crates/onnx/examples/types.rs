//! Prints the type of every value of a model, one line each: `name elem [dims]`.
//!
//! `cargo run -p strait-onnx --example types -- MODEL [DIM=VALUE]...`

use std::error::Error;
use std::path::Path;
use strait_core::Dim;
use strait_import::ReadOptions;
use strait_onnx::read;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("a model is expected")?;
    let mut options = ReadOptions::default();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("DIM=VALUE is expected")?;
        options.bind.insert(name.into(), value.parse()?);
    }
    let module = read(Path::new(&path), &options)?;
    strait_core::verifier::verify(&module)?;
    for (_, value) in module.main().values() {
        let dims = value.ty.shape.iter().map(|dim| match dim {
            Dim::Fixed(extent) => extent.to_string(),
            Dim::Named(name) => module.name(*name).to_string(),
        });
        let dims: Vec<String> = dims.collect();
        println!("{} {} [{}]", module.name(value.name), value.ty.elem, dims.join(","));
    }
    Ok(())
}
