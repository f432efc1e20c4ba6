//! The table of what a filetest may run.

mod quantize;
mod rewrite;

pub use quantize::{plain, target, types};
use strait_core::text::{PrintOptions, parse_beside, print};
use strait_core::verifier::verify;
use strait_core::{Module, bytes};

/// Outcome of a pass that a filetest looks at.
pub enum Outcome {
    /// The module as it is now, and remarks that are shown behind it.
    Module(Vec<String>),
    /// Something else; nothing can run behind it.
    Text(String),
}

/// A pass: it changes the module and answers, or fails with a message. The second argument is what stands behind its
/// name.
pub type Pass = fn(&mut Module, &str) -> Result<Outcome, String>;

/// Every pass by name, in the order of the alphabet.
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

/// The pass called `name`.
pub fn find(name: &str) -> Result<Pass, String> {
    let found = PASSES.iter().find(|(known, _)| *known == name);
    found.map(|(_, pass)| *pass).ok_or_else(|| {
        let known: Vec<&str> = PASSES.iter().map(|(known, _)| *known).collect();
        format!("there is no pass `{name}`; there are {}", known.join(", "))
    })
}

/// Rounds values to the grids that the model gives for them.
fn round(module: &mut Module, _: &str) -> Result<Outcome, String> {
    module.round_to_grids().map_err(|failure| failure.to_string())?;
    Ok(Outcome::Module(Vec::new()))
}

/// Text to module to IR bytes to module: the text must not change on the way.
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

/// `ok`, or every invariant that does not hold.
fn verify_all(module: &mut Module, _: &str) -> Result<Outcome, String> {
    verify(module).map_err(|violation| violation.to_string())?;
    Ok(Outcome::Text("ok".into()))
}
