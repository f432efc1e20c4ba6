//! Sums of two operands with codes of 8 bits, whose results are codes of 8 bits: one multiplication per operand instead of
//! tables and a requantization.
//!
//! The definition is `clamp(requantize(T[a] + U[b]))` with two tables of accumulators. In most sums, the tables are nearly
//! straight lines, because they only multiply codes by a factor. Then the result is nearly `⌊(A·a + B·b + C) / 2^s⌋`. There
//! are only 65536 pairs of codes, so all of them are compared with the definition. Integers are used only if all results are
//! the same.

use super::{bytes::flip, loops::Loops, sum_definition::SumDefinition};
use crate::context::Context;
use crate::error::{KernelError, expect_len};
use crate::parallel::for_each_chunk;
use crate::simd::{AffineWords, Job, LOW_BITS, Simd};
use strait_requantize::IntType;

/// The largest and the smallest number of bits by which factors are scaled.
const SCALES: [u32; 2] = [28, 20];
/// Number of elements that a task computes.
const PIECE: usize = 1 << 14;
/// How much the offset is varied if the nearest number does not give all results, in units of 2^−20.
const NUDGES: [i64; 9] = [0, 1, -1, 2, -2, 4, -4, 8, -8];

/// A sum of codes of 8 bits that was proved to be the same as its definition; see [`AffineSum::find`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffineSum {
    /// Makes codes of the operands unsigned numbers.
    flips: [u8; 2],
    /// The factors and the offset divided by 2^14.
    high: [i32; 3],
    /// What is left of them, from 0 to 2^14 − 1.
    low: [i32; 3],
    /// The shift, without the bits of the low parts.
    shift: u32,
    /// The smallest and the largest result, and the type of the results.
    bounds: [i32; 2],
    out: IntType,
}

impl AffineSum {
    /// Looks for integers that give the same result as `clamp(requantize(tables[0][a] + tables[1][b]))` for every pair of
    /// codes. An entry of a table is for the code that is as many above the smallest code of its type. Returns `None` if
    /// none were found.
    ///
    /// # Errors
    /// [`KernelError`] if the loops cannot requantize.
    pub fn find(
        loops: &dyn Loops,
        cx: &Context,
        elements: [IntType; 2],
        tables: [&[i32; 256]; 2],
    ) -> Result<Option<AffineSum>, KernelError> {
        let Some(definition) = SumDefinition::of(loops, cx, elements, tables)? else {
            return Ok(None);
        };
        let ((slope, at), [a, b], [low, high]) = (definition.narrowing, definition.tables, definition.ends);
        let reals = [slope * a.0, slope * b.0, slope * (a.1 + b.1) + at + 0.5];
        let largest = reals[0].abs().max(reals[1].abs()).max(reals[2].abs() / 4096.0);
        let limit = f64::from(1 << (LOW_BITS + 15)) - 1.0;
        let [most, fewest] = SCALES;
        let Some(scale) = (fewest..=most).rev().find(|&s| largest * f64::from(1 << s) < limit) else {
            return Ok(None);
        };
        let numbers = reals.map(|x| (x * f64::from(1 << scale)).round() as i64);
        let sum = |nudge: i64| {
            let mut numbers = numbers;
            numbers[2] += nudge << (scale - fewest);
            AffineSum {
                flips: elements.map(flip),
                high: numbers.map(|x| (x >> LOW_BITS) as i32),
                low: numbers.map(|x| x as i32 & ((1 << LOW_BITS) - 1)),
                shift: scale - LOW_BITS,
                bounds: [low, high],
                out: loops.out(),
            }
        };
        Ok(NUDGES.map(sum).into_iter().find(|sum| sum.gives(&definition.wanted)))
    }

    /// True if the results for all pairs of codes are these.
    fn gives(&self, wanted: &[i32]) -> bool {
        let pairs = (0..256).flat_map(|a| (0..256).map(move |b| [a, b]));
        pairs.zip(wanted).all(|(pair, &code)| self.code(pair) == code)
    }

    /// The result for two operands, as unsigned numbers.
    #[inline(always)]
    fn code(&self, [a, b]: [i32; 2]) -> i32 {
        // The high parts of factors are below 2^15 and that of the offset is below 2^27, so no sum leaves 32 bits. High and
        // low parts are added after a shift that rounds down, so this is the sum of the whole numbers, rounded down.
        let of = |[first, second, offset]: [i32; 3]| a * first + b * second + offset;
        let sum = of(self.high) + (of(self.low) >> LOW_BITS);
        (sum >> self.shift).max(self.bounds[0]).min(self.bounds[1])
    }

    /// Computes the sums of operands with as many codes as results.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if the numbers of elements differ.
    pub fn run(&self, cx: &Context, [a, b]: [&[u8]; 2], out: &mut [u8]) -> Result<(), KernelError> {
        expect_len("the first operand", a.len(), Some(out.len()))?;
        expect_len("the second operand", b.len(), Some(out.len()))?;
        for_each_chunk(out, PIECE, a.len(), |piece, out| {
            let at = piece * PIECE;
            let [a, b] = [a, b].map(|operand| &operand[at..at + out.len()]);
            let done = cx.affine_sums(&self.words(), [a, b], out);
            let [a, b] = [&a[done..], &b[done..]];
            cx.run(Sums(self, [a, b], &mut out[done..]));
        });
        Ok(())
    }

    /// What vectors of words need.
    fn words(&self) -> AffineWords {
        let parts = |[first, second, offset]: [i32; 3]| [first & 0xFFFF | second << 16, offset];
        AffineWords {
            flips: self.flips,
            high: parts(self.high),
            low: parts(self.low),
            shift: self.shift,
            bounds: self.bounds.map(|code| code as u8),
            signed: self.out.min() < 0,
        }
    }
}

/// A job that computes sums. The compiler vectorises its loop.
struct Sums<'a>(&'a AffineSum, [&'a [u8]; 2], &'a mut [u8]);

impl Job for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Sums(sum, [a, b], out) = self;
        let [flip_a, flip_b] = sum.flips;
        for ((to, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *to = sum.code([i32::from(a ^ flip_a), i32::from(b ^ flip_b)]) as u8;
        }
    }
}
