//! ONNX Runtime's rules (CPU, QOperator), measured with 1.31.1.

use super::{ScaleError, positive};
use crate::{IntType, Per, Requantization, form};

/// QLinearConv: `(input * weight) / output` in `f32`, in this order.
pub fn convolution(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    zp: i32,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    positive("input scale", input.into())?;
    positive("output scale", output.into())?;
    let factor = |w: &f32| {
        positive("weight scale", f64::from(*w))?;
        Ok::<_, ScaleError>(input * *w / output)
    };
    let form = Requantization::Float(form::Float {
        scale: weights.try_map(factor)?,
        zp,
        out,
    });
    form.check()?;
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_rounded_before_the_quotient() {
        let (x, w, y) = (0.02f32, 0.003f32, 0.07f32);
        let Ok(Requantization::Float(form::Float { scale, .. })) = convolution(x, &w.into(), y, 3, IntType::U8) else {
            panic!()
        };
        assert_eq!(scale, Per::Tensor((x * w) / y));
        assert_ne!(scale, Per::Tensor((x / y) * w));
        // Underflow: no factor is left.
        assert!(convolution(1e-30, &1e-30.into(), 1.0, 0, IntType::U8).is_err());
    }
}
