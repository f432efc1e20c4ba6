//! What a format knows about the tensors of a graph besides their connections: the elements of constants, and the types
//! that the file declares. Extents that a declared type leaves open can be bound to values.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::shape::MAX_RANK;
use strait_core::{Dim, Elem, Names, QuantParams, Shape, TensorData, TensorType};

use crate::error::ReadError;
use crate::refusal::Refusal;
use crate::wiring::TensorId;

/// The tensors of a graph, as the format stores them.
pub trait TensorSource {
    /// The elements of a constant; `None` for any other tensor.
    fn constant(&self, tensor: TensorId) -> Option<Result<TensorData, Refusal>>;

    /// The type that the file declares for a tensor, if any.
    fn declared(&self, tensor: TensorId) -> Option<Declared>;

    /// Returns the grid of a tensor that the file stores as codes. In our graph, the tensor has the real numbers that
    /// the codes stand for. Only the inputs and outputs of the model still have codes; to make these codes, numbers are
    /// rounded half away from zero. Returns `None` for other tensors, and for all tensors in formats in which operators
    /// say which tensors are codes.
    fn codes(&self, _tensor: TensorId) -> Option<QuantParams> {
        None
    }

    /// True if a graph can begin at the tensor, because its element type is one that we can read. The result is `None`
    /// if the file does not state the element type.
    fn begins(&self, tensor: TensorId) -> Option<bool> {
        let declared = self.declared(tensor)?;
        Some(!matches!(declared.elem, Some(Err(_))))
    }
}

/// The type that a file declares for a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The element type, or the name of a type that we do not have. `None` if the file does not state the type.
    pub elem: Option<Result<Elem, String>>,
    /// The extents; `None` if the file does not state the number of axes.
    pub extents: Option<Vec<Extent>>,
}

/// An extent that a file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The extent is a fixed number.
    Known(u64),
    /// The extent is not known. This key, the name of the extent or `<tensor>.<axis>`, is used to bind a value to it.
    Open(String),
}

impl Extent {
    /// The key that is used to bind a value to this extent; `None` if the extent is a number.
    pub fn key(&self) -> Option<&str> {
        match self {
            Extent::Known(_) => None,
            Extent::Open(key) => Some(key),
        }
    }
}

impl Declared {
    /// The declared element type, if it is one that we have.
    pub fn known_elem(&self) -> Option<Elem> {
        self.elem.clone()?.ok()
    }

    /// Returns the declared type, if its element type and rank are known, and otherwise a message that says what is
    /// missing. If an extent has no value, it becomes a symbolic dimension whose name is the extent's key.
    pub(crate) fn tensor_type(&self, bind: &BTreeMap<String, u64>, names: &mut Names) -> Result<TensorType, String> {
        let elem = match &self.elem {
            Some(Ok(elem)) => *elem,
            Some(Err(name)) => return Err(format!("its element type is {name}")),
            None => return Err("its element type is not declared".into()),
        };
        let extents = self.extents.as_ref().ok_or("its rank is not declared")?;
        if extents.len() > MAX_RANK {
            let rank = extents.len();
            return Err(format!("it has {rank} dimensions, at most {MAX_RANK} are read"));
        }
        let mut shape = Shape::new();
        for extent in extents {
            shape.push(match extent {
                Extent::Known(extent) => Dim::Fixed(*extent),
                Extent::Open(key) => match bind.get(key) {
                    Some(&value) => Dim::Fixed(value),
                    None => Dim::Named(names.intern(key)),
                },
            });
        }
        Ok(TensorType { elem, shape })
    }

    /// A message if the declared element type of a tensor differs from the inferred one.
    pub(crate) fn other_elem(&self, inferred: &TensorType) -> Option<String> {
        let elem = self.elem.as_ref().filter(|elem| **elem != Ok(inferred.elem))?;
        let declared = match elem {
            Ok(elem) => elem.to_string(),
            Err(name) => name.clone(),
        };
        Some(format!("it is declared as {declared}, but is {}", inferred.elem))
    }

    /// Returns a message if the declared shape of a tensor differs from the inferred shape, and `None` if it does not.
    /// An extent that is not known counts as equal to every extent.
    pub(crate) fn other_shape(&self, inferred: &TensorType, bind: &BTreeMap<String, u64>) -> Option<String> {
        let extents = self.extents.as_ref()?;
        if extents.len() != inferred.shape.len() {
            return Some(format!(
                "it is declared with rank {}, but has {}",
                extents.len(),
                inferred.shape.len()
            ));
        }
        let pairs = extents.iter().zip(&inferred.shape).enumerate();
        pairs.into_iter().find_map(|(axis, (extent, inferred))| {
            let declared = match extent {
                Extent::Known(extent) => *extent,
                Extent::Open(key) => *bind.get(key)?,
            };
            let found = inferred.fixed()?;
            (declared != found).then(|| format!("its dimension {axis} is declared as {declared}, but is {found}"))
        })
    }
}

/// Refuses bound values whose key is not one of `keys`.
///
/// # Errors
/// A key is not one of `keys`. The error names the first such key.
pub fn check_bind(bind: &BTreeMap<String, u64>, keys: impl FnOnce() -> BTreeSet<String>) -> Result<(), ReadError> {
    if bind.is_empty() {
        return Ok(());
    }
    let keys = keys();
    match bind.keys().find(|name| !keys.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(ReadError::unknown("dimension", name, keys.iter().map(String::as_str))),
    }
}
