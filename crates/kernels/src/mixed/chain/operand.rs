//! The operands of a chain: how they are prepared, and how vectors of real numbers are made from them.

use crate::error::KernelError;
use crate::integer::{
    PerChannel,
    batch::{Constants, Run, WIDEST},
};
use crate::mixed::{CodeSlice, per_channel};
use crate::simd::I32s;
use strait_requantize::{IntType, Per, quantize::Dequantization};

/// The elements of an operand.
#[derive(Clone, Copy, Debug)]
pub enum ChainSlice<'a> {
    /// Codes or accumulators, which are dequantized.
    Codes(CodeSlice<'a>),
    /// Real numbers.
    Reals(&'a [f32]),
}

/// How codes become real numbers.
#[derive(Clone, Debug)]
pub(super) struct Grids {
    pub(super) element: IntType,
    pub(super) channels: PerChannel<Dequantization>,
    pub(super) vectors: Constants<2>,
}

impl Grids {
    /// `None` if vectors do not compute these dequantizations.
    pub(super) fn new(element: IntType, of: &Per<Dequantization>) -> Result<Option<Grids>, KernelError> {
        let channels = per_channel(of)?;
        let legal = |d: &Dequantization| {
            // The difference of code and zero point must fit in 32 bits.
            let fits =
                element.max().checked_sub(d.zero_point).is_some() && element.min().checked_sub(d.zero_point).is_some();
            fits && !d.relu && d.scale.is_finite()
        };
        if !of.all(legal) {
            return Ok(None);
        }
        let constants = |d: &Dequantization| [d.zero_point.wrapping_neg(), d.scale.to_bits() as i32];
        let values: Vec<_> = of.values().iter().map(constants).collect();
        Ok(Some(Grids {
            element,
            vectors: Constants::new(&values, of.channels().is_none()),
            channels,
        }))
    }

    /// The dequantizations of all channels.
    pub(super) fn per(&self) -> Per<Dequantization> {
        match &self.channels {
            PerChannel::Tensor(one) => Per::Tensor(*one),
            PerChannel::Channels(all) => all.iter().copied().collect(),
        }
    }
}

impl<'a> ChainSlice<'a> {
    /// The number of elements.
    pub(super) fn len(self) -> usize {
        match self {
            ChainSlice::Codes(CodeSlice::I8(x)) => x.len(),
            ChainSlice::Codes(CodeSlice::U8(x)) => x.len(),
            ChainSlice::Codes(CodeSlice::I16(x)) => x.len(),
            ChainSlice::Codes(CodeSlice::U16(x)) => x.len(),
            ChainSlice::Codes(CodeSlice::I32(x)) => x.len(),
            ChainSlice::Reals(x) => x.len(),
        }
    }

    /// The type of the codes; `None` if these are real numbers.
    pub(super) fn element(self) -> Option<IntType> {
        match self {
            ChainSlice::Codes(CodeSlice::I8(_)) => Some(IntType::I8),
            ChainSlice::Codes(CodeSlice::U8(_)) => Some(IntType::U8),
            ChainSlice::Codes(CodeSlice::I16(_)) => Some(IntType::I16),
            ChainSlice::Codes(CodeSlice::U16(_)) => Some(IntType::U16),
            ChainSlice::Codes(CodeSlice::I32(_)) => Some(IntType::I32),
            ChainSlice::Reals(_) => None,
        }
    }

    /// The part from an index on.
    #[inline(always)]
    pub(super) fn part(self, from: usize, count: usize) -> ChainSlice<'a> {
        match self {
            ChainSlice::Codes(CodeSlice::I8(x)) => ChainSlice::Codes(CodeSlice::I8(&x[from..][..count])),
            ChainSlice::Codes(CodeSlice::U8(x)) => ChainSlice::Codes(CodeSlice::U8(&x[from..][..count])),
            ChainSlice::Codes(CodeSlice::I16(x)) => ChainSlice::Codes(CodeSlice::I16(&x[from..][..count])),
            ChainSlice::Codes(CodeSlice::U16(x)) => ChainSlice::Codes(CodeSlice::U16(&x[from..][..count])),
            ChainSlice::Codes(CodeSlice::I32(x)) => ChainSlice::Codes(CodeSlice::I32(&x[from..][..count])),
            ChainSlice::Reals(x) => ChainSlice::Reals(&x[from..][..count]),
        }
    }

    /// The real number of one element in the channel `channel`.
    pub(super) fn real(self, at: usize, channel: usize, grids: Option<&Grids>) -> f32 {
        let code: i32 = match self {
            ChainSlice::Codes(CodeSlice::I8(x)) => x[at].into(),
            ChainSlice::Codes(CodeSlice::U8(x)) => x[at].into(),
            ChainSlice::Codes(CodeSlice::I16(x)) => x[at].into(),
            ChainSlice::Codes(CodeSlice::U16(x)) => x[at].into(),
            ChainSlice::Codes(CodeSlice::I32(x)) => x[at],
            ChainSlice::Reals(x) => return x[at],
        };
        grids.map_or(0.0, |grids| grids.channels.get(channel).eval(code))
    }

    /// `N` vectors of elements from an index on, not yet dequantized.
    ///
    /// # Safety
    /// The slice must have that many elements, and the machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn load<V: I32s, const N: usize>(self, at: usize) -> [V; N] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            // A closure that is passed to a function of another crate would not be compiled for the instruction set.
            let mut vectors = [V::splat(0); N];
            for (i, to) in vectors.iter_mut().enumerate() {
                let at = at + i * V::LANES;
                *to = match self {
                    ChainSlice::Codes(CodeSlice::I8(x)) => V::load_i8(x.as_ptr().add(at)),
                    ChainSlice::Codes(CodeSlice::U8(x)) => V::load_u8(x.as_ptr().add(at)),
                    ChainSlice::Codes(CodeSlice::I16(x)) => V::load_i16(x.as_ptr().add(at)),
                    ChainSlice::Codes(CodeSlice::U16(x)) => V::load_u16(x.as_ptr().add(at)),
                    ChainSlice::Codes(CodeSlice::I32(x)) => V::load(x.as_ptr().add(at)),
                    ChainSlice::Reals(x) => V::load(x.as_ptr().add(at).cast()),
                };
            }
            vectors
        }
    }

    /// A vector of the last elements, of which there are fewer than it has lanes. All other lanes are 0.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    unsafe fn load_last<V: I32s>(self, at: usize) -> V {
        fn padded<T: Copy + Default>(x: &[T]) -> [T; WIDEST] {
            let mut all = [T::default(); WIDEST];
            all[..x.len()].copy_from_slice(x);
            all
        }
        // SAFETY: the arrays have as many elements as a vector. The caller guarantees the instruction set.
        unsafe {
            let [vector] = match self {
                ChainSlice::Codes(CodeSlice::I8(x)) => ChainSlice::Codes(CodeSlice::I8(&padded(&x[at..]))).load(0),
                ChainSlice::Codes(CodeSlice::U8(x)) => ChainSlice::Codes(CodeSlice::U8(&padded(&x[at..]))).load(0),
                ChainSlice::Codes(CodeSlice::I16(x)) => ChainSlice::Codes(CodeSlice::I16(&padded(&x[at..]))).load(0),
                ChainSlice::Codes(CodeSlice::U16(x)) => ChainSlice::Codes(CodeSlice::U16(&padded(&x[at..]))).load(0),
                ChainSlice::Codes(CodeSlice::I32(x)) => ChainSlice::Codes(CodeSlice::I32(&padded(&x[at..]))).load(0),
                ChainSlice::Reals(x) => ChainSlice::Reals(&padded(&x[at..])).load(0),
            };
            vector
        }
    }
}

/// An operand in one row: its elements, and the constants with which the next ones are dequantized.
pub(super) struct Row<'a, V> {
    elements: ChainSlice<'a>,
    scales: Scales<'a, V>,
}

enum Scales<'a, V> {
    None,
    /// The same for all elements.
    Splat([V; 2]),
    /// One after the other.
    Run(Run<'a, 2>),
}

impl<'a, V: I32s> Row<'a, V> {
    /// `channel` is that of the first element. If `across` is true, each element is of the next channel.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn new(
        elements: ChainSlice<'a>,
        grids: Option<&'a Grids>,
        channel: usize,
        across: bool,
    ) -> Row<'a, V> {
        let scales = match grids {
            None => Scales::None,
            Some(grids) if across && grids.vectors.channels().is_some() => Scales::Run(grids.vectors.from(channel)),
            // SAFETY: the caller guarantees the instruction set.
            Some(grids) => Scales::Splat(unsafe { grids.vectors.splat(channel) }),
        };
        Row { elements, scales }
    }

    /// The next `N` vectors of real numbers, from an index on. If `whole` is false, there are fewer elements than one vector has.
    ///
    /// # Safety
    /// If `whole` is true, there must be that many elements. The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(super) unsafe fn next<const N: usize>(&mut self, at: usize, whole: bool) -> [V; N] {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let mut vectors: [V; N] = match whole {
                true => self.elements.load(at),
                false => {
                    let mut vectors = [V::splat(0); N];
                    vectors[0] = self.elements.load_last(at);
                    vectors
                }
            };
            match &mut self.scales {
                Scales::None => {}
                &mut Scales::Splat([negative, scale]) => {
                    for q in &mut vectors {
                        *q = q.add(negative).to_f32().multiply_f32(scale);
                    }
                }
                Scales::Run(run) => {
                    for q in &mut vectors {
                        let [negative, scale] = run.next();
                        *q = q.add(negative).to_f32().multiply_f32(scale);
                    }
                }
            }
            vectors
        }
    }
}
