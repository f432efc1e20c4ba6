//! Zero points that are worth trying where some values may be wrong.

use crate::{search, vectors::Layer};

/// Zero points that are compared on a few values.
const COMPARED: usize = 1024;
/// Those of them that are tried.
const TRIED: usize = 3;

/// The best zero points: the one that the file says, or those that the fewest values contradict. A form that does not
/// decrease makes its zero point of an accumulator of zero.
pub(crate) fn likely(layer: &Layer, ends: [i32; 2]) -> Vec<i32> {
    if let Some(zero) = layer.zero_point {
        return vec![zero];
    }
    // Zero points are at least the outputs of accumulators below zero, and at most those above.
    let (mut least, mut most) = (Vec::new(), Vec::new());
    for value in layer.channels.iter().flatten() {
        if value.accumulator <= 0 && value.output > ends[0] {
            least.push(value.output);
        }
        if value.accumulator >= 0 && value.output < ends[1] {
            most.push(value.output);
        }
    }
    least.sort_unstable();
    most.sort_unstable();
    let contradicting = |zero: i32| {
        let above = least.len() - least.partition_point(|&code| code <= zero);
        above + most.partition_point(|&code| code < zero)
    };
    let mut all: Vec<i32> = match layer.out.bits() {
        ..=16 => layer.out.range().collect(),
        // Too many to count at each: the best one is among the outputs.
        _ => least.iter().chain(&most).copied().chain([0]).collect(),
    };
    all.sort_unstable();
    all.dedup();
    let mut counted: Vec<(usize, i32)> = all.into_iter().map(|zero| (contradicting(zero), zero)).collect();
    counted.sort_by_key(|&(count, zero)| (count, zero.unsigned_abs(), zero));
    let fewest = counted.first().map_or(0, |first| first.0);
    // As many more as chance may have added.
    let spare = if fewest == 0 { 0 } else { 3 * fewest.isqrt() + 3 };
    let near = counted.into_iter().take_while(|&(count, _)| count <= fewest + spare);
    let mut near: Vec<(u64, i32)> = near
        .take(COMPARED)
        .map(|(_, zero)| zero)
        .map(|zero| (search::fits(layer, ends, zero), zero))
        .collect();
    near.sort_by_key(|&(votes, _)| std::cmp::Reverse(votes));
    near.into_iter().take(TRIED).map(|(_, zero)| zero).collect()
}
