//! Chains of float steps on each element: operands are dequantized and added, a function is applied, and the result is
//! quantized. All of it happens in registers. Each step rounds to f32 as it does by itself, so results have the same bits.

mod activation;
#[cfg(target_arch = "x86_64")]
mod direct;
#[cfg(target_arch = "x86_64")]
mod ends;
mod loops;
mod narrowing;
mod operand;
mod scaled;
mod silu_of_sums;

use crate::context::{Context, VectorJob};
use crate::error::{KernelError, expect_len, product};
use crate::integer::{
    Axis, OutputTile,
    batch::{Elements, store_first},
    bytes::width,
    tiles::{Array, LONG_PIECE},
};
use crate::parallel::Shared;
use crate::simd::I32s;
pub use activation::Activation;
use activation::silu_codes;
use narrowing::{Narrow, Narrowing};
pub use operand::ChainSlice;
use operand::{Grids, Row};
pub use scaled::QuantizeScaled;
use strait_requantize::{IntType, Per, quantize::Dequantization, quantize::Quantization};

/// A chain of steps `quantize(activation(dequantize(a) + dequantize(b)))`. The second operand, the dequantizations and the
/// quantization may be absent.
#[derive(Clone, Debug)]
pub struct FloatChain {
    /// The grids of each operand; `None` if its elements are real numbers.
    operands: Vec<Option<Grids>>,
    /// The number of channels that have a grid each, if there are any.
    channels: Option<usize>,
    activation: Activation,
    narrowing: Option<Narrowing>,
}

/// Where the results of a chain are written.
#[derive(Debug, Default)]
pub struct ChainResults<'a> {
    /// The real numbers before they are quantized, if they are needed.
    pub reals: Option<&'a mut [f32]>,
    /// The codes, as elements of the type of the quantization, if they are needed.
    pub codes: Option<&'a mut [u8]>,
}

impl FloatChain {
    /// Prepares a chain. For each of one or two operands, `operands` has the type of its codes and their grids, or `None` if
    /// its elements are real numbers. Returns `None` if there is no kernel for these parameters.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if there are grids for no channel.
    pub fn new(
        operands: &[Option<(IntType, Per<Dequantization>)>],
        activation: Activation,
        quantization: Option<Quantization>,
    ) -> Result<Option<FloatChain>, KernelError> {
        let mut channels = None;
        let mut prepared = Vec::new();
        for operand in operands {
            let Some((element, grids)) = operand else {
                prepared.push(None);
                continue;
            };
            let Some(of) = Grids::new(*element, grids)? else {
                return Ok(None);
            };
            match (channels, grids.channels()) {
                (Some(some), Some(others)) if some != others => return Ok(None),
                (_, found) => channels = channels.or(found),
            }
            prepared.push(Some(of));
        }
        let narrowing = match quantization.map(Narrowing::new) {
            Some(None) => return Ok(None),
            narrowing => narrowing.flatten(),
        };
        Ok((1..=2).contains(&operands.len()).then_some(FloatChain {
            operands: prepared,
            channels,
            activation,
            narrowing,
        }))
    }

    /// Runs the chain on arrays `[outer, channels, inner]`.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if slices, extents and channels do not fit together, or if an operand has another type than it
    /// was prepared for.
    pub fn run(
        &self,
        cx: &Context,
        extents: [usize; 3],
        operands: &[ChainSlice<'_>],
        results: ChainResults<'_>,
    ) -> Result<(), KernelError> {
        let array = Array::new(extents, self.channels)?;
        let count = array.elements();
        expect_len("the operands", operands.len(), Some(self.operands.len()))?;
        for (operand, grids) in operands.iter().zip(&self.operands) {
            expect_len("an operand", operand.len(), Some(count))?;
            if operand.element() != grids.as_ref().map(|grids| grids.element) {
                return Err(KernelError::Shape(
                    "an operand of another type than the chain reads".into(),
                ));
            }
        }
        let ChainResults { reals, codes } = results;
        if let Some(reals) = &reals {
            expect_len("the real numbers", reals.len(), Some(count))?;
        }
        let codes = codes.zip(self.narrowing.as_ref());
        if let Some((codes, narrowing)) = &codes {
            let bytes = product(&[count, width(narrowing.quantization.out)]);
            expect_len("the codes", codes.len(), bytes)?;
        }
        if !cx.has_vectors() {
            self.by_element(extents, operands, reals, codes);
            return Ok(());
        }
        let mut none = [];
        let (codes, narrowing) = codes.unzip();
        let codes = Shared::new(codes.unwrap_or(&mut none));
        let reals = reals.map(|reals| Shared::new(bytes_of(reals)));
        array.for_each_tile(LONG_PIECE, &codes, |start, place| {
            cx.run_on_vectors(ChainJob {
                chain: self,
                operands,
                narrowing,
                reals: reals.as_ref().map(|out| OutputTile { out, ..*place }),
                first: start,
                stride: place.columns,
                place,
            });
            Ok(())
        })
    }

    /// Computes the results as they are defined, one after the other.
    fn by_element(
        &self,
        [_, channels, inner]: [usize; 3],
        operands: &[ChainSlice<'_>],
        mut reals: Option<&mut [f32]>,
        mut codes: Option<(&mut [u8], &Narrowing)>,
    ) {
        let count = operands.first().map_or(0, |operand| operand.len());
        for at in 0..count {
            let channel = at / inner % channels;
            let result = self.element(operands, at, channel);
            if let Some(reals) = &mut reals {
                reals[at] = result;
            }
            if let Some((codes, narrowing)) = &mut codes {
                let (code, width) = (narrowing.quantization.eval(result), narrowing.elements().bytes());
                codes[at * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
            }
        }
    }
}

impl FloatChain {
    /// The real number of one element, before it is quantized.
    fn element(&self, operands: &[ChainSlice<'_>], at: usize, channel: usize) -> f32 {
        let mut each = operands.iter().zip(&self.operands);
        let real = |(operand, grids): (&ChainSlice<'_>, &Option<Grids>)| operand.real(at, channel, grids.as_ref());
        let first = each.next().map_or(0.0, real);
        let sum = each.next().map_or(first, |operand| first + real(operand));
        self.activation.eval(sum)
    }
}

/// The bytes of real numbers.
fn bytes_of(reals: &mut [f32]) -> &mut [u8] {
    let bytes = size_of_val(reals);
    // SAFETY: these are the bytes of the slice, and any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(reals.as_mut_ptr().cast(), bytes) }
}

/// A job that computes a tile.
struct ChainJob<'a> {
    chain: &'a FloatChain,
    operands: &'a [ChainSlice<'a>],
    narrowing: Option<&'a Narrowing>,
    /// Where the real numbers are written, if they are needed.
    reals: Option<OutputTile<'a>>,
    /// The first element of the tile in the operands, and the distance of its rows there.
    first: usize,
    stride: usize,
    /// Where the codes are written, if there is a narrowing.
    place: &'a OutputTile<'a>,
}

impl VectorJob for ChainJob<'_> {
    #[inline(always)]
    unsafe fn run<V: I32s>(self) {
        let OutputTile {
            rows,
            columns,
            row_stride,
            first_channel,
            axis,
            ..
        } = *self.place;
        let across = axis == Axis::Columns;
        // If consecutive rows have the same constants, they are treated as one long row.
        let alike = self.chain.operands.iter().flatten().all(|grids| {
            let vectors = &grids.vectors;
            vectors.channels().is_none() || across && vectors.repeat() && vectors.channels() == Some(columns)
        });
        let whole = self.stride == columns && row_stride == columns;
        let (rows, columns) = if alike && whole {
            (1, rows * columns)
        } else {
            (rows, columns)
        };
        // SAFETY: the caller guarantees the instruction set.
        unsafe {
            let mut codes = None;
            if let Some(narrowing) = self.narrowing {
                codes = Some(ToCodes::<V>::new(narrowing));
            }
            for row in 0..rows {
                let channel = first_channel + if across { 0 } else { row };
                self.row(row, columns, (channel, across), codes.as_ref());
            }
        }
    }
}

impl ChainJob<'_> {
    /// Computes the first `count` elements of a row of the tile. `channels` is the channel of the first, and says whether each
    /// element is of the next channel.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn row<V: I32s>(&self, row: usize, count: usize, channels: (usize, bool), codes: Option<&ToCodes<V>>) {
        // SAFETY: whole vectors are loaded only where there are that many elements. Tiles of different tasks do not overlap, and
        // the borrows end with this row. The caller guarantees the instruction set.
        unsafe {
            let Some(first) = self.operand(0, row, count, channels) else {
                return;
            };
            let reals = self.reals.map(|place| place.bytes(size_of::<f32>(), row, 0, count));
            let codes = codes.map(|codes| (codes, self.place.bytes(codes.elements.bytes(), row, 0, count)));
            // Approximations serve if only codes are stored.
            let near = reals.is_none() && self.narrowing.is_some_and(Narrowing::is_byte);
            let mut steps = RowSteps {
                first,
                second: self.operand(1, row, count, channels),
                activation: self.chain.activation,
                near: near && self.chain.activation == Activation::Silu,
                reals,
                codes,
            };
            // A row of a convolution's tile is short, so at its end only the vectors that have elements are computed.
            let mut at = 0;
            while at < count {
                at += match (count - at) / V::LANES {
                    0 => steps.next::<1>(at, count - at),
                    1 => steps.next::<1>(at, V::LANES),
                    2 => steps.next::<2>(at, 2 * V::LANES),
                    3 => steps.next::<3>(at, 3 * V::LANES),
                    _ => steps.next::<4>(at, 4 * V::LANES),
                };
            }
        }
    }

    /// The elements of an operand in a row of the tile; `None` if there is no such operand.
    ///
    /// # Safety
    /// As for [`ChainJob::row`].
    #[inline(always)]
    unsafe fn operand<V: I32s>(
        &self,
        index: usize,
        row: usize,
        count: usize,
        (channel, across): (usize, bool),
    ) -> Option<Row<'_, V>> {
        let (operand, grids) = (self.operands.get(index)?, self.chain.operands.get(index)?);
        let part = operand.part(self.first + row * self.stride, count);
        // SAFETY: the caller upholds the safety contract of this method.
        Some(unsafe { Row::new(part, grids.as_ref(), channel, across) })
    }
}

/// The steps of a chain in one row.
struct RowSteps<'a, 'b, V> {
    first: Row<'a, V>,
    second: Option<Row<'a, V>>,
    activation: Activation,
    /// True if approximations of SiLU serve.
    near: bool,
    reals: Option<&'b mut [u8]>,
    codes: Option<(&'b ToCodes<V>, &'b mut [u8])>,
}

impl<V: I32s> RowSteps<'_, '_, V> {
    /// Computes `count` elements from an index on, which fill `N` vectors or are fewer than one vector has. Returns `count`.
    ///
    /// # Safety
    /// There must be that many elements. The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn next<const N: usize>(&mut self, at: usize, count: usize) -> usize {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let whole = count == N * V::LANES;
            let mut x = self.first.next::<N>(at, whole);
            if let Some(second) = &mut self.second {
                let others = second.next::<N>(at, whole);
                for (x, other) in x.iter_mut().zip(others) {
                    *x = x.add_f32(other);
                }
            }
            let results = match &self.codes {
                Some((codes, _)) if self.near => silu_codes(x, &codes.narrow),
                codes => {
                    let y = self.activation.of(x);
                    if let Some(reals) = &mut self.reals {
                        store_reals(y, &mut reals[4 * at..][..4 * count]);
                    }
                    match codes {
                        Some((codes, _)) => codes.narrow.codes(y),
                        None => return count,
                    }
                }
            };
            if let Some((codes, to)) = &mut self.codes {
                let width = codes.elements.bytes();
                codes.store(results, &mut to[at * width..][..count * width]);
            }
            count
        }
    }
}

/// The vectors with which results become codes.
struct ToCodes<V> {
    elements: Elements,
    narrow: Narrow<V>,
    bounds: [V; 2],
}

impl<V: I32s> ToCodes<V> {
    /// Makes the vectors of a quantization.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn new(narrowing: &Narrowing) -> ToCodes<V> {
        let (out, elements) = (narrowing.quantization.out, narrowing.elements());
        // SAFETY: the caller upholds the safety contract of this function.
        unsafe {
            ToCodes {
                elements,
                narrow: narrowing.vectors(),
                bounds: elements.bounds([out.min(), out.max()]),
            }
        }
    }

    /// Stores the codes of some vectors of results, as many as there are bytes for.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn store<const N: usize>(&self, results: [V; N], to: &mut [u8]) {
        let (start, bytes, vector) = (to.as_mut_ptr(), to.len(), 4 * V::LANES);
        // SAFETY: only bytes of the slice are stored. The caller guarantees the instruction set.
        unsafe {
            let mut four = [V::splat(0); 4];
            for (to, result) in four.iter_mut().zip(results) {
                *to = result;
            }
            if bytes == 4 * V::LANES * self.elements.bytes() {
                self.elements
                    .store(four, self.bounds, |i, v| v.store(start.add(i * vector)));
            } else {
                store_first(self.elements, four, self.bounds, start, bytes);
            }
        }
    }
}

/// Stores the bytes of the first of some vectors of real numbers, as many as there are elements.
///
/// # Safety
/// The machine must have the instruction set of the vectors `V`.
#[inline(always)]
unsafe fn store_reals<V: I32s, const N: usize>(y: [V; N], to: &mut [u8]) {
    let vector = 4 * V::LANES;
    // SAFETY: only bytes that exist are stored. The caller guarantees the instruction set.
    unsafe {
        for (i, y) in y.iter().enumerate() {
            let left = to.len().saturating_sub(i * vector).min(vector);
            let start = to.as_mut_ptr().wrapping_add(i * vector);
            match left == vector {
                true => y.store(start),
                false => y.store_first(start, left),
            }
        }
    }
}
