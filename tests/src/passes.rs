//! The table of what a filetest may run.

use strait_builtin as _;
use strait_core::text::{PrintOptions, parse_beside, print};
use strait_core::verifier::verify;
use strait_core::{Module, bytes};
use strait_lower::FusionPolicy;
use strait_requantize::Verdict;
use strait_target::Registry;

/// What a pass gives a filetest to look at.
pub enum Outcome {
    /// The module as it is now, and remarks that are shown behind it.
    Module(Vec<String>),
    /// Something else; nothing can run behind it.
    Text(String),
}

/// A pass: it changes the module and answers, or fails with a message. The second argument is what stands behind its name.
pub type Pass = fn(&mut Module, &str) -> Result<Outcome, String>;

/// Every pass by name, in the order of the alphabet.
const PASSES: &[(&str, Pass)] = &[
    ("canonicalise", canonicalise),
    ("fuse", fuse),
    ("roundtrip", roundtrip),
    ("verify", verify_all),
];

/// The pass called `name`.
pub(crate) fn find(name: &str) -> Result<Pass, String> {
    let found = PASSES.iter().find(|(known, _)| *known == name);
    found.map(|(_, pass)| *pass).ok_or_else(|| {
        let known: Vec<&str> = PASSES.iter().map(|(known, _)| *known).collect();
        format!("there is no pass `{name}`; there are {}", known.join(", "))
    })
}

/// The rules that are free of any target; remarks say which applied, and which refused and why.
fn canonicalise(module: &mut Module, _: &str) -> Result<Outcome, String> {
    let main = module.main;
    let rewritten = strait_rewrite::canonical().run(module, main);
    let rewritten = rewritten.map_err(|error| error.to_string())?;
    let applied = rewritten
        .applied
        .iter()
        .map(|(rule, node)| format!("{rule} applied at {node}"));
    let refused = rewritten
        .refused
        .iter()
        .map(|(rule, node, reason)| format!("{rule} refused at {node}: {reason}"));
    Ok(Outcome::Module(applied.chain(refused).collect()))
}

/// `fuse TARGET`: the fusion rows of a target with its default options, exact ones only; remarks say which row fired where,
/// and which requantizations stay and why.
fn fuse(module: &mut Module, id: &str) -> Result<Outcome, String> {
    let registry = Registry::builtin().map_err(|error| error.to_string())?;
    let options = Default::default();
    let target = registry.get(id, &options).map_err(|error| error.to_string())?;
    let main = module.main;
    let fusion = strait_lower::fuse(module, main, &*target, &options, FusionPolicy::Exact);
    let fusion = fusion.map_err(|error| error.to_string())?;
    let fired = fusion.fired.iter().map(|fused| {
        let verdict = match fused.certificate.worst() {
            Verdict::Exact => "exact".into(),
            Verdict::Bounded { max_lsb, .. } => format!("differs by up to {max_lsb}"),
        };
        format!("row {} fired at {}: {verdict}", fused.row, fused.node)
    });
    let stays = fusion.refused.iter().map(|refused| {
        let row = refused.row.as_deref().unwrap_or("none");
        format!(
            "{} stays behind {} (row {row}): {}",
            refused.value, refused.node, refused.reason
        )
    });
    Ok(Outcome::Module(fired.chain(stays).collect()))
}

/// Text to module to IR bytes to module: the text must not change on the way. The annotated stage has no bytes.
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

/// `ok`, or the first invariant that does not hold.
fn verify_all(module: &mut Module, _: &str) -> Result<Outcome, String> {
    verify(module).map_err(|violation| violation.to_string())?;
    Ok(Outcome::Text("ok".into()))
}
