//! Facts that the executor knows about an op. The implementation stands in the op's file.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::Step;
use strait_core::shape::element_count;
use strait_core::{Op, TensorType, for_op, op};

/// An op as the executor knows it.
#[diagnostic::on_unimplemented(
    message = "the executor does not know how to compute `{Self}`",
    note = "implement `Executable` in a file of `float`, or name the op in `without_step!` of `executable.rs`"
)]
pub(crate) trait Executable {
    /// Prepares the op on floats, or on any elements that it takes.
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError>;

    /// True if it is prepared like this for every element type, as what moves elements is.
    fn takes_any_type(&self) -> bool {
        false
    }

    /// The operand of integers that the op has beside its floats; inference sees to its type.
    fn indices(&self) -> Option<usize> {
        None
    }

    /// Multiply-adds of a product, elements that windows look at, or elements that are visited.
    fn operations(&self, types: &Types<'_>) -> u64 {
        types.visited()
    }

    /// Bytes beside the values, of a node with a first operand and a result.
    fn scratch(&self, _x: &TensorType, _y: &TensorType, _types: &Types<'_>) -> Scratch {
        Scratch::default()
    }
}

/// Facts about an op.
pub(crate) fn executable(op: &Op) -> &dyn Executable {
    for_op!(op, op => &**op)
}

/// Ops without a step on floats: they are the same bytes, integers alone, prepared at the extents that a run finds, or computed by
/// somebody else.
macro_rules! without_step {
    ($($op:ident)*) => { $(impl Executable for op::$op {
        fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
            unsupported(site)
        }
    })* };
}
without_step! {
    Reshape Flatten Squeeze Unsqueeze Identity BitCast
    ShiftLeft Lookup IntegerSoftmax IntegerLayerNormalization Clamp
    ShapeOf Range NonZero Unique NonMaxSuppression
    Call If Loop Foreign
}

/// The error for an op that is not defined on operands of these types.
pub(crate) fn unsupported<T>(site: &NodeSlots<'_>) -> Result<T, StepError> {
    let types: Vec<_> = site.inputs.iter().flatten().map(|slot| slot.elem.name()).collect();
    Err(StepError::Unsupported(format!(
        "{} on {}",
        site.node.op.term(),
        types.join(", ")
    )))
}

/// Types of the operands and results of a node, from which its cost is told.
pub(crate) struct Types<'a> {
    pub(crate) operands: &'a [Option<&'a TensorType>],
    pub(crate) results: &'a [&'a TensorType],
    /// True if a requantization is fused into the node.
    pub(crate) fused: bool,
    /// True if an operand picks channels.
    pub(crate) picks: bool,
}

impl<'a> Types<'a> {
    pub(crate) fn operand(&self, index: usize) -> Option<&'a TensorType> {
        self.operands.get(index).copied().flatten()
    }

    /// The elements of an operand; none where it is absent.
    pub(crate) fn elements(&self, index: usize) -> u64 {
        self.operand(index).map_or(0, count)
    }

    /// The extent of an axis of an operand, counted from its end; 1 where it has no number.
    pub(crate) fn extent_from_end(&self, index: usize, back: usize) -> u64 {
        let axis = |ty: &TensorType| Some(extent(ty, ty.shape.len().checked_sub(back)?));
        self.operand(index).and_then(axis).unwrap_or(1)
    }

    /// The elements of the results.
    pub(crate) fn made(&self) -> u64 {
        self.results.iter().fold(0, |sum, ty| sum.saturating_add(count(ty)))
    }

    /// The elements of the results, or of an operand that has more.
    pub(crate) fn visited(&self) -> u64 {
        self.operands
            .iter()
            .flatten()
            .map(|ty| count(ty))
            .fold(self.made(), u64::max)
    }

    /// So many operations for each element of the results.
    pub(crate) fn each(&self, operations: u64) -> u64 {
        self.made().saturating_mul(operations)
    }

    /// A product with as many multiply-adds for each element as the weights have for each of their first axis.
    pub(crate) fn weighted(&self) -> u64 {
        match self.operand(1) {
            Some(weight) => self.each(count(weight) / extent(weight, 0).max(1)),
            None => self.visited(),
        }
    }

    /// The elements of an image under a window, for each element; padding is not looked at.
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

/// Bytes that one node needs besides its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scratch {
    /// Bytes that are held as long as the plan exists.
    pub(crate) held: u64,
    /// Bytes that are needed during a run, on one thread.
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

/// Bytes of a position or an index, and of an element of an operand in the reference interpreter.
pub(crate) const WORD: u64 = 8;

/// Bytes of an element of the float stage.
pub(crate) const FLOAT: u64 = 4;

/// Bytes for the taps of a row or column of a pool, and for the neighbours of a position that is resampled.
pub(crate) const TAPS: u64 = 24;

pub(crate) fn count(ty: &TensorType) -> u64 {
    element_count(&ty.shape).unwrap_or(u64::MAX)
}

pub(crate) fn times(count: u64, bytes: u64) -> u64 {
    count.saturating_mul(bytes)
}

/// The extent of an axis; 1 where it has no number.
pub(crate) fn extent(ty: &TensorType, axis: usize) -> u64 {
    ty.shape.get(axis).and_then(|dim| dim.fixed()).unwrap_or(1)
}

/// The extent of an axis; negative ones count from the end.
pub(crate) fn along(ty: &TensorType, axis: i64) -> u64 {
    let axis = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    usize::try_from(axis).map_or(1, |axis| extent(ty, axis))
}

/// Extents from an axis on, multiplied.
pub(crate) fn product_from(ty: &TensorType, first: usize) -> u64 {
    extents_from(ty, first).fold(1, u64::saturating_mul)
}

/// The sum of the extents from an axis on.
pub(crate) fn sum_from(ty: &TensorType, first: usize) -> u64 {
    extents_from(ty, first).fold(0, u64::saturating_add)
}

fn extents_from(ty: &TensorType, first: usize) -> impl Iterator<Item = u64> {
    ty.shape.iter().skip(first).map(|dim| dim.fixed().unwrap_or(u64::MAX))
}

/// Elements behind an axis; a negative one counts from the end.
pub(crate) fn behind(ty: &TensorType, axis: i64) -> u64 {
    let axis = if axis < 0 { axis + ty.shape.len() as i64 } else { axis };
    product_from(ty, usize::try_from(axis).map_or(0, |axis| axis + 1))
}

/// The elements of each tensor in between where axes are resampled one after the other: some have the operand's extent, and some
/// the result's.
pub(crate) fn between(x: &TensorType, y: &TensorType) -> u64 {
    let dims = x.shape.iter().zip(&y.shape).map(|(from, to)| *from.max(to));
    element_count(&dims.collect::<Vec<_>>()).unwrap_or(u64::MAX)
}
