//! Reads recorded layers from an `.npz` file. `docs/plugins/silicon.md` describes its layout.

mod error;
mod fields;
mod layer;
mod layout;
mod sums;

pub use error::VectorsError;
pub use layer::{AccumulatorSource, ChannelAxis, InputZero, RecordedLayer, RecordedValue};

use fields::Fields;
use std::{collections::BTreeMap, path::Path};
use strait_requantize::Per;
use strait_samples::{Array, read_arrays};
use sums::Sums;

/// The recorded layers of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The layers, sorted by name.
    pub layers: Vec<RecordedLayer>,
}

/// The scales of a layer: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct LayerScales {
    /// Scale of the layer's input.
    pub input: f32,
    /// Scales of the layer's weights: one for all channels, or one for each.
    pub weight: Per<f32>,
    /// Scale of the layer's output.
    pub output: f32,
}

/// The maximum size of all arrays together, in bytes.
const MOST_BYTES: u64 = 8 << 30;
/// The maximum number of outputs of a layer.
pub(crate) const MOST_OUTPUTS: usize = 1 << 24;
/// The maximum number of layers in a file.
const MOST_LAYERS: usize = 4096;

impl Vectors {
    /// Reads a file of recorded layers.
    ///
    /// # Errors
    /// If the file is not an `.npz` file or is too large, or if arrays are missing, unknown, or have another shape or
    /// type than they should.
    pub fn read(path: &Path) -> Result<Vectors, VectorsError> {
        let file = path.display().to_string();
        let refused = |array: Option<&str>, wrong: String, right: String| VectorsError {
            file: file.clone(),
            array: array.map(str::to_owned),
            wrong,
            right,
        };
        let arrays = read_arrays(path, MOST_BYTES).map_err(|error| {
            let right = error.help.first().cloned();
            let right = right.unwrap_or_else(|| "an archive as numpy.savez writes it".into());
            refused(None, without(&file, &error.sentence()), right)
        })?;
        let mut layers: BTreeMap<&str, BTreeMap<&str, &Array>> = BTreeMap::new();
        for (name, array) in &arrays {
            let Some((layer, field)) = name.rsplit_once('/').filter(|(layer, _)| !layer.is_empty()) else {
                let right = "arrays are called LAYER/FIELD, `conv1/output` for instance";
                return Err(refused(Some(name), "it belongs to no layer".into(), right.into()));
            };
            layers.entry(layer).or_default().insert(field, array);
        }
        if layers.is_empty() || layers.len() > MOST_LAYERS {
            let wrong = format!("it has {} layers", layers.len());
            return Err(refused(None, wrong, format!("a file has 1 to {MOST_LAYERS} layers")));
        }
        let read = |(name, arrays): (&str, _)| layer(&Fields::new(&file, name, arrays)?);
        let layers = layers.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Vectors { layers })
    }
}

/// Removes the file's name from the beginning of a sentence about the file or about an array in it.
fn without(file: &str, sentence: &str) -> String {
    let Some(rest) = sentence.strip_prefix(file) else {
        return sentence.to_owned();
    };
    rest.strip_prefix(", ")
        .map_or_else(|| format!("it{rest}"), str::to_owned)
}

fn layer(fields: &Fields<'_>) -> Result<RecordedLayer, VectorsError> {
    let (output, out) = fields.output()?;
    let shape = output.shape();
    let count = shape.iter().product::<usize>();
    if count == 0 || count > MOST_OUTPUTS {
        let wrong = format!("it has {count} outputs");
        return Err(fields.error("output", wrong, format!("1 to {MOST_OUTPUTS} outputs of a layer")));
    }
    let sums = sums::accumulators(fields, shape)?;
    let codes = fields.integers("output", output)?;
    let zero_point = fields.zero_point("zero_point", out)?;
    let read = |sums: Sums| -> Result<RecordedLayer, VectorsError> {
        // No bits are lost in the cast, since the type of the codes has at most 32 bits.
        let outputs = codes.iter().map(|&code| code as i32);
        let pairs = sums.accumulators.into_iter().zip(outputs).collect();
        let layer = RecordedLayer::new(fields.layer(), out, shape, sums.axis, pairs);
        Ok(RecordedLayer {
            source: sums.source,
            zero_point,
            scales: fields.scales(layer.channels.len())?,
            input_zero: sums.input_zero,
            ..layer
        })
    };
    // If the number of scales differs from the number of channels, the channels cannot lie along this axis.
    let (mut layers, mut refused) = (Vec::new(), None);
    for reading in sums.into_iter().map(read) {
        match reading {
            Ok(layer) => layers.push(layer),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let mut layers = layers.into_iter();
    match (layers.next(), refused) {
        (Some(first), _) => Ok(RecordedLayer {
            channels_last: layers.collect(),
            ..first
        }),
        (None, Some(error)) => Err(error),
        (None, None) => {
            let wrong = "nothing says what it was made of".to_owned();
            Err(fields.error("output", wrong, "`accumulator`, or `input` and `weight`".into()))
        }
    }
}
