//! Constants that rules compute. They are computed in f64 and rounded to f32 once, even if several rules change them
//! one after the other.
//!
//! While rules run, a module stores the numbers of such a constant before rounding
//! ([`strait_core::Module::unrounded`]). So a chain of affine maps gives the same weights and biases in whatever order
//! its parts are folded, up to the rounding of f64.

use crate::matching::{GraphNode, tensor};
use std::borrow::Cow;
use strait_core::{PassError, Patch, Source, TensorData, ValueId};

impl<'a> GraphNode<'a> {
    /// The numbers of an f32 constant. If a rule has made the constant, these are the numbers before rounding.
    pub(crate) fn exact(&self, value: ValueId) -> Option<(&'a TensorData, Cow<'a, [f64]>)> {
        let (id, _) = self.constant(value)?;
        let (tensor, values) = self.floats(value)?;
        let numbers = match self.module.unrounded(id) {
            Some(numbers) => Cow::Borrowed(numbers),
            None => values.iter().map(|&value| f64::from(value)).collect(),
        };
        Some((tensor, numbers))
    }

    /// One number for each channel, from a constant whose elements lie along the last axis: `[N]`, `[1, N]`, and so on.
    pub(crate) fn per_last_axis(&self, value: ValueId, channels: usize) -> Option<Cow<'a, [f64]>> {
        let (tensor, numbers) = self.exact(value)?;
        (numbers.len() == channels && tensor.shape().last() == Some(&(channels as u64))).then_some(numbers)
    }
}

/// Adds a constant to a patch. `None` if a number is not finite after it was rounded to f32.
pub(crate) fn rounded(
    patch: &mut Patch,
    name: &str,
    shape: &[u64],
    numbers: Vec<f64>,
) -> Result<Option<Source>, PassError> {
    let values: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
    if !values.iter().all(|value| value.is_finite()) {
        return Ok(None);
    }
    let position = patch.data.len() as u16;
    patch.data.push((name.to_owned(), tensor(shape, &values)?));
    if values
        .iter()
        .zip(&numbers)
        .any(|(&value, &number)| f64::from(value) != number)
    {
        patch.unrounded.push((position, numbers));
    }
    Ok(Some(Source::Data(position)))
}
