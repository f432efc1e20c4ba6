//! The scales of caches.

use strait_container::Integrity;
use strait_core::{Def, Elem, Module, Op, QuantParams};
use strait_quantize::Observation;

use crate::{
    config::Loaded,
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::{Pair, open};

/// The largest code of a symmetric grid.
const LARGEST: f32 = 127.0;

/// The scale of a pair: that of another artifact, or max |x| / 127 of past and present in all samples.
///
/// # Errors
/// There is nothing to compute the scale of.
pub(super) fn scale(
    loaded: &Loaded,
    pair: &Pair<'_>,
    (module, observation): (&Module, &Observation),
) -> Result<f32, Diagnostics> {
    if pair.cache.grids.is_some() {
        return taken(loaded, pair);
    }
    let mut most = 0.0f32;
    for value in pair.values() {
        let name = module.main().value(value).map_or("", |value| module.name(value.name));
        let statistics = observation.elements(name).ok_or_else(|| no_samples(loaded, pair))?;
        let ends = [statistics.min(), statistics.max()];
        most = ends.into_iter().flatten().fold(most, |most, end| most.max(end.abs()));
    }
    let scale = most / LARGEST;
    match scale.is_normal() {
        true => Ok(scale),
        false => {
            let message = format!("all elements of `{}` are 0 in the calibration samples", pair.name);
            Err(loaded.error(codes::RULE, &pair.path, message, "").into())
        }
    }
}

/// The error for scales that have to be measured, without samples.
pub(super) fn no_samples(loaded: &Loaded, pair: &Pair<'_>) -> Diagnostic {
    let message = format!("there are no samples to measure the scale of `{}` on", pair.name);
    let finding = loaded.error(codes::RULE, &pair.path, message, "");
    finding.help("give samples to `calibration.data`, or give `grids` the folder of an artifact with this output")
}

/// The scale of the output of the same name in another artifact.
///
/// # Errors
/// The artifact cannot be read, or it does not round an output of this name to a symmetric grid of 8 bits.
pub(super) fn taken(loaded: &Loaded, pair: &Pair<'_>) -> Result<f32, Diagnostics> {
    let Some(folder) = &pair.cache.grids else {
        return Err(no_samples(loaded, pair).into());
    };
    let artifact = open(loaded, &pair.path, folder.as_ref())?;
    let path = pair.path.clone().key("grids");
    let model = artifact.model(Integrity::Full);
    let model = model.map_err(|error| loaded.error(codes::ARTIFACT, &path, error.to_string(), ""))?;
    let found = symmetric(&model.module, &pair.name);
    found.ok_or_else(|| {
        let name = &pair.name;
        let message = format!("the artifact {folder} has no output `{name}` on a symmetric grid of 8 bits");
        let finding = loaded.error(codes::RULE, &path, message, "");
        finding
            .help("compile that artifact with this output in its `cache`")
            .into()
    })
}

/// The scale of the codes that an output of an artifact stands for.
fn symmetric(module: &Module, name: &str) -> Option<f32> {
    let graph = module.main();
    let mut outputs = graph.outputs().iter().filter_map(|&id| graph.value(id));
    let output = outputs.find(|value| module.name(value.name) == name)?;
    let Def::Node(node, _) = output.def else { return None };
    let node = graph.node(node)?;
    let (elem, grid): (Elem, &QuantParams) = match &node.op {
        Op::RoundTo(round) => (round.scheme.elem()?, output.quant.as_deref()?),
        Op::Dequantize(_) => {
            let codes = graph.value(node.input(0)?)?;
            (codes.ty.elem, codes.quant.as_deref()?)
        }
        _ => return None,
    };
    let (scale, zero) = grid.as_tensor()?;
    let middle = match elem {
        Elem::I8 => 0,
        Elem::U8 => 128,
        _ => return None,
    };
    (zero == middle).then_some(scale)
}
