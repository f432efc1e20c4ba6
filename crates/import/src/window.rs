//! Windows of convolutions and pools.

use smallvec::SmallVec;
use strait_core::op::{AveragePool, Conv, MaxPool};
use strait_core::{Carrier, WeightZero};

/// How a window moves over the axes of an image.
pub struct Window {
    /// The stride along each axis.
    pub stride: SmallVec<[u32; 2]>,
    /// The dilation along each axis.
    pub dilation: SmallVec<[u32; 2]>,
    /// The padding: first the padding before each axis, then the padding after each axis.
    pub pad: SmallVec<[u32; 4]>,
}

impl Window {
    /// A window with strides and dilations of 1.
    pub fn dense(pad: SmallVec<[u32; 4]>) -> Window {
        let ones = SmallVec::from_elem(1, pad.len() / 2);
        Window {
            stride: ones.clone(),
            dilation: ones,
            pad,
        }
    }

    /// A convolution of floats.
    pub fn convolution(self, groups: u32) -> Conv {
        Conv {
            stride: self.stride,
            pad: self.pad,
            dilation: self.dilation,
            groups,
            pad_value: 0,
            accumulator: Carrier::I32,
            weight_zero: WeightZero::default(),
        }
    }

    /// A max pool.
    pub fn max_pool(self, size: SmallVec<[u32; 2]>, ceil: bool) -> MaxPool {
        MaxPool {
            size,
            stride: self.stride,
            pad: self.pad,
            dilation: self.dilation,
            ceil,
        }
    }

    /// An average pool.
    pub fn average_pool(self, size: SmallVec<[u32; 2]>, ceil: bool, count_include_pad: bool) -> AveragePool {
        AveragePool {
            size,
            stride: self.stride,
            pad: self.pad,
            dilation: self.dilation,
            ceil,
            count_include_pad,
        }
    }
}

/// Returns the total padding of an axis, before and after it together, with which there are ⌈extent / stride⌉ windows.
/// Returns `None` if the window does not fit.
pub fn same_padding(extent: u64, size: u64, stride: u32, dilation: u32) -> Option<u32> {
    let stride = u64::from(stride);
    let steps = extent
        .checked_next_multiple_of(stride)?
        .checked_div(stride)?
        .saturating_sub(1);
    let reach = size.checked_sub(1)?.checked_mul(dilation.into())?.checked_add(1)?;
    let needed = steps.checked_mul(stride)?.checked_add(reach)?;
    u32::try_from(needed.saturating_sub(extent)).ok()
}
