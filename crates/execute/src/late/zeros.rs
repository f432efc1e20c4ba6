//! Tensors that a run makes outside of the arena.

use crate::prelude::*;
use crate::tensor::Tensor;

/// The largest size of a tensor outside of the arena, in bytes: 1 GiB.
pub(super) const LARGEST: usize = 1 << 30;

/// Makes a tensor of zeros, if a tensor of its size is allowed at run time.
pub(crate) fn zeros(elem: Elem, shape: &[usize]) -> Result<Tensor, StepError> {
    let bytes = crate::tensor::byte_count(elem, shape);
    match bytes.filter(|&bytes| bytes <= LARGEST) {
        Some(_) => Ok(Tensor::zeros(elem, shape)?),
        None => Err(StepError::Model(format!(
            "a result of {elem} {shape:?} is more than a run may make"
        ))),
    }
}
