//! Scale and zero point of a value.

use crate::elem::Elem;
use crate::shape::Dim;
use std::num::NonZeroU32;
use std::sync::Arc;
use strait_requantize::Per;

/// The grid of a quantized value: real = scale × (q − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct QuantParams {
    /// Distance between the real numbers that neighbouring codes stand for; positive and finite. Only the scale of a
    /// block may be negative. Types reach one code farther below zero than above. If the element of a block that is
    /// farthest from zero is positive, some quantizers use this code for it by means of a negative scale.
    pub scale: Per<f32>,
    /// The code that stands for real zero.
    pub zero_point: Per<i32>,
    /// The axis along which scales and zero points differ. Absent if there is one scale and one zero point for the
    /// whole tensor.
    pub axis: Option<u8>,
    /// How many elements along the axis share a scale. `scale` and `zero_point` then have one number for each block of
    /// elements, in row-major order. Absent if each index of the axis has its own scale.
    pub block: Option<NonZeroU32>,
    /// The type of the codes, if a model gives this grid for a tensor of real numbers. Otherwise it is absent, because
    /// the codes have the type of the tensor itself, or of the config with this grid. IR bytes do not store this field,
    /// because nodes that round to such grids are added before a graph is written.
    pub codes: Option<Elem>,
}

impl QuantParams {
    /// Returns a grid with one scale and one zero point for the whole tensor.
    pub fn tensor(scale: f32, zero_point: i32) -> QuantParams {
        QuantParams {
            scale: Per::Tensor(scale),
            zero_point: Per::Tensor(zero_point),
            axis: None,
            block: None,
            codes: None,
        }
    }

    /// Returns the same grid, with `codes` as the type of its codes.
    pub fn of_codes(self, codes: Elem) -> QuantParams {
        QuantParams {
            codes: Some(codes),
            ..self
        }
    }

    /// Returns the grid without the type of the codes.
    pub fn bare(&self) -> QuantParams {
        QuantParams {
            codes: None,
            ..self.clone()
        }
    }

    /// Returns the grid with all zero points larger by `distance`. On the returned grid, the code of each real number
    /// is also larger by `distance`.
    pub fn moved(&self, distance: i32) -> QuantParams {
        QuantParams {
            zero_point: self.zero_point.map(|zero| zero.saturating_add(distance)),
            ..self.clone()
        }
    }

    /// Returns a symmetric grid with a scale for each index of `axis`.
    pub fn channel(scales: Arc<[f32]>, axis: u8) -> QuantParams {
        QuantParams {
            scale: Per::Channel(scales),
            axis: Some(axis),
            ..QuantParams::tensor(1.0, 0)
        }
    }

    /// Scale and zero point, if there is one of each for the whole tensor.
    pub fn as_tensor(&self) -> Option<(f32, i32)> {
        match (&self.scale, &self.zero_point) {
            (Per::Tensor(scale), Per::Tensor(zero_point)) => Some((*scale, *zero_point)),
            _ => None,
        }
    }

    /// True if all scales are finite, and positive except for those of blocks, which may be negative.
    pub fn has_legal_scales(&self) -> bool {
        let is_legal = |&scale: &f32| scale.is_finite() && (scale > 0.0 || (scale < 0.0 && self.block.is_some()));
        self.scale.all(is_legal)
    }

    /// True if a scale is negative.
    pub fn is_mirrored(&self) -> bool {
        !self.scale.all(|&scale| scale > 0.0)
    }

    /// Returns the grid of products: a code on this grid times a code on the grid `other`, after the zero points are
    /// subtracted. Its scale is the product of both scales. If `other` has a scale for each channel, the products have
    /// channels along `axis`. Returns `None` if this grid has several scales, if `other` has scales per block, or if
    /// `other` has channels and `axis` is absent.
    pub fn product(&self, other: &QuantParams, axis: Option<u8>) -> Option<QuantParams> {
        let (scale, _) = self.as_tensor()?;
        let per_channel = other.scale.channels().is_some();
        (other.block.is_none() && (axis.is_some() || !per_channel)).then(|| QuantParams {
            scale: other.scale.map(|other| scale * other),
            axis: axis.filter(|_| per_channel),
            ..QuantParams::tensor(1.0, 0)
        })
    }

    /// Returns the grid that codes of this grid have after a right shift by `bits` bits. Returns `None` if the zero
    /// point is not a multiple of 2^bits, if the grid has scales per block, or if `bits` is more than 31.
    pub fn shifted(&self, bits: u8) -> Option<QuantParams> {
        let step = 1i32.checked_shl(bits.into())?;
        let whole = self.block.is_none() && self.zero_point.all(|zero| zero % step == 0);
        whole.then(|| QuantParams {
            scale: self.scale.map(|scale| scale * step as f32),
            zero_point: self.zero_point.map(|zero| zero / step),
            ..self.clone()
        })
    }

    /// Returns the grid of a tensor after its axes are permuted: axis i of the permuted tensor is axis `permutation[i]`
    /// of the tensor. Returns `None` if the grid has scales per block.
    pub fn permuted(&self, permutation: &[u32]) -> Option<QuantParams> {
        let axis = match self.axis {
            None => None,
            Some(axis) => Some(permutation.iter().position(|&from| from == u32::from(axis))? as u8),
        };
        self.block.is_none().then(|| QuantParams { axis, ..self.clone() })
    }

    /// Returns the grid of a matrix after it is transposed. `shape` is the shape before the matrix is transposed.
    /// Scales per block are reordered in the same way.
    pub fn turned(&self, shape: &[u64]) -> Option<QuantParams> {
        let Some(block) = self.block.map(|block| u64::from(block.get())) else {
            return self.permuted(&[1, 0]);
        };
        let (&[rows, columns], Some(axis)) = (shape, self.axis) else {
            return None;
        };
        let [rows, columns] = match axis {
            0 => [rows / block, columns],
            1 => [rows, columns / block],
            _ => return None,
        };
        let order = (0..columns).flat_map(|column| (0..rows).map(move |row| (row * columns + column) as usize));
        let order: Vec<usize> = order.collect();
        Some(QuantParams {
            scale: in_order(&self.scale, &order)?,
            zero_point: in_order(&self.zero_point, &order)?,
            axis: Some(1 - axis),
            ..self.clone()
        })
    }

    /// Returns the real numbers that the smallest and the largest code of a type stand for. Returns `None` if the grid
    /// has several scales or zero points.
    pub fn ends_of(&self, codes: Elem) -> Option<[f32; 2]> {
        let ((scale, zero), (least, greatest)) = (self.as_tensor()?, codes.integers()?);
        Some([least, greatest].map(|code| (code - i64::from(zero)) as f32 * scale))
    }

    /// Returns how many scales and zero points a tensor with this shape needs: one for each index of the grid's axis,
    /// or one for each block. Returns `None` if an extent is unknown, or if the blocks do not fill the axis.
    pub fn parts(&self, shape: &[Dim]) -> Option<u64> {
        let axis = usize::from(self.axis?);
        let extent = shape.get(axis)?.fixed()?;
        let Some(block) = self.block.map(|block| u64::from(block.get())) else {
            return Some(extent);
        };
        let mut others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
        let others = others.try_fold(1u64, |product, (_, extent)| product.checked_mul(extent.fixed()?))?;
        extent
            .is_multiple_of(block)
            .then(|| (extent / block).checked_mul(others))?
    }
}

/// How the elements of a tensor are divided into parts that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How many neighbouring elements have the same index of the axis, and the extent of the axis. Absent if there is
    /// only one part.
    axis: Option<[usize; 2]>,
    /// How many indices of the axis belong to one block. Absent if there are no blocks.
    block: Option<usize>,
    count: usize,
}

impl Parts {
    /// The division into a single part, which has all elements.
    pub const WHOLE: Parts = Parts {
        axis: None,
        block: None,
        count: 1,
    };

    /// Divides a tensor into one part for each index of an axis, or for each block of `block` indices along the axis.
    /// Returns `None` if the shape does not have this axis, or if the blocks do not fill it.
    pub fn new(shape: &[usize], axis: Option<usize>, block: Option<usize>) -> Option<Parts> {
        let Some(axis) = axis else {
            return Some(Parts::WHOLE);
        };
        let extent = *shape.get(axis)?;
        let inner: usize = shape[axis + 1..].iter().product();
        let outer: usize = shape[..axis].iter().product();
        let count = match block {
            None => extent,
            Some(block) if block > 0 && extent.is_multiple_of(block) => outer * (extent / block) * inner,
            Some(_) => return None,
        };
        Some(Parts {
            axis: Some([inner.max(1), extent.max(1)]),
            block,
            count,
        })
    }

    /// Returns the parts of a tensor with this shape whose elements share a scale of `grid`.
    pub fn of_grid(grid: &QuantParams, shape: &[usize]) -> Option<Parts> {
        let several = grid.scale.channels().is_some() || grid.zero_point.channels().is_some();
        let axis = grid.axis.map(usize::from).filter(|_| several);
        Parts::new(shape, axis, grid.block.map(|block| block.get() as usize))
    }

    /// Returns the number of parts.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the part that an element belongs to. `index` is the element's position in row-major order. The parts are
    /// also numbered in row-major order.
    pub fn of(&self, index: usize) -> usize {
        let Some([inner, extent]) = self.axis else { return 0 };
        let along = index / inner % extent;
        let Some(block) = self.block else { return along };
        let outer = index / inner / extent;
        (outer * (extent / block) + along / block) * inner + index % inner
    }

    /// Returns a number of elements such that, in row-major order, each such row of elements belongs to one part.
    pub fn row(&self) -> usize {
        match (self.axis, self.block) {
            (None, _) => usize::MAX,
            (Some([inner, _]), None) => inner,
            (Some([1, _]), Some(block)) => block,
            (Some(_), Some(_)) => 1,
        }
    }
}

/// Reorders the numbers as `order` says. A single number for the whole tensor stays as it is.
fn in_order<T: Clone>(numbers: &Per<T>, order: &[usize]) -> Option<Per<T>> {
    match numbers.channels() {
        None => Some(numbers.clone()),
        Some(count) if count == order.len() => order.iter().map(|&at| numbers.get(at).cloned()).collect(),
        Some(_) => None,
    }
}

/// How an operand reads a value, if it does not simply read it on the grid that the model gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The operand reads the value as it is computed, without rounding.
    Computed,
    /// The operand reads the value rounded to this grid, and not to the grid that the model gives.
    On(Arc<QuantParams>),
    /// The operand reads the value rounded first to the grid that the model gives, and then to this grid.
    Behind(Arc<QuantParams>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_channels_or_blocks() {
        let of = |axis, block| {
            let parts = Parts::new(&[2, 3, 2], axis, block)?;
            Some((parts.count(), (0..12).map(|index| parts.of(index)).collect::<Vec<_>>()))
        };
        assert_eq!(of(None, None), Some((1, vec![0; 12])));
        assert_eq!(of(Some(1), None), Some((3, vec![0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2])));
        assert_eq!(
            of(Some(1), Some(3)),
            Some((4, vec![0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]))
        );
        assert_eq!(of(Some(2), Some(1)), Some((12, (0..12).collect())));
        assert_eq!((of(Some(3), None), of(Some(1), Some(2))), (None, None));
    }
}
