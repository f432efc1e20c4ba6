//! Finds out which free dimensions of a model are the batch.

use std::collections::BTreeMap;

use crate::cut::Cut;
use crate::declared::{Extent, TensorSource};
use crate::error::FreeDimension;
use crate::wiring::{TensorId, Wiring};

/// Returns the dimensions that are the batch and have no value yet. Also returns the values in `bind`, with the value 1
/// added for each of these dimensions. If `is_single` is false, no dimension is returned, and no value is added.
///
/// The batch consists of the first dimensions of all inputs. Each of them must be free in the file, and none of them
/// may also appear at another axis. If `bind` gives one of these dimensions a value other than 1, the caller has chosen
/// the batch size, and no dimension is returned. If the graph is cut at a tensor whose shape is not declared, the
/// inputs of the whole model are used instead.
pub fn with_batch(
    wiring: &Wiring<'_>,
    source: &dyn TensorSource,
    cut: &Cut,
    bind: &BTreeMap<String, u64>,
    is_single: bool,
) -> (Vec<FreeDimension>, BTreeMap<String, u64>) {
    let declared = |&id: &TensorId| source.declared(id).map(|declared| (id, declared.extents));
    let inputs: Option<Vec<_>> = cut.inputs.iter().map(declared).collect();
    let inputs = inputs.unwrap_or_else(|| wiring.inputs().iter().filter_map(declared).collect());
    let batch: Vec<FreeDimension> = first_dimensions(wiring, &inputs)
        .filter(|first| {
            let is_free = |free: &FreeDimension| bind.get(&free.name).is_none_or(|&value| value == 1);
            is_single && first.iter().all(is_free)
        })
        .unwrap_or_default()
        .into_iter()
        .filter(|free| !bind.contains_key(&free.name))
        .collect();
    let mut bind = bind.clone();
    bind.extend(batch.iter().map(|free| (free.name.clone(), 1)));
    (batch, bind)
}

/// Returns the first dimension of each input. Returns `None` if one of these dimensions is a number, is missing, or
/// also appears at another axis.
fn first_dimensions(wiring: &Wiring<'_>, inputs: &[(TensorId, Option<Vec<Extent>>)]) -> Option<Vec<FreeDimension>> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (id, extents) in inputs {
        let mut keys = extents.as_ref()?.iter().map(Extent::key);
        first.push(FreeDimension {
            input: wiring.name(*id).into(),
            axis: 0,
            name: keys.next()??.into(),
        });
        rest.extend(keys.flatten());
    }
    let elsewhere = first.iter().any(|free| rest.contains(&free.name.as_str()));
    (!elsewhere).then_some(first)
}
