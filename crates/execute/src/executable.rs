//! The trait `Executable`, by which each op tells the executor how to run it and what it costs. Each op implements the
//! trait in its own file.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::Step;
use strait_core::shape::element_count;
use strait_core::{Op, TensorType, for_op, op};

/// An op that the executor can run.
#[diagnostic::on_unimplemented(
    message = "the executor does not know how to compute `{Self}`",
    note = "implement `Executable` in a file of `float`, or name the op in `without_step!` of `executable.rs`"
)]
pub(crate) trait Executable {
    /// Prepares the step that computes the op on floats. If the op takes any type, the step is for elements of any
    /// type.
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError>;

    /// True if the op only moves elements, so that one step works for every element type.
    fn takes_any_type(&self) -> bool {
        false
    }

    /// Returns the index of the operand that holds integers although the other operands are floats. Type inference has
    /// checked the type of that operand.
    fn indices(&self) -> Option<usize> {
        None
    }

    /// Returns the number of operations: multiply-adds for a convolution or matrix product, elements that windows read
    /// for a pool, and elements that the op visits otherwise.
    fn operations(&self, types: &Types<'_>) -> u64 {
        types.visited()
    }

    /// Returns the bytes that the node needs besides its values. `_x` is the first operand, and `_y` the first result.
    fn scratch(&self, _x: &TensorType, _y: &TensorType, _types: &Types<'_>) -> Scratch {
        Scratch::default()
    }
}

/// Returns the op as an `Executable`.
pub(crate) fn executable(op: &Op) -> &dyn Executable {
    for_op!(op, op => &**op)
}

/// Implements `Executable` for ops that have no step on floats. There are four reasons: the result of the op has the
/// bytes of the operand; or the op computes only on integers; or its step is prepared during a run, when the extents
/// are known; or other code computes the op.
macro_rules! without_step {
    ($($op:ident)*) => { $(impl Executable for op::$op {
        fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
            unsupported(site)
        }
    })* };
}
without_step! {
    Reshape Flatten Squeeze Unsqueeze Identity BitCast
    ShiftLeft ScaledAdd Lookup IntegerSoftmax IntegerLayerNormalization Clamp
    ShapeOf Range NonZero Unique NonMaxSuppression
    Call If Loop Foreign
}

/// Returns the error for a node whose op is not defined on operands of these types.
pub(crate) fn unsupported<T>(site: &NodeSlots<'_>) -> Result<T, StepError> {
    let types: Vec<_> = site.inputs.iter().flatten().map(|slot| slot.elem.name()).collect();
    Err(StepError::Unsupported(format!(
        "{} on {}",
        site.node.op.term(),
        types.join(", ")
    )))
}

/// The types of a node's operands and results. The cost of the node is computed from them.
pub(crate) struct Types<'a> {
    pub(crate) operands: &'a [Option<&'a TensorType>],
    pub(crate) results: &'a [&'a TensorType],
    /// True if a requantization is fused into the node.
    pub(crate) fused: bool,
    /// True if an operand gives the channel of each element.
    pub(crate) picks: bool,
}

impl<'a> Types<'a> {
    pub(crate) fn operand(&self, index: usize) -> Option<&'a TensorType> {
        self.operands.get(index).copied().flatten()
    }

    /// Returns the number of elements of an operand; 0 if the operand is absent.
    pub(crate) fn elements(&self, index: usize) -> u64 {
        self.operand(index).map_or(0, count)
    }

    /// Returns the extent of an operand's axis, where `back` counts axes from the end; 1 if the extent has no number.
    pub(crate) fn extent_from_end(&self, index: usize, back: usize) -> u64 {
        let axis = |ty: &TensorType| Some(extent(ty, ty.shape.len().checked_sub(back)?));
        self.operand(index).and_then(axis).unwrap_or(1)
    }

    /// Returns the number of elements of all results together.
    pub(crate) fn made(&self) -> u64 {
        self.results.iter().fold(0, |sum, ty| sum.saturating_add(count(ty)))
    }

    /// Returns the larger of two numbers: the elements of all results, and the elements of the largest operand.
    pub(crate) fn visited(&self) -> u64 {
        self.operands
            .iter()
            .flatten()
            .map(|ty| count(ty))
            .fold(self.made(), u64::max)
    }

    /// Returns the number of operations if each element of the results takes `operations` operations.
    pub(crate) fn each(&self, operations: u64) -> u64 {
        self.made().saturating_mul(operations)
    }

    /// Returns the number of multiply-adds of a convolution or matrix product with constant weights. Each element of
    /// the result takes one multiply-add for each weight of its output channel. Axis 0 of the weights is the output
    /// channel.
    pub(crate) fn weighted(&self) -> u64 {
        match self.operand(1) {
            Some(weight) => self.each(count(weight) / extent(weight, 0).max(1)),
            None => self.visited(),
        }
    }

    /// Returns how many elements of the operand the windows of all results read. Padding is not read.
    pub(crate) fn windows(&self, size: &[u32]) -> u64 {
        let Some(image) = self.operand(0) else {
            return self.visited();
        };
        let spatial = image.shape.len().saturating_sub(size.len());
        let extents = size.iter().zip(&image.shape[spatial..]);
        self.each(extents.fold(1, |taps, (&size, dim)| {
            taps.saturating_mul(dim.fixed().map_or(u64::from(size), |extent| extent.min(size.into())))
        }))
    }
}

/// Memory that one node needs besides its values, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// Bytes that are needed as long as the plan exists.
    pub(crate) held: u64,
    /// Bytes for each thread that runs the plan, needed during a run.
    pub(crate) run: u64,
}

impl Scratch {
    pub(crate) fn held(held: u64) -> Scratch {
        Scratch { held, run: 0 }
    }

    pub(crate) fn run(run: u64) -> Scratch {
        Scratch { held: 0, run }
    }
}

/// The size in bytes of a position, of an index, or of an operand's element in the reference interpreter.
pub(crate) const WORD: u64 = 8;

/// The size in bytes of an element in float computations.
pub(crate) const FLOAT: u64 = 4;

/// The size in bytes of the taps for one row or column of a pool, or of the neighbours for one resampled position.
pub(crate) const TAPS: u64 = 24;

pub(crate) fn count(ty: &TensorType) -> u64 {
    element_count(&ty.shape).unwrap_or(u64::MAX)
}

pub(crate) fn times(count: u64, bytes: u64) -> u64 {
    count.saturating_mul(bytes)
}

/// Returns the extent of an axis; 1 if the extent has no number.
pub(crate) fn extent(ty: &TensorType, axis: usize) -> u64 {
    ty.shape.get(axis).and_then(|dim| dim.fixed()).unwrap_or(1)
}

/// Returns the extent of an axis; a negative axis counts from the end.
pub(crate) fn along(ty: &TensorType, axis: i64) -> u64 {
    let axis = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    usize::try_from(axis).map_or(1, |axis| extent(ty, axis))
}

/// Returns the product of the extents of axis `first` and all later axes.
pub(crate) fn product_from(ty: &TensorType, first: usize) -> u64 {
    extents_from(ty, first).fold(1, u64::saturating_mul)
}

/// Returns the sum of the extents of axis `first` and all later axes.
pub(crate) fn sum_from(ty: &TensorType, first: usize) -> u64 {
    extents_from(ty, first).fold(0, u64::saturating_add)
}

fn extents_from(ty: &TensorType, first: usize) -> impl Iterator<Item = u64> {
    ty.shape.iter().skip(first).map(|dim| dim.fixed().unwrap_or(u64::MAX))
}

/// Returns the number of elements at each index of an axis: the product of the extents of all later axes. A negative
/// axis counts from the end.
pub(crate) fn behind(ty: &TensorType, axis: i64) -> u64 {
    let axis = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    product_from(ty, usize::try_from(axis).map_or(0, |axis| axis + 1))
}

/// Returns an upper bound on the number of elements of each intermediate tensor when axes are resized one after the
/// other. In an intermediate tensor, some axes have the extent of the operand, and the others have the extent of the
/// result.
pub(crate) fn between(x: &TensorType, y: &TensorType) -> u64 {
    let dims = x.shape.iter().zip(&y.shape).map(|(from, to)| *from.max(to));
    element_count(&dims.collect::<Vec<_>>()).unwrap_or(u64::MAX)
}
