//! A step of a plan: one node, or several joined nodes, prepared so that it can run any number of times.

use crate::error::StepError;
use bytemuck::Pod;
use smallvec::SmallVec;
use strait_kernels::Context;

/// One step of a plan. Everything that can be computed before a run is already part of it: packed weights, tables,
/// offsets.
pub(crate) trait Step: Send + Sync {
    /// True if [`Step::run`] reads this operand. False if the operand was packed when the step was prepared.
    fn reads(&self, _operand: usize) -> bool {
        true
    }

    /// Returns the operands whose buffers the first result may overwrite, the preferred operand first. For an operand
    /// that is overwritten, [`Io::operand`] returns [`Operand::InPlace`].
    fn in_place(&self) -> &[usize] {
        &[]
    }

    /// Returns the order in which the step reads and writes images.
    fn orders(&self) -> Orders {
        Orders::Planes
    }

    /// Returns the step that computes the same, but writes its only result with channels last, `stride` elements from one
    /// position to the next. `extents` of the result are batch, channels and positions. `None` if there is no such step.
    fn writing_last(&self, _extents: [usize; 3], _stride: usize) -> Option<Box<dyn Step>> {
        None
    }

    /// Computes the results.
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError>;
}

/// The order in which a step reads and writes images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// In the order of the graph: each channel is a plane.
    Planes,
    /// Each element of the result is computed from the elements of the operands at the same place. So the order does not
    /// matter, as long as operands and result have the same one.
    Any,
    /// Channels are last. In the first operand, there are `stride` elements from one position to the next. All other
    /// operands are in the order of the graph.
    Last {
        /// The number of channels, or more.
        stride: usize,
    },
}

/// Makes a step from a function of one operand that computes each element of the result from the element at the same
/// place.
pub(crate) fn elementwise(run: impl Fn(&mut Io<'_>) -> Result<(), StepError> + Send + Sync + 'static) -> Box<dyn Step> {
    Box::new(Reading {
        operands: 1,
        orders: Orders::Any,
        run,
    })
}

/// Makes a step from a function that reads one image and writes one image, both with channels last. Positions of the
/// operand are `stride` elements apart.
pub(crate) fn on_channels_last(
    stride: usize,
    run: impl Fn(&mut Io<'_>) -> Result<(), StepError> + Send + Sync + 'static,
) -> Box<dyn Step> {
    Box::new(Reading {
        operands: 1,
        orders: Orders::Last { stride },
        run,
    })
}

/// Makes a step from a function. The step reads the first `operands` operands.
pub(crate) fn reading(
    operands: usize,
    run: impl Fn(&mut Io<'_>) -> Result<(), StepError> + Send + Sync + 'static,
) -> Box<dyn Step> {
    Box::new(Reading {
        operands,
        orders: Orders::Planes,
        run,
    })
}

struct Reading<F> {
    operands: usize,
    orders: Orders,
    run: F,
}

impl<F: Fn(&mut Io<'_>) -> Result<(), StepError> + Send + Sync> Step for Reading<F> {
    fn reads(&self, operand: usize) -> bool {
        operand < self.operands
    }

    fn orders(&self) -> Orders {
        self.orders
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        (self.run)(io)
    }
}

/// Where the bytes of an operand are.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// Nowhere: the operand is absent, or the step does not read it.
    Absent,
    /// In the buffer of the first result.
    InPlace,
    /// In this slice.
    Bytes(&'a [u8]),
}

/// The elements of an operand.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    /// The elements are in the buffer of the first result, which overwrites them.
    InPlace,
    /// The elements are in this slice.
    Slice(&'a [T]),
}

/// The operands and results of one step in one run.
pub(crate) struct Io<'a> {
    pub(crate) context: &'a Context,
    pub(crate) inputs: SmallVec<[Input<'a>; 3]>,
    pub(crate) outputs: SmallVec<[&'a mut [u8]; 1]>,
}

impl<'a> Io<'a> {
    /// Returns the elements of an operand. Only for steps that never run in place.
    pub(crate) fn input<T: Pod>(&self, index: usize) -> Result<&'a [T], StepError> {
        match self.operand(index)? {
            Operand::Slice(slice) => Ok(slice),
            Operand::InPlace => Err(StepError::Ours(format!("operand {index} is in place"))),
        }
    }

    /// Returns the elements of an optional operand. Only for steps that never run in place.
    pub(crate) fn optional<T: Pod>(&self, index: usize) -> Result<Option<&'a [T]>, StepError> {
        match self.inputs.get(index) {
            None | Some(Input::Absent) => Ok(None),
            Some(_) => self.input(index).map(Some),
        }
    }

    /// Returns the elements of an operand, for steps that may run in place.
    pub(crate) fn operand<T: Pod>(&self, index: usize) -> Result<Operand<'a, T>, StepError> {
        match self.inputs.get(index) {
            Some(Input::Bytes(bytes)) => Ok(Operand::Slice(elements(bytes)?)),
            Some(Input::InPlace) => Ok(Operand::InPlace),
            None | Some(Input::Absent) => Err(StepError::Ours(format!("operand {index} has no bytes"))),
        }
    }

    /// Returns the buffer of the first result, as elements.
    pub(crate) fn output<T: Pod>(&mut self) -> Result<&mut [T], StepError> {
        let output = self.outputs.first_mut();
        let output = output.ok_or_else(|| StepError::Ours("a step without a result".into()))?;
        elements_mut(output)
    }
}

/// Views bytes as elements. If this fails, Strait has a bug, because every value in an arena starts on a cache line.
pub(crate) fn elements<T: Pod>(bytes: &[u8]) -> Result<&[T], StepError> {
    bytemuck::try_cast_slice(bytes).map_err(|error| StepError::Ours(format!("an operand is not aligned: {error}")))
}

/// Views bytes as mutable elements.
pub(crate) fn elements_mut<T: Pod>(bytes: &mut [u8]) -> Result<&mut [T], StepError> {
    bytemuck::try_cast_slice_mut(bytes).map_err(|error| StepError::Ours(format!("a result is not aligned: {error}")))
}
