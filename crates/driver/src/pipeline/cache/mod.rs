//! Keys and values of a decoder's past that are codes at the inputs and outputs of a file.
//!
//! [`pairs`] finds the inputs and outputs that the configuration names, [`grids`] computes their scales, and [`file`] makes
//! codes of them in the graph that is written. In the artifact they are real numbers, which are rounded to the same grids.
//! Both grids are symmetric: real = s·(q − z), where z stands in the middle of the type's codes and s = max |x| / 127.

mod file;
mod grids;
mod pairs;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use strait_compile::OfTarget;
use strait_container::{Artifact, Digest, sha256};
use strait_core::{Elem, Module, QuantParams, Reading, Use};
use strait_quantize::{Settings, annotate::Run};
use strait_target::spec::Activation;

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Cache, CacheType},
    },
    diagnostic::Diagnostics,
    failure::codes,
    stop::Stop,
};

pub(super) use file::with_codes;
use pairs::Pair;

/// The name that the digest of other artifacts has among the sources of an artifact.
pub(super) const SOURCE: &str = "cache grids";

/// The inputs and outputs of a graph that are codes, by name, with the type and the grid of the codes.
pub(super) type Codes = BTreeMap<String, (Elem, Arc<QuantParams>)>;

/// The caches that the configuration names for a target, each with its key.
fn named<'a>(loaded: &'a Loaded, id: &str) -> impl Iterator<Item = (KeyPath, &'a Cache)> {
    let own = loaded.config.output.target.get(id);
    let path = KeyPath::of(&["output", "target", id, "cache"]);
    let caches = own.into_iter().flat_map(|own| &own.cache).enumerate();
    caches.map(move |(index, cache)| (path.clone().index(index), cache))
}

/// Before anything is observed, checks what the configuration says about caches.
///
/// # Errors
/// A pattern matches nothing, a past has no present of its own, a tensor cannot be a cache, or there is nothing to
/// compute scales of.
pub(super) fn check(loaded: &Loaded, id: &str, float: &Module, has_samples: bool) -> Result<(), Diagnostics> {
    let found = pairs::pairs(loaded, id, float)?;
    let graph = float.main();
    for pair in &found {
        let mut values = pair.values().filter_map(|value| graph.value(value));
        if let Some(value) = values.find(|value| value.quant.is_some()) {
            let message = format!("the model has a grid for `{}` already", float.name(value.name));
            return Err(loaded.error(codes::RULE, &pair.path, message, "").into());
        }
        match &pair.cache.grids {
            Some(_) => grids::taken(loaded, pair).map(|_| ())?,
            None if !has_samples => return Err(grids::no_samples(loaded, pair).into()),
            None => {}
        }
    }
    Ok(())
}

/// Gives the values of caches their grids, to which the compiler then rounds them.
///
/// # Errors
/// As for [`check`]; or all elements of a cache are 0 in all samples.
pub(super) fn give_grids(own: &mut OfTarget<'_>, loaded: &Loaded, id: &str) -> Result<(), Diagnostics> {
    for pair in pairs::pairs(loaded, id, &own.module)? {
        let scale = grids::scale(loaded, &pair, (&own.module, &own.observation))?;
        let (elem, zero) = type_of(pair.cache);
        let grid = Arc::new(QuantParams::tensor(scale, zero).of_codes(elem));
        let graph = own.module.to_mut().main_mut();
        for value in pair.values() {
            graph.set_quant(value, Some(grid.clone()));
        }
        if is_weights_alone(loaded) {
            // The model itself reads its new keys and values before they are rounded.
            let readers: Vec<Use> = graph.uses(pair.present).collect();
            for at in readers {
                graph.read_otherwise(at, Reading::Computed);
            }
        }
    }
    Ok(())
}

/// If weights alone are quantized, the grid of a cache is no reason to compute on codes: the layers that make and read the
/// cache compute on real numbers.
///
/// # Errors
/// As for [`check`].
pub(super) fn leave_in_float(
    loaded: &Loaded,
    id: &str,
    float: &Module,
    settings: &mut Settings,
) -> Result<(), Diagnostics> {
    if !is_weights_alone(loaded) {
        return Ok(());
    }
    let graph = float.main();
    for value in pairs::pairs(loaded, id, float)?.iter().flat_map(Pair::values) {
        let maker = graph.producer(value).map(|(id, _)| id);
        for id in graph.uses(value).map(|at| at.node).chain(maker) {
            let weights = graph.node(id).and_then(|node| node.input(node.op.weights_operand()));
            // Weights of such a layer are quantized all the same.
            if weights.is_none_or(|weights| graph.data_of(weights).is_none()) {
                let layer = settings.layers.entry(id).or_default();
                layer.activation.get_or_insert(Activation::Float32);
                layer
                    .run
                    .get_or_insert_with(|| Run::Float("activations are float32".to_owned()));
            }
        }
    }
    Ok(())
}

/// The inputs and outputs of the model that are codes in its file.
///
/// # Errors
/// As for [`check`].
pub(super) fn codes(loaded: &Loaded, id: &str, float: &Module) -> Result<Codes, Diagnostics> {
    let graph = float.main();
    let mut found = Codes::new();
    for pair in pairs::pairs(loaded, id, float)? {
        let (elem, _) = type_of(pair.cache);
        for value in pair.values() {
            let value = graph.value(value);
            if let Some((value, grid)) = value.and_then(|value| Some((value, value.quant.as_deref()?))) {
                let name = float.name(value.name).to_owned();
                found.insert(name, (elem, Arc::new(grid.bare())));
            }
        }
    }
    Ok(found)
}

/// The digest of all artifacts whose scales are used; `None` if there are none.
///
/// # Errors
/// One of them cannot be opened.
pub(super) fn digest(loaded: &Loaded, id: &str) -> Result<Option<Digest>, Stop> {
    let mut all = String::new();
    for (path, cache) in named(loaded, id) {
        if let Some(folder) = &cache.grids {
            let artifact = open(loaded, &path, folder.as_ref())?;
            all += &artifact.manifest().digest().to_string();
        }
    }
    Ok((!all.is_empty()).then(|| sha256(all.as_bytes())))
}

fn open(loaded: &Loaded, path: &KeyPath, folder: &Path) -> Result<Artifact, Diagnostics> {
    Artifact::open(folder).map_err(|error| {
        let path = path.clone().key("grids");
        let finding = loaded.error(codes::ARTIFACT, &path, error.to_string(), "");
        Diagnostics::from(
            finding.help("name the folder of an artifact, that is, the `output.dir` of another configuration"),
        )
    })
}

/// True if activations are real numbers.
fn is_weights_alone(loaded: &Loaded) -> bool {
    loaded.config.quantize.activations.ty == Some(Activation::Float32)
}

/// The type and the zero point of codes.
fn type_of(cache: &Cache) -> (Elem, i32) {
    match cache.ty {
        CacheType::Int8 => (Elem::I8, 0),
        CacheType::Uint8 => (Elem::U8, 128),
    }
}
