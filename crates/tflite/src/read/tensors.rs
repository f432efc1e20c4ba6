//! Tensors of the file: the elements of constants, and the types of the others.

use crate::graph::{Codes, Graph, Tensor};
use crate::names;
use bytes::Bytes;
use std::collections::BTreeSet;
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Declared, Extent, Refusal, Source, TensorId};

/// The tensors of a graph.
pub(super) struct Tensors<'g> {
    pub(super) graph: &'g Graph<'g>,
}

/// The type of elements that a file has a number for, or its name there.
pub(super) fn elem(number: i8) -> Result<Elem, String> {
    let elem = match usize::try_from(number)
        .ok()
        .and_then(|at| names::TYPES.get(at))
        .copied()
    {
        Some("FLOAT32") => Elem::F32,
        Some("FLOAT16") => Elem::F16,
        Some("BFLOAT16") => Elem::BF16,
        Some("FLOAT64") => Elem::F64,
        Some("INT4") => Elem::I4,
        Some("UINT4") => Elem::U4,
        Some("INT8") => Elem::I8,
        Some("UINT8") => Elem::U8,
        Some("INT16") => Elem::I16,
        Some("UINT16") => Elem::U16,
        Some("INT32") => Elem::I32,
        Some("UINT32") => Elem::U32,
        Some("INT64") => Elem::I64,
        Some("UINT64") => Elem::U64,
        Some("BOOL") => Elem::Bool,
        Some(name) => return Err(name.into()),
        None => return Err(format!("type {number}")),
    };
    Ok(elem)
}

impl Tensor {
    /// The grid on which its elements are codes; a float has none, whatever stands beside it.
    pub(super) fn grid(&self) -> Option<&Codes> {
        let is_code = elem(self.elem).is_ok_and(|elem| elem.int_type().is_some() || elem == Elem::I64);
        self.codes.as_ref().filter(|_| is_code)
    }
}

/// Refuses a tensor that nobody can take.
pub(super) fn check(tensor: &Tensor) -> Result<(), String> {
    if let Some(why) = tensor.refused {
        return Err(format!("`{}` {why}", tensor.name));
    }
    match elem(tensor.elem) {
        Ok(_) => Ok(()),
        Err(name) => Err(format!("`{}` has elements of {name}", tensor.name)),
    }
}

impl Tensors<'_> {
    /// The keys by which extents of inputs can be bound.
    pub(super) fn keys(&self) -> BTreeSet<String> {
        let inputs = self.graph.inputs.iter().map(|&index| &self.graph.tensors[index]);
        let extents = inputs.flat_map(|tensor| declared(tensor).extents.unwrap_or_default());
        extents.filter_map(|extent| extent.key().map(str::to_owned)).collect()
    }
}

impl Source for Tensors<'_> {
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
}

fn declared(tensor: &Tensor) -> Declared {
    let elem = match tensor.grid() {
        Some(_) => Ok(Elem::F32),
        None => elem(tensor.elem),
    };
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

/// A constant; one of codes as the real numbers that they stand for.
fn constant(tensor: &Tensor, bytes: Bytes) -> Result<TensorData, Refusal> {
    let invalid = |text: String| {
        let text = format!("the constant `{}`: {text}", tensor.name);
        Refusal::invalid(ReasonCode::Constant, text)
    };
    check(tensor).map_err(Refusal::Unsupported)?;
    let elem = elem(tensor.elem).map_err(Refusal::Unsupported)?;
    let shape: Result<Vec<u64>, _> = tensor.shape.iter().map(|&extent| u64::try_from(extent)).collect();
    let shape = shape.map_err(|_| invalid("an extent is negative".into()))?;
    let stored = TensorData::new(elem, &shape, bytes).map_err(|error| invalid(error.to_string()))?;
    match tensor.grid() {
        None => Ok(stored),
        Some(codes) => dequantized(&stored, codes).map_err(invalid),
    }
}

/// scale · (code − zero point), rounded to f32 once.
fn dequantized(stored: &TensorData, codes: &Codes) -> Result<TensorData, String> {
    let shape = stored.shape();
    let several = codes.scale.len() > 1;
    let extent = shape.get(codes.axis).copied().unwrap_or(1);
    if several && extent != codes.scale.len() as u64 {
        return Err(format!("{} scales along an axis of {extent}", codes.scale.len()));
    }
    let behind: u64 = match several {
        true => shape.iter().skip(codes.axis + 1).product(),
        false => u64::MAX,
    };
    let numbers = stored.to_i64().map_err(|error| error.to_string())?;
    let real = |(position, &code): (usize, &i64)| {
        let channel = (position as u64 / behind.max(1)) as usize % codes.scale.len();
        let number = code.saturating_sub(codes.zero_point[channel]);
        (f64::from(codes.scale[channel]) * number as f64) as f32
    };
    let real: Vec<f32> = numbers.iter().enumerate().map(real).collect();
    TensorData::from_values(shape, &real).map_err(|error| error.to_string())
}
