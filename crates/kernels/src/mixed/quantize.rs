use super::per_channel;
use crate::context::Context;
use crate::integer::lanes::by_lane;
use crate::{
    error::{KernelError, expect_len, product},
    integer::{
        OutputTile, PerChannel,
        batch::{Constants, Elements, Kernel, Tile, TileJob},
        bytes::width,
        tiles::{Array, LONG_PIECE},
    },
    parallel::Shared,
    simd::I32s,
};
use strait_requantize::{
    IntType, Per, Rounding,
    quantize::{Quantization, Scaling},
};

/// Converts real numbers to codes. This kernel computes QuantizeLinear and AscendQuant, and is used where an integer
/// graph begins.
///
/// Infinities become the smallest or the largest code of the type, and NaN becomes the code of real zero.
#[derive(Clone, Debug)]
pub struct Quantize {
    pub(super) channels: PerChannel<Quantization>,
    out: IntType,
    pub(super) near: Option<Near>,
}

/// Quantizations whose codes and zero points have at most 16 bits. Quotients far outside of the range of codes
/// saturate, and for all others, i32 arithmetic is exact.
#[derive(Clone, Debug)]
pub(super) enum Near {
    DividedToEven(Lanes<true>),
    TimesToEven(Lanes<true>),
    Divided(Lanes<false>),
    Times(Lanes<false>),
}

/// The constants, once for the scalar loop and once for vectors.
#[derive(Clone, Debug)]
pub(super) struct Lanes<const EVEN: bool> {
    lanes: PerChannel<Lane>,
    pub(super) vectors: Constants<6>,
}

/// The constants of one channel. With v = x / scale · again, or v = x · scale · again (`again` is a second factor, or 1
/// if there is none),
///
/// t = trunc(v + inside),  r = v + inside − t,  code = t + (r ≥ up) − (r ≤ down) + after
///
/// | rounding | up | down |
/// |---|---|---|
/// | floor | 1 | the largest number below 0 |
/// | ceil | the smallest number above 0 | −1 |
/// | toward zero | 1 | −1 |
/// | half up | ½ | the next below −½ |
/// | half down | the next above ½ | −½ |
/// | half away | ½ | −½ |
/// | half toward zero | the next above ½ | the next below −½ |
///
/// |r| < 1, and r is exact, because t is 0, or t and v + inside differ by less than a factor of two. Half even is not
/// in the table, because machines have an instruction that rounds half to even.
#[derive(Clone, Copy, Debug)]
struct Lane {
    scale: f32,
    again: f32,
    inside: f32,
    after: i32,
    up: f32,
    down: f32,
}

/// Codes and zero points are within ±2^16, so if v + inside is beyond ±2^18, the result saturates in any case.
const FAR: f32 = (1 << 18) as f32;
/// The largest magnitude that a zero point may have.
const LARGEST_ZERO_POINT: i32 = 1 << 16;
/// When 1.5·2^23 is added to an f32 of up to 2^22, the sum is rounded to an integer, halves to even.
const MAGIC: f32 = (3 << 22) as f32;

impl Quantize {
    /// Prepares one quantization for all channels, or one for each channel. All of them must have the same output type.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if there is no channel, or if the channels have different output types.
    pub fn new(quantizations: &Per<Quantization>) -> Result<Quantize, KernelError> {
        let channels = per_channel(quantizations)?;
        let first = *channels.get(0);
        if !quantizations.all(|q| q.out == first.out) {
            return Err(KernelError::Requantization(
                "quantizations of one array into different types".into(),
            ));
        }
        Ok(Quantize {
            near: near(quantizations, &first),
            channels,
            out: first.out,
        })
    }

    /// The element type of the codes.
    pub fn out(&self) -> IntType {
        self.out
    }

    /// Converts an array `[outer, channels, inner]` to codes. They are written as elements of type [`Quantize::out`].
    ///
    /// # Errors
    /// [`KernelError::Shape`] if slices, extents and channels do not fit together.
    pub fn run(&self, cx: &Context, extents: [usize; 3], x: &[f32], out: &mut [u8]) -> Result<(), KernelError> {
        let array = Array::new(extents, self.channels.channels())?;
        expect_len("the input", x.len(), Some(array.elements()))?;
        expect_len("the output", out.len(), product(&[array.elements(), width(self.out)]))?;
        array.for_each_tile(LONG_PIECE, &Shared::new(out), |start, place| {
            self.tile(*cx, &x[start..], place);
            Ok(())
        })
    }

    fn tile(&self, cx: Context, x: &[f32], place: &OutputTile<'_>) {
        let bounds = [self.out.min(), self.out.max()];
        let tile = Tile {
            out: Elements::Codes(self.out),
            bounds,
            source: x,
            stride: place.columns,
            place,
        };
        match &self.near {
            Some(Near::DividedToEven(lanes)) => lanes.tile::<true>(cx, self.out, tile),
            Some(Near::TimesToEven(lanes)) => lanes.tile::<false>(cx, self.out, tile),
            Some(Near::Divided(lanes)) => lanes.tile::<true>(cx, self.out, tile),
            Some(Near::Times(lanes)) => lanes.tile::<false>(cx, self.out, tile),
            None => {
                let lane = |q: &Quantization, x| q.eval(x);
                by_lane(self.out, bounds, (x, place.columns), place, &self.channels, lane);
            }
        }
    }
}

/// The constants for the fast loops; `None` if these loops cannot compute the quantizations.
fn near(quantizations: &Per<Quantization>, first: &Quantization) -> Option<Near> {
    let divided = matches!(first.scaling, Scaling::DividedBy(_));
    let alike = quantizations.all(|q| {
        q.rounding == first.rounding
            && matches!(q.scaling, Scaling::DividedBy(_)) == divided
            && q.out.bits() <= 16
            && q.after.unsigned_abs() <= LARGEST_ZERO_POINT.unsigned_abs()
            && q.inside.abs() <= LARGEST_ZERO_POINT as f32
    });
    if !alike {
        return None;
    }
    Some(match (first.rounding, divided) {
        (Rounding::HalfEven, true) => Near::DividedToEven(Lanes::new(quantizations)?),
        (Rounding::HalfEven, false) => Near::TimesToEven(Lanes::new(quantizations)?),
        (_, true) => Near::Divided(Lanes::new(quantizations)?),
        (_, false) => Near::Times(Lanes::new(quantizations)?),
    })
}

impl<const EVEN: bool> Lanes<EVEN> {
    fn new(quantizations: &Per<Quantization>) -> Option<Lanes<EVEN>> {
        let lanes = quantizations.map(Lane::new);
        let constants = |l: &Lane| {
            let [scale, again, inside, up, down] =
                [l.scale, l.again, l.inside, l.up, l.down].map(|x| x.to_bits() as i32);
            [scale, again, inside, l.after, up, down]
        };
        let values: Vec<_> = lanes.values().iter().map(constants).collect();
        Some(Lanes {
            vectors: Constants::new(&values, lanes.channels().is_none()),
            lanes: per_channel(&lanes).ok()?,
        })
    }

    fn tile<const DIVIDED: bool>(&self, cx: Context, out: IntType, tile: Tile<'_, &[f32]>) {
        if !cx.run_on_vectors(TileJob::new(tile, &Vectors::<DIVIDED, EVEN>, &self.vectors)) {
            // Only machines without vectors come here. The compiler vectorises a part of this loop.
            let lane = |lane: &Lane, x| lane.code::<DIVIDED, EVEN>(x);
            by_lane(
                out,
                tile.bounds,
                (tile.source, tile.stride),
                tile.place,
                &self.lanes,
                lane,
            );
        }
    }
}

impl Lane {
    fn new(q: &Quantization) -> Lane {
        let (scale, again) = match q.scaling {
            Scaling::DividedBy(scale) | Scaling::Times(scale) => (scale, 1.0),
            Scaling::TimesTwice(scale) => (scale, scale),
        };
        let smallest = f32::from_bits(1);
        let (up, down) = match q.rounding {
            Rounding::Floor => (1.0, -smallest),
            Rounding::Ceil => (smallest, -1.0),
            Rounding::TowardZero | Rounding::HalfEven => (1.0, -1.0),
            Rounding::HalfUp => (0.5, (-0.5_f32).next_down()),
            Rounding::HalfDown => (0.5_f32.next_up(), -0.5),
            Rounding::HalfAway => (0.5, -0.5),
            Rounding::HalfTowardZero => (0.5_f32.next_up(), (-0.5_f32).next_down()),
        };
        Lane {
            scale,
            again,
            inside: q.inside,
            after: q.after,
            up,
            down,
        }
    }

    /// The code of one real number, not yet saturated.
    #[inline(always)]
    fn code<const DIVIDED: bool, const EVEN: bool>(&self, x: f32) -> i32 {
        let v = if DIVIDED { x / self.scale } else { x * self.scale };
        let v = v * self.again;
        let v = if v.is_nan() { 0.0 } else { v };
        let v = (v + self.inside).clamp(-FAR, FAR);
        if EVEN {
            return ((v + MAGIC) - MAGIC) as i32 + self.after;
        }
        let whole = v as i32;
        let rest = v - whole as f32;
        whole + i32::from(rest >= self.up) - i32::from(rest <= self.down) + self.after
    }
}

pub(super) struct Vectors<const DIVIDED: bool, const EVEN: bool>;

impl<const DIVIDED: bool, const EVEN: bool> Kernel<6> for Vectors<DIVIDED, EVEN> {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[scale, again, inside, after, up, down]: &[V; 6], x: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let far = V::splat(FAR.to_bits() as i32);
            let near = V::splat((-FAR).to_bits() as i32);
            // A divisor is the only factor.
            let v = if DIVIDED {
                x.divide_f32(scale)
            } else {
                x.multiply_f32(scale).multiply_f32(again)
            };
            let v = v.numbers_f32().add_f32(inside);
            let v = v.min_f32(far).max_f32(near);
            if EVEN {
                return v.round_f32().add(after);
            }
            let whole = v.truncate_f32();
            whole.nudge_f32(v.subtract_f32(whole.to_f32()), up, down).add(after)
        }
    }
}
