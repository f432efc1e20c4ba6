//! The positions of elements that are not zero.

use crate::prelude::*;
use crate::tensor::{Tensor, TensorView};

/// Runs [`strait_core::op::NonZero`]. The result has a row for each axis, and a column for each element that is not
/// zero.
pub(super) fn run(x: TensorView<'_>) -> Result<Vec<Tensor>, StepError> {
    let found: Vec<usize> = match x.elem() {
        Elem::F32 => at(x.values::<f32>()?, |&v| v != 0.0),
        Elem::F64 => at(x.values::<f64>()?, |&v| v != 0.0),
        // In all other types, an element is zero if all of its bits are 0.
        elem => {
            let elements: Vec<&[u8]> = x.bytes().chunks_exact(elem.size()).collect();
            at(&elements, |bytes| bytes.iter().any(|&byte| byte != 0))
        }
    };
    let mut positions = vec![0i64; found.len() * x.shape().len()];
    let mut behind = 1;
    for (axis, &extent) in x.shape().iter().enumerate().rev() {
        let row = &mut positions[axis * found.len()..(axis + 1) * found.len()];
        for (position, &index) in row.iter_mut().zip(&found) {
            *position = (index / behind % extent) as i64;
        }
        behind *= extent.max(1);
    }
    Ok(vec![Tensor::from_values(&[x.shape().len(), found.len()], &positions)?])
}

fn at<T>(values: &[T], is_set: impl Fn(&T) -> bool) -> Vec<usize> {
    let all = values.iter().enumerate();
    all.filter(|(_, value)| is_set(value)).map(|(index, _)| index).collect()
}
