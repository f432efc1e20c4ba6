//! Resizing.

use super::prelude::*;

words! {
    /// How an element of the result is computed from its neighbours in the operand.
    ResizeMode {
        /// An element of the result is the nearest element of the operand. Nothing is interpolated.
        Nearest = "nearest",
        /// Linear interpolation along each resized axis.
        Linear = "linear",
        /// Cubic convolution along each resized axis.
        Cubic = "cubic",
    }
}

words! {
    /// How a coordinate x of the result is mapped to a coordinate of the operand. In the formulas, `input` is the
    /// extent of the operand, `output` is the extent of the result, and s = output / input. If the attribute `scales`
    /// gives the scale s, `output` is input · s instead, and may be a fraction.
    Coordinate {
        /// (x + ½)/s − ½.
        HalfPixel = "half_pixel",
        /// As `half_pixel`, but always 0 if the extent of the result is 1.
        PytorchHalfPixel = "pytorch_half_pixel",
        /// x·(input − 1)/(output − 1).
        AlignCorners = "align_corners",
        /// x/s.
        Asymmetric = "asymmetric",
        /// (x + ½)/s − ½ + ½·input·(1 − extent of the result/output). The centre of the image keeps its place.
        HalfPixelSymmetric = "half_pixel_symmetric",
        /// (input − 1)·(begin + x·(end − begin)/(output − 1)), where begin and end are the ends of the attribute
        /// `region` along the axis.
        Crop = "tf_crop_and_resize",
    }
}

words! {
    /// How a coordinate is rounded in nearest mode.
    Nearest {
        /// Rounds to the nearest position, and halves down.
        RoundPreferFloor = "round_prefer_floor",
        /// Rounds to the nearest position, and halves up.
        RoundPreferCeil = "round_prefer_ceil",
        /// Rounds down.
        Floor = "floor",
        /// Rounds up.
        Ceil = "ceil",
    }
}

op! {
    /// Resizes every axis to the extent floor(extent · scale), or to the extent in `sizes` if given (as ONNX's Resize).
    /// A second operand, with one number for each axis, can give the scales (f32) or the sizes (i64) at run time. The
    /// second operand replaces `scales` or `sizes`. The other of these two attributes is then empty. The replaced
    /// attribute has the numbers that are already known; 0 stands for an unknown scale, and −1 for an unknown size.
    Resize = "resize" v 2: Extends, 1 to 2 {
        /// How an element of the result is computed from its neighbours.
        mode: ResizeMode,
        /// How coordinates of the result are mapped to coordinates of the operand.
        coordinate: Coordinate,
        /// How a coordinate is rounded in nearest mode.
        nearest: Nearest,
        /// The scale of each axis. If only `sizes` are given, the scales are the extents of the result divided by those
        /// of the operand.
        scales: Vec<f32>,
        /// The extent of each axis; may be omitted if `scales` are given.
        sizes: SmallVec<[i64; 4]>,
        /// True to compute an element from all elements of the operand that it covers, if the axis shrinks.
        antialias: bool = false,
        /// True to ignore neighbours outside of the operand. Otherwise they have the value of the border element.
        exclude_outside: bool = false,
        /// The coefficient of cubic convolution.
        cubic: f32 = Resize::CUBIC,
        /// The region of the operand that is resized, for the coordinate mode `tf_crop_and_resize`. The list has the
        /// begin of the region along each axis, then its end along each axis, and then the value of elements outside of
        /// the operand. Empty if the whole operand is resized.
        region: Vec<f32> = Vec::new(),
    }
}

impl Resize {
    /// The coefficient of cubic convolution if none is given.
    pub const CUBIC: f32 = -0.75;

    /// Makes a resize to `sizes` with this mode and coordinate mapping. All other attributes have their defaults.
    pub fn to_sizes(mode: ResizeMode, coordinate: Coordinate, sizes: &[i64]) -> Resize {
        Resize {
            mode,
            coordinate,
            nearest: Nearest::RoundPreferFloor,
            scales: Vec::new(),
            sizes: sizes.into(),
            antialias: false,
            exclude_outside: false,
            cubic: Resize::CUBIC,
            region: Vec::new(),
        }
    }

    /// Returns the type of the second operand, which replaces `scales` or `sizes`. Returns `None` if there is no second
    /// operand.
    fn late(&self, operands: &Operands<'_>, rank: usize) -> Result<Option<Elem>, Reason> {
        let Some(Some(list)) = operands.get(1) else {
            return Ok(None);
        };
        let (there, absent) = match list.elem {
            Elem::I64 => (self.sizes.len(), self.scales.len()),
            _ => (self.scales.len(), self.sizes.len()),
        };
        let fits = matches!(list.elem, Elem::I64 | Elem::F32)
            && support::may_equal(&list.shape, &[Dim::Fixed(rank as u64)])
            && (there, absent) == (rank, 0);
        support::ensure(fits, ReasonCode::Operands, || {
            format!("{list} does not have the scales or the sizes of {rank} axes")
        })?;
        Ok(Some(list.elem))
    }

    /// True if each element of the result is a copy of an element of the operand.
    pub fn moves(&self) -> bool {
        self.mode == ResizeMode::Nearest && self.coordinate != Coordinate::Crop
    }
}

impl OpFacts for Resize {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let rank = x.shape.len();
        let (by_scale, by_size) = (self.scales.len() == rank, self.sizes.len() == rank);
        let listed = |count: usize, whole: bool| whole || count == 0;
        let late = self.late(operands, rank)?;
        let positive = |&scale: &f32| scale > 0.0 || (late == Some(Elem::F32) && scale == 0.0);
        let fits = (by_scale || by_size)
            && listed(self.scales.len(), by_scale)
            && listed(self.sizes.len(), by_size)
            && self.scales.iter().all(positive);
        support::ensure(fits, ReasonCode::Resize, || {
            format!("scales or sizes must name {rank} axes, and no scale is 0")
        })?;
        let region = match self.coordinate {
            Coordinate::Crop => self.region.len() == 2 * rank + 1,
            _ => self.region.is_empty(),
        };
        support::ensure(region, ReasonCode::Resize, || {
            format!("{} numbers of a region of {rank} axes", self.region.len())
        })?;
        let mut shape = x.shape.clone();
        for axis in 0..rank {
            let unchanged = if by_size {
                Dim::Fixed(self.sizes[axis] as u64) == shape[axis]
            } else {
                self.scales[axis] == 1.0
            };
            if unchanged {
                continue;
            }
            let is_known = match late {
                None => true,
                Some(_) if by_size => self.sizes[axis] != -1,
                Some(_) => self.scales[axis] > 0.0 && shape[axis].fixed().is_some(),
            };
            if !is_known {
                shape[axis] = Dim::OPEN;
                continue;
            }
            if let (Some(_), true, None) = (late, by_size, shape[axis].fixed()) {
                support::ensure(self.sizes[axis] > 0, ReasonCode::Resize, || {
                    format!("axis {axis} would have extent {}", self.sizes[axis])
                })?;
                shape[axis] = Dim::Fixed(self.sizes[axis] as u64);
                continue;
            }
            let extent = shape[axis].fixed().ok_or_else(|| {
                Reason::new(
                    ReasonCode::Resize,
                    format!("axis {axis} is symbolic; bind it to a number"),
                )
            })?;
            let resized = if !by_size {
                // The extent is below 2^40 and the scale is an f32, so their product is exact in f64, and so is its
                // floor.
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
