//! Tensors that are made outside of the arena during a run.

use crate::prelude::*;
use crate::tensor::Tensor;

/// The largest size of a tensor outside of the arena, in bytes: 1 GiB.
pub(super) const LARGEST: usize = 1 << 30;

/// Makes a tensor of zeros. Fails if the tensor is too large.
pub(crate) fn zeros(elem: Elem, shape: &[usize]) -> Result<Tensor, StepError> {
    let bytes = crate::tensor::byte_count(elem, shape);
    match bytes.filter(|&bytes| bytes <= LARGEST) {
        Some(_) => Ok(Tensor::zeros(elem, shape)?),
        None => Err(StepError::Model(format!(
            "a result of {elem} {shape:?} is more than a run may make"
        ))),
    }
}
