//! Rules for ops that give the same elements another shape, and for ops that repeat or resample them.

use super::Samples;
use crate::free_batch::node_rule::{At, MIXED, Rule, Ruled, UNKNOWN, elementwise};
use smallvec::SmallVec;
use strait_core::Op;
use strait_core::op::{Expand, Reshape, Resize, Squeeze};
use strait_core::shape::axis_of;

/// Finds the axis along which the samples lie after a reshape. The product of the extents before this axis is the same
/// as before the reshape.
fn reshaped(from: &[u64], samples: Samples, to: &[u64]) -> Option<Samples> {
    let before = |extents: &[u64], axis: usize| extents[..axis].iter().product::<u64>();
    let fits = |axis: &usize| *axis < to.len() && before(to, *axis) == before(from, samples.axis);
    let mut axes = std::iter::once(samples.axis).chain(0..to.len());
    let axis = axes.find(fits).filter(|_| !from.contains(&0))?;
    Some(Samples { axis, each: to[axis] })
}

/// Handles a reshape that moves the batch axis past other axes. For one sample, a reshape can do this, because the
/// batch axis has the extent 1. For several samples, a transpose is needed. Returns the permutation of the operand's
/// axes for this transpose, and the axis of the samples in the result. If the reshape changes the order of the other
/// extents, returns `None`.
fn moved(from: &[u64], samples: Samples, to: &[u64]) -> Option<(Vec<u32>, Samples)> {
    let axis = to
        .iter()
        .position(|&extent| extent == 1)
        .filter(|_| samples.each == 1)?;
    let long = |extents: &[u64]| {
        extents
            .iter()
            .copied()
            .filter(|&extent| extent != 1)
            .collect::<Vec<u64>>()
    };
    if long(from) != long(to) {
        return None;
    }
    let in_front = long(&to[..axis]).len();
    let mut others: Vec<usize> = (0..from.len()).filter(|&other| other != samples.axis).collect();
    let place = others
        .iter()
        .enumerate()
        .filter(|&(_, &other)| from[other] != 1)
        .nth(in_front);
    let place = place.map_or(others.len(), |(place, _)| place);
    others.insert(place, samples.axis);
    Some((
        others.iter().map(|&axis| axis as u32).collect(),
        Samples { axis, each: 1 },
    ))
}

/// The rule for Reshape. In the new shape, the extent of the batch becomes 0 or -1. An extent of 0 stands for the
/// operand's extent, and -1 for the extent that follows from the number of elements.
pub(super) fn reshape(at: &At<'_>) -> Ruled<Rule> {
    let samples = at.only(0)?;
    let (from, to) = (At::extents(at.operands[0].ok_or(UNKNOWN)?)?, At::extents(at.result()?)?);
    let mut shape: SmallVec<[i64; 4]> = to.iter().map(|&extent| extent as i64).collect();
    let stays = reshaped(&from, samples, &to);
    if stays.is_none_or(|made| made.each != 1)
        && let Some((turned, made)) = moved(&from, samples, &to)
    {
        shape[made.axis] = -1;
        let mut rule = at.with(Op::from(Reshape { shape }), made)?;
        rule.turned = turned;
        return Ok(rule);
    }
    if at.hides && stays.is_none_or(|made| made.each != 1) && from[..samples.axis].iter().all(|&extent| extent == 1) {
        shape.insert(0, -1);
        let mut rule = at.with(Op::from(Reshape { shape }), Samples { axis: 0, each: 1 })?;
        rule.is_hidden = true;
        return Ok(rule);
    }
    let made = stays.ok_or("the batch is no axis of the result")?;
    shape[made.axis] = if samples == made { 0 } else { -1 };
    at.with(Op::from(Reshape { shape }), made)
}

pub(super) fn flatten(at: &At<'_>) -> Ruled<Rule> {
    let samples = at.only(0)?;
    let (from, to) = (At::extents(at.operands[0].ok_or(UNKNOWN)?)?, At::extents(at.result()?)?);
    at.same(reshaped(&from, samples, &to).ok_or("the batch is no axis of the result")?)
}

pub(super) fn squeeze(at: &At<'_>, axes: &[i64]) -> Ruled<Rule> {
    let samples = at.only(0)?;
    let extents = At::extents(at.operands[0].ok_or(UNKNOWN)?)?;
    let axes: Vec<usize> = match axes.is_empty() {
        true => (0..extents.len()).filter(|&axis| extents[axis] == 1).collect(),
        false => axes.iter().filter_map(|&axis| axis_of(axis, extents.len())).collect(),
    };
    if axes.contains(&samples.axis) {
        return Err("it takes the axis of the batch away".into());
    }
    let axis = samples.axis - axes.iter().filter(|&&axis| axis < samples.axis).count();
    let axes = axes.iter().map(|&axis| axis as i64).collect();
    at.with(Squeeze { axes }.into(), Samples { axis, ..samples })
}

pub(super) fn unsqueeze(at: &At<'_>, axes: &[i64]) -> Ruled<Rule> {
    let (samples, rank) = (at.only(0)?, at.result()?.shape.len());
    let new: Vec<usize> = axes.iter().filter_map(|&axis| axis_of(axis, rank)).collect();
    let mut old = (0..rank).filter(|axis| !new.contains(axis));
    let axis = old.nth(samples.axis).ok_or(UNKNOWN)?;
    at.same(Samples { axis, ..samples })
}

/// The rule for Expand. In the new shape, the extent of the batch becomes 1, which does not change the samples.
pub(super) fn expand(at: &At<'_>, shape: &[i64]) -> Ruled<Rule> {
    let mut rule = elementwise(at)?;
    let samples = rule.results.first().copied().ok_or(UNKNOWN)?;
    let mut shape: SmallVec<[i64; 8]> = shape.into();
    let own = (samples.axis + shape.len()).checked_sub(at.result()?.shape.len());
    if let Some(extent) = own.and_then(|axis| shape.get_mut(axis)) {
        if *extent != 1 && *extent != samples.each as i64 {
            return Err("it repeats the batch".into());
        }
        *extent = 1;
    }
    rule.op = Expand { shape }.into();
    Ok(rule)
}

/// The rule for Resize. If the op states the sizes of the result, these sizes would fix the extent of the batch, and
/// scales would not. So the sizes are replaced by scales, if these scales give the same sizes.
pub(super) fn resize(at: &At<'_>, op: &Resize) -> Ruled<Rule> {
    let samples = at.only(0)?;
    let (from, to) = (At::extents(at.operands[0].ok_or(UNKNOWN)?)?, At::extents(at.result()?)?);
    let scales: Vec<f32> = match op.scales.is_empty() {
        true => from
            .iter()
            .zip(&to)
            .map(|(&from, &to)| to as f32 / from as f32)
            .collect(),
        false => op.scales.clone(),
    };
    // The product of extent and scale is checked in f32, as runtimes compute it, and in f64, where it is exact.
    let follows = |((&from, &to), &scale): ((&u64, &u64), &f32)| {
        let products = [from as f64 * f64::from(scale), f64::from(from as f32 * scale)];
        products.iter().all(|product| product.floor() == to as f64)
    };
    if scales.get(samples.axis) != Some(&1.0) || from[samples.axis] != to[samples.axis] {
        return Err(MIXED.into());
    }
    if !from.iter().zip(&to).zip(&scales).all(follows) {
        return Err("its extents do not follow from scales".into());
    }
    let op = Resize {
        scales,
        sizes: SmallVec::new(),
        ..op.clone()
    };
    at.with(op.into(), samples)
}
