//! The distinct elements of a tensor.

use crate::prelude::*;
use crate::tensor::{Tensor, TensorView};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use strait_core::op::Unique;
use strait_core::tensor::Element;

/// Runs [`strait_core::op::Unique`].
pub(super) fn run(op: &Unique, x: TensorView<'_>) -> Result<Vec<Tensor>, StepError> {
    match x.elem() {
        Elem::F32 => of::<f32>(op, x, |a, b| a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b))),
        Elem::F64 => of::<f64>(op, x, |a, b| a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b))),
        Elem::I64 => of::<i64>(op, x, i64::cmp),
        other => Err(StepError::Unsupported(format!("each {other} once"))),
    }
}

/// A slice, ordered by its elements.
struct Key<'s, T> {
    elements: Vec<T>,
    compare: &'s fn(&T, &T) -> Ordering,
}

impl<T> Ord for Key<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.elements.iter().zip(&other.elements);
        let mut compared = pairs.map(|(a, b)| (self.compare)(a, b));
        compared.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}
impl<T> PartialOrd for Key<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> PartialEq for Key<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<T> Eq for Key<'_, T> {}

fn of<T: Element>(op: &Unique, x: TensorView<'_>, compare: fn(&T, &T) -> Ordering) -> Result<Vec<Tensor>, StepError> {
    let rank = x.shape().len() as i64;
    let axis = usize::try_from(if op.axis < 0 { op.axis + rank } else { op.axis }).unwrap_or(0);
    let (front, behind) = x.shape().split_at(axis.min(x.shape().len()));
    let Some((&extent, behind)) = behind.split_first() else {
        return Err(StepError::Model(format!("axis {} is not there", op.axis)));
    };
    let (front, behind): (usize, usize) = (front.iter().product(), behind.iter().product());
    let values = x.values::<T>()?;
    let element = |slice: usize, outer: usize, inner: usize| values[(outer * extent + slice) * behind + inner];
    let mut seen: BTreeMap<Key<'_, T>, usize> = BTreeMap::new();
    let (mut firsts, mut counts): (Vec<usize>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut inverse: Vec<usize> = Vec::with_capacity(extent);
    for slice in 0..extent {
        let elements = (0..front).flat_map(|outer| (0..behind).map(move |inner| element(slice, outer, inner)));
        let key = Key {
            elements: elements.collect(),
            compare: &compare,
        };
        let group = *seen.entry(key).or_insert_with(|| {
            firsts.push(slice);
            counts.push(0);
            firsts.len() - 1
        });
        counts[group] += 1;
        inverse.push(group);
    }
    // The groups of equal slices, in the order of the result.
    let order: Vec<usize> = match op.sorted {
        true => seen.into_values().collect(),
        false => (0..firsts.len()).collect(),
    };
    let mut places = vec![0i64; order.len()];
    for (place, &group) in order.iter().enumerate() {
        places[group] = place as i64;
    }
    let mut shape = x.shape().to_vec();
    shape[axis] = order.len();
    let made: Vec<T> = (0..front)
        .flat_map(|outer| order.iter().map(move |&group| (outer, group)))
        .flat_map(|(outer, group)| {
            let first = firsts[group];
            (0..behind).map(move |inner| element(first, outer, inner))
        })
        .collect();
    let list = |values: Vec<i64>| Tensor::from_values(&[values.len()], &values);
    Ok(vec![
        Tensor::from_values(&shape, &made)?,
        list(order.iter().map(|&group| firsts[group] as i64).collect())?,
        list(inverse.into_iter().map(|group| places[group]).collect())?,
        list(order.iter().map(|&group| counts[group]).collect())?,
    ])
}
