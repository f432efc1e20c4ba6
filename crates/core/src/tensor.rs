//! Tensors in the pool: bytes that may lie in a mapped file, with their type.

use crate::elem::Elem;
use crate::shape::{MAX_ELEMENTS, MAX_RANK, TensorType};
use bytes::Bytes;
use smallvec::SmallVec;
use std::borrow::Cow;

/// A constant. The bytes are little-endian and row-major; they may be a slice of a mapped file, and need not be
/// aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorData {
    elem: Elem,
    shape: SmallVec<[u64; 4]>,
    bytes: Bytes,
}

/// A tensor whose parts contradict each other. The fault is the producer's: a model file, or a pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The byte count is not element size times element count.
    // tidy: allow(debug): a list of extents
    #[error("a tensor of {elem} {shape:?} takes {expected} bytes, but there are {found}")]
    Size {
        /// Element type.
        elem: Elem,
        /// Dimensions.
        shape: Vec<u64>,
        /// Bytes that type and shape demand.
        expected: u64,
        /// Bytes that were found.
        found: u64,
    },
    /// Too many dimensions or elements.
    // tidy: allow(debug): a list of extents
    #[error("a tensor of shape {shape:?} is past the limits: rank {MAX_RANK}, {MAX_ELEMENTS} elements")]
    Limit {
        /// Dimensions.
        shape: Vec<u64>,
    },
    /// The elements were asked for as another type.
    #[error("a tensor of {found} was read as {wanted}")]
    Type {
        /// The tensor's type.
        found: Elem,
        /// The reader's.
        wanted: Elem,
    },
}

/// A Rust type that is the storage of one [`Elem`].
pub trait Element: bytemuck::Pod {
    /// The element type that this is the storage of.
    const ELEM: Elem;
}

macro_rules! elements { ($($t:ty = $e:ident),*) => { $(impl Element for $t { const ELEM: Elem = Elem::$e; })* } }
elements! { f32 = F32, f64 = F64, i8 = I8, u8 = U8, i16 = I16, i32 = I32, i64 = I64 }

impl TensorData {
    /// A tensor over `bytes`, which are checked against type and shape but not copied.
    pub fn new(elem: Elem, shape: &[u64], bytes: Bytes) -> Result<TensorData, TensorError> {
        let count = shape.iter().try_fold(1u64, |product, &d| product.checked_mul(d));
        let count = count
            .filter(|&n| shape.len() <= MAX_RANK && n <= MAX_ELEMENTS)
            .ok_or_else(|| TensorError::Limit { shape: shape.to_vec() })?;
        let expected = count * elem.size() as u64;
        if expected != bytes.len() as u64 {
            return Err(TensorError::Size {
                elem,
                shape: shape.to_vec(),
                expected,
                found: bytes.len() as u64,
            });
        }
        Ok(TensorData {
            elem,
            shape: shape.into(),
            bytes,
        })
    }

    /// A tensor that owns `values`.
    pub fn from_values<T: Element>(shape: &[u64], values: &[T]) -> Result<TensorData, TensorError> {
        TensorData::new(T::ELEM, shape, Bytes::copy_from_slice(bytemuck::cast_slice(values)))
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(value: T) -> TensorData {
        TensorData {
            elem: T::ELEM,
            shape: SmallVec::new(),
            bytes: Bytes::copy_from_slice(bytemuck::bytes_of(&value)),
        }
    }

    /// Element type.
    pub fn elem(&self) -> Elem {
        self.elem
    }

    /// Dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The raw little-endian bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.elem.size()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Type and shape as a value has them.
    pub fn tensor_type(&self) -> TensorType {
        TensorType::fixed(self.elem, &self.shape)
    }

    /// The same bytes under another shape of as many elements.
    pub fn reshaped(&self, shape: &[u64]) -> Result<TensorData, TensorError> {
        TensorData::new(self.elem, shape, self.bytes.clone())
    }

    /// The elements: borrowed where the bytes are aligned, copied where they are not (a protobuf aligns nothing).
    pub fn values<T: Element>(&self) -> Result<Cow<'_, [T]>, TensorError> {
        if T::ELEM != self.elem {
            return Err(TensorError::Type {
                found: self.elem,
                wanted: T::ELEM,
            });
        }
        Ok(match bytemuck::try_cast_slice(&self.bytes) {
            Ok(aligned) => Cow::Borrowed(aligned),
            Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(&self.bytes)),
        })
    }

    /// The elements of any float tensor as `f32` (f64 is rounded to nearest even).
    pub fn to_f32(&self) -> Result<Cow<'_, [f32]>, TensorError> {
        match self.elem {
            Elem::F16 => Ok(Cow::Owned(
                self.bytes
                    .chunks_exact(2)
                    .map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32())
                    .collect(),
            )),
            Elem::F64 => Ok(Cow::Owned(self.values::<f64>()?.iter().map(|&v| v as f32).collect())),
            _ => self.values::<f32>(),
        }
    }

    /// The elements of any integer (or bool) tensor as `i64`.
    pub fn to_i64(&self) -> Result<Vec<i64>, TensorError> {
        fn widen<T: Element + Into<i64>>(t: &TensorData) -> Result<Vec<i64>, TensorError> {
            Ok(t.values::<T>()?.iter().map(|&v| v.into()).collect())
        }
        match self.elem {
            Elem::I8 => widen::<i8>(self),
            Elem::U8 => widen::<u8>(self),
            Elem::I16 => widen::<i16>(self),
            Elem::I32 => widen::<i32>(self),
            Elem::Bool => Ok(self.bytes.iter().map(|&b| i64::from(b)).collect()),
            _ => widen::<i64>(self),
        }
    }
}
