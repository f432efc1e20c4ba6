//! Shapes, with fixed and named dimensions.

use crate::elem::Elem;
use crate::ids::Symbol;
use smallvec::SmallVec;
use std::fmt;

/// The largest rank that a tensor may have. Every format that Strait reads has a lower limit. Some code takes time
/// proportional to the square of the rank; with this limit, a malicious file cannot make such code slow.
pub const MAX_RANK: usize = 16;

/// The largest number of elements that a tensor may have: 2^40. Larger tensors are refused before anything is
/// allocated. Extents of 0 are left out of the product that is compared with this limit: a tensor with an extent of 0
/// has no elements, but code may loop over its other axes.
pub const MAX_ELEMENTS: u64 = 1 << 40;

/// Returns the position of an axis from the front. A negative axis counts from the end. Returns `None` if there is no
/// such axis.
pub fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// One dimension.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dim {
    /// A known extent.
    Fixed(u64),
    /// A symbolic extent. Extents with the same name are equal.
    Named(Symbol),
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Fixed(extent) => extent.fmt(f),
            Dim::Named(_) => f.write_str("?"),
        }
    }
}

/// Formats a dimension for messages. A shape is a list of dimensions: `[1, 3, ?]`.
impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Dim {
    /// The extent that type inference returns if the extent depends on data. The code that adds the node then gives the
    /// extent a name ([`crate::Module::name_extents`]).
    pub const OPEN: Dim = Dim::Named(Symbol::UNNAMED);

    /// False if both dimensions are known and differ.
    pub fn may_equal(self, other: Dim) -> bool {
        self == other || self.fixed().is_none() || other.fixed().is_none()
    }

    /// Returns the extent, if it is known.
    pub fn fixed(self) -> Option<u64> {
        match self {
            Dim::Fixed(n) => Some(n),
            Dim::Named(_) => None,
        }
    }
}

/// The dimensions of a value, outermost first (row-major; images are N, C, H, W).
pub type Shape = SmallVec<[Dim; 4]>;

/// Element type and shape: all that inference knows about an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// Element type.
    pub elem: Elem,
    /// Dimensions, outermost first.
    pub shape: Shape,
}

/// Formats a type as `f32[1, 3, ?]`.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // tidy: allow(debug): a list of extents
        write!(f, "{}{:?}", self.elem, self.shape)
    }
}

impl TensorType {
    /// Makes a type with fixed dimensions.
    pub fn fixed(elem: Elem, dims: &[u64]) -> TensorType {
        TensorType {
            elem,
            shape: dims.iter().map(|&d| Dim::Fixed(d)).collect(),
        }
    }

    /// Returns the dimensions, if all are known.
    pub fn dims(&self) -> Option<SmallVec<[u64; 4]>> {
        fixed_dims(&self.shape)
    }

    /// True if a model may state the type `stated` for a value whose inferred type is this one. The two types must be
    /// the same, except that `stated` has named extents where this type has [`Dim::OPEN`].
    pub fn is_stated_by(&self, stated: &TensorType) -> bool {
        let named = |(own, other): (&Dim, &Dim)| own == other || (*own == Dim::OPEN && other.fixed().is_none());
        self.elem == stated.elem
            && self.shape.len() == stated.shape.len()
            && self.shape.iter().zip(&stated.shape).all(named)
    }
}

/// Returns the dimensions, if all are known.
pub fn fixed_dims(shape: &[Dim]) -> Option<SmallVec<[u64; 4]>> {
    shape.iter().map(|d| d.fixed()).collect()
}

/// Returns the number of elements. Returns `None` if a dimension is symbolic, or if the number exceeds
/// [`MAX_ELEMENTS`].
pub fn element_count(shape: &[Dim]) -> Option<u64> {
    count_of(&fixed_dims(shape)?)
}

/// Returns the number of elements of a shape with fixed dimensions. Returns `None` if it exceeds [`MAX_ELEMENTS`].
pub fn count_of(dims: &[u64]) -> Option<u64> {
    let product = dims
        .iter()
        .try_fold(1u64, |product, &d| product.checked_mul(d.max(1)))?;
    let count = if dims.contains(&0) { 0 } else { product };
    (product <= MAX_ELEMENTS).then_some(count)
}

/// Returns the number of elements in a window; the largest u64 if the number does not fit in a u64.
pub fn window_elements(size: &[u32]) -> u64 {
    size.iter()
        .fold(1, |product, &extent| product.saturating_mul(extent.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{OpFacts, Reshape};
    use crate::tensor::TensorData;
    use bytes::Bytes;
    use smallvec::smallvec;

    #[test]
    fn an_extent_of_zero_lifts_no_limit() {
        assert_eq!(count_of(&[]), Some(1));
        assert_eq!(count_of(&[3, 1 << 20, 2]), Some(6 << 20));
        assert_eq!(count_of(&[0, 1 << 40]), Some(0));
        for dims in [[1 << 40, 2, 1], [1 << 41, 0, 1], [1 << 40, 0, 1 << 40], [1 << 61, 8, 0]] {
            assert_eq!(count_of(&dims), None, "{dims:?}");
            assert_eq!(
                element_count(&TensorType::fixed(Elem::I8, &dims).shape),
                None,
                "{dims:?}"
            );
            assert!(TensorData::new(Elem::I8, &dims, Bytes::new()).is_err(), "{dims:?}");
        }
    }

    #[test]
    fn shapes_in_messages_are_lists_of_numbers() {
        let mut ty = TensorType::fixed(Elem::F32, &[1, 3]);
        let refused = Reshape { shape: smallvec![4] }.infer(&[Some(&ty)]).unwrap_err();
        assert!(refused.text.ends_with("from [1, 3] to [4]"), "{}", refused.text);
        ty.shape.push(Dim::Named(Symbol::new(0)));
        assert_eq!(ty.to_string(), "f32[1, 3, ?]");
    }
}
