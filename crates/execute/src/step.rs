//! A step: one node, or several that were joined, prepared to run any number of times.

use crate::error::StepError;
use bytemuck::Pod;
use smallvec::SmallVec;
use strait_kernels::Context;

/// One step of a plan. It holds everything that could be computed before: packed weights, tables, offsets.
pub(crate) trait Step: Send + Sync {
    /// True if [`Step::run`] reads this operand; a step need not, once it has packed it.
    fn reads(&self, _operand: usize) -> bool {
        true
    }

    /// The operands whose buffer the first result may take over, the preferred one first. [`Io::operand`] then gives
    /// [`Operand::InPlace`] for it.
    fn in_place(&self) -> &[usize] {
        &[]
    }

    /// Computes the results.
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError>;
}

/// Place of the bytes of an operand.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// Nowhere: an optional operand that is absent, or one that the step does not read.
    Absent,
    /// In the first output.
    InPlace,
    /// Here.
    Bytes(&'a [u8]),
}

/// An operand as elements.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a, T> {
    /// In the first output, which the results replace.
    InPlace,
    /// Here.
    Slice(&'a [T]),
}

/// The operands and results of one step in one run.
pub(crate) struct Io<'a> {
    pub(crate) context: &'a Context,
    pub(crate) inputs: SmallVec<[Input<'a>; 3]>,
    pub(crate) outputs: SmallVec<[&'a mut [u8]; 1]>,
}

impl<'a> Io<'a> {
    /// An operand of a step that does not run in place.
    pub(crate) fn input<T: Pod>(&self, index: usize) -> Result<&'a [T], StepError> {
        match self.operand(index)? {
            Operand::Slice(slice) => Ok(slice),
            Operand::InPlace => Err(StepError::Ours(format!("operand {index} is in place"))),
        }
    }

    /// An optional operand of a step that does not run in place.
    pub(crate) fn optional<T: Pod>(&self, index: usize) -> Result<Option<&'a [T]>, StepError> {
        match self.inputs.get(index) {
            None | Some(Input::Absent) => Ok(None),
            Some(_) => self.input(index).map(Some),
        }
    }

    /// An operand of a step that may run in place.
    pub(crate) fn operand<T: Pod>(&self, index: usize) -> Result<Operand<'a, T>, StepError> {
        match self.inputs.get(index) {
            Some(Input::Bytes(bytes)) => Ok(Operand::Slice(elements(bytes)?)),
            Some(Input::InPlace) => Ok(Operand::InPlace),
            None | Some(Input::Absent) => Err(StepError::Ours(format!("operand {index} has no bytes"))),
        }
    }

    /// The first result.
    pub(crate) fn output<T: Pod>(&mut self) -> Result<&mut [T], StepError> {
        let output = self.outputs.first_mut();
        let output = output.ok_or_else(|| StepError::Ours("a step without a result".into()))?;
        elements_mut(output)
    }
}

/// Bytes as elements. Everything in an arena lies on a cache line, so a failure is ours.
pub(crate) fn elements<T: Pod>(bytes: &[u8]) -> Result<&[T], StepError> {
    bytemuck::try_cast_slice(bytes).map_err(|error| StepError::Ours(format!("an operand is not aligned: {error}")))
}

/// The same for writing.
pub(crate) fn elements_mut<T: Pod>(bytes: &mut [u8]) -> Result<&mut [T], StepError> {
    bytemuck::try_cast_slice_mut(bytes).map_err(|error| StepError::Ours(format!("a result is not aligned: {error}")))
}
