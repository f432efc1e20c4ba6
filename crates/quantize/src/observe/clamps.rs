//! Finds values that are read by a relu or a clip at zero, so that the statistics of both are made in one pass.

use crate::requests::Requests;
use crate::statistics::Kind;
use std::collections::BTreeMap;
use strait_core::{Graph, Op, ValueId};

/// A value that is clamped to [0, `most`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clamp {
    /// The clamped value.
    pub(super) result: ValueId,
    /// The upper end. It is infinite for a relu.
    pub(super) most: f32,
}

/// For each value that is clamped, the first of its clamps. Only pairs of which the elements of both values are requested are
/// taken.
pub(super) fn clamps(graph: &Graph, requests: &Requests) -> BTreeMap<ValueId, Clamp> {
    let is_requested = |value| requests.kinds(value).any(|kind| kind == Kind::Elements);
    let mut all = BTreeMap::new();
    for (_, node) in graph.nodes() {
        let most = match &node.op {
            Op::Relu(_) => f32::INFINITY,
            Op::Clip(clip) if clip.min.to_bits() == 0 && clip.max > 0.0 => clip.max,
            _ => continue,
        };
        let (Some(x), Some(result)) = (node.input(0), node.result()) else {
            continue;
        };
        // What is read by nothing may never be computed.
        let is_read = graph.outputs().contains(&result) || graph.uses(result).next().is_some();
        if is_read && is_requested(x) && is_requested(result) {
            all.entry(x).or_insert(Clamp { result, most });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clamp_at_zero_is_found_once_for_each_value() {
        let text = "strait 1 float\ngraph @main(%x: f32[4]) {
              %a: f32[4] = relu(%x)
              %b: f32[4] = clip(%x) {min=0.0, max=6.0}
              %c: f32[4] = clip(%a) {min=0.0, max=6.0}
              %d: f32[4] = clip(%b) {min=-1.0, max=6.0}
              %e: f32[4] = relu(%d)
              return %c, %d
            }";
        let module = strait_core::text::parse(text).unwrap();
        let graph = module.main();
        let found = clamps(graph, &Requests::all(&module, module.main));
        let name = |value: ValueId| module.name(graph.value(value).unwrap().name).to_owned();
        let found: Vec<_> = found
            .iter()
            .map(|(x, clamp)| (name(*x), name(clamp.result), clamp.most))
            .collect();
        // Nothing reads %e.
        let expected = [("x", "a", f32::INFINITY), ("a", "c", 6.0)];
        assert_eq!(found, expected.map(|(x, y, most)| (x.to_owned(), y.to_owned(), most)));
    }
}
