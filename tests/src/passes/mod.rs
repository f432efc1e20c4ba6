//! The passes that a filetest may run.

mod quantize;
mod rewrite;

pub use quantize::{plain, target, types};
use strait_core::text::{PrintOptions, parse_beside, print};
use strait_core::verifier::verify;
use strait_core::{Module, bytes};

/// What a pass gives, for a filetest to compare.
pub enum Outcome {
    /// The changed module, with remarks that are shown after it.
    Module(Vec<String>),
    /// Another text. No pass can follow.
    Text(String),
}

/// A pass. It changes the module and returns an outcome, or fails with a message. The second argument is the text after
/// the pass's name.
pub type Pass = fn(&mut Module, &str) -> Result<Outcome, String>;

/// Every pass by name, in alphabetical order.
const PASSES: &[(&str, Pass)] = &[
    ("annotate", quantize::annotate_graph),
    ("bake", quantize::bake_graph),
    ("canonicalise", rewrite::canonicalise),
    ("fuse", quantize::fuse_graph),
    ("lower", quantize::lower_graph),
    ("place", quantize::place_graph),
    ("rewrite", rewrite::rewrite),
    ("round", round),
    ("roundtrip", roundtrip),
    ("simulate", quantize::simulate_graph),
    ("verify", verify_all),
];

/// Finds the pass called `name`.
pub fn find(name: &str) -> Result<Pass, String> {
    let found = PASSES.iter().find(|(known, _)| *known == name);
    found.map(|(_, pass)| *pass).ok_or_else(|| {
        let known: Vec<&str> = PASSES.iter().map(|(known, _)| *known).collect();
        format!("there is no pass `{name}`; there are {}", known.join(", "))
    })
}

/// Rounds values to the scales that the model gives for them.
fn round(module: &mut Module, _: &str) -> Result<Outcome, String> {
    module.round_to_grids().map_err(|failure| failure.to_string())?;
    Ok(Outcome::Module(Vec::new()))
}

/// Converts text to a module, to IR bytes and back. The text must not change.
fn roundtrip(module: &mut Module, _: &str) -> Result<Outcome, String> {
    let text = print(module, &PrintOptions::default());
    let again = parse_beside(&text, module.pool()).map_err(|error| error.to_string())?;
    if print(&again, &PrintOptions::default()) != text {
        return Err("the text does not print as it was read".into());
    }
    let encoded = bytes::encode(module).map_err(|error| error.to_string())?;
    let decoded = bytes::decode(&encoded.ir, &|index| Some(encoded.tensors.get(index)?.bytes().clone()));
    *module = decoded.map_err(|error| error.to_string())?;
    Ok(Outcome::Module(Vec::new()))
}

/// `ok`, or every invariant that is broken.
fn verify_all(module: &mut Module, _: &str) -> Result<Outcome, String> {
    verify(module).map_err(|violation| violation.to_string())?;
    Ok(Outcome::Text("ok".into()))
}
