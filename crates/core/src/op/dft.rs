//! The discrete Fourier transform.

use super::prelude::*;

words! {
    /// Which transform [`Dft`] computes, where L is the length of the transform:
    Transform {
        /// X_k = Σ x_n·e^(−2πi·kn/L).
        Forward = "forward",
        /// As `forward`, but only for k from 0 to L/2. If x is real, the other numbers are the conjugates of these.
        ForwardHalf = "forward_half",
        /// x_n = (1/L)·Σ X_k·e^(2πi·kn/L).
        Inverse = "inverse",
        /// The inverse transform, computed only from X_0 to X_(L/2), where L is the length of the transform. The other
        /// X_k are taken to be the conjugates of these, so x is real.
        InverseHalf = "inverse_half",
    }
}

op! {
    /// The discrete Fourier transform along an axis. The last axis of the operand has one or two numbers: the real part
    /// of a complex number, or its real and its imaginary part. The last axis of the result has both parts, or only the
    /// real part for `inverse_half`.
    ///
    /// If the operand is shorter along the axis than the transform, zeros are added at the end. If the operand is
    /// longer, its end is cut off.
    Dft = "dft" v 1: Real, 1 {
        /// Which transform to compute.
        transform: Transform,
        /// The axis, which must not be the last; a negative one counts from the end.
        axis: i64,
        /// The length of the transform.
        length: u32,
    }
}

impl OpFacts for Dft {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::all_float(operands)?;
        let axis = support::axis(self.axis, x.shape.len())?;
        let last = x.shape.len() - 1;
        let parts = x.shape[last].fixed();
        let real = parts == Some(1);
        let fits = axis < last && (real || parts == Some(2)) && x.shape[axis].fixed().is_some() && self.length > 0;
        let fits = fits && (real || self.transform != Transform::ForwardHalf);
        support::ensure(fits, ReasonCode::Operands, || {
            let (length, name) = (self.length, self.transform.name());
            format!("no transform {name} of length {length} along axis {axis} of {x}")
        })?;
        let mut shape = x.shape.clone();
        let length = u64::from(self.length);
        (shape[axis], shape[last]) = match self.transform {
            Transform::Forward | Transform::Inverse => (Dim::Fixed(length), Dim::Fixed(2)),
            Transform::ForwardHalf => (Dim::Fixed(length / 2 + 1), Dim::Fixed(2)),
            Transform::InverseHalf => (Dim::Fixed(length), Dim::Fixed(1)),
        };
        support::one(x.elem, shape)
    }
}
