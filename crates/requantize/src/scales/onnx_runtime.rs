//! The rules by which ONNX Runtime derives factors, for models in the QOperator format on the CPU. They were measured
//! with version 1.31.1.

use super::{ScaleError, checked, positive, positive_all};
use crate::{IntType, Per, Requantization, form, mixed::QLinearAdd};

/// QLinearConv: `(input * weight) / output` in `f32`, in this order.
pub fn convolution(
    input: f32,
    weights: &Per<f32>,
    output: f32,
    zp: i32,
    out: IntType,
) -> Result<Requantization, ScaleError> {
    checked(form::Float {
        scale: convolution_factor(input, weights, output)?,
        zp,
        out,
    })
}

/// The factor of a convolution.
pub fn convolution_factor(input: f32, weights: &Per<f32>, output: f32) -> Result<Per<f32>, ScaleError> {
    positive("input scale", input.into())?;
    positive("output scale", output.into())?;
    weights.try_map(|w| {
        positive("weight scale", f64::from(*w))?;
        Ok(input * *w / output)
    })
}

/// QLinearGlobalAveragePool: requantizes the sum of `count` elements.
pub fn mean(input: f32, count: &Per<u32>, output: f32, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    let scale = mean_factor(input, count, output)?;
    checked(form::Float { scale, zp, out })
}

/// The factor of QLinearGlobalAveragePool, which requantizes the sum of `count` elements: `input / (output * count)` in
/// `f32`.
pub fn mean_factor(input: f32, count: &Per<u32>, output: f32) -> Result<Per<f32>, ScaleError> {
    positive("input scale", input.into())?;
    positive("output scale", output.into())?;
    Ok(count.map(|&count| input / (output * count as f32)))
}

/// QLinearMul: the operands' integers are multiplied after their zero points were subtracted, and the product is
/// requantized. With the operands' scales a and b, the factor is `(a * b) / output` in `f32`. The zero point is added
/// inside the rounding.
pub fn multiplication(a: f32, b: f32, output: f32, zp: i32, out: IntType) -> Result<Requantization, ScaleError> {
    positive_all(a, b, output)?;
    checked(form::FloatZeroInside {
        scale: Per::Tensor(a * b / output),
        zp,
        out,
    })
}

/// QLinearAdd: the operands have the scales a and b and the zero points za and zb. Their factors are `ra = a / output`
/// and `rb = b / output`, and the offset is `k = zp - fma(ra, za, rb * zb)`, all in `f32`.
pub fn addition(
    (a, a_zero): (f32, i32),
    (b, b_zero): (f32, i32),
    (output, output_zero): (f32, i32),
    out: IntType,
) -> Result<QLinearAdd, ScaleError> {
    positive_all(a, b, output)?;
    let (a, b) = (a / output, b / output);
    let form = QLinearAdd {
        a,
        b,
        offset: output_zero as f32 - a.mul_add(a_zero as f32, b * b_zero as f32),
        out,
    };
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
        // A multiplication has yet another scale, and adds its zero point inside the rounding.
        let Ok(Requantization::FloatZeroInside(form::FloatZeroInside { scale, .. })) =
            multiplication(x, w, y, 3, IntType::U8)
        else {
            panic!()
        };
        assert_eq!(scale, Per::Tensor(x * w / y));
        // The factor underflows to zero.
        assert!(convolution(1e-30, &1e-30.into(), 1.0, 0, IntType::U8).is_err());
    }

    #[test]
    fn a_sum_of_real_zeros_is_the_zero_point() {
        let add = addition((0.1, 7), (0.37, 250), (0.3, 13), IntType::U8).unwrap();
        assert_eq!(add.eval(7, 250), 13);
        // 0.1 * 100 / 0.3 = 33.3
        assert_eq!(add.eval(107, 250), 46);
        assert!(addition((0.0, 0), (1.0, 0), (1.0, 0), IntType::U8).is_err());
    }
}
