//! Writes the addition of a constant to a product of two activations (MatMul). AMCT rounds the constant and adds it to
//! the integer accumulators before they are dequantized. For products with constant weights, the constant is already
//! part of the bias.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Foreign, Node, NodeId, TensorData, Term, ValueId};

use super::walk::{Flavour, Walk, onnx, operand};

/// The addition of a constant to float values. It can be replaced by an addition to the integer accumulators.
pub(super) struct Added<'m> {
    /// The integer accumulators, in the lowered graph.
    sums: ValueId,
    /// The node that dequantizes the accumulators. Only the addition reads the result of this node.
    dequantizes: NodeId,
    constant: &'m TensorData,
    factor: f32,
}

impl<'m, F: Flavour> Walk<'m, F> {
    /// Returns the addition that a node computes, if the node adds a constant to a product of two activations. The
    /// constant must be one number, or one for each column. Otherwise returns `None`.
    pub(super) fn added(&self, node: &Node) -> Option<Added<'m>> {
        (node.op.term() == Term::Add).then_some(())?;
        [[0, 1], [1, 0]].into_iter().find_map(|[product, constant]| {
            let real = operand(node, product)?;
            let (dequantizes, maker) = self.graph.producer(real)?;
            let sums = operand(maker, 0).filter(|_| maker.op.term() == Term::Dequantize)?;
            let sum = self.sums.get(&sums).filter(|sum| sum.of_activations)?;
            let Per::Tensor(factor) = sum.factor else { return None };
            let constant = self.module.constant(self.graph, operand(node, constant)?)?;
            let columns = self.graph.value(real)?.ty.shape.last()?.fixed();
            let (last, others) = constant.shape().split_last().unwrap_or((&1, &[]));
            let is_list = others.iter().all(|&extent| extent == 1) && (*last == 1 || Some(*last) == columns);
            let is_alone = self.graph.only_use(real).is_some() && !self.graph.is_output(real);
            (is_list && is_alone && constant.elem().is_float()).then_some(Added {
                sums,
                dequantizes,
                constant,
                factor,
            })
        })
    }

    /// True if the node dequantizes integer accumulators, and its only reader adds a constant that can be added to the
    /// accumulators instead.
    pub(super) fn is_added_to(&self, id: NodeId, node: &Node) -> bool {
        let reader = self.result(node).and_then(|result| self.graph.only_use(result));
        let reader = reader.and_then(|at| self.graph.node(at.node));
        reader
            .and_then(|reader| self.added(reader))
            .is_some_and(|added| added.dequantizes == id)
    }

    /// Adds the constant to the integer accumulators. The dequantized accumulators then replace the result of the node.
    pub(super) fn add_to_sums(&mut self, id: NodeId, node: &'m Node, added: &Added<'_>) -> Result<(), TargetError> {
        let (Some(result), Some(mut sum)) = (self.result(node), self.sums.get(&added.sums).cloned()) else {
            return Ok(());
        };
        let numbers = added
            .constant
            .to_f32()
            .map_err(|error| self.refusal(node, &format!("adds what is no number ({error}) and")))?;
        let code = |&number: &f32| {
            let code = (f64::from(number) / f64::from(added.factor)).round_ties_even();
            (f64::from(i32::MIN)..=f64::from(i32::MAX))
                .contains(&code)
                .then_some(code as i32)
        };
        let codes: Option<Vec<i32>> = numbers.iter().map(code).collect();
        let codes = codes.ok_or_else(|| self.refusal(node, "adds a number beyond sums of 32 bits"))?;
        let layer = self.export.layer_of(node);
        let bias = self
            .export
            .constant(&format!("{layer}.bias"), self.flavour.bias(&codes)?);
        let shape = self.export.shape_of(result);
        let operands = [sum.value, bias];
        let made = onnx("Add", layer, Some(id), &operands, self.flavour.sum());
        sum.value = self.export.foreign(Foreign { like: &shape, ..made }, None);
        self.sums.insert(added.sums, sum);
        self.dequantized.insert(added.sums, result);
        let real = self.sum_in_reals(added.sums)?;
        self.export.set(result, real);
        Ok(())
    }
}
