//! The data of a sample that metrics use: the sample's inputs, and the outputs of models.

use crate::error::EvaluateError;
use strait_core::Elem;
use strait_execute::Tensor;
use strait_samples::Sample;

/// The facts about an output of the model that metrics use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Name of the output.
    pub name: String,
    /// Element type of the output.
    pub elem: Elem,
    /// Shape of the output for one sample. An extent that depends on the data is 0.
    pub shape: Vec<usize>,
}

impl Output {
    /// Number of elements of the output for one sample.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}

/// One sample, and the outputs that the models computed for it.
pub struct EvaluatedSample<'a> {
    /// Index of the sample in the set, counted from 0.
    pub sample: usize,
    /// The model's inputs, after preprocessing.
    pub inputs: &'a [Sample],
    /// Outputs of the model that is measured.
    pub outputs: &'a [Tensor],
    /// Outputs of the float model and of the simulation on the same sample, for metrics that compare models.
    pub beside: [Option<&'a [Tensor]>; 2],
}

impl<'a> EvaluatedSample<'a> {
    /// Returns an output of the model that is measured.
    ///
    /// # Errors
    /// There is no such output, which is a bug of ours.
    pub fn output(&self, index: usize) -> Result<&'a Tensor, EvaluateError> {
        (self.outputs.get(index)).ok_or_else(|| EvaluateError::Defect("a run has fewer outputs than its plan".into()))
    }

    /// Returns the elements of an output as floats, of which none is NaN. Integers and booleans are converted.
    ///
    /// # Errors
    /// An element is NaN, or there is no such output.
    pub fn numbers(&self, index: usize, name: &str) -> Result<Vec<f32>, EvaluateError> {
        let numbers = floats(self.output(index)?)?;
        match numbers.iter().position(|x| x.is_nan()) {
            None => Ok(numbers),
            Some(at) => {
                let message = format!(
                    "the output {name:?} holds NaN at {at}: sample {} cannot be judged",
                    self.sample
                );
                Err(EvaluateError::not_finite(message).help("look at the model, or leave the sample out"))
            }
        }
    }
}

/// Returns the elements of a tensor of any type as float32.
///
/// # Errors
/// The data of the tensor do not have the type that the tensor states, which is a bug of ours.
pub fn floats(tensor: &Tensor) -> Result<Vec<f32>, EvaluateError> {
    if tensor.elem() == Elem::F32 {
        return Ok(tensor.values::<f32>()?.to_vec());
    }
    let data = tensor.to_data()?;
    if tensor.elem().is_float() {
        return Ok(data.to_f32()?.into_owned());
    }
    Ok(data.to_i64()?.iter().map(|&x| x as f32).collect())
}
