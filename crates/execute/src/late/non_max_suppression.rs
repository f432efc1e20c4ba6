//! Non-maximum suppression: keeps the boxes with the best scores, except boxes that overlap a better box.

use crate::prelude::*;
use crate::tensor::{Tensor, TensorView};
use strait_core::op::NonMaxSuppression;
use strait_core::tensor::Element;

/// Runs [`NonMaxSuppression`] with arithmetic in f32, as ONNX Runtime's kernel does.
pub(super) fn run(op: &NonMaxSuppression, operands: &[Option<TensorView<'_>>]) -> Result<Vec<Tensor>, StepError> {
    let operand = |index: usize| operands.get(index).copied().flatten();
    let (Some(boxes), Some(scores)) = (operand(0), operand(1)) else {
        return Err(StepError::Model("boxes or scores are absent".into()));
    };
    let (&[batches, count, 4], &[of, classes, scored]) = (boxes.shape(), scores.shape()) else {
        return Err(StepError::Model(format!("boxes {boxes:?} with scores {scores:?}")));
    };
    if (batches, count) != (of, scored) {
        return Err(StepError::Model(format!("boxes {boxes:?} with scores {scores:?}")));
    }
    let most = usize::try_from(single::<i64>(operand(2))?.unwrap_or(0)).unwrap_or(0);
    let share = single::<f32>(operand(3))?.unwrap_or(0.0);
    let least = single::<f32>(operand(4))?;
    let corners: Vec<[f32; 4]> = boxes.values::<f32>()?.chunks_exact(4).map(|b| corners(op, b)).collect();
    let scores = scores.values::<f32>()?;
    let mut rows: Vec<i64> = Vec::new();
    for batch in 0..batches {
        let corners = &corners[batch * count..(batch + 1) * count];
        for class in 0..classes {
            let scores = &scores[(batch * classes + class) * count..][..count];
            let mut order: Vec<usize> = (0..count)
                .filter(|&index| least.is_none_or(|least| scores[index] > least))
                .collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            let mut chosen: Vec<usize> = Vec::new();
            for index in order {
                if chosen.len() >= most {
                    break;
                }
                if !chosen
                    .iter()
                    .any(|&other| overlap(corners[index], corners[other]) > share)
                {
                    chosen.push(index);
                    rows.extend([batch as i64, class as i64, index as i64]);
                }
            }
        }
    }
    Ok(vec![Tensor::from_values(&[rows.len() / 3, 3], &rows)?])
}

fn single<T: Element>(operand: Option<TensorView<'_>>) -> Result<Option<T>, StepError> {
    match operand {
        Some(tensor) => Ok(tensor.values::<T>()?.first().copied()),
        None => Ok(None),
    }
}

/// Returns the smallest y, the largest y, the smallest x and the largest x of a box.
fn corners(op: &NonMaxSuppression, b: &[f32]) -> [f32; 4] {
    match op.centers {
        true => {
            let [half_width, half_height] = [b[2] / 2.0, b[3] / 2.0];
            [
                b[1] - half_height,
                b[1] + half_height,
                b[0] - half_width,
                b[0] + half_width,
            ]
        }
        false => [b[0].min(b[2]), b[0].max(b[2]), b[1].min(b[3]), b[1].max(b[3])],
    }
}

/// Returns the intersection over union of two boxes; 0 if one of them has no area.
fn overlap(a: [f32; 4], b: [f32; 4]) -> f32 {
    let shared = [a[1].min(b[1]) - a[0].max(b[0]), a[3].min(b[3]) - a[2].max(b[2])];
    if shared[0] <= 0.0 || shared[1] <= 0.0 {
        return 0.0;
    }
    let area = |c: [f32; 4]| (c[1] - c[0]) * (c[3] - c[2]);
    let shared = shared[0] * shared[1];
    let (first, second) = (area(a), area(b));
    let all = first + second - shared;
    match first > 0.0 && second > 0.0 && all > 0.0 && shared > 0.0 {
        true => shared / all,
        false => 0.0,
    }
}
