//! Recipes: each recipe says how an op becomes integer primitives, and has a file of its own. The target's table names
//! the recipe of each op.
//!
//! A recipe can fail in two ways. If it fails with a [`Reason`](strait_core::Reason), the node goes to the host. If it
//! fails with a defect, compilation stops, because placing or annotating should have guaranteed something and did not.

mod add_coarser_grid;
mod add_common_grid;
mod add_in_accumulator;
mod add_left_shift;
mod add_scaled;
mod add_shifted;
mod average_pool_divide;
mod average_pool_reciprocal;
mod average_pool_requantize;
mod clamp;
mod compare;
pub(crate) mod dequantize_weights;
mod layer_normalization;
pub(crate) mod lookup;
mod matmul_accumulate;
mod max_pool;
mod multiply;
mod multiply_accumulate;
mod narrow;
mod pass_through;
mod product;
mod resample;
mod softmax;
mod sum;

use crate::lowering::{Grid, Lowering, QuantizedValue};
pub(crate) use narrow::{HowNear, Product, Wide};
use narrow::{not_coarser, requantize};
use std::sync::Arc;
use strait_core::op::{ResizeMode, ShiftLeft};
use strait_core::{Carrier, Failure, Node, NodeId, Op, QuantParams, ValueId};
use strait_target::spec::{OpRow, Recipe};

/// The node that a recipe lowers.
pub(crate) struct NodeToLower<'n> {
    /// The id of the node in the annotated graph.
    pub(crate) id: NodeId,
    /// The node itself.
    pub(crate) node: &'n Node,
    /// The node's row in the target's table.
    pub(crate) row: &'n OpRow,
}

impl NodeToLower<'_> {
    /// Operand `index`. Placement has checked that it is present.
    pub(crate) fn input(&self, index: usize) -> Result<ValueId, Failure> {
        let input = self.node.input(index);
        input.ok_or_else(|| Failure::Defect(format!("operand {index} is absent")))
    }

    /// The first result.
    pub(crate) fn output(&self) -> Result<ValueId, Failure> {
        self.node.result().ok_or_else(|| Failure::defect("it has no result"))
    }
}

/// Lowers a node on the accelerator.
pub(crate) fn lower(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<(), Failure> {
    let missing = || Failure::Defect(format!("{} has no recipe", node.op.term()));
    let (_, row) = lowering.row(id, node).ok_or_else(missing)?;
    let recipe = row.recipe.ok_or_else(missing)?;
    let site = NodeToLower { id, node, row };
    if let Some(operand) = lowering.added_to(id, node, row) {
        return add_in_accumulator::lower(lowering, &site, operand);
    }
    match recipe {
        Recipe::MultiplyAccumulate { weight_grid, pad } => {
            multiply_accumulate::lower(lowering, &site, weight_grid, pad)
        }
        Recipe::DequantizeWeights => dequantize_weights::lower(lowering, id, node),
        Recipe::MatmulAccumulate => matmul_accumulate::lower(lowering, &site),
        Recipe::AddLeftShift { left_shift } => add_left_shift::lower(lowering, &site, left_shift),
        Recipe::AddCommonGrid { left_shift } => add_common_grid::lower(lowering, &site, left_shift),
        Recipe::AddCoarserGrid => add_coarser_grid::lower(lowering, &site),
        Recipe::AddShifted => add_shifted::lower(lowering, &site),
        Recipe::AddScaled => add_scaled::lower(lowering, &site),
        Recipe::Multiply => multiply::lower(lowering, &site),
        Recipe::MaxPool { pad } => max_pool::lower(lowering, &site, pad),
        Recipe::AveragePoolDivide => average_pool_divide::lower(lowering, &site),
        Recipe::AveragePoolRequantize => average_pool_requantize::lower(lowering, &site),
        Recipe::AveragePoolReciprocal(reciprocal) => average_pool_reciprocal::lower(lowering, &site, reciprocal),
        Recipe::Lookup {
            definition,
            left_shift,
            rounding,
            interpolate,
        } => match interpolate {
            Some(lines) => lookup::interpolate(lowering, &site, lines, rounding),
            None => lookup::lower(lowering, &site, definition, left_shift.unwrap_or_default(), rounding),
        },
        Recipe::Softmax { definition } => softmax::lower(lowering, &site, definition),
        Recipe::LayerNormalization { definition } => layer_normalization::lower(lowering, &site, definition),
        Recipe::Clamp => clamp::lower(lowering, &site),
        Recipe::PassThrough { fraction } => match (&node.op, fraction) {
            (Op::Resize(resize), Some(fraction)) if resize.mode == ResizeMode::Linear => {
                resample::lower(lowering, &site, resize, fraction)
            }
            _ => pass_through::lower(lowering, &site),
        },
        Recipe::Compare => compare::lower(lowering, &site),
        // This recipe belongs to the table's row for requantizations. No op of a model has this row.
        Recipe::Requantize { .. } => Err(missing()),
    }
}

/// The largest ratio of the new grid's step to the old grid's step for which codes are shifted left before they are
/// requantized.
const SHIFTED_AS_FAR: f64 = 1024.0;

/// Requantizes codes from one grid to another, by one of the forms of the row. If the row says so, 8-bit codes are
/// shifted left first. The left shift makes a form with two roundings more accurate, because its first rounding is then
/// to a fraction of a step.
pub(crate) fn between(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    left: &QuantizedValue,
    to: &Grid,
) -> Result<ValueId, Failure> {
    let (mut acc, mut zero, mut scale) = (left.value, left.grid.zero, left.grid.scale);
    // If the step of the new grid is more than 1024 times as large as the step of the old one, codes are not shifted
    // left first: rounding twice is then as good as rounding once, and the right shift of the form would not be large
    // enough for shifted codes.
    let near = f64::from(scale) * SHIFTED_AS_FAR >= f64::from(to.scale);
    if let Some(Recipe::Requantize { left_shift: Some(bits) }) = site.row.recipe
        && left.grid.ty.bits() == 8
        && near
    {
        // Multiplying by a power of two is exact.
        scale *= (-f32::from(bits)).exp2();
        let shift = ShiftLeft {
            zero,
            bits,
            accumulator: Carrier::I32,
        };
        let fine = Arc::new(QuantParams::tensor(scale, 0));
        acc = lowering.shift_left(site.node, shift, acc, Some(fine), "shift")?;
        zero = 0;
    }
    narrowed(lowering, site, Wide::on_grid(acc, zero, scale), to)
}

/// Requantizes a sum or codes to the grid of a reader, by one of the forms of the row.
pub(crate) fn narrowed(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    wide: Wide,
    to: &Grid,
) -> Result<ValueId, Failure> {
    let suffix = format!("requantize-{}", to.ty);
    let made = requantize(lowering, site, wide, to.into(), &site.row.requantize, &suffix);
    // The grid `to` is that of another node's operand, so a coarser grid for this node's result would not help.
    made.map_err(not_coarser)
}
