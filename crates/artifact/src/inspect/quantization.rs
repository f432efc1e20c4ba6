//! Shows how the inputs and outputs of an artifact and the operands and results of its layers are quantized.

use strait_container::{Artifact, QUANTIZATION_FILE, QUANTIZATION_SCHEMA, Quantization};
use strait_document::Glob;

use super::no_layer;
use crate::{Error, opened::json};

/// Returns the quantization configs of an artifact. `pattern` chooses layers by their names in the source model, and
/// inputs and outputs by their own names.
///
/// # Errors
/// If the file cannot be read, or the pattern matches nothing that has a config.
pub fn quantization(artifact: &Artifact, pattern: Option<&str>) -> Result<Quantization, Error> {
    let mut found: Quantization = json(artifact, QUANTIZATION_FILE, QUANTIZATION_SCHEMA)?;
    let Some(pattern) = pattern else { return Ok(found) };
    let glob = Glob::new(pattern);
    let (chosen, others): (Vec<_>, Vec<_>) =
        (found.layers.into_iter()).partition(|layer| layer.sources.iter().any(|source| glob.matches(source)));
    for border in [&mut found.inputs, &mut found.outputs] {
        border.retain(|config| glob.matches(&config.tensor));
    }
    if chosen.is_empty() && found.inputs.is_empty() && found.outputs.is_empty() {
        let sources = others.iter().flat_map(|layer| &layer.sources);
        return Err(no_layer(pattern, sources.map(String::as_str)));
    }
    found.layers = chosen;
    Ok(found)
}
