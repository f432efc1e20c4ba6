//! Sums of products, by their definitions.

use super::array::{Array, positions};
use super::elementwise::broadcast;
use crate::batches::Batches;
use crate::error::StepError;
use crate::tensor::Dims;
use strait_core::op;

/// Computes Σ (weight − zero)·x + bias over one to three spatial axes. Elements of the padding are `pad_value`.
pub(super) fn conv(
    op: &op::Conv,
    x: &Array,
    weight: &Array,
    bias: Option<&Array>,
    dims: &[usize],
) -> Result<Vec<i128>, StepError> {
    let groups = (op.groups as usize).max(1);
    let (outputs, channels) = (weight.dims[0] / groups, weight.dims[1]);
    let kernel = &weight.dims[2..];
    let at = |position: &[usize]| {
        let (image, output) = (position[0], position[1]);
        let zero = i128::from(op.weight_zero.of(output));
        let mut sum = bias.map_or(0, |b| i128::from(b.values[output]));
        for channel in 0..channels {
            for tap in positions(kernel) {
                let mut from: Dims = [image, output / outputs.max(1) * channels + channel][..].into();
                let mut of: Dims = [output, channel][..].into();
                of.extend_from_slice(&tap);
                let inside = (0..kernel.len()).all(|axis| {
                    let at = position[axis + 2] * op.stride[axis] as usize + tap[axis] * op.dilation[axis] as usize;
                    let at = at
                        .checked_sub(op.pad[axis] as usize)
                        .filter(|&at| at < x.dims[axis + 2]);
                    from.push(at.unwrap_or(0));
                    at.is_some()
                });
                let value = if inside { x.at(&from) } else { i64::from(op.pad_value) };
                sum += (i128::from(weight.at(&of)) - zero) * i128::from(value);
            }
        }
        sum
    };
    Ok(positions(dims).map(|position| at(&position)).collect())
}

/// Computes Σ a·(b − zero) + bias.
pub(super) fn gemm(
    op: &op::Gemm,
    a: &Array,
    b: &Array,
    bias: Option<&Array>,
    dims: &[usize],
) -> Result<Vec<i128>, StepError> {
    if (op.alpha, op.beta) != (1.0, 1.0) {
        return Err(StepError::Model(
            "an integer product with factors alpha and beta".into(),
        ));
    }
    let columns = dims.last().copied().unwrap_or(1);
    let rows = dims.iter().rev().skip(1).product::<usize>();
    let depth = b.dims[usize::from(op.transpose_b)];
    let mut values = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let zero = i128::from(op.weight_zero.of(column));
            let product = |k: usize| {
                let left = if op.transpose_a {
                    k * rows + row
                } else {
                    row * depth + k
                };
                let right = if op.transpose_b {
                    column * depth + k
                } else {
                    k * columns + column
                };
                i128::from(a.values[left]) * (i128::from(b.values[right]) - zero)
            };
            values.push((0..depth).map(product).sum::<i128>());
        }
    }
    match bias {
        Some(bias) => {
            let sums = positions(dims).zip(values);
            Ok(sums
                .map(|(position, sum)| sum + i128::from(broadcast(bias, &position)))
                .collect())
        }
        None => Ok(values),
    }
}

/// Computes Σ (a − a_zero)·(b − b_zero) for each pair of matrices.
pub(super) fn matmul(op: &op::MatMul, a: &Array, b: &Array) -> Result<Vec<i128>, StepError> {
    let Batches {
        extents: [rows, columns, depth],
        pairs,
    } = Batches::new(&a.dims, &b.dims)?;
    let mut values = Vec::new();
    for [i, j] in pairs {
        for row in 0..rows {
            for column in 0..columns {
                let product = |k: usize| {
                    let left = i128::from(a.values[(i * rows + row) * depth + k]) - i128::from(op.a_zero);
                    let right = i128::from(b.values[(j * depth + k) * columns + column]) - i128::from(op.b_zero);
                    left * right
                };
                values.push((0..depth).map(product).sum());
            }
        }
    }
    Ok(values)
}
