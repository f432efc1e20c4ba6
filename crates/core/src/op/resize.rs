//! Resampling.

use super::{Infer, Operands, Results, support};
use crate::attribute::{op, words};
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::Dim;
use smallvec::SmallVec;

words! {
    /// Interpolation of an output element from its neighbours in the input.
    ResizeMode {
        /// The nearest element.
        Nearest = "nearest",
        /// Linear in each resized axis.
        Linear = "linear",
    }
}

words! {
    /// Which input coordinate an output coordinate stands for. With s = output extent / input extent:
    Coordinate {
        /// (x + ½)/s − ½.
        HalfPixel = "half_pixel",
        /// As half_pixel, but 0 where the output extent is 1.
        PytorchHalfPixel = "pytorch_half_pixel",
        /// x·(input − 1)/(output − 1).
        AlignCorners = "align_corners",
        /// x/s.
        Asymmetric = "asymmetric",
    }
}

words! {
    /// Rounding of a coordinate in nearest mode.
    Nearest {
        /// To nearest, ties down.
        RoundPreferFloor = "round_prefer_floor",
        /// To nearest, ties up.
        RoundPreferCeil = "round_prefer_ceil",
        /// Down.
        Floor = "floor",
        /// Up.
        Ceil = "ceil",
    }
}

op! {
    /// Resampling of every axis to extent floor(extent · scale) (ONNX Resize).
    Resize = "resize" v 1 {
        /// Source of an element.
        mode: ResizeMode,
        /// Which input coordinate an output coordinate stands for.
        coordinate: Coordinate,
        /// Rounding of a coordinate in nearest mode.
        nearest: Nearest,
        /// Factor per axis; empty where `sizes` is given.
        scales: Vec<f32>,
        /// Extent per axis; empty where `scales` is given.
        sizes: SmallVec<[i64; 4]>,
    }
}

impl Infer for Resize {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let rank = x.shape.len();
        let (by_scale, by_size) = (self.scales.len() == rank, self.sizes.len() == rank);
        support::ensure(by_scale != by_size, ReasonCode::Resize, || {
            format!("either scales or sizes must name {rank} axes")
        })?;
        let mut shape = x.shape.clone();
        for axis in 0..rank {
            let unchanged = if by_scale {
                self.scales[axis] == 1.0
            } else {
                Dim::Fixed(self.sizes[axis] as u64) == shape[axis]
            };
            if unchanged {
                continue;
            }
            let extent = shape[axis].fixed().ok_or_else(|| {
                Reason::new(
                    ReasonCode::Resize,
                    format!("axis {axis} is symbolic; bind it to a number"),
                )
            })?;
            let resized = if by_scale {
                // In f64: a product of an extent below 2^40 and an f32 is exact, so the floor is the mathematical one.
                (extent as f64 * f64::from(self.scales[axis])).floor()
            } else {
                self.sizes[axis] as f64
            };
            support::ensure(
                (1.0..=crate::shape::MAX_ELEMENTS as f64).contains(&resized),
                ReasonCode::Resize,
                || format!("axis {axis} would have extent {resized}"),
            )?;
            shape[axis] = Dim::Fixed(resized as u64);
        }
        support::one(x.elem, shape)
    }
}
