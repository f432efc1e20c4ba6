//! Sums of two operands with codes of 8 bits, whose operands are rounded to a coarse grid before they are added.
//!
//! The definition is `clamp(requantize(T[a] + U[b]))` with two tables of accumulators. If the accumulators are small, the
//! rounding of each table matters, and one multiplication per operand cannot replace it, as [`AffineSum`](super::AffineSum)
//! does. But with ⌊x⌉, the nearest integer (halves to even), the result often is
//!
//! ```text
//! clamp(⌊s·(⌊s₀·a + d₀⌉ + ⌊s₁·b + d₁⌉) + d⌉)
//! ```
//!
//! in f32, with one rounding for each product and its sum. Six such numbers are looked for. All 65536 pairs of codes are then
//! compared with the definition. The numbers are used only if all results are the same.

use super::{
    batch::{Constants, Element, Elements, Kernel, One, Source, Tile, TileJob, Two},
    bytes::signed,
    loops::Loops,
    sum_definition::SumDefinition,
    tiles::{Array, LONG_PIECE},
};
use crate::context::Context;
use crate::error::{KernelError, expect_len};
use crate::parallel::Shared;
use crate::simd::I32s;
use strait_requantize::IntType;

/// When 1.5·2^23 is added to an f32 of up to 2^22, the sum is rounded to an integer, halves to even.
const MAGIC: f32 = (3 << 22) as f32;
/// The largest number of bits behind the point that a factor is tried with.
const MOST_BITS: i32 = 32;

/// A sum of codes of 8 bits that was proved to be the same as its definition; see [`RoundedSum::find`].
#[derive(Clone, Debug)]
pub struct RoundedSum {
    /// The type of both operands.
    element: IntType,
    /// The smallest and the largest result, and the type of the results.
    bounds: [i32; 2],
    out: IntType,
    /// s₀, d₀, s₁, d₁, s, d.
    vectors: Constants<6>,
}

/// A straight line has to be at least and at most so much at a point.
#[derive(Clone, Copy)]
struct Condition {
    x: f64,
    least: f64,
    most: f64,
}

/// Returns factors and offsets near this slope with which a straight line meets all conditions. Factors with few bits come
/// first: if halves are rounded, no others do.
fn lines(slope: f64, conditions: &[Condition]) -> impl Iterator<Item = [f64; 2]> {
    (0..=MOST_BITS).flat_map(move |bits| {
        let one = 2f64.powi(bits);
        let factor = (slope * one).round() / one;
        let ends = conditions
            .iter()
            .fold([f64::NEG_INFINITY, f64::INFINITY], |[low, high], c| {
                [low.max(c.least - factor * c.x), high.min(c.most - factor * c.x)]
            });
        let [low, high] = ends;
        let offsets = [low.midpoint(high), low, high];
        let possible = factor != 0.0 && low <= high;
        offsets.into_iter().filter(move |_| possible).map(move |d| [factor, d])
    })
}

/// Looks for a factor and an offset that give a table. Entries are for codes from `lowest` on.
fn of_table(table: &[i32; 256], slope: f64, lowest: i32) -> Option<[f64; 2]> {
    let entries = || (lowest..).map(f64::from).zip(table.iter().copied().map(f64::from));
    let conditions: Vec<Condition> = entries()
        .map(|(x, y)| Condition {
            x,
            least: y - 0.5,
            most: y + 0.5,
        })
        .collect();
    lines(slope, &conditions)
        .find(|[factor, offset]| entries().all(|(x, y)| (factor * x + offset).round_ties_even() == y))
}

impl RoundedSum {
    /// Looks for numbers that give the same result as `clamp(requantize(tables[0][a] + tables[1][b]))` for every pair of
    /// codes. An entry of a table is for the code that is as many above the smallest code of its type. Returns `None` if
    /// none were found, or if the instruction set of `cx` has no vectors.
    ///
    /// # Errors
    /// [`KernelError`] if the loops cannot requantize.
    pub fn find(
        loops: &dyn Loops,
        cx: &Context,
        elements: [IntType; 2],
        tables: [&[i32; 256]; 2],
    ) -> Result<Option<RoundedSum>, KernelError> {
        let [element, other] = elements;
        let Some(definition) = SumDefinition::of(loops, cx, elements, tables)?.filter(|_| element == other) else {
            return Ok(None);
        };
        let of = |o: usize| of_table(tables[o], definition.tables[o].0, element.min());
        let (Some(a), Some(b)) = (of(0), of(1)) else {
            return Ok(None);
        };
        let [low, high] = definition.ends;
        let half = |code: usize| f64::from(low) + code as f64 + 0.5;
        let conditions: Vec<Condition> = definition
            .reaching
            .iter()
            .enumerate()
            .flat_map(|(code, &reaching)| {
                let (from, below) = (reaching as f64, (reaching - 1) as f64);
                let (least, most) = (half(code), half(code));
                [(from, least, f64::INFINITY), (below, f64::NEG_INFINITY, most)]
            })
            .map(|(x, least, most)| Condition { x, least, most })
            .collect();
        let operands: [Vec<u8>; 2] = [|at: usize| at >> 8, |at: usize| at & 0xFF].map(|of| {
            let code = |at| (of(at) as i32 + element.min()) as u8;
            (0..1 << 16).map(code).collect()
        });
        let mut found = vec![0; 1 << 16];
        for narrowing in lines(definition.narrowing.0, &conditions) {
            let [[s0, d0], [s1, d1], [s, d]] = [a, b, narrowing];
            let bits = [s0, d0, s1, d1, s, d].map(|x| (x as f32).to_bits() as i32);
            let sum = RoundedSum {
                element,
                bounds: [low, high],
                out: loops.out(),
                vectors: Constants::new(&[bits], true),
            };
            if !sum.run(cx, [&operands[0], &operands[1]], &mut found)? {
                return Ok(None);
            }
            if found
                .iter()
                .zip(&definition.wanted)
                .all(|(&code, &wanted)| code == wanted as u8)
            {
                return Ok(Some(sum));
            }
        }
        Ok(None)
    }

    /// Computes the sums of operands with as many codes as results. If the instruction set has no vectors, this does nothing
    /// and returns false.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if the numbers of elements differ.
    pub fn run(&self, cx: &Context, operands: [&[u8]; 2], out: &mut [u8]) -> Result<bool, KernelError> {
        match self.element {
            IntType::I8 => self.codes(*cx, operands.map(signed), out),
            _ => self.codes(*cx, operands, out),
        }
    }

    fn codes<T: Element<Lanes = One>>(
        &self,
        cx: Context,
        operands: [&[T]; 2],
        out: &mut [u8],
    ) -> Result<bool, KernelError> {
        let count = out.len();
        expect_len("the first operand", operands[0].len(), Some(count))?;
        expect_len("the second operand", operands[1].len(), Some(count))?;
        if !cx.has_vectors() {
            return Ok(false);
        }
        Array::new([1, 1, count], None)?.for_each_tile(LONG_PIECE, &Shared::new(out), |start, place| {
            let tile = Tile {
                out: Elements::Codes(self.out),
                bounds: self.bounds,
                source: operands.part(start, place.columns),
                stride: place.columns,
                place,
            };
            cx.run_on_vectors(TileJob::new(tile, &Vectors, &self.vectors));
            Ok(())
        })?;
        Ok(true)
    }
}

struct Vectors;

impl Kernel<6, Two> for Vectors {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[s0, d0, s1, d1, s, d]: &[V; 6], [x, y]: [V; 2]) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let (magic, twice) = (
                V::splat(MAGIC.to_bits() as i32),
                V::splat((2.0 * MAGIC).to_bits() as i32),
            );
            let first = d0.add_product_f32(s0, x.to_f32()).add_f32(magic).subtract_f32(twice);
            let second = d1.add_product_f32(s1, y.to_f32()).add_f32(magic);
            // One of them is above its integer by the magic number, and the other one is below by as much.
            d.add_product_f32(s, first.add_f32(second)).round_f32()
        }
    }
}
