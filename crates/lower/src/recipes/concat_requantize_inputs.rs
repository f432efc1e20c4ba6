//! `concat_requantize_inputs`: operands on other grids than the result's are requantized, then codes are joined.

use super::NodeToLower;
use super::narrow::{Narrow, Product, Wide, requantize};

use crate::lowering::Lowering;
use std::sync::Arc;
use strait_core::op::ShiftLeft;
use strait_core::{Carrier, Channels, Failure, QuantParams};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    let y = site.output()?;
    let (y_scale, y_zero) = walk.grid(y)?;
    let grid = Some(Arc::new(QuantParams::tensor(y_scale, y_zero)));
    let out = walk.spec.types.activation_type();
    let mut operands = Vec::with_capacity(site.node.inputs.len());
    for index in 0..site.node.inputs.len() {
        let value = site.input(index)?;
        let (scale, zero) = walk.grid(value)?;
        let codes = walk.codes(value)?;
        if (scale, zero) == (y_scale, y_zero) {
            operands.push(codes);
            continue;
        }
        // The codes, less their zero point, as an accumulator.
        let centred = Arc::new(QuantParams::tensor(scale, 0));
        let acc = walk.shift_left(
            site.node,
            ShiftLeft {
                zero,
                bits: 0,
                accumulator: Carrier::I32,
            },
            codes,
            Some(centred),
            "centre",
        )?;
        let wide = Wide {
            acc,
            zero: 0,
            product: Product::Grid(f64::from(scale)),
            channels: Channels::Axis(0),
        };
        let to = Narrow {
            scale: y_scale,
            zero: y_zero,
            out,
        };
        operands.push(requantize(walk, site, wide, to, &site.row.inputs, "operand")?);
    }
    let made = walk.emit(site.node, site.node.op.clone(), &operands, grid, "concat")?;
    walk.set_codes(y, made);
    Ok(())
}
