//! Scatter ops: write or combine updates into a tensor.

use super::{by_number, slices};
use crate::layout::{axis, by_width};
use crate::prelude::*;
use crate::tensor::Dims;
use bytemuck::Pod;
use strait_core::op::{Combination, ScatterBy};

/// The elements to which the updates are written.
struct Places {
    dims: Dims,
    indices: Dims,
    by: ScatterBy,
    axis: usize,
}

impl Executable for op::Scatter {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, indices) = (site.input(0)?, site.input(1)?);
        let places = || -> Result<Places, StepError> {
            Ok(Places {
                dims: x.dims.clone(),
                indices: indices.dims.clone(),
                by: self.by,
                axis: match self.by {
                    ScatterBy::Element => axis(self.axis, x.dims.len())?,
                    ScatterBy::Slice => 0,
                },
            })
        };
        if self.combine == Combination::Replace {
            return by_width!(x.elem, T => step(places()?, |_: T, new| new));
        }
        by_number!(site, x.elem, T => match self.combine {
            Combination::Replace => step(places()?, |_: T, new| new),
            Combination::Add => step(places()?, Number::plus as fn(T, T) -> T),
            Combination::Multiply => step(places()?, Number::times as fn(T, T) -> T),
            Combination::Maximum => step(places()?, |old: T, new| larger(old, new)),
            Combination::Minimum => step(places()?, |old: T, new| smaller(old, new)),
        })
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        Scratch::run(times(x.shape.len() as u64, 4 * WORD))
    }
}

/// Arithmetic on one type of numbers. Integers wrap around.
pub(super) trait Number: Pod + PartialOrd + Send + Sync {
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! number {
    ($t:ty, $one:expr, $plus:expr, $times:expr) => {
        impl Number for $t {
            const ONE: $t = $one;
            fn plus(self, other: $t) -> $t {
                $plus(self, other)
            }
            fn times(self, other: $t) -> $t {
                $times(self, other)
            }
        }
    };
}
number!(f32, 1.0, |a, b| a + b, |a, b| a * b);
number!(f64, 1.0, |a, b| a + b, |a, b| a * b);
number!(i64, 1, i64::wrapping_add, i64::wrapping_mul);

/// Returns the larger number, or NaN if one of the numbers is NaN.
fn larger<T: PartialOrd>(old: T, new: T) -> T {
    if super::order(&new, &old).is_gt() { new } else { old }
}

/// Returns the smaller number, or NaN if one of the numbers is NaN.
#[allow(clippy::eq_op, reason = "the one test for NaN that all numbers have")]
fn smaller<T: PartialOrd>(old: T, new: T) -> T {
    let replaces = new < old || new != new;
    if old == old && replaces { new } else { old }
}

/// Scatters updates. `combine` computes each new element from the existing element and the update.
fn step<T: Pod + Send + Sync>(
    places: Places,
    combine: impl Fn(T, T) -> T + Send + Sync + 'static,
) -> Result<Box<dyn Step>, StepError> {
    Ok(reading(3, move |io| {
        let (x, indices, updates) = (io.input::<T>(0)?, io.input::<i64>(1)?, io.input::<T>(2)?);
        let out = io.output::<T>()?;
        out.copy_from_slice(x);
        let Places {
            dims,
            indices: extents,
            by,
            axis,
        } = &places;
        let mut put = |place: usize, updates: &[T]| {
            let there = &mut out[place..place + updates.len()];
            there
                .iter_mut()
                .zip(updates)
                .for_each(|(old, &new)| *old = combine(*old, new));
        };
        if *by == ScatterBy::Element {
            for (place, update) in super::places(dims, extents, *axis, indices).zip(updates.chunks_exact(1)) {
                put(place?, update);
            }
            return Ok(());
        }
        let named = extents.last().copied().unwrap_or(0);
        let slice: usize = dims[named..].iter().product();
        if named == 0 {
            updates.chunks_exact(slice.max(1)).for_each(|updates| put(0, updates));
            return Ok(());
        }
        for (place, updates) in slices(&dims[..named], slice, indices).zip(updates.chunks_exact(slice.max(1))) {
            put(place?, updates);
        }
        Ok(())
    }))
}
