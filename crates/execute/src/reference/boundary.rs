//! Quantization and dequantization, element by element.

use crate::error::StepError;
use crate::site::Slot;
use strait_core::{Parts, QuantParams, op};
use strait_requantize::{
    IntType, Per,
    quantize::{Dequantization, Quantization, Scaling},
};

/// One scale and one zero point: real = scale·(q − zero).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) scale: f32,
    pub(crate) zero: i32,
}

impl Grid {
    /// Computes saturate(round(x / scale) + zero), or adds the zero point before rounding if `op` says so. The quotient
    /// is rounded to f32 first. With `reciprocal`, the quotient is computed as x·(1 / scale). Infinities saturate, and
    /// a NaN counts as 0.
    pub(crate) fn quantize(self, x: f32, op: &op::Quantize, to: IntType) -> i32 {
        self.quantization(op, to).eval(x)
    }

    /// Returns the quantization by `op` on this grid, as the kernels take it.
    pub(crate) fn quantization(self, op: &op::Quantize, to: IntType) -> Quantization {
        let scaling = if op.reciprocal {
            Scaling::Times(1.0 / self.scale)
        } else {
            Scaling::DividedBy(self.scale)
        };
        Quantization::new(scaling, (self.zero, op.zero_point), op.rounding, to)
    }

    /// Computes scale·(q − zero). The exact difference is rounded to f32, and then the product is rounded to f32.
    pub(crate) fn dequantize(self, q: i64) -> f32 {
        self.dequantization().eval(q)
    }

    /// Returns the dequantization on this grid, as the kernels take it.
    pub(crate) fn dequantization(self) -> Dequantization {
        Dequantization {
            scale: self.scale,
            zero_point: self.zero,
            relu: false,
        }
    }
}

/// The grids of a quantized tensor: a single grid, or one grid for each index or block along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grids {
    /// A single grid, or one grid per channel, or one grid for each run of elements in the same block.
    grids: Vec<Grid>,
    /// Number of consecutive elements with the same grid.
    inner: usize,
}

impl Grids {
    /// Returns the grids of a slot. The slot must have at least one grid.
    pub(crate) fn of(slot: &Slot<'_>) -> Result<Grids, StepError> {
        let quant: &QuantParams = slot
            .quant
            .ok_or_else(|| StepError::Model("the value has no grid (scale and zero point)".into()))?;
        let channels = [quant.scale.channels(), quant.zero_point.channels()]
            .into_iter()
            .flatten()
            .max();
        let axis = quant.axis.map_or(0, usize::from);
        let parts = Parts::of_grid(quant, &slot.dims);
        let parts = parts.filter(|parts| channels.is_none_or(|channels| parts.count() == channels));
        if let (Some(channels), None) = (channels, parts) {
            return Err(StepError::Model(format!(
                "a grid of {channels} channels or blocks on axis {axis} of {:?}",
                slot.dims
            )));
        }
        let is_legal = quant.has_legal_scales();
        let grid = |channel: usize| match (quant.scale.get(channel), quant.zero_point.get(channel)) {
            (Some(&scale), Some(&zero)) if is_legal => Ok(Grid { scale, zero }),
            _ => Err(StepError::Model(
                "a grid has too few scales, or one that is not positive and finite".into(),
            )),
        };
        let grids: Vec<Grid> = (0..channels.unwrap_or(1)).map(grid).collect::<Result<_, _>>()?;
        let inner = slot.dims.get(axis + 1..).map_or(1, |inner| inner.iter().product());
        let (grids, inner) = match (channels, quant.block, parts) {
            (None, ..) => (grids, slot.count()),
            (Some(_), None, _) | (Some(_), _, None) => (grids, inner),
            // The elements of a block are contiguous only along the last axis.
            (Some(_), Some(block), Some(_)) if inner == 1 => (grids, block.get() as usize),
            (Some(_), Some(_), Some(parts)) => {
                let grid = |index| grids.get(parts.of(index)).copied();
                ((0..slot.count()).filter_map(grid).collect(), 1)
            }
        };
        Ok(Grids { grids, inner })
    }

    /// Applies a function to each grid, and returns the results as the kernels take them.
    pub(crate) fn per<T>(&self, function: impl Fn(Grid) -> T) -> Per<T> {
        match self.grids[..] {
            [grid] => Per::Tensor(function(grid)),
            _ => self.grids.iter().map(|&grid| function(grid)).collect(),
        }
    }

    /// Returns the extents `[outer, channels, inner]` of an array with `count` elements, if each channel has a grid.
    pub(crate) fn extents(&self, count: usize) -> [usize; 3] {
        let channels = self.grids.len();
        let outer = count.checked_div(channels * self.inner).unwrap_or(0);
        [outer, channels, self.inner]
    }

    /// True if one grid serves all elements.
    pub(crate) fn is_single(&self) -> bool {
        self.grids.len() == 1
    }

    /// Returns the extents, as [`Grids::extents`] does, of an image with these extents whose channels are last in memory.
    /// `None` if the grids are not those of its channels.
    pub(crate) fn extents_last(&self, dims: &[usize]) -> Option<[usize; 3]> {
        let [batch, channels, spatial @ ..] = dims else {
            return None;
        };
        let positions = spatial.iter().product::<usize>();
        (self.grids.len() == *channels && self.inner == positions).then(|| [batch * positions, *channels, 1])
    }

    /// Returns the grid of an element.
    pub(crate) fn at(&self, index: usize) -> Grid {
        self.grids[index / self.inner.max(1) % self.grids.len()]
    }
}

/// Applies [`Grid::quantize`] to each element.
pub(super) fn quantize(op: &op::Quantize, grids: &Grids, to: IntType, x: &[f32]) -> Vec<i64> {
    let code = |(index, &x): (usize, &f32)| i64::from(grids.at(index).quantize(x, op, to));
    x.iter().enumerate().map(code).collect()
}

/// Applies [`Grid::dequantize`] to each element.
pub(crate) fn dequantize(grids: &Grids, x: &[i64]) -> Vec<f32> {
    x.iter()
        .enumerate()
        .map(|(index, &q)| grids.at(index).dequantize(q))
        .collect()
}
