//! Joins primitives into fast loops. Each join computes exactly what its nodes compute one after the other:
//! - [`epilogue`]: a producer of accumulators, the requantization after it and the clamp after that, in registers;
//! - [`sum`]: a sum whose operands are shifted and requantized codes. It is computed with two tables if the codes have
//!   8 bits, and otherwise code by code;
//! - [`chain`]: consecutive functions of 8-bit codes, which are computed with one table;
//! - [`coded`]: a float matrix product and the dequantize that makes its weights from constant codes of 4 bits.
//! - [`scaled`]: a product of each channel with a number, and the quantize after it;
//! - [`floats`]: float steps between codes that work on each element, in registers, and if possible in those in which
//!   a convolution or matrix product computed them ([`producer`]).
//!
//! A node is joined only if nothing else uses its result. Only `floats` stores a value that is used inside of the join and
//! outside of it.

mod addend;
mod chain;
mod coded;
mod epilogue;
mod float_steps;
mod floats;
mod producer;
mod scaled;
mod scope;
mod sum;
mod table;

use crate::error::ExecuteError;
use crate::options::PlanOptions;
use scope::Scope;
use strait_core::{Graph, Module, NodeId};

pub(crate) use scope::{Joins, Replacement};

impl Joins {
    /// Finds all joins in a graph. `order` has the graph's nodes in the order in which they run. `last` says whether the
    /// plan can store values with their channels last.
    pub(crate) fn find(
        module: &Module,
        graph: &Graph,
        options: &PlanOptions<'_>,
        order: &[NodeId],
        last: bool,
    ) -> Result<Joins, ExecuteError> {
        let mut joins = Joins::none(graph);
        let mut scope = Scope {
            module,
            graph,
            options,
            last,
            positions: vec![0; graph.node_bound()],
        };
        (0..)
            .zip(order)
            .for_each(|(position, node)| scope.positions[node.index()] = position);
        // Sums are joined first, because they need the complete chains of nodes that compute their operands. The other
        // joins would take nodes out of these chains.
        let looks = [
            sum::look,
            epilogue::look,
            chain::look,
            coded::look,
            scaled::look,
            floats::look_for_codes,
            floats::look_for_reals,
        ];
        for look in looks {
            for &node in order {
                if !joins.taken[node.index()]
                    && let Some((join, nodes)) = look(&scope, &joins, node)?
                {
                    joins.add(join, &nodes);
                }
            }
        }
        Ok(joins)
    }
}
