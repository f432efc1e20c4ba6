//! Ranges of equally spaced numbers.

use super::zeros::LARGEST;
use crate::prelude::*;
use crate::tensor::{Tensor, TensorView};

/// Runs [`strait_core::op::Range`]. The operands are start, limit and delta.
pub(super) fn run(operands: [TensorView<'_>; 3]) -> Result<Vec<Tensor>, StepError> {
    match operands[0].elem() {
        Elem::I64 => {
            let [start, limit, delta] = numbers::<i64>(operands)?;
            let distance = i128::from(limit) - i128::from(start);
            let step = i128::from(delta);
            if step == 0 {
                return Err(StepError::Model("a range has a distance of 0".into()));
            }
            // The number of elements is ⌈distance / step⌉.
            let count = (distance + step - step.signum()) / step;
            let count = if (distance < 0) == (step < 0) { count } else { 0 };
            let values: Vec<i64> = (0..checked(count as f64)? as i64)
                .map(|i| start.wrapping_add(i.wrapping_mul(delta)))
                .collect();
            Ok(vec![Tensor::from_values(&[values.len()], &values)?])
        }
        Elem::F64 => {
            let [start, limit, delta] = numbers::<f64>(operands)?;
            let count = checked(((limit - start) / delta).ceil())?;
            let values: Vec<f64> = (0..count).map(|i| start + i as f64 * delta).collect();
            Ok(vec![Tensor::from_values(&[values.len()], &values)?])
        }
        _ => {
            let [start, limit, delta] = numbers::<f32>(operands)?;
            let count = checked(((f64::from(limit) - f64::from(start)) / f64::from(delta)).ceil())?;
            let values: Vec<f32> = (0..count).map(|i| start + i as f32 * delta).collect();
            Ok(vec![Tensor::from_values(&[values.len()], &values)?])
        }
    }
}

fn numbers<T: strait_core::tensor::Element>(operands: [TensorView<'_>; 3]) -> Result<[T; 3], StepError> {
    let mut found = [None; 3];
    for (number, operand) in found.iter_mut().zip(operands) {
        *number = operand.values::<T>()?.first().copied();
    }
    match found {
        [Some(start), Some(limit), Some(delta)] => Ok([start, limit, delta]),
        _ => Err(StepError::Model("a range has no start, limit or distance".into())),
    }
}

/// Checks that a result may have this many elements, and returns the number.
fn checked(count: f64) -> Result<usize, StepError> {
    match count {
        count if count <= 0.0 => Ok(0),
        count if count < (LARGEST / size_of::<f64>()) as f64 => Ok(count as usize),
        count => Err(StepError::Model(format!(
            "a range of {count} numbers is more than a run may make"
        ))),
    }
}
