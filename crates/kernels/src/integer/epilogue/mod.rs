//! An epilogue requantizes an accumulator. It is the last operation of a loop. This module has one file for each family
//! of arithmetic.
//!
//! An epilogue computes what the form's `eval` in `strait-requantize` defines, but without saturation to the output
//! type. The result is an `i32`; if the exact value is wider, it saturates to `i32`. An accumulator outside of the
//! form's domain is first clamped to the domain. The compiler makes sure that there are no such accumulators; if there
//! are any, the result is the same on every instruction set. [`InRegisters`](super::InRegisters) saturates to the
//! output type and clamps.

mod double;
mod fixed_point;
mod float;
mod float_affine;
mod shift;
mod steps;

pub use double::Double;
pub use fixed_point::MultiplyShift;
pub(super) use fixed_point::{Correction, FixedPoint, NEGATIVE_TWICE};
pub use float::Float;
pub use float_affine::FloatAffine;
pub use shift::Shift;
pub use steps::Steps;

use crate::error::KernelError;
use strait_requantize::{IntType, Requantization, form::Channel};

/// Defines how accumulators become results that are not yet saturated. An epilogue has constants for each channel, and
/// a function that computes the result of one accumulator.
///
/// Mark `lane` `#[inline(always)]`. The compiler then vectorises it for the instruction set of the loop that calls it.
/// Additions, products, shifts, comparisons and selections vectorise well; early returns, indexing and calls do not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how accumulators become codes",
    label = "is no epilogue",
    note = "an epilogue has `Constants` of a channel, `constants` for all of them, and `lane`, which makes one result of one \
            accumulator; `ThroughTile` is for kernels that take many at once"
)]
pub trait Epilogue: Send + Sync + 'static {
    /// The type of the constants of one channel.
    type Constants: Send + Sync + 'static;

    /// The constants of all channels.
    fn constants(&self) -> &PerChannel<Self::Constants>;

    /// The result for one accumulator.
    fn lane(&self, constants: &Self::Constants, accumulator: i32) -> i32;
}

/// The constants of one channel, for one family of arithmetic. A [`PerChannel`] with the constants of all channels is
/// an epilogue.
pub trait Family: Send + Sync + Sized + 'static {
    /// The constants of a channel. `None` if its arithmetic is of another family.
    fn of(channel: &Channel<'_>) -> Option<Self>;

    /// The result for one accumulator. Mark this function `#[inline(always)]`.
    fn lane(&self, accumulator: i32) -> i32;
}

impl<F: Family> Epilogue for PerChannel<F> {
    type Constants = F;

    fn constants(&self) -> &PerChannel<F> {
        self
    }

    #[inline(always)]
    fn lane(&self, constants: &F, accumulator: i32) -> i32 {
        constants.lane(accumulator)
    }
}

/// A parameter with one value per channel, or one value for all channels.
#[derive(Clone, Debug)]
pub enum PerChannel<T> {
    /// One value, which serves any number of channels.
    Tensor(T),
    /// One value per channel: channel `c` has the value at index `c`.
    Channels(Box<[T]>),
}

impl<T> PerChannel<T> {
    /// The number of channels; `None` if one value serves any number of channels.
    pub fn channels(&self) -> Option<usize> {
        match self {
            PerChannel::Tensor(_) => None,
            PerChannel::Channels(values) => Some(values.len()),
        }
    }

    /// The value of a channel.
    #[inline(always)]
    pub fn get(&self, channel: usize) -> &T {
        match self {
            PerChannel::Tensor(value) => value,
            PerChannel::Channels(values) => &values[channel],
        }
    }
}

/// Computes the constants of each channel from its parameters. If the form has one set of parameters for all channels,
/// computes one set of constants.
///
/// # Errors
/// [`KernelError::Requantization`] if the parameters are not legal, or if `constant` returns `None`.
pub fn per_channel<T>(
    form: &Requantization,
    constant: impl Fn(&Channel<'_>) -> Option<T>,
) -> Result<PerChannel<T>, KernelError> {
    let of = |channel| {
        constant(&form.channel(channel)?)
            .ok_or_else(|| KernelError::Requantization(format!("{} is not of this family of arithmetic", form.kind())))
    };
    match form.channels() {
        None => Ok(PerChannel::Tensor(of(0)?)),
        Some(channels) => Ok(PerChannel::Channels((0..channels).map(of).collect::<Result<_, _>>()?)),
    }
}

/// The smallest and the largest `i32` accumulator that a channel is defined on.
pub(crate) fn domain(channel: &Channel<'_>) -> [i32; 2] {
    let (low, high) = channel.domain().into_inner();
    [low, high].map(saturate)
}

/// Returns `[low, high]`, the smallest and the largest result after saturation and clamp: `clamp(saturate(x))` is
/// `x.min(high).max(low)`.
pub(crate) fn bounds(out: IntType, clamp: Option<[i32; 2]>) -> [i32; 2] {
    let [low, high] = clamp.unwrap_or([out.min(), out.max()]);
    [low, high].map(|end| end.clamp(out.min(), out.max()))
}

/// The i32 that is nearest to `x`.
#[inline(always)]
pub(crate) fn saturate(x: i64) -> i32 {
    x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
