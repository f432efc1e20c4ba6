//! Gives the same elements another shape.

use super::prelude::*;
use crate::shape::element_count;

op! {
    /// Gives the elements another shape, in the same row-major order. A second operand (i64, one number for each axis)
    /// can give the shape at run time. The attribute `shape` then has the extents that are already known.
    Reshape = "reshape" v 1: Rearranges, 1 to 2 {
        /// The extents. 0 copies the operand's extent at that position. One extent may be −1, and is computed from the
        /// others. If there is a second operand, each −1 stands for an unknown extent.
        shape: SmallVec<[i64; 4]>,
    }
}

impl OpFacts for Reshape {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let error = |text: &str| {
            Reason::new(
                ReasonCode::Reshape,
                format!("{text}: from {:?} to {:?}", x.shape, self.shape),
            )
        };
        let is_late = support::late_list(operands, 1, self.shape.len())?;
        let mut shape = Shape::new();
        let mut unknown = None;
        for (position, &extent) in self.shape.iter().enumerate() {
            shape.push(match extent {
                -1 if is_late => Dim::OPEN,
                -1 if unknown.is_none() => {
                    unknown = Some(position);
                    Dim::Fixed(1)
                }
                0 => *x
                    .shape
                    .get(position)
                    .ok_or_else(|| error("a 0 copies an axis that is not there"))?,
                _ => Dim::Fixed(u64::try_from(extent).map_err(|_| error("an extent is negative"))?),
            });
        }
        // A named extent cancels if both shapes have it.
        let (mut from, mut to): (Shape, Shape) = (x.shape.clone(), shape.clone());
        to.retain(|d| {
            let symbolic = d.fixed().is_none();
            let position = from.iter().position(|f| symbolic && f == d);
            position.map(|p| from.remove(p)).is_none()
        });
        let alone = |dims: &Shape| dims.iter().all(|dim| *dim == Dim::Fixed(1) || dim.fixed().is_none());
        let (Some(count_from), Some(count_to)) = (element_count(&from), element_count(&to)) else {
            if from.iter().chain(&to).all(|dim| dim.fixed().is_some()) {
                return Err(error("the elements are too many to be counted"));
            }
            // If exactly one named extent is left, it takes the place of the −1. Otherwise this extent is only known at
            // run time.
            if let Some(position) = unknown {
                let mut names = from.iter().filter(|dim| dim.fixed().is_none());
                shape[position] = match (names.next(), names.next()) {
                    (Some(&name), None) if alone(&from) && alone(&to) => name,
                    _ => Dim::OPEN,
                };
            }
            return support::one(x.elem, shape);
        };
        match unknown {
            Some(position) if count_to != 0 && count_from % count_to == 0 => {
                shape[position] = Dim::Fixed(count_from / count_to);
            }
            None if count_from == count_to => {}
            _ => return Err(error("the numbers of elements differ")),
        }
        support::one(x.elem, shape)
    }
}
