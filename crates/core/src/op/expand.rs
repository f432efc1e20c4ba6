//! Repeat along axes.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::{Dim, Shape};
use smallvec::SmallVec;

op! {
    /// The operand, repeated along axes of extent 1 and along new ones in front, until it has `shape`. An extent of 1 in
    /// `shape` leaves the operand's axis as it is.
    Expand = "expand" v 1 {
        /// Extents, outermost first.
        shape: SmallVec<[i64; 8]>,
    }
}

impl Infer for Expand {
    const ARITY: (usize, usize) = (1, 1);

    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let extent = |&extent: &i64| u64::try_from(extent).map(Dim::Fixed).ok();
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
