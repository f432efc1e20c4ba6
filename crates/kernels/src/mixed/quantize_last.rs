//! Quantizes planes of real numbers to codes whose channels are last, as the first convolution of a network reads them.

use super::quantize::{Near, Quantize, Vectors};
use crate::context::{Context, VectorJob};
use crate::error::{KernelError, expect_len, product};
use crate::integer::{
    batch::{Constants, Elements, Kernel},
    bytes::width,
};
use crate::parallel::{Shared, for_each};
use crate::simd::I32s;
use strait_requantize::IntType;

/// Number of bytes from one position to the next.
const STRIDE: usize = 4;
/// Number of positions of a task.
const POSITIONS: usize = 1 << 12;

impl Quantize {
    /// True if [`Quantize::run_last`] writes codes with this stride.
    pub fn writes_last(&self, channels: usize, stride: usize) -> bool {
        stride == STRIDE && (1..=STRIDE).contains(&channels) && width(self.out()) == 1
    }

    /// Converts planes `[batch, channels, positions]` to codes `[batch, positions, 4]`. What is beyond the channels has no meaning.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if slices, extents and channels do not fit together, or if this stride is not written, as
    /// [`Quantize::writes_last`] says.
    pub fn run_last(
        &self,
        cx: &Context,
        [batch, channels, positions]: [usize; 3],
        x: &[f32],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        expect_len("the input", x.len(), product(&[batch, channels, positions]))?;
        expect_len("the output", out.len(), product(&[batch, positions, STRIDE]))?;
        if !self.writes_last(channels, STRIDE) || self.channels.channels().is_some_and(|count| count != channels) {
            return Err(KernelError::Shape(format!(
                "{channels} channels in elements of four bytes"
            )));
        }
        let parts = positions.div_ceil(POSITIONS);
        let out = &Shared::new(out);
        for_each(batch * parts, x.len(), &|task| {
            let (image, first) = (task / parts, task % parts * POSITIONS);
            let count = POSITIONS.min(positions - first);
            let plane = |c: usize| &x[(image * channels + c.min(channels - 1)) * positions + first..][..count];
            let piece = Piece {
                planes: [0, 1, 2, 3].map(plane),
                channels,
                element: self.out(),
                // SAFETY: each task writes its own positions.
                out: unsafe { out.slice((image * positions + first) * STRIDE, count * STRIDE) },
            };
            self.piece(*cx, piece);
        });
        Ok(())
    }

    fn piece(&self, cx: Context, piece: Piece<'_>) {
        if cx.has_vectors()
            && let Some(near) = &self.near
        {
            match near {
                Near::DividedToEven(lanes) => piece.run(cx, &Vectors::<true, true>, &lanes.vectors),
                Near::TimesToEven(lanes) => piece.run(cx, &Vectors::<false, true>, &lanes.vectors),
                Near::Divided(lanes) => piece.run(cx, &Vectors::<true, false>, &lanes.vectors),
                Near::Times(lanes) => piece.run(cx, &Vectors::<false, false>, &lanes.vectors),
            }
            return;
        }
        for (at, to) in piece.out.as_chunks_mut::<STRIDE>().0.iter_mut().enumerate() {
            for (c, to) in to.iter_mut().enumerate().take(piece.channels) {
                // The code has at most 8 bits, so the cast loses nothing.
                *to = self.channels.get(c).eval(piece.planes[c][at]) as u8;
            }
        }
    }
}

/// Some neighbouring positions.
struct Piece<'a> {
    /// The real numbers of each channel. Those beyond the channels have no meaning.
    planes: [&'a [f32]; STRIDE],
    channels: usize,
    /// The type of the codes.
    element: IntType,
    out: &'a mut [u8],
}

impl Piece<'_> {
    fn run<K: Kernel<C>, const C: usize>(self, cx: Context, kernel: &K, constants: &Constants<C>) {
        cx.run_on_vectors(PieceJob {
            piece: self,
            kernel,
            constants,
        });
    }
}

struct PieceJob<'a, K, const C: usize> {
    piece: Piece<'a>,
    kernel: &'a K,
    constants: &'a Constants<C>,
}

impl<K: Kernel<C>, const C: usize> VectorJob for PieceJob<'_, K, C> {
    #[inline(always)]
    unsafe fn run<V: I32s>(self) {
        let Piece {
            planes,
            channels,
            element,
            out,
        } = self.piece;
        // SAFETY: only elements of the planes are loaded, and only bytes of their positions are stored. The caller guarantees
        // the instruction set.
        unsafe {
            let [low, high] = Elements::Codes(element).bounds::<V>([element.min(), element.max()]);
            let mut of = [[V::splat(0); C]; STRIDE];
            for (c, of) in of.iter_mut().enumerate().take(channels) {
                *of = self.constants.splat(c);
            }
            let count = planes[0].len();
            for (i, to) in out.chunks_mut(STRIDE * V::LANES).enumerate() {
                let at = i * V::LANES;
                let left = V::LANES.min(count - at);
                let mut codes = [V::splat(0); STRIDE];
                for c in 0..STRIDE {
                    if c < channels {
                        let from = planes[c][at..][..left].as_ptr().cast();
                        let x = match left == V::LANES {
                            true => V::load(from),
                            false => V::load_first(from, left),
                        };
                        codes[c] = self.kernel.lanes(&of[c], x);
                    }
                }
                let codes = match element {
                    IntType::I8 | IntType::I4 => V::interleave_i8(codes).clamp_i8(low, high),
                    _ => V::interleave_u8(codes).clamp_u8(low, high),
                };
                match left == V::LANES {
                    true => codes.store(to.as_mut_ptr()),
                    false => codes.store_first(to.as_mut_ptr(), to.len()),
                }
            }
        }
    }
}
