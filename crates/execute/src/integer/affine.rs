//! The loops between real numbers and codes, in a shape that the compiler turns into vectors. Bit for bit what
//! [`Grid`](crate::reference::Grid) defines.

use crate::reference::Grid;
use strait_core::op;
use strait_requantize::{IntType, Rounding, quantize::ZeroPoint};

/// Codes are within ±2^15 of zero points within ±2^15, so quotients past ±2^17 saturate; up to 2^22 a sum with 1.5·2^23
/// rounds an f32 to an integer, ties to even.
const FAR: f32 = (1 << 17) as f32;
const MAGIC: f32 = (3 << 22) as f32;

/// sat(round(x / scale) + zero) for each element, or with x·(1 / scale), or with the zero inside of the rounding, as the op
/// says.
pub(super) fn quantize<T: Code>(grid: Grid, op: &op::Quantize, to: IntType, x: &[f32], out: &mut [T]) {
    let simple = i16::try_from(grid.zero).is_ok() && to.bits() <= 16;
    match op.rounding {
        Rounding::HalfEven if simple => {
            each(grid, op, to, x, out, |q| ((q + MAGIC) - MAGIC) as i32);
        }
        Rounding::HalfAway if simple => each(grid, op, to, x, out, |q| {
            // Within ±2^17 the fraction q − trunc(q) is exact.
            let whole = q as i32;
            let rest = q - whole as f32;
            whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5)
        }),
        _ => {
            for (code, &x) in out.iter_mut().zip(x) {
                *code = T::narrow(grid.quantize(x, op, to));
            }
        }
    }
}

#[inline(always)]
fn each<T: Code>(
    grid: Grid,
    op: &op::Quantize,
    to: IntType,
    x: &[f32],
    out: &mut [T],
    round: impl Fn(f32) -> i32 + Copy,
) {
    let (low, high) = (to.min(), to.max());
    // A NaN fails both comparisons of the first line and becomes `nan`, the quotient of real zero.
    let bounded = move |q: f32, nan: f32| {
        if (-FAR..=FAR).contains(&q) {
            q
        } else if q > FAR {
            FAR
        } else if q < -FAR {
            -FAR
        } else {
            nan
        }
    };
    let zero = grid.zero as f32;
    let after = move |q: f32| T::narrow((round(bounded(q, 0.0)) + grid.zero).max(low).min(high));
    let inside = move |q: f32| T::narrow(round(bounded(q + zero, zero)).max(low).min(high));
    let factor = 1.0 / grid.scale;
    let pairs = out.iter_mut().zip(x);
    match (op.zero_point, op.reciprocal) {
        (ZeroPoint::After, true) => pairs.for_each(|(c, &x)| *c = after(x * factor)),
        (ZeroPoint::After, false) => pairs.for_each(|(c, &x)| *c = after(x / grid.scale)),
        (ZeroPoint::InsideRounding, true) => pairs.for_each(|(c, &x)| *c = inside(x * factor)),
        (ZeroPoint::InsideRounding, false) => pairs.for_each(|(c, &x)| *c = inside(x / grid.scale)),
    }
}

/// scale·(q − zero) for each element.
pub(super) fn dequantize<T: Code>(grid: Grid, codes: &[T], out: &mut [f32]) {
    let narrow = T::BITS <= 16 && i16::try_from(grid.zero).is_ok();
    if narrow || grid.zero == 0 {
        // No difference leaves i32, and its conversion is that of the exact difference.
        out.iter_mut()
            .zip(codes)
            .for_each(|(x, &q)| *x = grid.scale * (q.wide() - grid.zero) as f32);
    } else {
        out.iter_mut()
            .zip(codes)
            .for_each(|(x, &q)| *x = grid.dequantize(q.wide()));
    }
}

/// The storage of a code.
pub(super) trait Code: bytemuck::Pod + Send + Sync {
    /// Its width.
    const BITS: u32;
    /// A code that is known to fit.
    fn narrow(code: i32) -> Self;
    /// The code as i32.
    fn wide(self) -> i32;
}

macro_rules! codes {
    ($($t:ty),*) => { $(impl Code for $t {
        const BITS: u32 = <$t>::BITS;
        fn narrow(code: i32) -> $t { code as $t }
        fn wide(self) -> i32 { self as i32 }
    })* };
}
codes!(i8, u8, i16, i32);

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::Elem;

    fn numbers() -> impl Iterator<Item = f32> {
        let near_ties = (-1200..1200).flat_map(|i| {
            let tie = i as f32 / 8.0;
            [tie.next_down(), tie, tie.next_up()]
        });
        let far = [
            0.0,
            -0.0,
            1e-45,
            1e9,
            -1e9,
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        near_ties
            .chain(far)
            .chain((0..60).map(|e| (e as f32 - 20.0).exp2() * 0.7))
    }

    #[test]
    fn vectors_give_the_codes_of_the_definition() {
        let x: Vec<f32> = numbers().collect();
        for scale in [1.0, 0.5, 0.017, 3.0e-5, 7.3e8] {
            for zero in [0, -128, 127, 37, 32767, 1 << 20] {
                for rounding in Rounding::ALL {
                    for (reciprocal, zero_point) in
                        [false, true].into_iter().flat_map(|r| ZeroPoint::ALL.map(|z| (r, z)))
                    {
                        let grid = Grid { scale, zero };
                        let op = op::Quantize {
                            to: Elem::I8,
                            rounding,
                            reciprocal,
                            zero_point,
                        };
                        let mut out = vec![0i8; x.len()];
                        quantize(grid, &op, IntType::I8, &x, &mut out);
                        let mut wide = vec![0i16; x.len()];
                        quantize(grid, &op, IntType::I16, &x, &mut wide);
                        for ((&x, &q), &w) in x.iter().zip(&out).zip(&wide) {
                            let expect = |to| grid.quantize(x, &op, to);
                            assert_eq!(i32::from(q), expect(IntType::I8), "{x} / {scale} + {zero} {rounding}");
                            assert_eq!(i32::from(w), expect(IntType::I16), "{x} / {scale} + {zero} {rounding}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn vectors_give_the_reals_of_the_definition() {
        for zero in [0, -128, 127, 40_000, i32::MIN] {
            let grid = Grid { scale: 0.037, zero };
            let codes: Vec<i8> = (-128..=127).collect();
            let mut out = vec![0.0; codes.len()];
            dequantize(grid, &codes, &mut out);
            assert!(
                out.iter()
                    .zip(&codes)
                    .all(|(x, &q)| x.to_bits() == grid.dequantize(q.into()).to_bits())
            );
            let wide = [i32::MIN, -(1 << 25) - 1, -1, 0, 1, (1 << 24) + 1, i32::MAX];
            let mut out = [0.0; 7];
            dequantize(grid, &wide, &mut out);
            assert!(
                out.iter()
                    .zip(&wide)
                    .all(|(x, &q)| x.to_bits() == grid.dequantize(q).to_bits())
            );
        }
    }
}
