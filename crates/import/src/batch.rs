//! Finds out which free dimensions of a model are the batch.

use std::collections::BTreeMap;

use crate::cut::Cut;
use crate::declared::{Extent, TensorSource};
use crate::error::FreeDimension;
use crate::options::ReadOptions;
use crate::wiring::{TensorId, Wiring};

/// Returns the dimensions that are the batch and have no value yet. Also returns the values in `bind`, with the value 1
/// added for each of these dimensions. If `is_single` is false, no dimension is returned, and no value is added.
///
/// The batch consists of the first dimensions of all inputs, apart from the inputs for which the options name another axis
/// or none. Each of them must be free in the file, and none of them may also appear at another axis. If the options give one of these dimensions a value other than 1, the caller has chosen
/// the batch size, and no dimension is returned. If the graph is cut at a tensor whose shape is not declared, the
/// inputs of the whole model are used instead.
pub fn with_batch(
    wiring: &Wiring<'_>,
    source: &dyn TensorSource,
    cut: &Cut,
    options: &ReadOptions,
    is_single: bool,
) -> (Vec<FreeDimension>, BTreeMap<String, u64>) {
    let bind = &options.bind;
    let declared = |&id: &TensorId| source.declared(id).map(|declared| (id, declared.extents));
    let inputs: Option<Vec<_>> = cut.inputs.iter().map(declared).collect();
    let inputs = inputs.unwrap_or_else(|| wiring.inputs().iter().filter_map(declared).collect());
    let batch: Vec<FreeDimension> = batch_dimensions(wiring, &inputs, options)
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

/// Returns the dimension of the batch of each input that has one. Returns `None` if one of these dimensions is a number, is
/// missing, or also appears at another axis.
fn batch_dimensions(
    wiring: &Wiring<'_>,
    inputs: &[(TensorId, Option<Vec<Extent>>)],
    options: &ReadOptions,
) -> Option<Vec<FreeDimension>> {
    let (mut batch, mut rest) = (Vec::new(), Vec::new());
    for (id, extents) in inputs {
        let name = wiring.name(*id);
        let mut keys: Vec<_> = extents.as_ref()?.iter().map(Extent::key).collect();
        if let Some(axis) = options.batch.get(name).copied().unwrap_or(Some(0)) {
            if axis >= keys.len() {
                return None;
            }
            batch.push(FreeDimension {
                input: name.into(),
                axis,
                name: keys.remove(axis)?.into(),
            });
        }
        rest.extend(keys.into_iter().flatten());
    }
    let elsewhere = batch.iter().any(|free| rest.contains(&free.name.as_str()));
    (!elsewhere).then_some(batch)
}
