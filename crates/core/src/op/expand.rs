//! Repeat along axes.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::{Dim, Shape};
use smallvec::SmallVec;

op! {
    /// The operand, repeated along axes of extent 1 and along new ones in front, until it has `shape`. An extent of 1 in
    /// `shape` leaves the operand's axis as it is. A second operand (i64, one for each axis) says the shape at run time; the
    /// attribute then has what is known of it.
    Expand = "expand" v 1 {
        /// Extents, outermost first. Beside a second operand −1 is an extent that is not known.
        shape: SmallVec<[i64; 8]>,
    }
}

impl Infer for Expand {
    const ARITY: (usize, usize) = (1, 2);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let is_late = support::late_list(operands, 1, self.shape.len())?;
        let extent = |&extent: &i64| match extent {
            -1 if is_late => Some(Dim::OPEN),
            _ => u64::try_from(extent).map(Dim::Fixed).ok(),
        };
        let shape: Option<Shape> = self.shape.iter().map(extent).collect();
        let shape = shape.ok_or_else(|| {
            Reason::new(
                ReasonCode::Reshape,
                format!("the shape {:?} has a negative extent", self.shape),
            )
        })?;
        support::one(x.elem, support::broadcast(&x.shape, &shape)?)
    }
}
