//! The grids of weights that are multiplied with codes.

use super::product::{Product, Scales, are_finite, result_scale};
use crate::annotate::state::{PassContext, Raised};
use strait_core::{
    Failure, Graph, Module, Node, NodeId, Origin, Port, QuantParams, QuantTable, Reason, ReasonCode, Scheme, ValueId,
    refused,
};
use strait_target::spec::Recipe;

/// Either the grid that the weights of one node get or, if there is no such grid yet, the change that the grid of the
/// result needs first.
pub(crate) enum Weights {
    /// The grid of the weights. If the weights of some channels need smaller scales than they get, the second field
    /// describes the channel that loses most.
    Grid(QuantParams, Option<Raised>),
    /// No shift leads to the result's grid. The scale of that grid must grow by this power of two.
    Coarsen(f64),
}

/// Finds the grid for the weights W of `node`, which is lowered by [`Recipe::MultiplyAccumulate`]. Returns `None` if
/// the grid is given.
///
/// Let s_x and s_y be the scales of operand and result, b the bias, and q_min and q_max the smallest and largest code
/// of a weight. The smallest possible scale is s_w = max(max W / q_max, min W / q_min, |b| / (2^30·s_x), 2^−22·s_y /
/// s_x, 2^−125 / s_x). If an observer chooses a range other than [min W, max W], the ends of this range replace min W
/// and max W. With this scale, every weight in the range fits, the bias fits on the accumulator's grid s_x·s_w, and
/// both the factor s_x·s_w / s_y and the accumulator's grid can be represented.
///
/// - If the target only shifts, s_w = 2^−n·s_y / s_x, with the largest n for which s_w is at least the smallest
///   possible scale.
/// - If scales of weights are powers of two, s_w is the smallest power of two that is at least the smallest possible
///   scale.
/// - For a grid with a zero point, (max W − min W) / (q_max − q_min) replaces the first two terms of the maximum. The
///   zero point is chosen so that min W gets the first code.
pub(crate) fn weights(context: &PassContext<'_>, table: &QuantTable, id: NodeId) -> Result<Option<Weights>, Failure> {
    let PassContext { module, graph, how, .. } = *context;
    let Some(node) = graph.node(id) else {
        return Ok(None);
    };
    let reads = table.scheme_of(id, Port::Operand(0)).and_then(Scheme::int_type);
    let row = reads.and_then(|t| how.spec.row_for(node.op.term(), t.into()));
    let Some(Recipe::MultiplyAccumulate { weight_grid, .. }) = row.and_then(|(_, row)| row.recipe) else {
        return Ok(None);
    };
    let scheme = table.scheme_of(id, Port::Operand(1));
    let (Some(scheme), Some(x)) = (scheme, table.params_of(id, Port::Operand(0))) else {
        return Ok(None);
    };
    let tensor = |index: usize| {
        let value: ValueId = node.input(index)?;
        Some(module.constant(graph, value)?.to_f32())
    };
    let values = tensor(1).ok_or_else(|| Failure::defect("its weights are not constants"))??;
    are_finite(&values)?;
    let Some((x_scale, _)) = x.as_tensor() else {
        return Ok(None);
    };
    let product = Product {
        graph,
        how,
        table,
        id,
        node,
        scheme,
        weight_grid,
        channels: channels(module, node, graph),
        values,
        bias: tensor(2).transpose()?.unwrap_or_default(),
        x_scale: x_scale.into(),
        y_scale: result_scale(table, id),
    };
    let own = table.id(id, Port::Operand(1)).and_then(|config| table.grid(config));
    if let Some(own) = own.filter(|own| own.origin == Origin::Given) {
        let y_scale = product.y_scale.filter(|_| weight_grid.leaves_a_shift());
        reached(product.x_scale, &own.params, y_scale)?;
        return Ok(None);
    }
    let ends = product.ends()?;
    let least = product.least(&ends, row.and_then(|(_, row)| row.accumulator));
    if product.bias.iter().any(|b| !b.is_finite()) {
        return refused(ReasonCode::WeightNotFinite, "a bias is NaN or infinite");
    }
    let raised = product.raised(&least)?;
    match product.scales(&least)? {
        Scales::Coarsen(factor) => Ok(Some(Weights::Coarsen(factor))),
        Scales::Are(scales) => {
            let result = node.outputs.first().and_then(|&y| graph.value(y));
            let seen = result.and_then(|y| how.observation.elements(module.name(y.name)));
            product.leaves_something(&scales, seen)?;
            Ok(Some(Weights::Grid(product.grid(scales, &ends)?, raised)))
        }
    }
}

/// Checks weights whose grid is given: if the target only shifts, a shift has to lead to the result's grid.
fn reached(x: f64, given: &QuantParams, y: Option<f64>) -> Result<(), Reason> {
    let Some(y) = y else { return Ok(()) };
    let off = |scale: &f32| {
        let bits = (y / (x * f64::from(*scale))).log2();
        // Scales are rounded to f32. So if a shift leads to the grid, the logarithm is within 2^-20 of a whole number.
        (bits - bits.round()).abs() > 1e-5 || !(0.0..=31.0).contains(&bits.round())
    };
    if given.scale.all(|scale| !off(scale)) {
        return Ok(());
    }
    let text = "no shift leads from the grids that its operand and weights are given to that of its result";
    refused(ReasonCode::NoShift, text)
}

fn channels(module: &Module, node: &Node, graph: &Graph) -> usize {
    let weight = node.input(1).and_then(|v| module.constant(graph, v));
    weight.and_then(|w| w.shape().first().copied()).unwrap_or(1) as usize
}
