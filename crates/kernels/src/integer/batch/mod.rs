//! Batch kernels. They requantize whole vectors of accumulators: `i32` accumulators become the bytes of the results in
//! one pass.
//!
//! Each family of forms has a lane function, which defines the result for one accumulator
//! ([`Epilogue::lane`](super::Epilogue::lane)), and one or several [`Kernel`]s here. The kernel of a form is chosen
//! when the plan is made, from the parameters of all channels. Some operations take time for every element (64-bit
//! carries, ties, saturation of 32-bit results). A kernel without such an operation is chosen only if it is *proved*
//! that the operation changes nothing for any `i32` accumulator. If no kernel can compute the form, or the machine has
//! no vectors, the lane function is used.

mod constants;
mod direct;
mod fixed_point;
mod float;
mod float_affine;
mod narrow;
mod shift;
mod source;
mod steps;
mod tile;
mod wide;

use crate::context::Context;
use crate::integer::output_tile::OutputTile;
use crate::{error::KernelError, simd::I32s};
pub(crate) use constants::{Constants, Run, WIDEST};
pub use direct::Codes;
pub(crate) use direct::Direct;
#[cfg(target_arch = "x86_64")]
pub(crate) use direct::{for_size, store_rows};
pub(crate) use narrow::Elements;
pub(crate) use source::{Element, Lanes, One, Source, Two};
use std::sync::Arc;
use strait_requantize::{
    IntType, Requantization,
    form::{Arithmetic, Channel},
};
pub(crate) use tile::{Tile, TileJob, store_first};
pub(crate) use wide::Wide;

/// A form's batch kernel, which computes on whole vectors, with the constants of all channels. Its results are those
/// that the form defines. Accumulators outside of the form's domain are first clamped to the domain.
/// [`InRegisters::with_batch`](super::InRegisters::with_batch) adds a batch kernel to an epilogue.
#[derive(Clone)]
pub struct Batch {
    /// The kernel for i32 accumulators. `None` if there is none; results are then computed more slowly.
    prepared: Option<Arc<dyn Prepared>>,
    out: IntType,
    /// The smallest and the largest result of the form.
    range: [i32; 2],
}

/// A kernel with the constants of all channels.
pub(crate) trait Prepared: Send + Sync {
    /// Requantizes a tile of i32 accumulators. If the instruction set has no vectors, this does nothing and returns false.
    fn run(&self, cx: Context, tile: Tile<'_, &[i32]>) -> bool;

    /// The kernel that requantizes sums in registers, if there is one for results within these bounds.
    fn direct(&self, _bounds: [i32; 2]) -> Option<&dyn Direct> {
        None
    }
}

/// A kernel with the constants of all channels.
struct OnTiles<K, const C: usize> {
    kernel: K,
    constants: Constants<C>,
}

impl<K: Kernel<C> + Send + Sync, const C: usize> Prepared for OnTiles<K, C> {
    fn run(&self, cx: Context, tile: Tile<'_, &[i32]>) -> bool {
        cx.run_on_vectors(TileJob::new(tile, &self.kernel, &self.constants))
    }
}

/// Combines a kernel with the constants of all channels. If `tensor` is true, one set of constants is used for all
/// channels.
fn prepared<K: Kernel<C> + Send + Sync + 'static, const C: usize>(
    kernel: K,
    values: &[[i32; C]],
    tensor: bool,
) -> Arc<dyn Prepared> {
    let constants = Constants::new(values, tensor);
    Arc::new(OnTiles { kernel, constants })
}

/// Computes vectors of results from vectors of elements, mostly accumulators. Each lane has `C` constants.
pub(crate) trait Kernel<const C: usize, L: Lanes = One> {
    /// Computes the results of one vector of accumulators. They are not yet saturated to the output type.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    unsafe fn lanes<V: I32s>(&self, constants: &[V; C], x: L::Of<V>) -> V;
}

impl Batch {
    /// Chooses the kernel for a form.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if the parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Batch, KernelError> {
        form.check()?;
        let channels: Vec<Channel<'_>> = (0..form.channels().unwrap_or(1))
            .map(|c| form.channel(c))
            .collect::<Result<_, _>>()?;
        let tensor = form.channels().is_none();
        let (out, range) = (form.out(), form.range());
        let prepared = match channels.first().map(Channel::arithmetic) {
            Some(Arithmetic::Affine(_) | Arithmetic::Doubling(_)) => {
                shift::kind(&channels, range, tensor).or_else(|| fixed_point::kind(&channels, range, tensor))
            }
            Some(Arithmetic::Float(_)) => float::kind(&channels, range, tensor),
            // This form needs no kernel: its lane function computes only in f64, and the compiler vectorises it.
            Some(Arithmetic::Double(_)) => None,
            Some(Arithmetic::FloatAffine(_)) => float_affine::kind(&channels, range, tensor),
            Some(Arithmetic::Steps(_)) => steps::kind(&channels, tensor),
            None => None,
        };
        Ok(Batch { prepared, out, range })
    }

    /// The integer type that results saturate to.
    pub(super) fn out(&self) -> IntType {
        self.out
    }

    /// True if there is a kernel for vectors.
    pub(super) fn has_kernel(&self) -> bool {
        self.prepared.is_some()
    }

    /// Requantizes a tile. The results are limited to the bounds, which are codes. If there is no kernel, or the
    /// instruction set has no vectors, this does nothing and returns false.
    pub(super) fn run(
        &self,
        cx: Context,
        bounds: [i32; 2],
        accumulators: &[i32],
        stride: usize,
        place: &OutputTile<'_>,
    ) -> bool {
        let Some(prepared) = &self.prepared else { return false };
        let tile = Tile {
            out: Elements::Codes(self.out),
            bounds: self.within(bounds),
            source: accumulators,
            stride,
            place,
        };
        prepared.run(cx, tile)
    }

    /// Returns the kernel that requantizes sums in registers. The results are limited to the bounds, which are codes. `None`
    /// if there is no such kernel, or if the results do not have 8 bits.
    pub(super) fn codes(&self, bounds: [i32; 2]) -> Option<Codes<'_>> {
        let bounds = self.within(bounds);
        let kernel = self.prepared.as_ref()?.direct(bounds)?;
        (Elements::Codes(self.out).bytes() == 1).then_some(Codes {
            kernel,
            out: self.out,
            bounds,
        })
    }

    /// The bounds of results: they are limited first to the form's own range, and then by the clamp.
    fn within(&self, [low, high]: [i32; 2]) -> [i32; 2] {
        self.range.map(|end| end.min(high).max(low))
    }
}

/// The smallest and the largest `i32` accumulator.
const ALL: [i32; 2] = [i32::MIN, i32::MAX];

/// The range to which `i32` accumulators can be clamped before they are requantized; see [`wide_ends`].
fn ends(channel: &Channel<'_>, range: [i32; 2], fits: impl Fn(i64) -> bool) -> Option<[i32; 2]> {
    // Both ends are in the range of i32, so the casts lose nothing.
    wide_ends(channel, ALL.map(i64::from), range, fits).map(|pair| pair.map(|x| x as i32))
}

/// Finds a range, within `all`, to which accumulators can be clamped before they are requantized, so that no result
/// changes and a kernel can compute all results. `fits` says whether a kernel can compute the result for an
/// accumulator. Two ranges are tried. The first is the channel's whole domain. The second is smaller: below it, the
/// form gives its smallest result, and above it, its largest. Returns the first of the two for which `fits` is true at
/// both ends, or `None`. A larger accumulator never gives a smaller result, so `fits` is then true inside of the range,
/// too.
fn wide_ends(channel: &Channel<'_>, all: [i64; 2], range: [i32; 2], fits: impl Fn(i64) -> bool) -> Option<[i64; 2]> {
    let (low, high) = channel.domain().into_inner();
    let domain = [low.max(all[0]), high.min(all[1])];
    if domain[0] > domain[1] {
        return None;
    }
    let [lowest, highest] = range.map(i64::from);
    let saturated = [channel.least_reaching(lowest + 1) - 1, channel.least_reaching(highest)];
    let saturated = saturated.map(|x| x.clamp(domain[0], domain[1]));
    [domain, saturated]
        .into_iter()
        .find(|pair| pair.iter().all(|&x| fits(x)))
}
