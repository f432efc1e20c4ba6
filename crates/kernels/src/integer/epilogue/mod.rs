//! The last step of a loop, one file for each family of arithmetic.
//!
//! An epilogue gives what the form's `eval` in `strait-requantize` defines, before saturation: an `i32`, itself
//! saturated where the exact value is wider. [`InRegisters`](super::InRegisters) then saturates to the output type and clamps.

mod accumulators;
mod affine;
mod doubling;
mod float;
mod shift;
mod steps;

pub use accumulators::Accumulators;
pub use affine::Affine;
pub use doubling::Doubling;
pub use float::Float;
pub use shift::Shift;
pub use steps::Steps;

use crate::error::KernelError;
use strait_requantize::{IntType, Requantization, form::Arithmetic};

/// From accumulators to unsaturated results. `constants` and `lane` are enough; mark both `#[inline(always)]`, so that
/// they are compiled for the instruction set of the loop around them.
pub trait Epilogue: Send + Sync + 'static {
    /// The constants of one channel.
    type Constants: Copy;

    /// How many channels there are constants for; `None` if one set serves any number.
    fn channels(&self) -> Option<usize>;

    /// The constants of a channel. Channels up to 15 past the last one are asked for too, and their results thrown away.
    fn constants(&self, channel: usize) -> Self::Constants;

    /// The result for one accumulator.
    fn lane(&self, constants: Self::Constants, accumulator: i32) -> i32;

    /// Sixteen positions of one channel.
    #[inline(always)]
    fn positions(&self, channel: usize, accumulators: [i32; 16]) -> [i32; 16] {
        let constants = self.constants(channel);
        accumulators.map(|a| self.lane(constants, a))
    }

    /// One position of the channels `first..first + 16`.
    #[inline(always)]
    fn across(&self, first: usize, accumulators: [i32; 16]) -> [i32; 16] {
        std::array::from_fn(|l| self.lane(self.constants(first + l), accumulators[l]))
    }
}

/// One value per channel, or one for all, in a shape that loops read without a branch.
#[derive(Clone, Debug)]
pub struct PerChannel<T> {
    /// With 16 more than needed, so that any sixteen neighbours can be read.
    values: Vec<T>,
    /// All ones for channels, 0 for a tensor.
    mask: usize,
}

impl<T: Copy> PerChannel<T> {
    /// One value for all channels.
    pub fn tensor(value: T) -> PerChannel<T> {
        PerChannel {
            values: vec![value; 16],
            mask: 0,
        }
    }

    /// Value `c` for channel `c`; `None` if there is no value.
    pub fn channels_of(values: impl IntoIterator<Item = T>) -> Option<PerChannel<T>> {
        let mut values: Vec<T> = values.into_iter().collect();
        let last = *values.last()?;
        values.extend([last; 16]);
        Some(PerChannel {
            values,
            mask: usize::MAX,
        })
    }

    /// The number of channels; `None` if one value serves any number.
    pub fn channels(&self) -> Option<usize> {
        (self.mask != 0).then(|| self.values.len() - 16)
    }

    /// The value of a channel.
    #[inline(always)]
    pub fn get(&self, channel: usize) -> T {
        self.values[channel & self.mask]
    }

    /// The value of a channel where it is.
    #[inline(always)]
    pub fn at(&self, channel: usize) -> &T {
        &self.values[channel & self.mask]
    }

    /// The values of the channels `first..first + 16`.
    #[inline(always)]
    pub fn sixteen(&self, first: usize) -> [T; 16] {
        let start = first & self.mask;
        let values = &self.values[start..start + 16];
        std::array::from_fn(|l| values[l])
    }
}

/// A number derived from each channel of a form: one for all where the form has one set of parameters.
pub(crate) fn per_channel<T: Copy>(
    form: &Requantization,
    constant: impl Fn(&Arithmetic<'_>) -> Option<T>,
) -> Result<PerChannel<T>, KernelError> {
    let of = |channel| {
        let channel = form
            .channel(channel)
            .map_err(|e| KernelError::Requantization(e.to_string()))?;
        constant(&channel.arithmetic())
            .ok_or_else(|| KernelError::Requantization(format!("{} is not of this family of arithmetic", form.kind())))
    };
    match form.channels() {
        None => Ok(PerChannel::tensor(of(0)?)),
        Some(channels) => {
            let values = (0..channels).map(of).collect::<Result<Vec<T>, _>>()?;
            PerChannel::channels_of(values)
                .ok_or_else(|| KernelError::Requantization(format!("{} without a channel", form.kind())))
        }
    }
}

/// The ends of saturation and clamp together. `min(high).max(low)` with them is `clamp(saturate(x))`.
pub(crate) fn bounds(out: IntType, clamp: Option<[i32; 2]>) -> [i32; 2] {
    let [low, high] = clamp.unwrap_or([out.min(), out.max()]);
    [low, high].map(|end| end.clamp(out.min(), out.max()))
}

/// The nearest i32.
#[inline(always)]
pub(crate) fn saturate(x: i64) -> i32 {
    x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
