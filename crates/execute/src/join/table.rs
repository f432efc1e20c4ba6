//! Tables for functions of 8-bit codes.

use super::scope::{Joins, Scope};
use crate::error::ExecuteError;
use crate::integer::operands::eight_bits;
use crate::reference::{Array, Primitive};
use smallvec::smallvec;
use strait_core::{NodeId, Op, ValueId};
use strait_requantize::IntType;

/// A function of 8-bit codes as a table. The function leads from one value of the graph to another.
pub(super) struct Table {
    /// The value whose 8-bit codes are looked up.
    pub(super) base: ValueId,
    pub(super) element: IntType,
    /// One entry per code, starting with the smallest code.
    pub(super) entries: Vec<i64>,
    /// The nodes that the table replaces, in order.
    pub(super) nodes: Vec<NodeId>,
}

/// True if a node applies the same function of one operand to every element.
pub(super) fn is_function(scope: &Scope<'_>, id: NodeId) -> bool {
    scope.node(id).is_some_and(|node| {
        let plain = match &node.op {
            Op::ShiftLeft(_) | Op::Clamp(_) => true,
            Op::Requantize(op) => op.form.channels().is_none(),
            Op::Lookup(_) => {
                let table = node.inputs.get(1).copied().flatten();
                table.is_some_and(|v| scope.module.constant(scope.graph, v).is_some())
            }
            _ => false,
        };
        plain && node.fused.is_none()
    })
}

/// Finds the nearest earlier value with 8-bit codes from which `value` is computed. Returns the table that maps the
/// codes of the earlier value to those of `value`. The earlier value may be `value` itself. Returns `None` if a node
/// between the two is not a function of one operand, if another node uses a value between them, or if a requantization
/// is not defined for a code.
pub(super) fn behind(scope: &Scope<'_>, joins: &Joins, value: ValueId) -> Result<Option<Table>, ExecuteError> {
    let mut base = value;
    let mut nodes = Vec::new();
    loop {
        if let Some(element) = eight_bits(&scope.slot(base)?) {
            nodes.reverse();
            let entries = entries(scope, element, &nodes)?;
            return Ok(entries.map(|entries| Table {
                base,
                element,
                entries,
                nodes,
            }));
        }
        let Some((id, node)) = scope.graph.producer(base) else {
            return Ok(None);
        };
        let free = !joins.taken[id.index()] && scope.graph.only_use(base).is_some();
        match node.inputs.first() {
            Some(&Some(operand)) if free && is_function(scope, id) => {
                nodes.push(id);
                base = operand;
            }
            _ => return Ok(None),
        }
    }
}

/// Applies the nodes one after the other, by their reference definitions, to every code of the type `element`.
pub(super) fn entries(scope: &Scope<'_>, element: IntType, nodes: &[NodeId]) -> Result<Option<Vec<i64>>, ExecuteError> {
    let mut values: Vec<i64> = element.range().map(i64::from).collect();
    for &id in nodes {
        let site = scope.site(id)?;
        let Ok(primitive) = site.primitive() else {
            return Ok(None);
        };
        let primitive = Primitive {
            dims: smallvec![values.len()],
            ..primitive
        };
        let x = Array {
            dims: smallvec![values.len()],
            zero_point: 0,
            values,
        };
        let table = site
            .optional(1)
            .and_then(|slot| Array::read(&slot.shape(), &slot.constant?.unpacked()).ok());
        match primitive.compute(&[Some(x), table]) {
            Ok(results) => values = results,
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(values))
}
