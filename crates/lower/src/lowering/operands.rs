//! Gives recipes the grids and the codes of operands and results.

use super::Lowering;
use crate::recipes::{self, NodeToLower, Wide};
use crate::walk::Build;
use std::ops::RangeInclusive;
use std::sync::Arc;
use strait_core::op::Clamp;
use strait_core::{
    DataId, Derivation, Failure, Graph, Kind, Node, NodeId, Placement, Port, QuantParams, Reading, Term, Use, ValueId,
};
use strait_requantize::quantize::quantize;
use strait_requantize::{IntType, Rounding};
use strait_target::spec::OpRow;

/// Codes of a value on one grid.
#[derive(Clone, Debug)]
pub(crate) struct QuantizedValue {
    /// The value in the new module.
    pub(crate) value: ValueId,
    /// The type and grid of the codes.
    pub(crate) grid: Grid,
}

/// Type, range, scale and zero point of an operand or result that has a single grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// The type of the codes.
    pub(crate) ty: IntType,
    /// The codes that may be used.
    pub(crate) range: RangeInclusive<i32>,
    /// How real numbers are rounded to codes.
    pub(crate) rounding: Rounding,
    /// The step between two codes.
    pub(crate) scale: f32,
    /// The code of real zero.
    pub(crate) zero: i32,
}

impl Grid {
    /// Returns the grid of an operand, or the grid on which a node stores a result. Returns `None` if there is no grid,
    /// if the result stays an accumulator, or if the grid has several scales.
    pub(crate) fn of(graph: &Graph, id: NodeId, port: Port) -> Option<Grid> {
        let scheme = graph.quant.scheme_of(id, port);
        let scheme = scheme.filter(|scheme| !scheme.is_of_sums())?;
        let (scale, zero) = graph.quant.params_of(id, port)?.as_tensor()?;
        let [first, last] = scheme.range()?.map(|code| i32::try_from(code).ok());
        Some(Grid {
            ty: scheme.int_type()?,
            range: first?..=last?,
            rounding: scheme.rounding(),
            scale,
            zero,
        })
    }

    /// Scale and zero point in the form that values of the new module need.
    pub(crate) fn params(&self) -> Arc<QuantParams> {
        Arc::new(QuantParams::tensor(self.scale, self.zero))
    }

    /// The code of a real number.
    pub(crate) fn code(&self, x: f32) -> i32 {
        quantize(x, self.scale, self.zero, self.rounding, &self.range)
    }
}

impl Lowering<'_> {
    /// Returns the grid of an operand, or the grid on which a node stores a result.
    pub(crate) fn grid(&self, id: NodeId, port: Port) -> Option<Grid> {
        Grid::of(self.graph(), id, port)
    }

    /// The grid of an operand. If annotation has not given the operand a grid, that is a defect of the compiler.
    pub(crate) fn operand_grid(&self, site: &NodeToLower<'_>, index: usize) -> Result<Grid, Failure> {
        let missing = || Failure::defect(format!("operand {index} has no grid"));
        self.grid(site.id, Port::Operand(index)).ok_or_else(missing)
    }

    /// The grid of the first result. `None` if the result stays an accumulator.
    pub(crate) fn result_grid(&self, site: &NodeToLower<'_>) -> Option<Grid> {
        self.grid(site.id, Port::Result(0))
    }

    /// The grid of the first result. If annotation has not given the result a grid, that is a defect of the compiler.
    pub(crate) fn needed_grid(&self, site: &NodeToLower<'_>) -> Result<Grid, Failure> {
        self.result_grid(site)
            .ok_or_else(|| Failure::defect("its result has no grid"))
    }

    /// Grid and codes of the weights of a node.
    pub(crate) fn weights(&self, id: NodeId) -> Result<(Arc<QuantParams>, DataId), Failure> {
        self.weights_at(id, 1)
    }

    /// Grid and codes of the weights of a node, which are its operand at `index`.
    pub(crate) fn weights_at(&self, id: NodeId, index: usize) -> Result<(Arc<QuantParams>, DataId), Failure> {
        let grid = self.graph().quant.params_of(id, Port::Operand(index));
        let grid = grid.ok_or_else(|| Failure::defect("its weights have no grid"))?;
        Ok((grid, self.baked(id, index)?))
    }

    /// The codes of a baked constant operand, as a tensor of the source.
    pub(crate) fn baked(&self, id: NodeId, index: usize) -> Result<DataId, Failure> {
        let codes = self.graph().quant.baked(id, Port::Operand(index));
        codes.ok_or_else(|| Failure::Defect(format!("operand {index} is a constant that was not baked")))
    }

    /// Records that the new value `made` contains the codes of a node's result, and gives it the name of the result.
    pub(crate) fn set_codes(&mut self, site: &NodeToLower<'_>, position: usize, made: ValueId) -> Result<(), Failure> {
        let grid = self.grid(site.id, Port::Result(position));
        let (Some(grid), Some(&value)) = (grid, site.node.outputs.get(position)) else {
            return Err(Failure::Defect(format!("result {position} has no grid")));
        };
        self.walk.set(value, grid, None, made)?;
        if !self.graph().is_output(value) {
            self.rename(value, made);
        }
        Ok(())
    }

    /// Records that the new value `made` is the first result of a node, and gives it the name of the result. This is
    /// for truth values, which have no codes.
    pub(crate) fn set_truth(&mut self, site: &NodeToLower<'_>, made: ValueId) -> Result<(), Failure> {
        let value = site.output()?;
        self.walk.set_plain(value, made)?;
        self.rename(value, made);
        Ok(())
    }

    /// Gives the new value `made` the name of the source's `value`.
    pub(super) fn rename(&mut self, value: ValueId, made: ValueId) {
        if let Some(source) = self.graph().value(value) {
            let name = self.walk.intern(source.name);
            self.walk.out.main_mut().rename(made, name);
        }
    }

    /// Returns the codes of an operand on the grid that its node reads. These codes are the producer's own codes, or
    /// they are requantized from the producer's codes or accumulator, baked from a constant, or quantized from floats.
    /// The codes are made once for each grid and type, and shared by all readers with the same grid and type.
    pub(crate) fn operand(&mut self, site: &NodeToLower<'_>, index: usize) -> Result<QuantizedValue, Failure> {
        let (value, grid) = (site.input(index)?, self.operand_grid(site, index)?);
        let codes = self.constant(value).map(|_| self.baked(site.id, index)).transpose()?;
        let made = match (self.walk.found(value, &grid, codes), self.sums.get(&value)) {
            (None, Some(sum)) => {
                let made = self.narrowed(value, sum.clone(), &grid)?;
                let made = self.within(site, index, made, &grid)?;
                self.walk.set(value, grid.clone(), None, made)?;
                made
            }
            _ => self.on(value, &grid, codes)?,
        };
        Ok(QuantizedValue { value: made, grid })
    }

    /// Clamps codes that were requantized from an accumulator, if the model rounds the value to a grid with a smaller
    /// range before this node reads it.
    fn within(
        &mut self,
        site: &NodeToLower<'_>,
        index: usize,
        codes: ValueId,
        grid: &Grid,
    ) -> Result<ValueId, Failure> {
        let (graph, value) = (self.graph(), site.input(index)?);
        let operand = index as u16;
        let reading = graph.reading(Use { node: site.id, operand });
        let before = graph
            .rounds_to(value)
            .filter(|_| matches!(reading, Some(Reading::Behind(_))));
        let Some(&[[low, high]]) = before.and_then(|grid| grid.ends()).as_deref() else {
            return Ok(codes);
        };
        let (min, max) = (grid.code(low), grid.code(high));
        match (min, max) == (*grid.range.start(), *grid.range.end()) {
            true => Ok(codes),
            false => self.emit(site.node, Clamp { min, max }, &[codes], Some(grid.params()), "saturate"),
        }
    }

    /// Requantizes the codes of `value` from the producer's grid to the grid `to`, by the table's row for
    /// requantizations.
    pub(super) fn requantize(&mut self, value: ValueId, left: &QuantizedValue, to: &Grid) -> Result<ValueId, Failure> {
        let (graph, spec) = (self.graph(), self.spec);
        let wants = |at: &Use| self.grid(at.node, Port::Operand(at.operand.into())).as_ref() == Some(to);
        // An input has no producer. Its first reader on the new grid takes the place of the producer.
        let first = || Some(graph.uses(value).filter(wants).min_by_key(|at| at.node)?.node);
        let producer = graph
            .producer(value)
            .or_else(|| first().and_then(|id| Some((id, graph.node(id)?))));
        let row = spec.requantizes(left.grid.ty.into());
        let (Some((id, node)), Some((name, row))) = (producer, row) else {
            return Err(Failure::defect(format!(
                "{} is read on two grids, and the target has one",
                self.walk.name_of(value)
            )));
        };
        let site = NodeToLower { id, node, row };
        let before = self.row.replace(name);
        let made = recipes::between(self, &site, left, to);
        self.row = before;
        made
    }

    /// Requantizes a result that stayed an accumulator to the grid of one of its readers. The form is chosen from the
    /// row of the node that made the accumulator.
    fn narrowed(&mut self, value: ValueId, sum: Wide, to: &Grid) -> Result<ValueId, Failure> {
        let missing = || Failure::defect("what leaves a sum has no row");
        let (id, node) = self.graph().producer(value).ok_or_else(missing)?;
        let (name, row) = self.row(id, node).ok_or_else(missing)?;
        let site = NodeToLower { id, node, row };
        let before = self.row.replace(name);
        let made = recipes::narrowed(self, &site, sum, to);
        self.row = before;
        made
    }

    /// True if the first result of a node is read as real numbers, or is an output of the model.
    pub(crate) fn is_read_in_float(&self, site: &NodeToLower<'_>) -> Result<bool, Failure> {
        let (graph, y) = (self.graph(), site.output()?);
        let read = |at: Use| graph.quant.id(at.node, Port::Operand(at.operand.into())).is_none() && !self.adds_to(at);
        Ok(graph.is_output(y) || graph.uses(y).any(read))
    }

    /// True if the reader is an addition that is computed inside an accumulator, and this value is that accumulator.
    fn adds_to(&self, at: Use) -> bool {
        let node = self
            .graph()
            .node(at.node)
            .filter(|node| node.place == Placement::Accelerator);
        let row = node.and_then(|node| Some((node, self.row(at.node, node)?.1)));
        row.is_some_and(|(node, row)| self.added_to(at.node, node, row) == Some(at.operand.into()))
    }

    /// For an addition that is computed inside an accumulator, returns the index of the operand that is this
    /// accumulator. Annotation has given this operand no codes; the codes of the other operand are added to it.
    pub(crate) fn added_to(&self, id: NodeId, node: &Node, row: &OpRow) -> Option<usize> {
        if row.in_accumulator.is_empty() || node.op.term() != Term::Add {
            return None;
        }
        (0..node.inputs.len()).find(|&index| self.graph().quant.id(id, Port::Operand(index)).is_none())
    }

    /// The sum that the producer of a value has stored, if the value stayed a sum.
    pub(crate) fn sum(&self, value: ValueId) -> Option<Wide> {
        self.sums.get(&value).cloned()
    }

    /// How many of the lowest bits of a sum are dropped before operand `index` is read.
    pub(crate) fn bits_off(&self, site: &NodeToLower<'_>, index: usize) -> Option<u8> {
        let table = &self.graph().quant;
        match table.derivation(table.id(site.id, Port::Operand(index))?)? {
            Derivation::Shifted(_, bits) => Some(bits),
            _ => None,
        }
    }

    /// The grid of a value of the new module.
    pub(crate) fn grid_of(&self, value: ValueId) -> Option<Arc<QuantParams>> {
        self.walk.out.main().value(value)?.quant.clone()
    }

    /// Returns the input of the model from which an operand comes, if the ops in between only move data. The codes of
    /// such an operand can be any codes of the type. Returns `None` if another layer computes the operand.
    pub(crate) fn input_behind(&self, site: &NodeToLower<'_>, index: usize) -> Option<ValueId> {
        let (mut id, mut value) = (site.id, (*site.node.inputs.get(index)?)?);
        let mut port = Port::Operand(index);
        let mut behind = self.behind.borrow_mut();
        // The values that were passed on the way so far. They are results of ops that only move data, so they come from
        // the same input as the operand.
        let mut passed = Vec::new();
        let found = loop {
            let made = self.graph().producer(value);
            // If the grid changes on the way, some codes of the type may no longer occur.
            let from = match made {
                Some((producer, _)) => self.grid(producer, Port::Result(0)),
                None => self.left(value),
            };
            let input = made.is_none() && self.graph().inputs().contains(&value);
            if from != self.grid(id, port) && (made.is_some() || from.is_some()) {
                break None;
            }
            if input {
                break Some(value);
            }
            if let Some(known) = behind.get(&value) {
                break *known;
            }
            let moves = made.filter(|(_, maker)| maker.op.term().kind() == Kind::Rearranges);
            let Some((producer, Some(operand))) = moves.map(|(id, maker)| (id, maker.input(0))) else {
                break None;
            };
            passed.push(value);
            (id, port, value) = (producer, Port::Operand(0), operand);
        };
        behind.extend(passed.into_iter().map(|value| (value, found)));
        found
    }

    /// True if the operands of a node are two different inputs of the model. Then any pair of numbers can occur in
    /// them.
    pub(crate) fn are_two_inputs(&self, site: &NodeToLower<'_>) -> bool {
        match (self.input_behind(site, 0), self.input_behind(site, 1)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        }
    }
}
