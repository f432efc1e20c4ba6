//! Constants. A constant has bytes, which may be in a mapped file, a type and a shape.

use crate::elem::Elem;
use crate::shape::{MAX_ELEMENTS, MAX_RANK, TensorType, count_of};
use bytes::Bytes;
use smallvec::SmallVec;
use std::borrow::Cow;

/// A constant. The bytes are little-endian and row-major. They may be a slice of a mapped file, and do not have to be
/// aligned.
///
/// Elements of 4 bits are packed two to a byte over the whole tensor, without gaps between rows: the first in the low
/// half of a byte, the second in the high half. If the number of elements is odd, the high half of the last byte is 0,
/// so that equal tensors have equal bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorData {
    elem: Elem,
    shape: SmallVec<[u64; 4]>,
    bytes: Bytes,
}

/// Why no tensor can be made from these parts. They come from a model file or a pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The number of bytes does not match type and shape.
    // tidy: allow(debug): a list of extents
    #[error("a tensor of {elem} {shape:?} takes {expected} bytes, but there are {found}")]
    Size {
        /// The element type.
        elem: Elem,
        /// The extents.
        shape: Vec<u64>,
        /// The number of bytes that this type and shape need.
        expected: u64,
        /// The number of bytes that were found.
        found: u64,
    },
    /// There are too many dimensions or elements.
    // tidy: allow(debug): a list of extents
    #[error("a tensor of shape {shape:?} is past the limits: rank {MAX_RANK}, {MAX_ELEMENTS} elements")]
    Limit {
        /// The extents.
        shape: Vec<u64>,
    },
    /// The number of 4-bit elements is odd, and the unused half of the last byte is not 0.
    #[error("a tensor with an odd number of {elem} ends in a byte whose high half is {found} instead of 0")]
    Padding {
        /// The element type of the tensor.
        elem: Elem,
        /// The unused half of the last byte.
        found: u8,
    },
    /// A number is not in the range of the element type.
    #[error("{value} does not fit into {elem}")]
    Range {
        /// The element type.
        elem: Elem,
        /// The number that does not fit.
        value: i64,
    },
    /// Elements were requested as another type.
    #[error("a tensor of {found} was read as {wanted}")]
    Type {
        /// The type of the tensor.
        found: Elem,
        /// The type that was requested.
        wanted: Elem,
    },
}

/// A Rust type in which the elements of a tensor are stored.
pub trait Element: bytemuck::Pod {
    /// The element type that is stored in this Rust type.
    const ELEM: Elem;
}

macro_rules! elements { ($($t:ty = $e:ident),*) => { $(impl Element for $t { const ELEM: Elem = Elem::$e; })* } }
elements! { f32 = F32, f64 = F64, i8 = I8, u8 = U8, i16 = I16, i32 = I32, i64 = I64, u16 = U16, u32 = U32, u64 = U64 }

impl TensorData {
    /// Makes a tensor with these bytes, which are not copied. Their number has to match the type and the shape.
    pub fn new(elem: Elem, shape: &[u64], bytes: Bytes) -> Result<TensorData, TensorError> {
        let limit = || TensorError::Limit { shape: shape.to_vec() };
        let count = count_of(shape).filter(|_| shape.len() <= MAX_RANK);
        let count = count.ok_or_else(limit)?;
        let expected = elem.packed_bytes(count).ok_or_else(limit)?;
        if expected != bytes.len() as u64 {
            return Err(TensorError::Size {
                elem,
                shape: shape.to_vec(),
                expected,
                found: bytes.len() as u64,
            });
        }
        if let (true, Some(last)) = (elem.is_packed() && count % 2 == 1, bytes.last())
            && last >> 4 != 0
        {
            return Err(TensorError::Padding { elem, found: last >> 4 });
        }
        Ok(TensorData {
            elem,
            shape: shape.into(),
            bytes,
        })
    }

    /// Makes a tensor of an integer type with these numbers.
    ///
    /// # Errors
    /// [`TensorError::Range`] if a number is not in the range of the type, [`TensorError::Type`] if `elem` is not an
    /// integer type, and otherwise the errors of [`TensorData::new`].
    pub fn from_integers(elem: Elem, shape: &[u64], numbers: &[i64]) -> Result<TensorData, TensorError> {
        fn whole<T: Element + TryFrom<i64>>(elem: Elem, numbers: &[i64]) -> Result<Bytes, TensorError> {
            let one = |&value: &i64| T::try_from(value).map_err(|_| TensorError::Range { elem, value });
            let narrow: Vec<T> = numbers.iter().map(one).collect::<Result<_, _>>()?;
            Ok(Bytes::copy_from_slice(bytemuck::cast_slice(&narrow)))
        }
        let bytes = match elem {
            Elem::I8 | Elem::I4 => whole::<i8>(elem, numbers)?,
            Elem::U8 | Elem::U4 => whole::<u8>(elem, numbers)?,
            Elem::I16 => whole::<i16>(elem, numbers)?,
            Elem::U16 => whole::<u16>(elem, numbers)?,
            Elem::I32 => whole::<i32>(elem, numbers)?,
            Elem::I64 => whole::<i64>(elem, numbers)?,
            Elem::U32 => whole::<u32>(elem, numbers)?,
            Elem::U64 => whole::<u64>(elem, numbers)?,
            Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 | Elem::Bool => {
                return Err(TensorError::Type {
                    found: Elem::I64,
                    wanted: elem,
                });
            }
        };
        TensorData::from_unpacked(elem, shape, bytes)
    }

    /// Makes a tensor from elements as they are stored at run time. It does the same as [`TensorData::new`], except
    /// that each 4-bit element in `bytes` has a byte of its own, and is packed here.
    ///
    /// # Errors
    /// [`TensorError::Range`] if a byte is not a 4-bit element, and otherwise the errors of [`TensorData::new`].
    pub fn from_unpacked(elem: Elem, shape: &[u64], bytes: Bytes) -> Result<TensorData, TensorError> {
        let value = |byte: u8| match elem {
            Elem::I4 => i64::from(byte.cast_signed()),
            _ => i64::from(byte),
        };
        let ends = match elem {
            Elem::I4 => -8..=7,
            Elem::U4 => 0..=15,
            _ => return TensorData::new(elem, shape, bytes),
        };
        if let Some(value) = bytes
            .iter()
            .map(|&byte| value(byte))
            .find(|value| !ends.contains(value))
        {
            return Err(TensorError::Range { elem, value });
        }
        let half = |pair: &[u8], at: usize| pair.get(at).map_or(0, |byte| byte & 15);
        let packed: Vec<u8> = bytes.chunks(2).map(|pair| half(pair, 0) | half(pair, 1) << 4).collect();
        TensorData::new(elem, shape, packed.into())
    }

    /// Makes a tensor with a copy of these values.
    pub fn from_values<T: Element>(shape: &[u64], values: &[T]) -> Result<TensorData, TensorError> {
        TensorData::new(T::ELEM, shape, Bytes::copy_from_slice(bytemuck::cast_slice(values)))
    }

    /// Makes a scalar, which is a tensor of rank 0.
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

    /// Returns the little-endian bytes. Elements of 4 bits are packed two to a byte.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        // The product was checked against overflow when the tensor was made.
        self.shape.iter().product::<u64>() as usize
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the type and shape of the tensor.
    pub fn tensor_type(&self) -> TensorType {
        TensorType::fixed(self.elem, &self.shape)
    }

    /// Makes a tensor with the same bytes and another shape, which must have the same number of elements.
    pub fn reshaped(&self, shape: &[u64]) -> Result<TensorData, TensorError> {
        TensorData::new(self.elem, shape, self.bytes.clone())
    }

    /// Returns the bytes of the elements as they are stored at run time. Each 4-bit element then has a byte of its own.
    pub fn unpacked(&self) -> Bytes {
        if !self.elem.is_packed() {
            return self.bytes.clone();
        }
        let halves = self.bytes.iter().flat_map(|&pair| [pair & 15, pair >> 4]);
        let bytes: Vec<u8> = match self.elem {
            // The arithmetic shift to the right repeats the sign bit.
            Elem::I4 => halves
                .map(|half| ((half << 4).cast_signed() >> 4).cast_unsigned())
                .take(self.len())
                .collect(),
            _ => halves.take(self.len()).collect(),
        };
        bytes.into()
    }

    /// Returns the elements. The elements are copied if the bytes are not aligned, or if two elements share a byte.
    /// Otherwise they are borrowed. Elements of 4 bits are read as `i8` or `u8`.
    pub fn values<T: Element>(&self) -> Result<Cow<'_, [T]>, TensorError> {
        if T::ELEM != self.elem.storage() {
            return Err(TensorError::Type {
                found: self.elem,
                wanted: T::ELEM,
            });
        }
        if self.elem.is_packed() {
            return Ok(Cow::Owned(bytemuck::pod_collect_to_vec(&self.unpacked())));
        }
        Ok(match bytemuck::try_cast_slice(&self.bytes) {
            Ok(aligned) => Cow::Borrowed(aligned),
            Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(&self.bytes)),
        })
    }

    /// Returns the elements of a float tensor as `f32`. An f64 is rounded to the nearest f32, halves to even.
    pub fn to_f32(&self) -> Result<Cow<'_, [f32]>, TensorError> {
        if let Some(format) = self.elem.half_float() {
            let pairs = self.bytes.chunks_exact(2);
            let halves = pairs.map(|b| format.decode(u16::from_le_bytes([b[0], b[1]])));
            return Ok(Cow::Owned(halves.collect()));
        }
        match self.elem {
            Elem::F64 => Ok(Cow::Owned(self.values::<f64>()?.iter().map(|&v| v as f32).collect())),
            _ => self.values::<f32>(),
        }
    }

    /// Returns the smallest and the largest element of an integer tensor. Returns `None` for any other type, and for a
    /// tensor without elements.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        fn of<T: Element + Ord + Into<i64>>(bytes: &[u8]) -> Option<(i64, i64)> {
            let elements = || {
                bytes
                    .chunks_exact(size_of::<T>())
                    .map(bytemuck::pod_read_unaligned::<T>)
            };
            Some((elements().min()?.into(), elements().max()?.into()))
        }
        let bytes = self.unpacked();
        match self.elem {
            Elem::I4 | Elem::I8 => of::<i8>(&bytes),
            Elem::U4 | Elem::U8 => of::<u8>(&bytes),
            Elem::I16 => of::<i16>(&bytes),
            Elem::U16 => of::<u16>(&bytes),
            Elem::I32 => of::<i32>(&bytes),
            Elem::I64 => of::<i64>(&bytes),
            Elem::U32 => of::<u32>(&bytes),
            Elem::U64 | Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64 | Elem::Bool => None,
        }
    }

    /// Returns the elements of an integer or boolean tensor as `i64`.
    pub fn to_i64(&self) -> Result<Vec<i64>, TensorError> {
        fn widen<T: Element + Into<i64>>(t: &TensorData) -> Result<Vec<i64>, TensorError> {
            Ok(t.values::<T>()?.iter().map(|&v| v.into()).collect())
        }
        match self.elem {
            Elem::I8 | Elem::I4 => widen::<i8>(self),
            Elem::U8 | Elem::U4 => widen::<u8>(self),
            Elem::I16 => widen::<i16>(self),
            Elem::U16 => widen::<u16>(self),
            Elem::I32 => widen::<i32>(self),
            Elem::Bool => Ok(self.bytes.iter().map(|&b| i64::from(b)).collect()),
            Elem::U32 => widen::<u32>(self),
            Elem::U64 => {
                let one = |&value: &u64| {
                    i64::try_from(value).map_err(|_| TensorError::Range {
                        elem: Elem::I64,
                        value: i64::MAX,
                    })
                };
                self.values::<u64>()?.iter().map(one).collect()
            }
            Elem::I64 | Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 => widen::<i64>(self),
        }
    }
}

#[cfg(test)]
mod tests;
