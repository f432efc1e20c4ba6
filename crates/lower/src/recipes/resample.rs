//! `pass_through` for a linear resize, which interpolates between codes. The row gives the number of fraction bits of
//! the weights. The weights of an interpolation add up to one, so the result has the grid of the operand, with the same
//! zero point.

use super::{NodeToLower, pass_through};
use crate::lowering::Lowering;
use strait_core::Failure;
use strait_core::op::{IntegerResize, Resize};
use strait_target::spec::Fraction;

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    resize: &Resize,
    fraction: Fraction,
) -> Result<(), Failure> {
    let dims = lowering.graph().value(site.output()?).and_then(|y| y.ty.dims());
    let sizes = dims.unwrap_or_default().into_iter().map(|extent| extent as i64);
    let made = IntegerResize {
        sizes: sizes.collect(),
        coordinate: resize.coordinate,
        fraction: fraction.bits,
        rounding: fraction.rounding,
    };
    pass_through::lower_as(lowering, site, made.into())
}
