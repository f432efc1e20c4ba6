//! Convolutions.

use super::Row;
use super::window::{kernel_shape, window};
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::op::Conv;
use strait_core::shape::fixed_dims;
use strait_core::{Carrier, ReasonCode, WeightZero};

pub(super) const ROWS: &[Row] = &[Row::new("Conv", 1, conv)];

fn conv(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let weight = site.ty(1)?.shape;
    let kernel = fixed_dims(weight.get(2..).unwrap_or_default())
        .ok_or_else(|| Refusal::invalid(ReasonCode::ConvWeight, "the weight has a symbolic dimension"))?;
    if kernel_shape(site)?.is_some_and(|declared| declared != kernel.as_slice()) {
        return Err(Refusal::invalid(
            ReasonCode::ConvWeight,
            format!("`kernel_shape` is not that of the weight, {kernel:?}"),
        ));
    }
    let window = window(site, &kernel)?;
    let groups = site.int("group")?.unwrap_or(1);
    let op = Conv {
        stride: window.stride,
        pad: window.pad,
        dilation: window.dilation,
        groups: u32::try_from(groups)
            .map_err(|_| Refusal::invalid(ReasonCode::ConvChannels, format!("`group` is {groups}")))?,
        pad_value: 0,
        accumulator: Carrier::I32,
        weight_zero: WeightZero::default(),
    };
    site.finish(op, &[Arg::Operand(0), Arg::Operand(1), Arg::Operand(2)])
}
