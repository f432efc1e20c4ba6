use super::per_channel;
use crate::context::Context;
use crate::{
    error::{KernelError, expect_len},
    integer::{
        Axis, OutputTile, PerChannel,
        batch::{Constants, Element, Elements, Kernel, One, Tile, TileJob},
        tiles::{Array, LONG_PIECE},
    },
    parallel::Shared,
    simd::I32s,
};
use strait_requantize::{IntType, Per, quantize::Dequantization};

/// Converts codes to real numbers. It computes AscendDequant, and is used where an integer graph continues in float.
#[derive(Clone, Debug)]
pub struct Dequantize {
    channels: PerChannel<Dequantization>,
    vectors: Constants<2>,
    /// The smallest and the largest of the channels' zero points.
    zero_points: [i32; 2],
    /// The bits of the smallest and the largest result. `None` if some channels have a ReLU and others do not.
    bounds: Option<[i32; 2]>,
}

/// Codes, with their integer type.
#[derive(Clone, Copy, Debug)]
pub enum CodeSlice<'a> {
    /// Signed codes of 8 bits.
    I8(&'a [i8]),
    /// Unsigned codes of 8 bits.
    U8(&'a [u8]),
    /// Signed codes of 16 bits.
    I16(&'a [i16]),
    /// Unsigned codes of 16 bits.
    U16(&'a [u16]),
    /// Signed codes of 32 bits, which are accumulators.
    I32(&'a [i32]),
}

impl Dequantize {
    /// Prepares one dequantization for all channels, or one for each channel.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if there is no channel, or if a scale is 0 or not finite. Scales of blocks of weights may be
    /// negative.
    pub fn new(dequantizations: &Per<Dequantization>) -> Result<Dequantize, KernelError> {
        let channels = per_channel(dequantizations)?;
        if let Some(d) = dequantizations
            .values()
            .iter()
            .find(|d| d.scale == 0.0 || !d.scale.is_finite())
        {
            return Err(KernelError::Requantization(format!(
                "scale {} is 0 or not finite",
                d.scale
            )));
        }
        let constants = |d: &Dequantization| [d.zero_point.wrapping_neg(), d.scale.to_bits() as i32];
        let values: Vec<_> = dequantizations.values().iter().map(constants).collect();
        let zero_points = dequantizations.values().iter().map(|d| d.zero_point);
        let relu = channels.get(0).relu;
        let low = if relu { 0.0 } else { f32::NEG_INFINITY };
        Ok(Dequantize {
            vectors: Constants::new(&values, dequantizations.channels().is_none()),
            zero_points: [zero_points.clone().min().unwrap_or(0), zero_points.max().unwrap_or(0)],
            bounds: dequantizations
                .all(|d| d.relu == relu)
                .then_some([low, f32::INFINITY].map(|end| end.to_bits() as i32)),
            channels,
        })
    }

    /// Converts an array `[outer, channels, inner]` to real numbers.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if slices, extents and channels do not fit together.
    pub fn run(
        &self,
        cx: &Context,
        extents: [usize; 3],
        codes: CodeSlice<'_>,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        match codes {
            CodeSlice::I8(codes) => self.codes(*cx, extents, (codes, IntType::I8), out),
            CodeSlice::U8(codes) => self.codes(*cx, extents, (codes, IntType::U8), out),
            CodeSlice::I16(codes) => self.codes(*cx, extents, (codes, IntType::I16), out),
            CodeSlice::U16(codes) => self.codes(*cx, extents, (codes, IntType::U16), out),
            CodeSlice::I32(codes) => self.codes(*cx, extents, (codes, IntType::I32), out),
        }
    }

    fn codes<T: Element<Lanes = One> + Into<i32>>(
        &self,
        cx: Context,
        extents: [usize; 3],
        (codes, from): (&[T], IntType),
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let array = Array::new(extents, self.channels.channels())?;
        expect_len("the input", codes.len(), Some(array.elements()))?;
        expect_len("the output", out.len(), Some(array.elements()))?;
        // True if `code − zero point` never leaves i32, so that it can be computed exactly in 32 bits.
        let [least, most] = self.zero_points;
        let narrow = from.max().checked_sub(least).is_some() && from.min().checked_sub(most).is_some();
        let bounds = self.bounds.filter(|_| narrow);
        let bytes = out.as_mut_ptr().cast::<u8>();
        // SAFETY: this borrows the bytes of the floats in place of the floats, and every bit pattern is a valid float.
        let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, size_of_val(out)) };
        array.for_each_tile(LONG_PIECE, &Shared::new(bytes), |start, place| {
            let codes = &codes[start..];
            let by_vectors = |bounds| {
                let tile = Tile {
                    out: Elements::F32,
                    bounds,
                    source: codes,
                    stride: place.columns,
                    place,
                };
                cx.run_on_vectors(TileJob::new(tile, &Vectors, &self.vectors))
            };
            if !bounds.is_some_and(by_vectors) {
                self.by_lane(codes, place);
            }
            Ok(())
        })
    }

    /// Converts the codes of a tile, one after the other.
    fn by_lane<T: Copy + Into<i32>>(&self, codes: &[T], place: &OutputTile<'_>) {
        for row in 0..place.rows {
            let codes = &codes[row * place.columns..][..place.columns];
            // SAFETY: tiles of different tasks do not overlap, and the borrow ends before the next row.
            let out = unsafe { place.bytes(size_of::<f32>(), row, 0, place.columns) };
            let pairs = out.as_chunks_mut().0.iter_mut().zip(codes);
            match (place.axis, &self.channels) {
                (Axis::Columns, PerChannel::Channels(channels)) => {
                    for ((to, &q), channel) in pairs.zip(&channels[place.first_channel..]) {
                        *to = channel.eval(q.into()).to_ne_bytes();
                    }
                }
                (_, channels) => {
                    let channel = channels.get(place.first_channel + row);
                    for (to, &q) in pairs {
                        *to = channel.eval(q.into()).to_ne_bytes();
                    }
                }
            }
        }
    }
}

/// Computes `f32(q − zero_point)·scale`. The first constant of a channel is −zero_point. Scales are positive and
/// finite, so no product is −0 or NaN.
struct Vectors;

impl Kernel<2> for Vectors {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[negative, scale]: &[V; 2], q: V) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe { q.add(negative).to_f32().multiply_f32(scale) }
    }
}
