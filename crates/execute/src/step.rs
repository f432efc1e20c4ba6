//! A step of a plan: one node, or several joined nodes, prepared so that it can run any number of times.

use crate::error::StepError;
use bytemuck::Pod;
use smallvec::SmallVec;
use strait_kernels::Context;

/// One step of a plan. A step already has everything that can be computed before a run: packed weights, tables,
/// offsets.
pub(crate) trait Step: Send + Sync {
    /// True if [`Step::run`] reads this operand. If a step has packed an operand when it was prepared, it does not read
    /// it any more.
    fn reads(&self, _operand: usize) -> bool {
        true
    }

    /// The operands whose buffers the first result may take over, with the preferred operand first. If the result takes
    /// over the buffer of an operand, [`Io::operand`] returns [`Operand::InPlace`] for this operand.
    fn in_place(&self) -> &[usize] {
        &[]
    }

    /// Computes the results.
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError>;
}

/// A step that is a function. It reads the first `operands` operands.
pub(crate) fn reading(
    operands: usize,
    run: impl Fn(&mut Io<'_>) -> Result<(), StepError> + Send + Sync + 'static,
) -> Box<dyn Step> {
    Box::new(Reading { operands, run })
}

struct Reading<F> {
    operands: usize,
    run: F,
}

impl<F: Fn(&mut Io<'_>) -> Result<(), StepError> + Send + Sync> Step for Reading<F> {
    fn reads(&self, operand: usize) -> bool {
        operand < self.operands
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        (self.run)(io)
    }
}

/// Where the bytes of an operand are.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// There are no bytes: the operand is absent, or the step does not read it.
    Absent,
    /// The operand is in the buffer of the first result.
    InPlace,
    /// The operand is in this slice.
    Bytes(&'a [u8]),
}

/// An operand as elements.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    /// The operand is in the buffer of the first result; the results replace its elements.
    InPlace,
    /// The operand is in this slice.
    Slice(&'a [T]),
}

/// The operands and results of one step in one run.
pub(crate) struct Io<'a> {
    pub(crate) context: &'a Context,
    pub(crate) inputs: SmallVec<[Input<'a>; 3]>,
    pub(crate) outputs: SmallVec<[&'a mut [u8]; 1]>,
}

impl<'a> Io<'a> {
    /// The elements of an operand. The step must not run in place.
    pub(crate) fn input<T: Pod>(&self, index: usize) -> Result<&'a [T], StepError> {
        match self.operand(index)? {
            Operand::Slice(slice) => Ok(slice),
            Operand::InPlace => Err(StepError::Ours(format!("operand {index} is in place"))),
        }
    }

    /// The elements of an optional operand. The step must not run in place.
    pub(crate) fn optional<T: Pod>(&self, index: usize) -> Result<Option<&'a [T]>, StepError> {
        match self.inputs.get(index) {
            None | Some(Input::Absent) => Ok(None),
            Some(_) => self.input(index).map(Some),
        }
    }

    /// The elements of an operand, if the step may run in place.
    pub(crate) fn operand<T: Pod>(&self, index: usize) -> Result<Operand<'a, T>, StepError> {
        match self.inputs.get(index) {
            Some(Input::Bytes(bytes)) => Ok(Operand::Slice(elements(bytes)?)),
            Some(Input::InPlace) => Ok(Operand::InPlace),
            None | Some(Input::Absent) => Err(StepError::Ours(format!("operand {index} has no bytes"))),
        }
    }

    /// The buffer of the first result, as elements.
    pub(crate) fn output<T: Pod>(&mut self) -> Result<&mut [T], StepError> {
        let output = self.outputs.first_mut();
        let output = output.ok_or_else(|| StepError::Ours("a step without a result".into()))?;
        elements_mut(output)
    }
}

/// Views bytes as elements. Every value in an arena starts on a cache line, so if this fails, it is a bug of ours.
pub(crate) fn elements<T: Pod>(bytes: &[u8]) -> Result<&[T], StepError> {
    bytemuck::try_cast_slice(bytes).map_err(|error| StepError::Ours(format!("an operand is not aligned: {error}")))
}

/// Views bytes as elements that can be written.
pub(crate) fn elements_mut<T: Pod>(bytes: &mut [u8]) -> Result<&mut [T], StepError> {
    bytemuck::try_cast_slice_mut(bytes).map_err(|error| StepError::Ours(format!("a result is not aligned: {error}")))
}
