//! Batch kernels: whole vectors of accumulators, from `i32` to the bytes of the results in one pass.
//!
//! A family has a lane function, its definition for one accumulator ([`Epilogue::lane`](super::Epilogue::lane)), and
//! one or several [`Kernel`]s here. Which one serves a form is decided from all its channels when the plan is made:
//! what costs something per element (64-bit carries, ties, saturation of 32-bit results) is left out where it is
//! *proved* not to matter for any `i32` accumulator. Where none serves, and where the machine has no vectors, the lane
//! function does.

mod constants;
mod fixed_point;
mod float;
mod float_affine;
mod narrow;
mod shift;
mod source;
mod steps;
mod tile;
mod wide;

use super::finish::OutputTile;
use crate::{error::KernelError, isa::Context, simd::I32s};
pub(crate) use constants::Constants;
pub(crate) use narrow::Elements;
pub(crate) use source::{Element, Lanes, One, Source, Two};
use strait_requantize::{
    IntType, Requantization,
    form::{Arithmetic, Channel},
};
pub(crate) use tile::{Tile, TileJob};
pub(crate) use wide::Wide;

/// The arithmetic of a form on whole vectors, with the constants of its channels; equal to the form's definition inside
/// its domain, outside of it to the definition at the domain's nearer end. Attached to an epilogue by
/// [`InRegisters::with_batch`](super::InRegisters::with_batch).
#[derive(Clone, Debug)]
pub struct Batch {
    /// `None` where there is no kernel for i32, which costs speed and nothing else.
    kind: Option<Kind>,
    out: IntType,
    /// The least and the largest result.
    range: [i32; 2],
}

/// The kernels, with their constants.
#[derive(Clone, Debug)]
enum Kind {
    HighHalf(Constants<3>),
    HighHalfTwice(Constants<3>),
    Wide(Constants<{ fixed_point::WIDE }>),
    WideSigned(Constants<{ fixed_point::WIDE }>),
    WideEven(Constants<{ fixed_point::WIDE }>),
    Float(Constants<2>),
    FloatClamped(Constants<4>),
    FloatAffine(Constants<5>),
    ShiftHalfUp(Constants<3>),
    ShiftHalfEven(Constants<4>),
    Shift(Constants<6>),
    Steps(Constants<3>, steps::Steps),
}

/// A step from elements, accumulators most often, to results on vectors. `C` constants belong to each lane.
pub(crate) trait Kernel<const C: usize, L: Lanes = One> {
    /// The results before saturation to the output type.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    unsafe fn lanes<V: I32s>(&self, constants: &[V; C], x: L::Of<V>) -> V;
}

impl Batch {
    /// The kernels for a form.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] for parameters that are not legal.
    pub fn new(form: &Requantization) -> Result<Batch, KernelError> {
        let refused = |e: &dyn std::fmt::Display| KernelError::Requantization(e.to_string());
        form.check().map_err(|e| refused(&e))?;
        let channels: Vec<Channel<'_>> = (0..form.channels().unwrap_or(1))
            .map(|c| form.channel(c))
            .collect::<Result<_, _>>()
            .map_err(|e| refused(&e))?;
        let tensor = form.channels().is_none();
        let (out, range) = (form.out(), form.range());
        let kind = match channels.first().map(Channel::arithmetic) {
            Some(Arithmetic::Affine(_) | Arithmetic::Doubling(_)) => {
                shift::kind(&channels, tensor).or_else(|| fixed_point::kind(&channels, range, tensor))
            }
            Some(Arithmetic::Float(_)) => float::kind(&channels, range, tensor),
            // The lane function vectorises: no step of it needs more than f64 has.
            Some(Arithmetic::Double(_)) => None,
            Some(Arithmetic::FloatAffine(_)) => float_affine::kind(&channels, range, tensor),
            Some(Arithmetic::Steps(_)) => steps::kind(&channels, tensor),
            None => None,
        };
        Ok(Batch { kind, out, range })
    }

    /// Integer type that the results saturate to.
    pub(super) fn out(&self) -> IntType {
        self.out
    }

    /// Requantizes a tile; false, and nothing is done, where there is no kernel or the instruction set has no vectors. The
    /// bounds are codes.
    pub(super) fn run(
        &self,
        cx: Context,
        bounds: [i32; 2],
        accumulators: &[i32],
        stride: usize,
        place: &OutputTile<'_>,
    ) -> bool {
        let Some(kind) = &self.kind else { return false };
        // First the form's own range, then the clamp behind it.
        let bounds = self.range.map(|end| end.min(bounds[1]).max(bounds[0]));
        let tile = Tile {
            out: Elements::Codes(self.out),
            bounds,
            source: accumulators,
            stride,
            place,
        };
        match kind {
            Kind::HighHalf(c) => cx.run_on_vectors(TileJob::new(tile, &fixed_point::HighHalf, c)),
            Kind::HighHalfTwice(c) => cx.run_on_vectors(TileJob::new(tile, &fixed_point::HighHalfTwice, c)),
            Kind::Wide(c) => cx.run_on_vectors(TileJob::new(tile, &fixed_point::Wide::<false, false>, c)),
            Kind::WideSigned(c) => cx.run_on_vectors(TileJob::new(tile, &fixed_point::Wide::<true, false>, c)),
            Kind::WideEven(c) => cx.run_on_vectors(TileJob::new(tile, &fixed_point::Wide::<false, true>, c)),
            Kind::Float(c) => cx.run_on_vectors(TileJob::new(tile, &float::Float, c)),
            Kind::FloatClamped(c) => cx.run_on_vectors(TileJob::new(tile, &float::FloatClamped, c)),
            Kind::FloatAffine(c) => cx.run_on_vectors(TileJob::new(tile, &float_affine::FloatAffine, c)),
            Kind::ShiftHalfUp(c) => cx.run_on_vectors(TileJob::new(tile, &shift::HalfUp, c)),
            Kind::ShiftHalfEven(c) => cx.run_on_vectors(TileJob::new(tile, &shift::HalfEven, c)),
            Kind::Shift(c) => cx.run_on_vectors(TileJob::new(tile, &shift::AnyRounding, c)),
            Kind::Steps(c, steps) => cx.run_on_vectors(TileJob::new(tile, steps, c)),
        }
    }
}

/// All `i32` accumulators.
const ALL: [i32; 2] = [i32::MIN, i32::MAX];

/// Between which ends `i32` accumulators need to be computed; see [`wide_ends`].
fn ends(channel: &Channel<'_>, range: [i32; 2], fits: impl Fn(i64) -> bool) -> Option<[i32; 2]> {
    // Both are i32.
    wide_ends(channel, ALL.map(i64::from), range, fits).map(|pair| pair.map(|x| x as i32))
}

/// Between which ends the accumulators among `all` need to be computed: all that a channel is defined on, if the ends
/// `fit`; else those beyond which results are the ends of the form's range, if these fit. A form does not decrease, so
/// that between them all fit, and clamping an accumulator into them changes no result.
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
