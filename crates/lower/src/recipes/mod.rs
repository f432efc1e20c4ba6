//! Recipes: how one op becomes integer primitives, one file each. The target's table names the recipe of each op.
//!
//! A recipe fails in two ways: by a [`Reason`](strait_core::Reason), and the node goes to the host; or by a defect,
//! where a promise of placing or annotating does not hold, and everything stops.

mod add_coarser_grid;
mod add_common_grid;
mod add_in_accumulator;
mod add_left_shift;
mod add_shifted;
mod average_pool_divide;
mod average_pool_reciprocal;
mod average_pool_requantize;
mod clamp;
mod compare;
pub(crate) mod dequantize_weights;
mod layer_normalization;
mod lookup;
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
use narrow::requantize;
pub(crate) use narrow::{Product, Wide};
use std::sync::Arc;
use strait_core::op::{ResizeMode, ShiftLeft};
use strait_core::{Carrier, Channels, Failure, Node, NodeId, Op, QuantParams, ValueId};
use strait_target::spec::{OpRow, Recipe};

/// Input of every recipe.
pub(crate) struct NodeToLower<'n> {
    /// The node in the annotated graph.
    pub(crate) id: NodeId,
    /// The same.
    pub(crate) node: &'n Node,
    /// Its row in the target's table.
    pub(crate) row: &'n OpRow,
}

impl NodeToLower<'_> {
    /// Operand `index`, which placement has found to be there.
    pub(crate) fn input(&self, index: usize) -> Result<ValueId, Failure> {
        let input = self.node.inputs.get(index).copied().flatten();
        input.ok_or_else(|| Failure::Defect(format!("operand {index} is absent")))
    }

    /// The first result.
    pub(crate) fn output(&self) -> Result<ValueId, Failure> {
        self.node
            .outputs
            .first()
            .copied()
            .ok_or_else(|| Failure::defect("it has no result"))
    }
}

/// Lowers a node of the accelerator.
pub(crate) fn lower(lowering: &mut Lowering<'_>, id: NodeId, node: &Node) -> Result<(), Failure> {
    let missing = || Failure::Defect(format!("{} has no recipe", node.op.term()));
    let (_, row) = lowering.row(id, node).ok_or_else(missing)?;
    let recipe = row.recipe().ok_or_else(missing)?;
    let site = NodeToLower { id, node, row };
    if let Some(operand) = lowering.added_to(id, node, row) {
        return add_in_accumulator::lower(lowering, &site, operand);
    }
    match recipe {
        Recipe::MultiplyAccumulate { weight_grid } => multiply_accumulate::lower(lowering, &site, weight_grid),
        Recipe::DequantizeWeights => dequantize_weights::lower(lowering, id, node),
        Recipe::MatmulAccumulate => matmul_accumulate::lower(lowering, &site),
        Recipe::AddLeftShift { left_shift } => add_left_shift::lower(lowering, &site, left_shift),
        Recipe::AddCommonGrid { left_shift } => add_common_grid::lower(lowering, &site, left_shift),
        Recipe::AddCoarserGrid => add_coarser_grid::lower(lowering, &site),
        Recipe::AddShifted => add_shifted::lower(lowering, &site),
        Recipe::Multiply => multiply::lower(lowering, &site),
        Recipe::MaxPool => max_pool::lower(lowering, &site),
        Recipe::AveragePoolDivide => average_pool_divide::lower(lowering, &site),
        Recipe::AveragePoolRequantize => average_pool_requantize::lower(lowering, &site),
        Recipe::AveragePoolReciprocal { reciprocal } => average_pool_reciprocal::lower(lowering, &site, reciprocal),
        Recipe::Lookup { lines: Some(lines), .. } => lookup::interpolate(lowering, &site, lines),
        Recipe::Lookup {
            definition, left_shift, ..
        } => lookup::lower(lowering, &site, definition, left_shift),
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
    }
}

/// Factor by which a grid may be coarser for codes to be shifted left on their way to it.
const SHIFTED_AS_FAR: f64 = 1024.0;

/// Codes of one grid on another, by one of the forms of the row. Codes of 8 bits are shifted left first, where the row says so:
/// a form that rounds twice rounds them to halves and quarters of a step before it rounds these, away from zero.
pub(crate) fn between(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    left: &QuantizedValue,
    to: &Grid,
    suffix: &str,
) -> Result<ValueId, Failure> {
    let (mut acc, mut zero, mut scale) = (left.value, left.grid.zero, left.grid.scale);
    // Onto a grid a thousand times as coarse two roundings are as good as one, and the form's shift would not reach.
    let near = f64::from(scale) * SHIFTED_AS_FAR >= f64::from(to.scale);
    if let Some(bits) = site.row.left_shift.filter(|_| left.grid.ty.bits() == 8 && near) {
        // A product with a power of two is exact.
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
    let wide = Wide {
        acc,
        zero,
        product: Product::Grid(scale.into()),
        channels: Channels::Axis(0),
    };
    narrowed(lowering, site, wide, to, suffix)
}

/// A sum, or codes, on the grid of a reader, by one of the forms of the row.
pub(crate) fn narrowed(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    wide: Wide,
    to: &Grid,
    suffix: &str,
) -> Result<ValueId, Failure> {
    let made = requantize(lowering, site, wide, to.into(), &site.row.requantize, suffix);
    made.map_err(|failure| match failure {
        // The grid is another node's, which a coarser grid of this one's result would not change.
        Failure::TooFine { reason, .. } => reason.into(),
        other => other,
    })
}
