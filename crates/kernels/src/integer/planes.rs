//! How weights are stored for integer products: as bytes or as 16-bit words.
//!
//! A register tile adds products in 32 bits. If the accumulator has 32 bits, too, intermediate sums may wrap, because
//! the caller makes sure that the whole sum fits. If the accumulator has 64 bits, a register tile adds only as many
//! products as are sure to fit in 32 bits, and then widens the sum. If activations have magnitudes up to X and weights
//! up to W, this number of products is the largest n ≤ (2^31 − 1) / (X·W): 511 for i16 times i8, but only one for i16
//! times i16. If n is too small, each weight w is split:
//!
//! w = 2^8·⌊w / 2^8⌋ + (w mod 2^8)
//!
//! The two parts are stored in two planes, for each of which n is in the hundreds. If it is known that no sum of
//! products leaves 32 bits, all products are added in 32 bits, whatever the accumulator is.
//!
//! Weights of 8 bits have 9 bits after their zero point was subtracted, but the difference between the largest and the
//! smallest weight seldom exceeds 255. If this difference is at most 255, the weights are stored as bytes w − c, where
//! the constant c is called the lift. Σ x·w is then computed as Σ x·(w − c) + c·Σ x. The sum Σ x is needed only once
//! per window, however many output channels there are.

use super::{bytes::width, lane::word_offset, product::Factors, sums::Carrier};
use crate::error::KernelError;
use strait_requantize::IntType;

/// Constant weights, with the type that their elements have in memory.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// Weights of 8 bits.
    I8(&'a [i8]),
    /// Weights of any type of up to 16 bits, after their zero point was subtracted. They have at most 17 bits with
    /// their sign.
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

    /// True if there are no weights.
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

    /// The smallest and the largest value that a weight can have.
    pub(crate) fn ends(&self) -> [i32; 2] {
        match self {
            // For weights of 8 bits, the smallest and the largest value of the type serve as bounds. Nothing would be
            // gained by finding the smallest and the largest weight.
            Weights::I8(_) => [i8::MIN.into(), i8::MAX.into()],
            Weights::I32(weights) => weights.iter().fold([0; 2], |[low, high], &w| [low.min(w), high.max(w)]),
        }
    }
}

/// The bias of each output channel, in the unit of the accumulators. It already contains the terms by which zero points
/// change the accumulators. The variant says how wide the accumulators are; sums of products have the same type.
#[derive(Clone, Copy, Debug)]
pub enum Bias<'a> {
    /// The bias for accumulators of 32 bits.
    I32(Option<&'a [i32]>),
    /// The bias for accumulators of 64 bits.
    I64(Option<&'a [i64]>),
}

impl Bias<'_> {
    pub(crate) fn carrier(&self) -> Carrier {
        match self {
            Bias::I32(_) => Carrier::I32,
            Bias::I64(_) => Carrier::I64,
        }
    }

    /// The number of values; `None` if there is no bias.
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

/// How weights are split into planes, and how many products of each plane can be added in 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    /// True if products read both operands as 16-bit words, false if they read them as bytes.
    pub(crate) words: bool,
    pub(crate) carrier: Carrier,
    /// The lift: a constant that is subtracted from weights, so that the differences fit in bytes.
    pub(crate) lift: i32,
    /// True if all sums fit in 32 bits. There is then a single plane, and all its products are added without widening.
    pub(crate) narrow: bool,
    /// A single plane that has all bits of the weights. `None` if the weights do not fit in a word.
    whole: Option<Plane>,
    /// The largest magnitude of the numbers that products read for activations.
    magnitude: i64,
    /// The planes. The last one has the lowest bits.
    pub(crate) list: Vec<Plane>,
}

/// One plane. It has some of the bits of every weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plane {
    /// Each product in this plane has to be multiplied by 2^shift.
    pub(crate) shift: u32,
    /// The number of low bits that this plane leaves to the planes after it.
    drop: u32,
    mask: i32,
    /// How many products can be added in 32 bits.
    pub(crate) products: usize,
}

impl Plane {
    /// The part of a weight that belongs to this plane, as a 16-bit word.
    #[inline(always)]
    pub(crate) fn word(self, weight: i32) -> [u8; 2] {
        (((weight >> self.drop) & self.mask) as i16).to_ne_bytes()
    }
}

/// A single plane is used only if at least this many of its products can be added in 32 bits. Otherwise the sum has to
/// be widened so often that two planes are faster.
const FEW: i64 = 32;
/// The number of bits that the lower of two planes has.
const LOW: u32 = 8;
/// The largest number of 8-bit activations whose sum always fits in 31 bits.
const LONGEST: usize = (i32::MAX / u8::MAX as i32) as usize;

impl Planes {
    /// Chooses the planes for activations of type `element` and weights between `ends`.
    pub(crate) fn new(element: IntType, ends: [i32; 2], carrier: Carrier) -> Result<Planes, KernelError> {
        let bytes = width(element) == 1 && ends.iter().all(|end| IntType::I8.range().contains(end));
        Planes::for_words(!bytes, element, ends, carrier)
    }

    /// Like `new`, but lifts the weights if the lifted weights fit in bytes. The caller then has to compute the sum of
    /// the K activations of each window, too.
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

    /// Like `new`, for a caller that has already decided whether operands are words or bytes.
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
        // If activations are bytes, products read them as unsigned; if they are words, as signed.
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
            // The number of products is below 2^31, so the cast loses nothing.
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

    /// If no sum can leave 32 bits, changes the planes so that all products are added in 32 bits. `sums` has a pair for
    /// each output channel: the number that its sum starts from, and the sum of the magnitudes of its weights.
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

    /// The byte that is stored for a weight. If weights are bytes, there is only one plane, and it has the whole
    /// weight.
    #[inline(always)]
    pub(crate) fn byte(&self, weight: i32) -> u8 {
        (weight - self.lift) as u8
    }

    /// Number of elements along K that four bytes hold.
    pub(crate) fn lanes(&self) -> usize {
        if self.words { 2 } else { 4 }
    }

    /// Number of bytes along K that one row or column has in one plane. It is a multiple of four. Elements beyond K are
    /// 0 in at least one of the operands.
    pub(crate) fn depth(&self, k: usize) -> usize {
        4 * k.div_ceil(self.lanes())
    }

    /// Number of bytes of one row or column in all planes, plus the number that its sums start from.
    pub(crate) fn bytes(&self, k: usize) -> usize {
        let start = if self.narrow {
            size_of::<i32>()
        } else {
            size_of::<i64>()
        };
        self.list.len() * self.depth(k) + start
    }

    /// The number of elements along K after K is rounded up to whole groups of four bytes.
    pub(crate) fn padded(&self, k: usize) -> usize {
        k.next_multiple_of(self.lanes())
    }

    /// The code of an activation minus the number by which the instructions multiply in its place. This difference is
    /// not always 0, because the instructions need unsigned bytes or signed words.
    pub(crate) fn offset(&self, element: IntType) -> i64 {
        match (self.words, element) {
            (false, IntType::I8 | IntType::I4) => -(1 << 7),
            (false, _) => 0,
            (true, element) => word_offset(element),
        }
    }

    /// The two operands of the product, for each plane.
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
            // Elements beyond K are multiplied by 0, so they do not make sums larger.
            step: (self.list[p].products / self.lanes()).max(1),
        })
    }
}

/// The numbers that sums start from, in the type in which the sums are carried.
#[derive(Clone, Debug)]
pub(crate) enum Starts {
    /// For sums that are carried in 32 bits and may wrap.
    I32(Vec<i32>),
    /// For sums that are carried in 64 bits.
    I64(Vec<i64>),
}

impl Starts {
    pub(crate) fn new(narrow: bool, starts: impl Iterator<Item = i64>) -> Starts {
        if narrow {
            // The accumulators fit in 32 bits, so it does not matter that the conversion wraps.
            Starts::I32(starts.map(|x| x as i32).collect())
        } else {
            Starts::I64(starts.collect())
        }
    }
}
