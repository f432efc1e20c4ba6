//! The facts that a file states about its tensors: the elements of constants, and the types that it declares.

use super::external::DataFiles;
use super::index::Index;
use super::tensor::tensor;
use crate::elements::element;
use crate::proto::{DimensionProto, TensorTypeProto, ValueInfoProto};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::TensorData;
use strait_import::{Declared, Extent, ReadError, Refusal, TensorId, TensorSource};

/// The tensors of a graph.
pub(crate) struct Tensors<'a> {
    pub(crate) index: &'a Index<'a>,
    pub(crate) files: &'a DataFiles,
    /// Keys of the form `<tensor>.<axis>` in the options that bind extents. Each of them binds a single dimension, and
    /// is not the name of a dimension.
    pub(crate) single: &'a BTreeSet<String>,
}

impl TensorSource for Tensors<'_> {
    fn constant(&self, id: TensorId) -> Option<Result<TensorData, Refusal>> {
        let wiring = &self.index.wiring;
        let name = wiring.name(id);
        let Some(proto) = self.index.constant(id) else {
            let sparse = || Err(Refusal::Unsupported(format!("the constant `{name}` is sparse")));
            return wiring.is_constant(id).then(sparse);
        };
        let within = |refusal: Refusal| refusal.within(&format!("the constant `{name}`"));
        Some(tensor(proto, self.files).map_err(within))
    }

    fn declared(&self, id: TensorId) -> Option<Declared> {
        let mut declared = self.index.declared(id).map(declared)?;
        for (axis, extent) in declared.extents.iter_mut().flatten().enumerate() {
            if let Extent::Open(key) = extent {
                let own = self.single.get(&format!("{}.{axis}", self.index.wiring.name(id)));
                own.into_iter().for_each(|own| key.clone_from(own));
            }
        }
        Some(declared)
    }
}

/// The type that a file declares for a value.
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

/// Returns the key by which the options bind a dimension: the dimension's own name or, if it has no name, the tensor's
/// name with the axis. Returns `None` if the dimension is a number. Exporters write 0 and −1 for unknown dimensions.
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

/// The keys by which options can bind extents that are not numbers.
pub(crate) struct Keys {
    /// All keys that can be bound.
    pub(crate) all: BTreeSet<String>,
    /// Those keys that bind a single dimension.
    pub(crate) single: BTreeSet<String>,
}

impl Keys {
    /// Collects the keys that `bind` may use for a graph's tensors. `<tensor>.<axis>` means a single dimension, unless
    /// a dimension of the model has exactly that name.
    ///
    /// # Errors
    /// `bind` has an ambiguous key: the name of one dimension is also the key `<tensor>.<axis>` of a dimension without
    /// a name. Or `bind` gives one dimension two different values, one by its name and one by `<tensor>.<axis>`, and no
    /// other dimension has this name.
    pub(crate) fn of(index: &Index<'_>, bind: &BTreeMap<String, u64>) -> Result<Keys, ReadError> {
        let graph = index.graph;
        let infos = || graph.value_info.iter().chain(&graph.output).chain(&graph.input);
        let dimensions =
            || infos().flat_map(|info| open(info).map(move |(axis, name)| (info.name.as_str(), axis, name)));
        let names: BTreeSet<&str> = dimensions().filter_map(|(.., name)| name).collect();
        let refused = |text: String| Err(ReadError::Options { option: "bind", text });
        let mut keys = Keys {
            all: names.iter().map(|&name| name.to_owned()).collect(),
            single: BTreeSet::new(),
        };
        for (tensor, axis, name) in dimensions() {
            let own = format!("{tensor}.{axis}");
            let (is_a_name, bound) = (names.contains(own.as_str()), bind.get(&own));
            if let (true, None, Some(_)) = (is_a_name, name, bound) {
                return refused(format!(
                    "`{own}` is the name of a dimension, and also axis {axis} of `{tensor}`, which has no name"
                ));
            }
            if is_a_name {
                continue;
            }
            let others = || dimensions().any(|(other, at, named)| named == name && (other, at) != (tensor, axis));
            if let (Some(value), Some(named)) = (bound, name)
                && let Some(by_name) = bind.get(named)
                && by_name != value
                && !others()
            {
                return refused(format!(
                    "axis {axis} of `{tensor}` is bound twice: `{named}` to {by_name}, and `{own}` to {value}"
                ));
            }
            if bound.is_some() {
                keys.single.insert(own.clone());
            }
            keys.all.insert(own);
        }
        Ok(keys)
    }
}

/// The axes of a tensor that do not have a fixed extent, and the names of their dimensions.
fn open(info: &ValueInfoProto) -> impl Iterator<Item = (usize, Option<&str>)> {
    let shape = tensor_type(info).and_then(|tensor| tensor.shape.as_ref());
    let dims = shape.map_or(&[][..], |shape| &shape.dim).iter().enumerate();
    let is_open = |(_, dim): &(usize, &DimensionProto)| !matches!(dim.dim_value, Some(1..));
    dims.filter(is_open)
        .map(|(axis, dim)| (axis, dim.dim_param.as_deref().filter(|name| !name.is_empty())))
}
