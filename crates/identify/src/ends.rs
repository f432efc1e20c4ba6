//! Finds the lowest and the highest output of a layer. Results with these outputs may be saturated, or clamped by an
//! activation.

use crate::vectors::{RecordedLayer, RecordedValue};
use std::collections::BTreeMap;

/// The lowest and the highest output that were recorded.
pub(crate) fn recorded(layer: &RecordedLayer) -> [i32; 2] {
    let codes = || values(layer).map(|value| value.output);
    [codes().min().unwrap_or(0), codes().max().unwrap_or(0)]
}

/// Finds the lowest and the highest output, but ignores wrong values beyond a clamp. A code counts as the lowest or
/// highest output under three conditions: many outputs equal it, only a few outputs lie beyond it, and the accumulators
/// of these few are not farther out than the accumulators of the outputs that equal the code.
pub(crate) fn without_strays(layer: &RecordedLayer) -> [i32; 2] {
    let [lowest, highest] = recorded(layer);
    let mut weights: BTreeMap<i32, u64> = BTreeMap::new();
    for value in values(layer) {
        *weights.entry(value.output).or_default() += u64::from(value.times);
    }
    let low = pile(layer, weights.iter(), |one, end| one < end).unwrap_or(lowest);
    let high = pile(layer, weights.iter().rev(), |one, end| one > end).filter(|&high| high > low);
    [low, high.unwrap_or(highest)]
}

/// Finds the first code of `codes` that counts as the lowest or highest output (see [`without_strays`]). `codes` lists
/// the outputs that occur, in ascending order for the lowest and in descending order for the highest, each with how
/// often it occurs. `beyond` is as for [`are_strays`].
fn pile<'a>(
    layer: &RecordedLayer,
    codes: impl Iterator<Item = (&'a i32, &'a u64)>,
    beyond: fn(i64, i64) -> bool,
) -> Option<i32> {
    let outputs = layer.outputs() as u64;
    let mut codes = codes.peekable();
    let mut strays = 0;
    while let Some((&code, &own)) = codes.next() {
        let inside = codes.peek().map_or(0, |(_, inside)| **inside);
        let piles = strays > 0 && strays * 50 <= outputs && own >= 8 * strays && own >= 4 * inside;
        if piles && are_strays(layer, code, beyond) {
            return Some(code);
        }
        strays += own;
    }
    None
}

/// True if most outputs beyond `code` are at the wrong accumulators. An output beyond `code` should have an accumulator
/// that is farther out than every accumulator of its channel with the output `code`. `beyond(a, b)` is true if `a` is
/// farther out than `b`: below it at the lowest output, above it at the highest.
fn are_strays(layer: &RecordedLayer, code: i32, beyond: impl Fn(i64, i64) -> bool) -> bool {
    let (mut ordered, mut all) = (0u64, 0u64);
    for values in &layer.channels {
        let of_code = values
            .iter()
            .filter(|value| value.output == code)
            .map(|value| value.accumulator);
        let last = of_code.reduce(|a, b| if beyond(b, a) { b } else { a });
        for value in values.iter().filter(|value| beyond(value.output.into(), code.into())) {
            let times = u64::from(value.times);
            all += times;
            if last.is_none_or(|last| beyond(value.accumulator, last)) {
                ordered += times;
            }
        }
    }
    ordered * 2 < all
}

fn values(layer: &RecordedLayer) -> impl Iterator<Item = &RecordedValue> {
    layer.channels.iter().flatten()
}
