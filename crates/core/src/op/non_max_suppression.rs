//! Non-maximum suppression, which picks the best boxes that do not overlap.

use super::prelude::*;

op! {
    /// Visits the boxes [batch, boxes, 4] (f32) of each batch and class in the order of their scores [batch, classes,
    /// boxes] (f32), the highest score first. A box is kept unless its intersection over union with a box that was kept
    /// earlier exceeds a threshold. If scores are equal, the box with the lower index comes first. The result has a row
    /// (batch, class, box; i64) for each box that is kept.
    ///
    /// The further operands are optional and have one element each: the largest number of boxes per batch and class
    /// (i64; 0 if absent), the threshold of the intersection over union (f32; 0 if absent), and a score that boxes have
    /// to exceed (f32; if absent, any score is enough).
    NonMaxSuppression = "non_max_suppression" v 1: Real, 2 to 5 {
        /// True if a box is given as centre x, centre y, width and height. False if it is given as two opposite
        /// corners: y, x, y, x.
        centers: bool,
    }
}

impl OpFacts for NonMaxSuppression {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let (boxes, scores) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let one = |dims: &[Dim]| dims.iter().all(|dim| dim.may_equal(Dim::Fixed(1)));
        let fits = [boxes, scores]
            .iter()
            .all(|ty| ty.elem == Elem::F32 && ty.shape.len() == 3)
            && boxes.shape[0].may_equal(scores.shape[0])
            && boxes.shape[1].may_equal(scores.shape[2])
            && boxes.shape[2].may_equal(Dim::Fixed(4));
        let wanted = [Elem::I64, Elem::F32, Elem::F32];
        let mut limits = operands.iter().skip(2).zip(wanted);
        let limited = limits.all(|(limit, elem)| limit.is_none_or(|ty| ty.elem == elem && one(&ty.shape)));
        support::ensure(fits && limited, ReasonCode::Operands, || {
            format!("boxes {boxes} with scores {scores}, or a limit that is not one number")
        })?;
        support::one(Elem::I64, smallvec![Dim::OPEN, Dim::Fixed(3)])
    }
}
