//! The tensors of the file: the elements of constants, and the types of all other tensors.

use crate::graph::{Graph, Tensor};
use crate::names::elem;
use bytes::Bytes;
use std::collections::BTreeSet;
use strait_core::{QuantParams, ReasonCode, TensorData};
use strait_import::{Declared, Extent, Refusal, TensorId, TensorSource};

/// The tensors of a graph.
pub(super) struct Tensors<'g> {
    pub(super) graph: &'g Graph<'g>,
}

/// Refuses tensors that no operator can take.
pub(super) fn check(tensor: &Tensor) -> Result<(), String> {
    if tensor.is_variable {
        let text = format!("`{}` is a variable: a state that is kept from run to run", tensor.name);
        return Err(text);
    }
    if let Some(why) = tensor.refused {
        return Err(format!("`{}` {why}", tensor.name));
    }
    match elem(tensor.elem) {
        Ok(_) => Ok(()),
        Err(name) => Err(format!("`{}` has elements of {name}", tensor.name)),
    }
}

impl Tensors<'_> {
    /// The keys with which values can be bound to extents of inputs.
    pub(super) fn keys(&self) -> BTreeSet<String> {
        let inputs = self.graph.inputs.iter().map(|&index| &self.graph.tensors[index]);
        let extents = inputs.flat_map(|tensor| declared(tensor).extents.unwrap_or_default());
        extents.filter_map(|extent| extent.key().map(str::to_owned)).collect()
    }
}

impl TensorSource for Tensors<'_> {
    fn constant(&self, id: TensorId) -> Option<Result<TensorData, Refusal>> {
        let tensor = self.graph.tensors.get(id.position())?;
        let bytes = match &tensor.data {
            Some(bytes) => bytes.clone(),
            None if tensor.shape.contains(&0) => Bytes::new(),
            None => return None,
        };
        Some(constant(tensor, bytes))
    }

    fn declared(&self, id: TensorId) -> Option<Declared> {
        self.graph.tensors.get(id.position()).map(declared)
    }

    fn codes(&self, id: TensorId) -> Option<QuantParams> {
        self.graph.tensors.get(id.position())?.grid.clone()
    }
}

fn declared(tensor: &Tensor) -> Declared {
    let elem = elem(tensor.elem);
    let extent = |(axis, &extent): (usize, &i32)| match u64::try_from(extent) {
        Ok(extent) => Extent::Known(extent),
        Err(_) => Extent::Open(format!("{}.{axis}", tensor.name)),
    };
    let extents = tensor.shape.iter().enumerate().map(extent).collect();
    Declared {
        elem: Some(elem),
        extents: tensor.has_shape.then_some(extents),
    }
}

/// A constant as it is stored in the file.
fn constant(tensor: &Tensor, bytes: Bytes) -> Result<TensorData, Refusal> {
    let invalid = |text: String| {
        let text = format!("the constant `{}`: {text}", tensor.name);
        Refusal::invalid(ReasonCode::Constant, text)
    };
    check(tensor).map_err(Refusal::Unsupported)?;
    let elem = elem(tensor.elem).map_err(Refusal::Unsupported)?;
    let shape: Result<Vec<u64>, _> = tensor.shape.iter().map(|&extent| u64::try_from(extent)).collect();
    let shape = shape.map_err(|_| invalid("an extent is negative".into()))?;
    TensorData::new(elem, &shape, bytes).map_err(|error| invalid(error.to_string()))
}
