//! Rounds floats to the values of a grid without making codes. The result is the same as after `quantize` and
//! `dequantize`, because the quotient of number and scale is rounded to f32 in both cases. If the values of the grid
//! are floats (`FloatFormat`), the quotient is exact.

use crate::prelude::*;
use std::ops::RangeInclusive;
use strait_core::{FloatFormat, Parts, Policy, QuantParams};
use strait_requantize::Rounding;
use strait_requantize::quantize::{dequantize, quantize};
use strait_requantize::scales::of_range;

enum How {
    Codes(RangeInclusive<i32>),
    Floats(FloatFormat),
}

struct RoundTo {
    how: How,
    rounding: Rounding,
    parts: Parts,
    /// The grid of each part of the operand; `None` if each run computes the grids.
    grids: Option<Vec<(f32, i32)>>,
    symmetric: bool,
    powers: bool,
}

impl Executable for op::RoundTo {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (out, policy) = (site.output()?, self.scheme.policy());
        let dims: Vec<usize> = out.dims.to_vec();
        let parts = |parts: Option<Parts>| {
            parts.ok_or_else(|| StepError::Model("the result has not the axis or the blocks of its grid".into()))
        };
        let dynamic = matches!(policy, Policy::Linear { dynamic: true, .. });
        let (parts, grids) = if dynamic {
            (parts(policy.per().parts(&dims))?, None)
        } else {
            let one = QuantParams::tensor(1.0, 0);
            let grid = out.quant.map_or(&one, |grid| grid);
            let parts = parts(Parts::of_grid(grid, &dims))?;
            let part = |part: usize| Some((*grid.scale.get(part)?, *grid.zero_point.get(part)?));
            let grids: Option<Vec<_>> = (0..parts.count()).map(part).collect();
            let grids = grids.filter(|_| grid.has_legal_scales());
            let grids =
                grids.ok_or_else(|| StepError::Model("a part of the grid has no positive, finite scale".into()))?;
            (parts, Some(grids))
        };
        let how = match (policy, self.scheme.range()) {
            (Policy::Floating { format, .. }, _) => How::Floats(format),
            (Policy::Linear { .. }, Some(ends)) => match ends.map(i32::try_from) {
                [Ok(first), Ok(last)] => How::Codes(first..=last),
                _ => return Err(StepError::Unsupported("rounding to codes of 64 bits".into())),
            },
            (Policy::Linear { .. }, None) => return Err(StepError::Ours("a linear policy has no codes".into())),
        };
        Ok(Box::new(RoundTo {
            how,
            rounding: self.scheme.rounding(),
            parts,
            grids,
            symmetric: policy.is_symmetric(),
            powers: policy.has_powers_of_two(),
        }))
    }
}

impl RoundTo {
    /// Computes a grid for each part of `x` from the values of this run. The grid of a part is `None` if no grid can
    /// cover its values.
    fn observed(&self, x: &[f32], codes: &RangeInclusive<i32>) -> Vec<Option<(f32, i32)>> {
        let mut ranges = vec![[0f32; 2]; self.parts.count()];
        for (index, &x) in x.iter().enumerate() {
            if let Some([low, high]) = ranges.get_mut(self.parts.of(index)) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
        let ends = [*codes.start(), *codes.end()].map(f64::from);
        let grid = |range| of_range(range, ends, self.symmetric, self.powers);
        ranges.into_iter().map(grid).collect()
    }
}

impl Step for RoundTo {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let grids: Vec<Option<(f32, i32)>> = match (&self.grids, &self.how) {
            (Some(grids), _) => grids.iter().copied().map(Some).collect(),
            (None, How::Codes(codes)) => self.observed(x, codes),
            (None, How::Floats(_)) => return Err(StepError::Ours("a small float has no range of each run".into())),
        };
        for (index, (y, &x)) in io.output::<f32>()?.iter_mut().zip(x).enumerate() {
            *y = match (grids.get(self.parts.of(index)).copied().flatten(), &self.how) {
                (None, _) => x,
                (Some((scale, zero)), How::Codes(codes)) => {
                    dequantize(quantize(x, scale, zero, self.rounding, codes), scale, zero)
                }
                (Some((scale, _)), How::Floats(format)) => format.round(x, scale, self.rounding),
            };
        }
        Ok(())
    }
}
