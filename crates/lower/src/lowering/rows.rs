//! The row of the target's table by which a node is lowered.

use crate::{interval::less, lowering::Lowering};
use strait_core::{Failure, Node, NodeId, Op, Port, Reason, Scheme, ValueId, WeightZero};
use strait_target::spec::{Activation, Integer, OpRow, OpSite, Operand};

impl<'a> Lowering<'a> {
    /// Returns the row by which a node on the accelerator is lowered. It is the row for the type of the node's
    /// activations. Activations without a config are real numbers.
    pub(crate) fn row(&self, id: NodeId, node: &Node) -> Option<(&'a str, &'a OpRow)> {
        let has = |port| self.graph().quant.id(id, port).is_some();
        let reals = match node.op {
            // The table of a Gather is its first operand.
            Op::Gather(_) => has(Port::Operand(0)) && !has(Port::Result(0)),
            _ => !has(Port::Operand(0)),
        };
        let row = self.spec.weight_only_row(node.op.term()).filter(|_| reals);
        if row.is_some() {
            return row;
        }
        let row = self
            .activation(id, node)
            .and_then(|read| self.row_for(id, node, read).ok()?);
        // An op that reads only sums has a single row in the table.
        row.or_else(|| self.spec.op_row(node.op.term()))
    }

    /// Checks the limits of the table that depend on the codes of the weights. These codes are not known before
    /// lowering.
    pub(super) fn within_limits_of_codes(&self, id: NodeId, node: &Node) -> Result<(), Failure> {
        match self.activation(id, node) {
            Some(read) => self.row_for(id, node, read).map(drop).map_err(Failure::from),
            None => Ok(()),
        }
    }

    /// The type of the first operand that has codes.
    fn activation(&self, id: NodeId, node: &Node) -> Option<Activation> {
        let mut read = (0..node.inputs.len()).map(Port::Operand);
        read.find_map(|port| self.grid(id, port)).map(|grid| grid.ty.into())
    }

    /// Finds the row for a node that reads this type of activations. If there are several, returns the first one whose
    /// limits are satisfied. Placing chooses a row in the same way, but the codes of the weights are only known here.
    fn row_for(&self, id: NodeId, node: &Node, read: Activation) -> Result<Option<(&'a str, &'a OpRow)>, Reason> {
        let (graph, term) = (self.graph(), node.op.term());
        let rows: Vec<_> = self.spec.rows_for(term, read).collect();
        let limits_codes = rows.iter().any(|(_, row)| row.limits_codes());
        if rows.len() < 2 && !limits_codes {
            return Ok(rows.first().copied());
        }
        let operand = |value: &Option<ValueId>| {
            let value = (*value)?;
            Some(Operand {
                ty: &graph.value(value)?.ty,
                constant: graph.data_of(value).is_some(),
            })
        };
        let operands: Vec<Option<Operand<'_>>> = node.inputs.iter().map(operand).collect();
        let Some(result) = node.outputs.first().and_then(|&result| graph.value(result)) else {
            return Ok(None);
        };
        let site = OpSite {
            op: &node.op,
            operands: &operands,
            result: &result.ty,
            weight_sum: if limits_codes {
                self.weight_sum(id, &node.op)
            } else {
                None
            },
        };
        let scheme = graph.quant.scheme_of(id, Port::Operand(1));
        let weight = scheme.and_then(Scheme::int_type);
        self.spec.place(&site, read, weight.map(Integer::from)).map(Some)
    }

    /// Computes Σ |code − zero point| over the weights of each output, and returns the largest of these sums. Returns
    /// `None` if the weights are not a parameter.
    fn weight_sum(&self, id: NodeId, op: &Op) -> Option<u64> {
        let (Op::Conv(_) | Op::Gemm(_)) = op else { return None };
        let (grid, codes) = self.weights(id).ok()?;
        let codes = self.walk.parameter(codes).ok()?;
        let outputs = codes.shape().first().copied()? as usize;
        let zeros = WeightZero(grid.zero_point.clone());
        let weights = less(codes, outputs, Some(&zeros)).ok()?;
        let each = (weights.len() / outputs.max(1)).max(1);
        let sum = |weights: &[i32]| weights.iter().map(|weight| u64::from(weight.unsigned_abs())).sum();
        weights.chunks(each).map(sum).max()
    }
}
