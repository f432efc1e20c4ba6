//! Quantization of the operands and results of an artifact's layers, and of its inputs and outputs.

use std::path::Path;

use strait_container::{QUANTIZATION_FILE, Quantization};

use strait_config::Glob;

use crate::stop::Stop;

/// Reads the configs of the artifact in a folder. `pattern` chooses layers by their source names, inputs and outputs
/// by their own.
///
/// # Errors
/// Fails for a folder that is no artifact, and for a pattern that matches nothing with a config.
pub fn quantization(folder: &Path, pattern: Option<&str>) -> Result<Quantization, Stop> {
    let artifact = super::compiled(folder, "it is quantized")?;
    let mut found: Quantization = super::json(folder, &artifact, QUANTIZATION_FILE)?;
    let Some(pattern) = pattern else { return Ok(found) };
    let glob = Glob::new(pattern);
    let (chosen, others): (Vec<_>, Vec<_>) =
        (found.layers.into_iter()).partition(|layer| layer.sources.iter().any(|source| glob.matches(source)));
    for border in [&mut found.inputs, &mut found.outputs] {
        border.retain(|config| glob.matches(&config.tensor));
    }
    if chosen.is_empty() && found.inputs.is_empty() && found.outputs.is_empty() {
        let sources = others.iter().flat_map(|layer| &layer.sources);
        return Err(super::no_layer(pattern, sources.map(String::as_str)).into());
    }
    found.layers = chosen;
    Ok(found)
}
