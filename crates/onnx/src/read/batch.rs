//! Which free dimensions are the batch.

use super::cut::Cut;
use super::index::Index;
use super::types::{dimension_key, dims};
use crate::error::FreeDimension;
use crate::proto::ValueInfoProto;
use std::collections::BTreeMap;

/// The dimensions that are the batch and have no value yet.
///
/// These are the first dimensions of the inputs, if that of every input is free in the file, and none of them stands at
/// another axis too. Where `bind` gives one of them another value than 1, the batch is the caller's to choose, and there is
/// none here. For a cut at a tensor whose shape is not declared, the model's own inputs decide.
pub(crate) fn batch(index: &Index<'_>, cut: &Cut<'_>, bind: &BTreeMap<String, u64>) -> Vec<FreeDimension> {
    let declared = |name: &&str| index.declared(name);
    let inputs: Option<Vec<&ValueInfoProto>> = cut.inputs.iter().map(declared).collect();
    let inputs = inputs.unwrap_or_else(|| index.inputs().collect());
    first_dimensions(&inputs)
        .filter(|first| {
            first
                .iter()
                .all(|free| bind.get(&free.name).is_none_or(|&value| value == 1))
        })
        .unwrap_or_default()
        .into_iter()
        .filter(|free| !bind.contains_key(&free.name))
        .collect()
}

/// The first dimension of each input; `None` where one is a number, absent, or also another axis.
fn first_dimensions(inputs: &[&ValueInfoProto]) -> Option<Vec<FreeDimension>> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for info in inputs {
        let mut keys = dims(info)?
            .iter()
            .enumerate()
            .map(|(axis, dim)| dimension_key(&info.name, axis, dim));
        first.push(FreeDimension {
            input: info.name.clone(),
            axis: 0,
            name: keys.next()??,
        });
        rest.extend(keys.flatten());
    }
    let elsewhere = first.iter().any(|free| rest.contains(&free.name));
    (!elsewhere).then_some(first)
}
