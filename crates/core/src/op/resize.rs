//! Resampling.

use super::{Infer, Operands, Results, support};
use crate::attribute::{Attribute, Field, op, words};
use crate::elem::Elem;
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
        /// Cubic convolution in each resized axis.
        Cubic = "cubic",
    }
}

words! {
    /// Which input coordinate an output coordinate stands for. With s = output / input, where a scale that is given says
    /// `output`, which then need not be a whole number:
    Coordinate {
        /// (x + ½)/s − ½.
        HalfPixel = "half_pixel",
        /// As half_pixel, but 0 where the output extent is 1.
        PytorchHalfPixel = "pytorch_half_pixel",
        /// x·(input − 1)/(output − 1).
        AlignCorners = "align_corners",
        /// x/s.
        Asymmetric = "asymmetric",
        /// (x + ½)/s − ½ + ½·input·(1 − extent of the result/output): the centre stays where it is.
        HalfPixelSymmetric = "half_pixel_symmetric",
        /// (input − 1)·(begin + x·(end − begin)/(output − 1)) in the region from begin to end.
        Crop = "tf_crop_and_resize",
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

/// A switch of a [`Resize`] that is off, if nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switch(pub bool);

impl Field for Switch {
    fn to_attribute(&self) -> Attribute {
        self.0.to_attribute()
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        bool::from_attribute(attribute).map(Switch)
    }
    fn allowed() -> String {
        <bool as Field>::allowed()
    }
    fn implied() -> Option<Self> {
        Some(Switch::default())
    }
}

/// The coefficient of cubic convolution; −¾, if nothing is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicCoefficient(pub f32);

impl Default for CubicCoefficient {
    fn default() -> Self {
        CubicCoefficient(-0.75)
    }
}

impl Field for CubicCoefficient {
    fn to_attribute(&self) -> Attribute {
        self.0.to_attribute()
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        f32::from_attribute(attribute).map(CubicCoefficient)
    }
    fn allowed() -> String {
        <f32 as Field>::allowed()
    }
    fn implied() -> Option<Self> {
        Some(CubicCoefficient::default())
    }
}

/// The region that is resampled: the begin of each axis, the end of each axis, and then the number beside the operand;
/// nothing for the whole operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region(pub Vec<f32>);

impl Field for Region {
    fn to_attribute(&self) -> Attribute {
        self.0.to_attribute()
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        Vec::from_attribute(attribute).map(Region)
    }
    fn allowed() -> String {
        <Vec<f32> as Field>::allowed()
    }
    fn is_list() -> bool {
        true
    }
    fn implied() -> Option<Self> {
        Some(Region::default())
    }
}

op! {
    /// Resampling of every axis to extent floor(extent · scale), or to the extent in `sizes` where there is one (ONNX Resize).
    /// A second operand, with a number for each axis, has the scales (f32) or the sizes (i64) at run time; of the attributes
    /// then only that one is there, with what is known of it: 0 for a scale and −1 for a size that is not.
    Resize = "resize" v 2 {
        /// Source of an element.
        mode: ResizeMode,
        /// Which input coordinate an output coordinate stands for.
        coordinate: Coordinate,
        /// Rounding of a coordinate in nearest mode.
        nearest: Nearest,
        /// Factor per axis; where `sizes` stand alone, the quotients of the extents.
        scales: Vec<f32>,
        /// Extent per axis; may be left out where `scales` are given.
        sizes: SmallVec<[i64; 4]>,
        /// Where an axis shrinks, interpolation takes all elements that an element of the result covers.
        antialias: Switch,
        /// Neighbours beside the operand take no part, instead of being the elements at its border.
        exclude_outside: Switch,
        /// The coefficient of cubic convolution.
        cubic: CubicCoefficient,
        /// The region for the coordinates `tf_crop_and_resize`.
        region: Region,
    }
}

impl Resize {
    /// To `sizes`, by the mode and coordinates alone.
    pub fn to_sizes(mode: ResizeMode, coordinate: Coordinate, sizes: &[i64]) -> Resize {
        Resize {
            mode,
            coordinate,
            nearest: Nearest::RoundPreferFloor,
            scales: Vec::new(),
            sizes: sizes.into(),
            antialias: Switch(false),
            exclude_outside: Switch(false),
            cubic: CubicCoefficient::default(),
            region: Region::default(),
        }
    }

    /// The type of the second operand, where there is one; it stands in the place of one of the lists.
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

    /// True if each element of the result is one of the operand.
    pub fn moves(&self) -> bool {
        self.mode == ResizeMode::Nearest && self.coordinate != Coordinate::Crop
    }
}

impl Infer for Resize {
    const ARITY: (usize, usize) = (1, 2);

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
            Coordinate::Crop => self.region.0.len() == 2 * rank + 1,
            _ => self.region.0.is_empty(),
        };
        support::ensure(region, ReasonCode::Resize, || {
            format!("{} numbers of a region of {rank} axes", self.region.0.len())
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
