//! The tensors of a file: elements of constants, and declared types.

use super::external::DataFiles;
use super::index::Index;
use super::tensor::{TensorFault, tensor};
use crate::elements::element;
use crate::proto::{DimensionProto, TensorTypeProto, ValueInfoProto};
use std::collections::BTreeSet;
use strait_core::{ReasonCode, TensorData};
use strait_import::{Declared, Extent, Refusal, Source, TensorId};

/// The tensors of a graph.
pub(crate) struct Tensors<'a> {
    pub(crate) index: &'a Index<'a>,
    pub(crate) files: &'a DataFiles,
}

impl Source for Tensors<'_> {
    fn constant(&self, id: TensorId) -> Option<Result<TensorData, Refusal>> {
        let wiring = &self.index.wiring;
        let name = wiring.name(id);
        let Some(proto) = self.index.constant(id) else {
            let sparse = || Err(Refusal::Unsupported(format!("the constant `{name}` is sparse")));
            return wiring.is_constant(id).then(sparse);
        };
        Some(tensor(proto, self.files).map_err(|fault| match fault {
            TensorFault::Unsupported(text) => Refusal::Unsupported(format!("the constant `{name}`: {text}")),
            TensorFault::Invalid(text) => {
                Refusal::invalid(ReasonCode::Constant, format!("the constant `{name}`: {text}"))
            }
        }))
    }

    fn declared(&self, id: TensorId) -> Option<Declared> {
        self.index.declared(id).map(declared)
    }
}

/// The type that a file declares.
fn declared(info: &ValueInfoProto) -> Declared {
    let Some(tensor) = tensor_type(info) else {
        return Declared {
            elem: None,
            extents: None,
        };
    };
    let extent = |(axis, dim): (usize, &DimensionProto)| match dimension_key(&info.name, axis, dim) {
        None => Extent::Known(dim.dim_value.unwrap_or_default().unsigned_abs()),
        Some(key) => Extent::Open(key),
    };
    let dims = tensor.shape.as_ref().map(|shape| shape.dim.iter().enumerate());
    Declared {
        elem: (tensor.elem_type != 0).then(|| element(tensor.elem_type.into())),
        extents: dims.map(|dims| dims.map(extent).collect()),
    }
}

/// The name of a dimension in the options: its own, or the tensor's with the axis where it has none. `None` where the
/// dimension is a number. Exporters write 0 and −1 for what they do not know.
fn dimension_key(tensor: &str, axis: usize, dim: &DimensionProto) -> Option<String> {
    match (dim.dim_value, dim.dim_param.as_deref()) {
        (Some(1..), _) => None,
        (_, Some(name)) if !name.is_empty() => Some(name.into()),
        _ => Some(format!("{tensor}.{axis}")),
    }
}

fn tensor_type(info: &ValueInfoProto) -> Option<&TensorTypeProto> {
    info.value_type.as_ref()?.tensor_type.as_ref()
}

/// The keys of all extents without a number.
pub(crate) fn keys(index: &Index<'_>) -> BTreeSet<String> {
    let graph = index.graph;
    let infos = graph.value_info.iter().chain(&graph.output).chain(&graph.input);
    let extents = infos.flat_map(|info| declared(info).extents.unwrap_or_default());
    extents.filter_map(|extent| extent.key().map(str::to_owned)).collect()
}
