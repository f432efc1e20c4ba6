//! Lowers an addition inside an accumulator. This code runs instead of the recipe of the addition's row, if annotation
//! has decided that the addition is computed in this way. One operand is the accumulator of a convolution or Gemm, and
//! the codes of the other operand are requantized to the grid of this accumulator.
//!
//! acc = Σ w·x + b is the accumulator, on the grid s_x·s_w\[c\] of output channel c. The codes q of the other operand,
//! with scale s and zero point z, become r = form(q − z) ≈ (q − z)·s / (s_x·s_w\[c\]) on the same grid. The result is y
//! = requantize(acc + r). So acc itself is never rounded to codes, and r is rounded to a step of the accumulator, which
//! is much smaller than a step of the result.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow, onto};
use crate::interval::accumulator;
use crate::lowering::{Lowering, overflows};
use strait_core::op::Add;
use strait_core::{Failure, Port};
use strait_requantize::range::Accumulator;
use strait_requantize::range::{Terms, prove};

pub(super) fn lower(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, operand: usize) -> Result<(), Failure> {
    let value = site.input(operand)?;
    let missing = || Failure::defect("what it adds to is no sum of a product");
    let Some(sum) = lowering.sum(value) else {
        // The product was just refused, so the new module will be thrown away.
        return lowering.on_reals(site.id, site.node, None).map(drop);
    };
    let (id, node) = lowering.graph().producer(value).ok_or_else(missing)?;
    let (name, row) = lowering.row(id, node).ok_or_else(missing)?;
    let read = lowering.grid(id, Port::Operand(0)).ok_or_else(missing)?.ty;
    let grid = lowering.grid_of(sum.acc).ok_or_else(missing)?;
    let codes = lowering.operand(site, 1 - operand)?;
    let (Product::Convolution(input, weight) | Product::FullyConnected(input, weight)) = &sum.product else {
        return Err(missing());
    };
    let added = Wide {
        acc: codes.value,
        zero: codes.grid.zero,
        product: Product::Onto(codes.grid.scale, *input, weight.clone()),
        channels: sum.channels,
    };
    let added = onto(lowering, site, added, grid.clone(), &site.row.in_accumulator)?;
    let total = Terms {
        first: lowering.term(sum.acc)?,
        second: lowering.term(added)?,
    };
    let sums = accumulator(lowering.spec, row, read);
    let bits = sums.bits.min(32);
    prove(0, &total, Accumulator { bits, ..sums }).map_err(|overflow| overflows(&overflow))?;
    let mut terms = [added; 2];
    terms[operand] = sum.acc;
    let acc = lowering.emit(site.node, Add {}, &terms, Some(grid), "accumulate")?;
    // The result is requantized by a form of the product's row.
    let before = lowering.row.replace(name);
    let made = narrow(lowering, &NodeToLower { row, ..*site }, Wide { acc, ..sum });
    lowering.row = before;
    made
}
