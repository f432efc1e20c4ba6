//! What has to be known about an input of the model to read samples for it.

use crate::plan::Plan;
use strait_core::Elem;

/// What has to be known about a model's input to read samples for it.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// The name of the input.
    pub name: String,
    /// The element type of the input.
    pub elem: Elem,
    /// The shape of the input, including the batch dimension if the input has one.
    pub shape: Vec<usize>,
    /// True if the input has no batch dimension. An array of exactly its shape is then the same sample each time.
    pub is_shared: bool,
    /// The preprocessing from stored samples to the input.
    pub preprocess: Plan,
    /// The range of the random numbers for this input, after the preprocessing; `None` if the range is not known.
    pub range: Option<[f64; 2]>,
}
