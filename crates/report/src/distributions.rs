//! How the numbers of a tensor are distributed, in few enough bars for a picture.

use serde::{Deserialize, Serialize};

/// The largest number of bars of a tensor.
pub const BARS: usize = 64;

/// How the numbers of a computed tensor are distributed in the float model, on the calibration samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Name of the tensor in the float model.
    pub tensor: String,
    /// The lower edge of the first bar.
    pub from: f64,
    /// The width of a bar. Bar i covers the numbers from `from` + i · `width` to `from` + (i + 1) · `width`.
    pub width: f64,
    /// The number of elements in each bar.
    pub counts: Vec<u64>,
    /// Smallest and largest number that was observed.
    pub seen: [f64; 2],
    /// Smallest and largest number that codes can stand for. Absent if the tensor has several scales, or no codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<[f64; 2]>,
    /// The distance between two numbers that codes stand for. Absent where `grid` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Fraction of the numbers that lie outside of the grid and saturate. Absent where `grid` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<f64>,
}

/// The channels of the weights of a layer. If there are more than [`BARS`] channels, each entry of `most` and `snr` is for
/// several neighbouring ones: entry i is for the channels from i · `each` to (i + 1) · `each` − 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChannelsOfWeights {
    /// Name of the layer in the canonical model.
    pub layer: String,
    /// Name of the tensor.
    pub tensor: String,
    /// Number of channels.
    pub channels: u64,
    /// Number of channels in one entry of the lists.
    pub each: u64,
    /// True if the whole tensor has one scale.
    pub per_tensor: bool,
    /// The largest magnitude of the weights.
    pub most: Vec<f32>,
    /// The SNR of the weights' codes in dB, of the channel with the smallest one. `null` if the codes are exact, or all
    /// weights are 0.
    pub snr: Vec<Option<f32>>,
}
