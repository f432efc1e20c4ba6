//! What a sum of two codes of 8 bits is: the results for all pairs of codes, and where they change.

use super::loops::Loops;
use crate::context::Context;
use crate::error::KernelError;
use strait_requantize::IntType;

/// The results of `clamp(requantize(tables[0][a] + tables[1][b]))` for all pairs of codes.
pub(super) struct SumDefinition {
    /// The results. The second code changes faster. Codes are sorted.
    pub(super) wanted: Vec<i32>,
    /// The smallest and the largest result.
    pub(super) ends: [i32; 2],
    /// The smallest accumulators whose results are at least `ends[0] + 1`, `ends[0] + 2`, …
    pub(super) reaching: Vec<i64>,
    /// The slope of the requantization, and its value at 0.
    pub(super) narrowing: (f64, f64),
    /// The slopes of both tables, and their values at their first entries.
    pub(super) tables: [(f64, f64); 2],
}

/// The slope of a straight line through points, and its value at 0, such that the squares of the distances are least. There
/// must be two different points.
fn line(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<(f64, f64)> {
    let count = points.clone().count() as f64;
    let mean = |value: fn((f64, f64)) -> f64| points.clone().map(value).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
    let moment = |of: &dyn Fn(f64, f64) -> f64| points.clone().map(|(x, y)| of(x - x_mean, y - y_mean)).sum::<f64>();
    let (xy, xx) = (moment(&|x, y| x * y), moment(&|x, _| x * x));
    (xx > 0.0).then(|| (xy / xx, y_mean - xy / xx * x_mean))
}

/// Requantizes accumulators into codes of 8 bits.
fn codes(loops: &dyn Loops, cx: &Context, accumulators: &[i32]) -> Result<Vec<i32>, KernelError> {
    let bytes: Vec<u8> = accumulators.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let mut out = vec![0; accumulators.len()];
    loops.requantize(cx, [1, 1, out.len()], IntType::I32, &bytes, &mut out)?;
    let code = |byte: u8| match loops.out().min() < 0 {
        true => i32::from(byte.cast_signed()),
        false => i32::from(byte),
    };
    Ok(out.into_iter().map(code).collect())
}

impl SumDefinition {
    /// Computes all results. An entry of a table is for the code that is as many above the smallest code of its type.
    /// Returns `None` if the operands or the results do not have 8 bits, if computing so many results takes long, or if the
    /// tables or the requantization are constant.
    pub(super) fn of(
        loops: &dyn Loops,
        cx: &Context,
        elements: [IntType; 2],
        tables: [&[i32; 256]; 2],
    ) -> Result<Option<SumDefinition>, KernelError> {
        // Only loops that are known to be fast are asked for so many results.
        let bytes = [elements[0], elements[1], loops.out()]
            .iter()
            .all(|element| element.bits() == 8);
        if !loops.has_vectors() || loops.channels().is_some() || !bytes {
            return Ok(None);
        }
        let sums: Vec<i32> = tables[0]
            .iter()
            .flat_map(|&a| tables[1].iter().map(move |&b| a.wrapping_add(b)))
            .collect();
        let wanted = codes(loops, cx, &sums)?;
        let (low, high) = wanted
            .iter()
            .fold((i32::MAX, i32::MIN), |(l, h), &c| (l.min(c), h.max(c)));
        let (least, greatest) = sums
            .iter()
            .fold((i32::MAX, i32::MIN), |(l, h), &x| (l.min(x), h.max(x)));
        let count = (high - low) as usize;
        let (mut below, mut reaching) = (vec![i64::from(least); count], vec![i64::from(greatest); count]);
        for _ in 0..i32::BITS {
            let middle: Vec<i32> = below
                .iter()
                .zip(&reaching)
                .map(|(a, b)| ((a + b) >> 1) as i32)
                .collect();
            let found = codes(loops, cx, &middle)?;
            for (i, code) in found.into_iter().enumerate() {
                if code > low + i as i32 {
                    reaching[i] = middle[i].into();
                } else {
                    below[i] = middle[i].into();
                }
            }
        }
        // Half way between two codes is half way between two accumulators.
        let halves = (0..count).map(|i| (reaching[i] as f64 - 0.5, f64::from(low) + i as f64 + 0.5));
        let points = |table: &'_ [i32; 256]| {
            let points: Vec<_> = (0..).zip(table).map(|(x, &y)| (f64::from(x), f64::from(y))).collect();
            line(points.into_iter())
        };
        let (Some(narrowing), Some(a), Some(b)) = (line(halves), points(tables[0]), points(tables[1])) else {
            return Ok(None);
        };
        Ok(Some(SumDefinition {
            wanted,
            ends: [low, high],
            reaching,
            narrowing,
            tables: [a, b],
        }))
    }
}
