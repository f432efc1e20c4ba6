//! Types that a file declares, with the values that are bound to their dimensions.

use super::index::Index;
use crate::elements::element;
use crate::error::OnnxError;
use crate::proto::{DimensionProto, TensorTypeProto, ValueInfoProto};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::shape::MAX_RANK;
use strait_core::{Dim, Elem, Names, Shape, TensorType};

/// The name of a dimension in the options: its own, or the tensor's with the axis where it has none. `None` where the
/// dimension is a number. Exporters write 0 and −1 for what they do not know.
pub(crate) fn dimension_key(tensor: &str, axis: usize, dim: &DimensionProto) -> Option<String> {
    match (dim.dim_value, dim.dim_param.as_deref()) {
        (Some(1..), _) => None,
        (_, Some(name)) if !name.is_empty() => Some(name.into()),
        _ => Some(format!("{tensor}.{axis}")),
    }
}

/// Dimensions that the file declares of a tensor.
pub(crate) fn dims(info: &ValueInfoProto) -> Option<&[DimensionProto]> {
    Some(&tensor_type(info)?.shape.as_ref()?.dim)
}

fn tensor_type(info: &ValueInfoProto) -> Option<&TensorTypeProto> {
    info.value_type.as_ref()?.tensor_type.as_ref()
}

/// The element type that a file declares of a tensor, where it is one of ours.
pub(crate) fn declared_elem(info: &ValueInfoProto) -> Option<Elem> {
    element(tensor_type(info)?.elem_type.into()).ok()
}

/// Refuses values for dimensions that no tensor has, and zero.
pub(crate) fn check_bind(index: &Index<'_>, bind: &BTreeMap<String, u64>) -> Result<(), OnnxError> {
    if let Some((name, _)) = bind.iter().find(|(_, value)| **value == 0) {
        let text = format!("the dimension `{name}` is bound to 0");
        return Err(OnnxError::Options { option: "bind", text });
    }
    if bind.is_empty() {
        return Ok(());
    }
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let graph = index.graph;
    for info in graph.value_info.iter().chain(&graph.output).chain(&graph.input) {
        let dims = dims(info).unwrap_or_default().iter().enumerate();
        keys.extend(dims.filter_map(|(axis, dim)| dimension_key(&info.name, axis, dim)));
    }
    match bind.keys().find(|name| !keys.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(OnnxError::unknown("dimension", name, keys.iter().map(String::as_str))),
    }
}

/// The declared type of a tensor, where element type and rank are known; or what is missing. A dimension without a
/// value is symbolic, under its name in the model or `<tensor>.<axis>`.
pub(crate) fn declared_type(
    info: &ValueInfoProto,
    bind: &BTreeMap<String, u64>,
    names: &mut Names,
) -> Result<TensorType, String> {
    let tensor = tensor_type(info).ok_or("it is not declared as a tensor")?;
    let elem = element(tensor.elem_type.into()).map_err(|name| format!("its element type is {name}"))?;
    let dims = dims(info).ok_or("its rank is not declared")?;
    if dims.len() > MAX_RANK {
        return Err(format!("it has {} dimensions, at most {MAX_RANK} are read", dims.len()));
    }
    let mut shape = Shape::new();
    for (axis, dim) in dims.iter().enumerate() {
        shape.push(match dimension_key(&info.name, axis, dim) {
            None => Dim::Fixed(dim.dim_value.unwrap_or_default().unsigned_abs()),
            Some(key) => match bind.get(&key) {
                Some(&value) => Dim::Fixed(value),
                None => Dim::Named(names.intern(&key)),
            },
        });
    }
    Ok(TensorType { elem, shape })
}

/// Contradiction between the declared and the inferred type of a tensor, if any. Symbols contradict nothing.
pub(crate) fn contradiction(
    info: &ValueInfoProto,
    inferred: &TensorType,
    bind: &BTreeMap<String, u64>,
) -> Option<String> {
    let tensor = tensor_type(info)?;
    let elem = element(tensor.elem_type.into());
    if tensor.elem_type != 0 && elem != Ok(inferred.elem) {
        let declared = elem.map_or_else(|name| name, |e| e.to_string());
        return Some(format!("it is declared as {declared}, but is {}", inferred.elem));
    }
    let dims = dims(info)?;
    if dims.len() != inferred.shape.len() {
        return Some(format!(
            "it is declared with rank {}, but has {}",
            dims.len(),
            inferred.shape.len()
        ));
    }
    dims.iter()
        .zip(&inferred.shape)
        .enumerate()
        .find_map(|(axis, (dim, inferred))| {
            let declared = match dimension_key(&info.name, axis, dim) {
                None => dim.dim_value?.unsigned_abs(),
                Some(key) => *bind.get(&key)?,
            };
            let found = inferred.fixed()?;
            (declared != found).then(|| format!("its dimension {axis} is declared as {declared}, but is {found}"))
        })
}
