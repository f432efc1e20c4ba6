//! Finds the lowest and the highest output of a layer. Results with these outputs may be saturated, or clamped by an
//! activation.

use crate::vectors::{RecordedLayer, RecordedValue};
use std::collections::BTreeMap;

/// The lowest and the highest output that were recorded.
pub(crate) fn recorded(layer: &RecordedLayer) -> [i32; 2] {
    let codes = || values(layer).map(|value| value.output);
    [codes().min().unwrap_or(0), codes().max().unwrap_or(0)]
}

/// The lowest and the highest output if wrong values beyond a clamp are ignored. A code counts as the lowest or highest
/// one if many outputs equal it, and if the few outputs beyond it belong to accumulators that do not fit them.
pub(crate) fn without_strays(layer: &RecordedLayer) -> [i32; 2] {
    let [mut low, mut high] = recorded(layer);
    let mut weights: BTreeMap<i32, u64> = BTreeMap::new();
    for value in values(layer) {
        *weights.entry(value.output).or_default() += u64::from(value.times);
    }
    let outputs = layer.outputs() as u64;
    let piles = |own: u64, beyond: u64, inside: u64| {
        beyond > 0 && beyond * 50 <= outputs && own >= 8 * beyond && own >= 4 * inside
    };
    let codes: Vec<(i32, u64)> = weights.into_iter().collect();
    let mut beyond = 0;
    for (at, &(code, own)) in codes.iter().enumerate() {
        let inside = codes.get(at + 1).map_or(0, |next| next.1);
        if piles(own, beyond, inside) && are_strays(layer, code, |one, end| one < end) {
            low = code;
            break;
        }
        beyond += own;
    }
    let mut beyond = 0;
    for (at, &(code, own)) in codes.iter().enumerate().rev() {
        let inside = at.checked_sub(1).and_then(|at| codes.get(at)).map_or(0, |next| next.1);
        if code > low && piles(own, beyond, inside) && are_strays(layer, code, |one, end| one > end) {
            high = code;
            break;
        }
        beyond += own;
    }
    [low, high]
}

/// True if most outputs beyond a code belong to accumulators that do not lie beyond all accumulators of that code.
/// `beyond` compares two numbers in the direction of the end, up or down.
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
