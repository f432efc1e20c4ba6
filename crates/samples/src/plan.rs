//! The preprocessing of samples.
//!
//! A batch of samples `[samples, …]` of any numeric type is read as float32 for an input of floats. The steps follow in
//! order, each in float32 with one rounding per operation. Samples for an input of integers or truth values are not read as
//! floats, so that only the steps that move numbers are for them, `color` and `layout`.
//!
//! ```text
//! scale = a                 x · a
//! offset = b                x + b
//! normalize = {mean, std}   (x − mean[c]) / std[c], c the channel
//! color = "BGR"             the three channels in reverse, if they are in the other order
//! layout = "NCHW"           axes permuted
//! ```

use serde::Serialize;
use strait_images::Pipeline;

/// Steps for a batch of samples, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// One letter for each axis of a batch as stored, `N` (the samples) first; `None` where the configuration does not
    /// say.
    pub stored: Option<String>,
    /// The steps on pixels, of samples that are images. Behind them a sample is `[height, width, channels]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pipeline>,
    /// The steps that do something.
    pub operations: Vec<Operation>,
    /// The letters of the axes behind the last step; `None` where those of the batch as stored are not known.
    pub layout: Option<String>,
}

impl Plan {
    /// The shape of a sample as stored that becomes one of this shape. Where it has other axes than the plan, it is this shape.
    pub(crate) fn stored_shape(&self, shape: &[usize]) -> Vec<usize> {
        let mut stored = shape.to_vec();
        for operation in self.operations.iter().rev() {
            let Operation::Permute { axes } = operation else {
                continue;
            };
            let mut before = stored.clone();
            for (&axis, &extent) in axes.iter().skip(1).zip(&stored) {
                if let Some(before) = axis.checked_sub(1).and_then(|axis| before.get_mut(axis)) {
                    *before = extent;
                }
            }
            stored = before;
        }
        stored
    }
}

/// One thing done to every sample of a batch. Axes count from 0, the axis of the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `x · factor`
    Scale(f32),
    /// `x + offset`
    Offset(f32),
    /// `(x − mean) / std` for all numbers.
    NormalizeAll {
        /// Subtracted.
        mean: f32,
        /// Divided by; not 0.
        std: f32,
    },
    /// `(x − mean[c]) / std[c]`, where c is the position along `axis`, whose size must be that of both lists.
    NormalizeChannels {
        /// The axis of the channels.
        axis: usize,
        /// Subtracted.
        mean: Vec<f32>,
        /// Divided by; none is 0.
        std: Vec<f32>,
    },
    /// Positions 0 and 2 along `axis`, whose size must be 3, change places.
    SwapColors {
        /// The axis of the channels.
        axis: usize,
    },
    /// Axis `i` of the result is axis `axes[i]` of what was there. `axes[0]` is 0.
    Permute {
        /// A permutation of 0 to rank - 1.
        axes: Vec<usize>,
    },
}
