//! Tensors at run time: bytes with a type and a shape, owned or borrowed.

use crate::aligned::AlignedBytes;
use smallvec::SmallVec;
use std::fmt;
use strait_core::tensor::Element;
use strait_core::{Elem, TensorData, TensorError};

/// Extents, outermost first.
pub(crate) type Dims = SmallVec<[usize; 4]>;

/// A borrowed tensor. Its elements are row-major and little-endian.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    elem: Elem,
    shape: &'a [usize],
    bytes: &'a [u8],
}

impl<'a> TensorView<'a> {
    /// Makes a view of `bytes`. The number of bytes has to match type and shape.
    pub fn new(elem: Elem, shape: &'a [usize], bytes: &'a [u8]) -> Result<TensorView<'a>, TensorError> {
        check_size(elem, shape, bytes.len())?;
        Ok(TensorView { elem, shape, bytes })
    }

    /// Makes a view of `values`.
    pub fn of<T: Element>(shape: &'a [usize], values: &'a [T]) -> Result<TensorView<'a>, TensorError> {
        TensorView::new(T::ELEM, shape, bytemuck::cast_slice(values))
    }

    /// Makes a view of the result of a step. The plan has already checked the size.
    pub(crate) fn planned(elem: Elem, shape: &'a [usize], bytes: &'a [u8]) -> TensorView<'a> {
        TensorView { elem, shape, bytes }
    }

    /// Element type.
    pub fn elem(&self) -> Elem {
        self.elem
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the elements as a slice of `T`. Fails if the element type is not stored as `T`, or if the bytes are not
    /// aligned for `T`. Elements of 4 bits are read as `i8` or `u8`.
    pub fn values<T: Element>(&self) -> Result<&'a [T], TensorError> {
        if T::ELEM != self.elem.storage() {
            return Err(TensorError::Type {
                found: self.elem,
                wanted: T::ELEM,
            });
        }
        bytemuck::try_cast_slice(self.bytes).map_err(|_| TensorError::Size {
            elem: self.elem,
            shape: to_u64(self.shape),
            expected: (self.shape.iter().product::<usize>() * self.elem.size()) as u64,
            found: self.bytes.len() as u64,
        })
    }

    /// Makes an owned copy.
    pub fn to_tensor(&self) -> Tensor {
        Tensor {
            elem: self.elem,
            shape: self.shape.into(),
            bytes: AlignedBytes::copy_of(self.bytes),
        }
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.elem, self.shape)
    }
}

/// An owned tensor. Its elements are row-major and little-endian, and start on a cache line.
#[derive(Clone)]
pub struct Tensor {
    elem: Elem,
    shape: Dims,
    bytes: AlignedBytes,
}

impl Tensor {
    /// Makes a tensor of zeros.
    pub fn zeros(elem: Elem, shape: &[usize]) -> Result<Tensor, TensorError> {
        let bytes = byte_count(elem, shape).ok_or_else(|| TensorError::Limit { shape: to_u64(shape) })?;
        Ok(Tensor {
            elem,
            shape: shape.into(),
            bytes: AlignedBytes::zeroed(bytes),
        })
    }

    /// Makes a tensor with a copy of `values`.
    pub fn from_values<T: Element>(shape: &[usize], values: &[T]) -> Result<Tensor, TensorError> {
        Ok(TensorView::of(shape, values)?.to_tensor())
    }

    /// Makes a tensor with a copy of `bytes`. The number of bytes has to match type and shape.
    pub fn from_bytes(elem: Elem, shape: &[usize], bytes: &[u8]) -> Result<Tensor, TensorError> {
        Ok(TensorView::new(elem, shape, bytes)?.to_tensor())
    }

    /// Returns the tensor as a view.
    pub fn view(&self) -> TensorView<'_> {
        TensorView {
            elem: self.elem,
            shape: &self.shape,
            bytes: self.bytes.as_slice(),
        }
    }

    /// Element type.
    pub fn elem(&self) -> Elem {
        self.elem
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the elements as a slice of `T`. Fails if the element type is not stored as `T`.
    pub fn values<T: Element>(&self) -> Result<&[T], TensorError> {
        self.view().values()
    }

    /// Returns the elements as a mutable slice of `T`. Fails if the element type is not stored as `T`.
    pub fn values_mut<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        self.view().values::<T>()?;
        Ok(bytemuck::cast_slice_mut(self.bytes.as_mut_slice()))
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.as_mut_slice()
    }

    /// Returns a copy of the tensor for the constant pool of a module.
    pub fn to_data(&self) -> Result<TensorData, TensorError> {
        let bytes = bytes::Bytes::copy_from_slice(self.bytes.as_slice());
        TensorData::from_unpacked(self.elem, &to_u64(&self.shape), bytes)
    }
}

impl PartialEq for Tensor {
    /// Two tensors are equal if type, shape and bytes are equal. So a tensor with a NaN equals its copy.
    fn eq(&self, other: &Tensor) -> bool {
        self.elem == other.elem && self.shape == other.shape && self.bytes.as_slice() == other.bytes.as_slice()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

/// Returns the number of bytes of a tensor: the element size times all extents. Returns `None` if this product is too
/// large for memory. Here an extent of 0 counts as 1, so the result can be `None` for a tensor without elements, too.
pub(crate) fn byte_count(elem: Elem, shape: &[usize]) -> Option<usize> {
    let bytes = shape
        .iter()
        .try_fold(elem.size(), |bytes, &extent| bytes.checked_mul(extent.max(1)))
        .filter(|&bytes| bytes <= isize::MAX as usize)?;
    Some(if shape.contains(&0) { 0 } else { bytes })
}

fn check_size(elem: Elem, shape: &[usize], found: usize) -> Result<(), TensorError> {
    let expected = byte_count(elem, shape).ok_or_else(|| TensorError::Limit { shape: to_u64(shape) })?;
    if expected == found {
        return Ok(());
    }
    Err(TensorError::Size {
        elem,
        shape: to_u64(shape),
        expected: expected as u64,
        found: found as u64,
    })
}

fn to_u64(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&extent| extent as u64).collect()
}
