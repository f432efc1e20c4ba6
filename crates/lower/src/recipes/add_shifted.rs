//! `add_shifted`: adds the accumulators a and b of two nodes (convolutions or Gemms). Each accumulator first loses its
//! lowest N bits and is saturated to 16 bits. The sum of both is saturated to 16 bits too.
//!
//! t = sat16(sat16(floor(a / 2^N)) + sat16(floor(b / 2^N))) on the grid s·2^N, where s is the scale of both
//! accumulators. Then y = requantize(t). Annotation has given both accumulators the same grid, and N is part of the
//! operands' configs.

use super::NodeToLower;
use super::narrow::{Product, Wide, centring, narrow};
use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::{Add, Clamp, Requantize};
use strait_core::{Channels, Failure, Reason, ReasonCode};
use strait_requantize::{IntType, Per};
use strait_target::spec::Arithmetic;

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let missing = || {
        Reason::new(
            ReasonCode::NoGrid,
            "it does not add two products that nothing else reads",
        )
    };
    let (first, second) = (lowering.sum(site.input(0)?), lowering.sum(site.input(1)?));
    let (first, second) = first.zip(second).ok_or_else(missing)?;
    let bits = lowering.bits_off(site, 0).ok_or_else(missing)?;
    let sums = lowering.grid_of(first.acc).ok_or_else(missing)?;
    if lowering.grid_of(second.acc).as_ref() != Some(&sums) || lowering.bits_off(site, 1) != Some(bits) {
        return Err(Failure::defect("the sums that it adds are on two grids"));
    }
    let rows = site.row.inputs.iter().filter_map(|name| lowering.spec.form.get(name));
    let mut rows = rows.filter(|row| matches!(row.kind, Arithmetic::DequantS16(_)));
    let row = rows
        .next()
        .ok_or_else(|| Failure::defect("its row has no shift to 16 bits"))?;
    let form = row.build_shift(Per::Tensor(bits), IntType::I16)?;
    let grid = Some(Arc::new(sums.shifted(bits).ok_or_else(missing)?));
    let axis = match first.channels {
        Channels::Axis(axis) => axis as u32,
        Channels::Picked(_) => return Err(missing().into()),
    };
    let mut terms = [first.acc, second.acc];
    for term in &mut terms {
        let narrowed = Requantize {
            form: form.clone(),
            axis,
        };
        *term = lowering.emit(site.node, narrowed, &[*term], grid.clone(), "short")?;
        *term = lowering.shift_left(site.node, centring(0), *term, grid.clone(), "wide")?;
    }
    let total = lowering.emit(site.node, Add {}, &terms, grid.clone(), "accumulate")?;
    let saturated = Clamp {
        min: i16::MIN.into(),
        max: i16::MAX.into(),
    };
    let acc = lowering.emit(site.node, saturated, &[total], grid, "saturate")?;
    // The scale is multiplied by a power of two, which is exact.
    let step = f32::from(bits).exp2();
    let product = match first.product {
        Product::Convolution(x, weights) => Product::Convolution(x, weights.map(|w| w * step)),
        Product::FullyConnected(x, weights) => Product::FullyConnected(x, weights.map(|w| w * step)),
        _ => return Err(Failure::defect("its operands are no sums of weights' products")),
    };
    narrow(lowering, site, Wide { acc, product, ..first })
}
