//! Recorded layers in an `.npz`: the layout of `docs/plugins/silicon.md`.

mod error;
mod fields;
mod sums;

pub use error::VectorsError;

use fields::Fields;
use std::{collections::BTreeMap, path::Path};
use strait_requantize::{IntType, Per};
use strait_samples::{Array, read_arrays};

/// Recorded layers, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The layers, in the order of their names.
    pub layers: Vec<Layer>,
}

/// Recorded values of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name in the file.
    pub name: String,
    /// The outputs' type.
    pub out: IntType,
    /// Number of recorded outputs.
    pub outputs: usize,
    /// The output's zero point, where the file says it.
    pub zero_point: Option<i32>,
    /// Scales on both sides, where the file says them.
    pub scales: Option<Scales>,
    /// Of each channel the accumulators, ascending and each once, with their outputs, which do not decrease.
    pub channels: Vec<Vec<(i64, i32)>>,
}

/// Scales of a layer: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct Scales {
    /// Of the layer's input.
    pub input: f32,
    /// Of its weights, for all channels or each.
    pub weight: Per<f32>,
    /// Of its output.
    pub output: f32,
}

/// The most bytes of all arrays together.
const MOST_BYTES: u64 = 8 << 30;
/// The most outputs of a layer.
pub(crate) const MOST_OUTPUTS: usize = 1 << 24;
/// The most layers of a file.
const MOST_LAYERS: usize = 4096;

impl Vectors {
    /// Reads a file.
    ///
    /// # Errors
    /// Files that are no such archive or larger than is read, arrays that are missing, unknown or of another shape or type
    /// than they have to be, and outputs that are no function of their accumulators or decrease.
    pub fn read(path: &Path) -> Result<Vectors, VectorsError> {
        let file = path.display().to_string();
        let arrays = read_arrays(path, MOST_BYTES).map_err(|error| VectorsError {
            array: None,
            right: error
                .help
                .first()
                .cloned()
                .unwrap_or_else(|| "an archive as numpy.savez writes it".into()),
            wrong: without(&file, &error.sentence()),
            file: file.clone(),
        })?;
        let mut layers: BTreeMap<&str, BTreeMap<&str, &Array>> = BTreeMap::new();
        for (name, array) in &arrays {
            let Some((layer, field)) = name.rsplit_once('/').filter(|(layer, _)| !layer.is_empty()) else {
                return Err(VectorsError {
                    file,
                    array: Some(name.clone()),
                    wrong: "it belongs to no layer".into(),
                    right: "arrays are called LAYER/FIELD, `conv1/output` for instance".into(),
                });
            };
            layers.entry(layer).or_default().insert(field, array);
        }
        if layers.is_empty() || layers.len() > MOST_LAYERS {
            return Err(VectorsError {
                file,
                array: None,
                wrong: format!("it has {} layers", layers.len()),
                right: format!("a file has 1 to {MOST_LAYERS} layers"),
            });
        }
        let read = |(name, arrays): (&str, _)| layer(&Fields::new(&file, name, arrays)?);
        let layers = layers.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Vectors { layers })
    }
}

/// A sentence about a file, or about an array in it, behind the file's name.
fn without(file: &str, sentence: &str) -> String {
    match sentence.strip_prefix(file) {
        Some(rest) => match rest.strip_prefix(", ") {
            Some(of_array) => of_array.to_owned(),
            None => format!("it{rest}"),
        },
        None => sentence.to_owned(),
    }
}

fn layer(fields: &Fields<'_>) -> Result<Layer, VectorsError> {
    let (output, out) = fields.output()?;
    let shape = output.shape();
    let count = shape.iter().product::<usize>();
    if count == 0 || count > MOST_OUTPUTS {
        let wrong = format!("it has {count} outputs");
        return Err(fields.error("output", wrong, format!("1 to {MOST_OUTPUTS} outputs of a layer")));
    }
    let accumulators = sums::accumulators(fields, shape)?;
    let codes = fields.integers("output", output)?;
    let channels = match shape {
        [_, channels, ..] => *channels,
        _ => 1,
    };
    // The channel is axis 1.
    let inner = shape.iter().skip(2).product::<usize>();
    let mut pairs: Vec<Vec<(i64, i32)>> = vec![Vec::new(); channels];
    for (at, (&x, &y)) in accumulators.iter().zip(&codes).enumerate() {
        // A code of a type of at most 32 bits.
        pairs[at / inner % channels].push((x, y as i32));
    }
    for (channel, pairs) in pairs.iter_mut().enumerate() {
        pairs.sort_unstable();
        pairs.dedup();
        if let Some(&[(a, first), (b, second)]) = pairs
            .windows(2)
            .find_map(|two| <&[_; 2]>::try_from(two).ok().filter(|[a, b]| a.0 == b.0 || a.1 > b.1))
        {
            let wrong =
                format!("in channel {channel} the accumulator {a} has the output {first}, and {b} has {second}");
            let right = if a == b {
                "one output for each accumulator of a channel: channels are axis 1, and nothing but a bias is added in \
                 front of the requantization"
            } else {
                "outputs that do not decrease: record one requantization alone, with no other function behind it, of sums \
                 that did not wrap"
            };
            return Err(fields.error("output", wrong, right.into()));
        }
    }
    Ok(Layer {
        name: fields.layer().to_owned(),
        out,
        outputs: count,
        zero_point: fields.zero_point("zero_point", out)?,
        scales: fields.scales(channels)?,
        channels: pairs,
    })
}
