//! The preprocessing of samples.
//!
//! For an input of floats, samples `[samples, …]` of any numeric type are converted to float32. Then the steps are
//! applied in order; each of them computes in float32, with one rounding per operation. Samples for an input of
//! integers or booleans are not converted to floats, so they may only have the steps that move numbers: `color` and
//! `layout`.
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

/// The preprocessing steps for a batch of samples, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The letters of the axes of a stored batch, `N` (the samples) first. `None` if the configuration does not state
    /// them.
    pub stored: Option<String>,
    /// The steps on pixels, if the samples are images. After these steps, a sample has the shape `[height, width,
    /// channels]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixels: Option<Pipeline>,
    /// The operations. Operations that would change nothing are left out.
    pub operations: Vec<Operation>,
    /// The letters of the axes after the last step. `None` if the letters of the stored axes are not known.
    pub layout: Option<String>,
}

impl Plan {
    /// Returns the shape that a sample must have in the file so that it has the shape `shape` after the preprocessing.
    /// If the number of axes of `shape` does not match the plan, returns `shape` itself.
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

/// One operation on every sample of a batch. Axis 0 is the axis of the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Multiplies all numbers: `x · factor`.
    Scale(f32),
    /// Adds a number to all numbers: `x + offset`.
    Offset(f32),
    /// Computes `(x − mean) / std` for all numbers.
    NormalizeAll {
        /// The mean that is subtracted.
        mean: f32,
        /// The standard deviation, by which numbers are divided; not 0.
        std: f32,
    },
    /// Computes `(x − mean[c]) / std[c]`, where c is the position along `axis`. The axis has to be as long as the lists
    /// `mean` and `std`.
    NormalizeChannels {
        /// The channel axis.
        axis: usize,
        /// The mean of each channel, which is subtracted.
        mean: Vec<f32>,
        /// The standard deviation of each channel, by which numbers are divided; none of them is 0.
        std: Vec<f32>,
    },
    /// Swaps positions 0 and 2 along `axis`, whose size must be 3.
    SwapColors {
        /// The channel axis.
        axis: usize,
    },
    /// Permutes axes: axis `i` of the result is axis `axes[i]` of the operand. `axes[0]` is 0.
    Permute {
        /// A permutation of 0 to rank - 1.
        axes: Vec<usize>,
    },
}
