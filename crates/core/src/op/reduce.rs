//! Reductions over axes.

use super::prelude::*;

words! {
    /// The function that [`Reduce`] computes.
    Reduction {
        /// The arithmetic mean; floats only.
        Mean = "mean",
        /// The sum of the elements.
        Sum = "sum",
        /// The largest element.
        Max = "max",
        /// The smallest element.
        Min = "min",
        /// The product; not on codes.
        Product = "product",
    }
}

op! {
    /// A reduction over `axes`. An empty list means all axes.
    Reduce = "reduce" v 2: 1 {
        /// Which function to compute.
        reduction: Reduction,
        /// The axes; negative ones count from the end.
        axes: SmallVec<[i64; 4]>,
        /// True to keep reduced axes, with extent 1.
        keep_dims: bool,
        /// The integer type of the accumulator for sums of codes. The default is i32. For anything but a sum of codes,
        /// this field has no effect and is i32.
        accumulator: Carrier,
    }
}

impl OpFacts for Reduce {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let reduced = self.reduced(x.shape.len())?;
        let mut shape = Shape::new();
        for (axis, &dim) in x.shape.iter().enumerate() {
            match (reduced.contains(&axis), self.keep_dims) {
                (false, _) => shape.push(dim),
                (true, true) => shape.push(Dim::Fixed(1)),
                (true, false) => {}
            }
        }
        let elem = match self.reduction {
            Reduction::Sum => support::accumulator(x.elem, self.accumulator)?,
            Reduction::Mean | Reduction::Max | Reduction::Min | Reduction::Product => {
                support::ensure(self.accumulator == Carrier::I32, ReasonCode::ElementTypes, || {
                    format!("the {} of elements has no accumulator", self.reduction.name())
                })?;
                x.elem
            }
        };
        support::one(elem, shape)
    }
}

impl Reduce {
    /// Returns the reduced axes as ascending positions. An empty list of `axes` means all axes.
    pub fn reduced(&self, rank: usize) -> Result<SmallVec<[usize; 4]>, Reason> {
        match self.axes.is_empty() {
            true => Ok((0..rank).collect()),
            false => support::ascending_axes(&self.axes, rank),
        }
    }
}
