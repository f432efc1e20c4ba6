//! Weights as the operands of products: bytes, or 16-bit words.
//!
//! The sums of a register tile have 32 bits. Where the accumulator has 32 too, wrapping sums are right: the caller knows
//! that the whole fits. Where it has 64, a register tile adds so many products that their sum fits into 32 bits whatever
//! the activations are, and such sums are widened. For activations of magnitude up to X and weights up to W that is
//! n ≤ (2^31 − 1) / (X·W): 511 products of i16 and i8, but one of i16 and i16. So weights that leave few are taken apart,
//!
//! w = 2^8·⌊w / 2^8⌋ + (w mod 2^8),
//!
//! into two planes with hundreds of products each. Where no sum of all products can leave 32 bits, they are added there,
//! whatever carries them.
//!
//! Weights with a zero point have 9 bits, but seldom more than 256 values: bytes hold w − c for some c, the lift, and
//! Σ x·w = Σ x·(w − c) + c·Σ x. The last sum is one for each window, whatever the number of output channels is.

use super::{bytes::width, lane::word_offset, product::Factors, sums::Carrier};
use crate::error::KernelError;
use strait_requantize::IntType;

/// Constant weights.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// Of 8 bits.
    I8(&'a [i8]),
    /// Of any type of up to 16 bits, with its zero point taken away: up to 17 bits, a sign among them.
    I32(&'a [i32]),
}

impl Weights<'_> {
    /// The number of weights.
    pub fn len(&self) -> usize {
        match self {
            Weights::I8(weights) => weights.len(),
            Weights::I32(weights) => weights.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> i32 {
        match self {
            Weights::I8(weights) => weights[at].into(),
            Weights::I32(weights) => weights[at],
        }
    }

    /// The least and the largest weight.
    pub(crate) fn ends(&self) -> [i32; 2] {
        match self {
            // Finding those that there are would gain nothing.
            Weights::I8(_) => [i8::MIN.into(), i8::MAX.into()],
            Weights::I32(weights) => weights.iter().fold([0; 2], |[low, high], &w| [low.min(w), high.max(w)]),
        }
    }
}

/// Numbers that are added to the products of each output channel, by the accumulators' carrier: one value for each channel, in
/// their unit and with all zero points folded in. Sums of products are carried in the same type.
#[derive(Clone, Copy, Debug)]
pub enum Bias<'a> {
    /// Sums of 32 bits.
    I32(Option<&'a [i32]>),
    /// Sums of 64 bits.
    I64(Option<&'a [i64]>),
}

impl Bias<'_> {
    pub(crate) fn carrier(&self) -> Carrier {
        match self {
            Bias::I32(_) => Carrier::I32,
            Bias::I64(_) => Carrier::I64,
        }
    }

    /// Number of values; `None` without any.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Bias::I32(bias) => bias.map(<[_]>::len),
            Bias::I64(bias) => bias.map(<[_]>::len),
        }
    }

    pub(crate) fn get(&self, channel: usize) -> i64 {
        match self {
            Bias::I32(bias) => bias.map_or(0, |bias| bias[channel].into()),
            Bias::I64(bias) => bias.map_or(0, |bias| bias[channel]),
        }
    }
}

/// Division of an operand of products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    /// Operands are 16-bit words, not bytes.
    pub(crate) words: bool,
    pub(crate) carrier: Carrier,
    /// The number that bytes lack of their weights.
    pub(crate) lift: i32,
    /// Sums in 32 bits alone: one plane, in one go.
    pub(crate) narrow: bool,
    /// The plane that has all bits, where words have them.
    whole: Option<Plane>,
    /// Largest magnitude of an activation, as it is read.
    magnitude: i64,
    /// The last one has the lowest bits.
    pub(crate) list: Vec<Plane>,
}

/// One plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plane {
    /// Its products count 2^shift.
    pub(crate) shift: u32,
    /// Bits that it leaves to the planes behind it.
    drop: u32,
    mask: i32,
    /// Products that are added in 32 bits.
    pub(crate) products: usize,
}

impl Plane {
    /// Its part of a weight, as a word.
    #[inline(always)]
    pub(crate) fn word(self, weight: i32) -> [u8; 2] {
        (((weight >> self.drop) & self.mask) as i16).to_ne_bytes()
    }
}

/// The least number of products for which one plane is taken: below, two are faster than widening so often.
const FEW: i64 = 32;
/// Bits of the lower plane.
const LOW: u32 = 8;
/// The most activations of 8 bits whose sum has 31 bits.
const LONGEST: usize = (i32::MAX / u8::MAX as i32) as usize;

impl Planes {
    /// For activations of one type and weights between two ends.
    pub(crate) fn new(element: IntType, ends: [i32; 2], carrier: Carrier) -> Result<Planes, KernelError> {
        let bytes = width(element) == 1 && ends.iter().all(|end| IntType::I8.range().contains(end));
        Planes::for_words(!bytes, element, ends, carrier)
    }

    /// The same for products of K activations each whose sums can be added: weights are lifted where bytes hold them then.
    pub(crate) fn lifted(
        element: IntType,
        [low, high]: [i32; 2],
        carrier: Carrier,
        k: usize,
    ) -> Result<Planes, KernelError> {
        let bytes = IntType::I8.range();
        let held = bytes.contains(&low) && bytes.contains(&high);
        let few = high.saturating_sub(low) <= bytes.end() - bytes.start();
        if held || !few || width(element) > 1 || k > LONGEST {
            return Planes::new(element, [low, high], carrier);
        }
        let lift = low.saturating_sub(*bytes.start());
        let planes = Planes::for_words(false, element, [low - lift, high - lift], carrier)?;
        Ok(Planes { lift, ..planes })
    }

    /// The same, where it is known that operands are words, or that bytes hold them.
    pub(crate) fn for_words(
        words: bool,
        element: IntType,
        ends: [i32; 2],
        carrier: Carrier,
    ) -> Result<Planes, KernelError> {
        let [low, high] = ends;
        let fits = |t: IntType| t.range().contains(&low) && t.range().contains(&high);
        if !(-(1 << 16)..1 << 16).contains(&low) || !(-(1 << 16)..1 << 16).contains(&high) {
            return Err(KernelError::Size(format!(
                "weights from {low} to {high}, of more than 17 bits"
            )));
        }
        // Bytes are read as unsigned ones, words as signed ones.
        let magnitude = match element {
            IntType::I8 | IntType::I4 if words => 1 << 7,
            _ if width(element) == 1 => (1 << 8) - 1,
            _ => 1_i64 << 15,
        };
        let products = |largest: i32| i64::from(i32::MAX) / (magnitude * i64::from(largest).max(1));
        let plane = |shift, drop, mask, largest| Plane {
            shift,
            drop,
            mask,
            // Below 2^31.
            products: products(largest).max(1) as usize,
        };
        let whole = plane(0, 0, -1, low.abs().max(high.abs()));
        let one = !words || fits(IntType::I16);
        let narrow = carrier == Carrier::I32 && one;
        let list = if narrow || one && products(low.abs().max(high.abs())) >= FEW {
            vec![whole]
        } else {
            let above = (low >> LOW).abs().max((high >> LOW).abs());
            vec![plane(LOW, LOW, -1, above), plane(0, 0, (1 << LOW) - 1, (1 << LOW) - 1)]
        };
        Ok(Planes {
            words,
            carrier,
            lift: 0,
            narrow,
            whole: one.then_some(whole),
            magnitude,
            list,
        })
    }

    /// Adds in 32 bits what is carried in 64, if no sum can leave them: `sums` are where each starts, and the sum of its
    /// weights' magnitudes.
    pub(crate) fn prove(&mut self, mut sums: impl Iterator<Item = (i64, i64)>) {
        let Some(whole) = self.whole else { return };
        let reach = |(start, weights): (i64, i64)| {
            let products = weights.saturating_mul(self.magnitude);
            start.saturating_abs().saturating_add(products)
        };
        if !self.narrow && sums.all(|sum| reach(sum) <= i64::from(i32::MAX)) {
            self.narrow = true;
            self.list = vec![whole];
        }
    }

    /// A weight as a byte; the only plane has all of it.
    #[inline(always)]
    pub(crate) fn byte(&self, weight: i32) -> u8 {
        (weight - self.lift) as u8
    }

    /// Elements of K in four bytes.
    pub(crate) fn lanes(&self) -> usize {
        if self.words { 2 } else { 4 }
    }

    /// Bytes of K of one row or column of one plane: a multiple of four. Those beyond K are 0 in at least one of the operands.
    pub(crate) fn depth(&self, k: usize) -> usize {
        4 * k.div_ceil(self.lanes())
    }

    /// Bytes of one row or column of all planes, and of the value at which its sums start.
    pub(crate) fn bytes(&self, k: usize) -> usize {
        let start = if self.narrow {
            size_of::<i32>()
        } else {
            size_of::<i64>()
        };
        self.list.len() * self.depth(k) + start
    }

    /// Products with padding.
    pub(crate) fn padded(&self, k: usize) -> usize {
        k.next_multiple_of(self.lanes())
    }

    /// A code of an activation, less the number that stands for it in a product: bytes are read as unsigned, words as
    /// signed.
    pub(crate) fn offset(&self, element: IntType) -> i64 {
        match (self.words, element) {
            (false, IntType::I8 | IntType::I4) => -(1 << 7),
            (false, _) => 0,
            (true, element) => word_offset(element),
        }
    }

    /// The factors of each plane, as many as there are.
    #[inline(always)]
    pub(crate) fn factors<'a>(
        &self,
        depth: usize,
        rows: impl Fn(usize) -> &'a [u8],
        panels: impl Fn(usize) -> &'a [u8],
    ) -> [Factors<'a>; 2] {
        let last = self.list.len() - 1;
        [0, last].map(|p| Factors {
            rows: rows(p),
            panels: panels(p),
            depth,
            shift: self.list[p].shift,
            // Padding adds nothing to a sum.
            step: (self.list[p].products / self.lanes()).max(1),
        })
    }
}

/// The values at which sums start, as they are added.
#[derive(Clone, Debug)]
pub(crate) enum Starts {
    /// To sums of 32 bits, which wrap.
    I32(Vec<i32>),
    /// To sums of 64 bits.
    I64(Vec<i64>),
}

impl Starts {
    pub(crate) fn new(narrow: bool, starts: impl Iterator<Item = i64>) -> Starts {
        if narrow {
            // Right modulo 2^32, and the accumulators fit.
            Starts::I32(starts.map(|x| x as i32).collect())
        } else {
            Starts::I64(starts.collect())
        }
    }
}
