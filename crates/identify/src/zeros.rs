//! Finds the zero points that are worth trying if some values may be wrong.

use crate::{search, vectors::RecordedLayer};

/// At most this many zero points are compared on a few values.
const COMPARED: usize = 1024;
/// How many of the zero points that were compared on a few values are then tried on all values.
const TRIED: usize = 3;

/// Returns the most likely zero points. If the file states a zero point, this is the only one. Otherwise these are the
/// zero points that the fewest recorded values contradict. The output of a form for the accumulator zero is the zero
/// point, and outputs never decrease when the accumulator grows. So a value can contradict a zero point.
pub(crate) fn likely(layer: &RecordedLayer, ends: [i32; 2]) -> Vec<i32> {
    if let Some(zero) = layer.zero_point {
        return vec![zero];
    }
    // The zero point is at least as large as the outputs of negative accumulators, and at most as large as the outputs
    // of positive ones.
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
        // There are too many possible zero points to count the contradictions of each. The best one is a recorded
        // output or 0, so contradictions are counted only for these.
        _ => least.iter().chain(&most).copied().chain([0]).collect(),
    };
    all.sort_unstable();
    all.dedup();
    let mut counted: Vec<(usize, i32)> = all.into_iter().map(|zero| (contradicting(zero), zero)).collect();
    counted.sort_by_key(|&(count, zero)| (count, zero.unsigned_abs(), zero));
    let fewest = counted.first().map_or(0, |first| first.0);
    // A zero point is also kept if a few more values contradict it than the best one: such a difference can be chance.
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
