//! The inputs of the model, and the samples for them.

use std::{num::NonZeroU32, path::Path};

use strait_core::{Elem, Module};
use strait_document::nearest;

use strait_samples::{InputSpec, Kind, Samples};

use crate::{
    config::{KeyPath, Loaded, preprocess, types::Preprocess},
    diagnostic::{Diagnostic, Diagnostics},
    failure::{self, codes},
};

/// Name and shape of each input of the main graph, whose shapes are fixed.
///
/// # Errors
/// An input that does not take floats: samples are read as floats.
pub(crate) fn shapes(module: &Module) -> Result<Vec<(String, Vec<usize>)>, Diagnostics> {
    let graph = module.main();
    let shape = |&id| {
        let value = graph.value(id)?;
        let extents = value
            .ty
            .dims()?
            .iter()
            .map(|&extent| usize::try_from(extent).ok())
            .collect::<Option<Vec<_>>>()?;
        Some((module.name(value.name).to_owned(), value.ty.elem, extents))
    };
    let mut found = Vec::new();
    for (name, elem, extents) in graph.inputs().iter().filter_map(shape) {
        if elem != Elem::F32 {
            let message = format!("the input {name:?} takes {elem}, and samples are read as floats");
            return Err(Diagnostic::error(codes::MODEL, message).into());
        }
        found.push((name, extents));
    }
    Ok(found)
}

/// Samples that each input takes: with the input's own preprocessing, or that of all inputs.
///
/// # Errors
/// A table `[input.NAME]` for an input that is not there.
pub(super) fn specs(module: &Module, loaded: &Loaded) -> Result<Vec<InputSpec>, Diagnostics> {
    let shapes = shapes(module)?;
    let names = || shapes.iter().map(|(name, _)| name.as_str());
    let strangers = loaded
        .config
        .input
        .keys()
        .filter(|&key| !names().any(|name| name == key));
    let findings: Vec<Diagnostic> = strangers
        .map(|stranger| {
            let path = KeyPath::of(&["input", stranger]);
            let all = names().collect::<Vec<_>>().join(", ");
            let finding = loaded.error(codes::RULE, &path, format!("the model has no input {stranger:?}"), "");
            let finding = finding.note(format!("its inputs are {all}"));
            match nearest::did_you_mean(stranger, names()).first() {
                Some(near) => finding.help(format!("did you mean {near:?}?")),
                None => finding,
            }
        })
        .collect();
    if !findings.is_empty() {
        return Err(Diagnostics(findings));
    }
    let spec = |(name, shape): &(String, Vec<usize>)| spec(name, shape, preprocessing(loaded, name));
    shapes.iter().map(spec).collect()
}

/// One input with its preprocessing.
///
/// # Errors
/// Preprocessing that is not possible.
pub(crate) fn spec(name: &str, shape: &[usize], steps: &Preprocess) -> Result<InputSpec, Diagnostics> {
    let plan = preprocess::plan(steps).map_err(|error| {
        let message = format!(
            "preprocessing of the input {name:?}, step {}: {}",
            error.step, error.message
        );
        Diagnostic::error(crate::config::codes::PREPROCESS, message).help(error.help)
    })?;
    Ok(InputSpec {
        name: name.to_owned(),
        shape: shape.to_vec(),
        preprocess: plan,
    })
}

/// The preprocessing of an input.
pub(super) fn preprocessing<'a>(loaded: &'a Loaded, input: &str) -> &'a Preprocess {
    let own = loaded
        .config
        .input
        .get(input)
        .and_then(|input| input.preprocess.as_ref());
    own.unwrap_or(&loaded.config.preprocess)
}

/// The samples at a path of the configuration; findings without a place get that of the key.
///
/// # Errors
/// As for [`Samples::open`].
pub(super) fn samples(
    loaded: &Loaded,
    table: &str,
    data: &Path,
    most: Option<NonZeroU32>,
    inputs: &[InputSpec],
) -> Result<Samples, Diagnostics> {
    Samples::open(data, inputs, most).map_err(|error| {
        let (shape, wanted) = (error.kind == Kind::Shape, error.kind == Kind::Wanted);
        let mut found = failure::data(error);
        if shape {
            found
                .0
                .iter_mut()
                .for_each(|finding| blame_batch(loaded, inputs, finding));
        }
        let key = if wanted { "samples" } else { "data" };
        at(loaded, &[table, key], found)
    })
}

/// Samples are one each. Where an input takes several at once because the configuration has bound its first dimension,
/// it is that key, not the samples.
fn blame_batch(loaded: &Loaded, inputs: &[InputSpec], finding: &mut Diagnostic) {
    let several = |size: u32| size > 1 && inputs.iter().any(|input| input.shape.first() == Some(&(size as usize)));
    let mut bound = loaded.config.model.bind.iter();
    if let Some((name, _)) = bound.find(|(_, size)| several(size.get())) {
        let path = KeyPath::of(&["model", "bind", name]);
        finding.excerpt = loaded.error("", &path, "", "one sample at a time needs 1").excerpt;
        finding.help = vec![format!("samples are given to the model one by one: set `{path}` to 1")];
    }
}

/// Gives findings without a place that of a key.
pub(super) fn at(loaded: &Loaded, keys: &[&str], mut found: Diagnostics) -> Diagnostics {
    for finding in found.0.iter_mut().filter(|finding| finding.excerpt.is_none()) {
        finding.excerpt = loaded.error("", &KeyPath::of(keys), "", "").excerpt;
    }
    found
}
