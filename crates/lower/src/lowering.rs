//! Lowering: walks over the annotated graph and builds the integer graph.

mod operands;
mod rows;
mod sums;
mod turns;

pub(crate) use operands::{Grid, QuantizedValue};
pub(crate) use sums::overflows;
pub use turns::Turns;

use crate::boundary;
use crate::error::LowerError;
use crate::interval::KnownBounds;
use crate::recipes::{self, HowNear, Wide, dequantize_weights};
use crate::walk::{Basis, Build, Walk, primitive_name, quantize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strait_core::op::{Dequantize, Quantize, ShiftLeft};
use strait_core::{
    Def, Elem, Failure, Graph, Kind, Module, Node, NodeId, Op, Placement, Port, QuantParams, Reason, ReasonCode,
    Refusal, Stage, Symbol, TensorData, TensorError, Use, ValueId,
};
use strait_execute::each;
use strait_requantize::{IntType, Rounding};
use strait_target::TargetSpec;
use strait_target::spec::Nearness;

/// The result of lowering.
#[derive(Debug)]
pub struct Lowered {
    /// The module whose main graph is in the integer stage.
    pub module: Module,
    /// How near the results of requantizations are to the exact results. Requantizations for which this is not known
    /// are left out. The key is the name of the requantization's node. After fusion, this name is still among the
    /// sources of the fused node.
    pub nearness: BTreeMap<String, Nearness>,
    /// For each node, by its name, the row of the target's table from which it was made.
    pub origins: BTreeMap<String, String>,
}

/// Builds the integer graph.
pub(crate) struct Lowering<'a> {
    pub(crate) walk: Walk<'a, Grid>,
    /// The target's table.
    pub(crate) spec: &'a TargetSpec,
    /// The results that stay accumulators, because their nodes do not requantize them. The key is the value in the
    /// source graph. Each reader requantizes the accumulator to its own grid.
    pub(crate) sums: BTreeMap<ValueId, Wide>,
    /// A cache for [`Lowering::input_behind`]. For the result of an op that only moves data, it holds the input of the
    /// model from which the data comes, or `None` if the data does not come from an input.
    behind: RefCell<BTreeMap<ValueId, Option<ValueId>>>,
    known: KnownBounds,
    pub(crate) nearness: BTreeMap<ValueId, HowNear<'a>>,
    origins: BTreeMap<Symbol, &'a str>,
    /// The row of the table from which primitives are being made at present.
    pub(crate) row: Option<&'a str>,
    refused: Vec<Refusal>,
}

/// Lowers the main graph of a baked module into a new module.
///
/// # Errors
/// [`LowerError::Nodes`] with all nodes that were refused by their recipes.
pub fn lower(source: &Module, spec: &TargetSpec) -> Result<Lowered, LowerError> {
    Turns::default().lower_baked(source, spec)
}

impl<'a> Build<'a> for Lowering<'a> {
    type Config = Grid;

    fn walk(&mut self) -> &mut Walk<'a, Grid> {
        &mut self.walk
    }

    fn node(&mut self, id: NodeId, node: &'a Node) -> Result<(), Failure> {
        let name = self.walk.source.name(node.name);
        let ours = |text: String| Failure::Defect(format!("lowering {name}: {text}"));
        let done = match &node.place {
            Placement::Host(reason) => {
                let weights = dequantize_weights::on_host(self, id, node)?;
                self.host(id, node, weights, (**reason).clone())
            }
            Placement::Accelerator => {
                self.row = self.row(id, node).map(|(name, _)| name);
                self.within_limits_of_codes(id, node)
                    .and_then(|()| recipes::lower(self, id, node))
            }
        };
        let Err(failure) = done else { return Ok(()) };
        self.refused.push(failure.refusal(id).map_err(ours)?);
        // The nodes after a refused node still need its results, so the refused node is computed in float. The new
        // module is thrown away later.
        let done = self.sums_as_reals(node);
        let done = done.and_then(|()| self.host(id, node, None, Reason::new(ReasonCode::Refused, "refused")));
        done.map_err(|failure| ours(failure.to_string()))
    }

    fn left(&self, value: ValueId) -> Option<Grid> {
        match self.graph().value(value)?.def {
            Def::Node(id, position) => {
                let left = self.grid(id, Port::Result(position.into()));
                left.filter(|_| !self.walk.is_plain(value))
            }
            Def::Input(position) => self.grid(NodeId::OUTSIDE, Port::Input(position as usize)),
            Def::Data(_) => None,
        }
    }

    /// Makes the codes of a value on the grid `to`: uses the baked codes of a parameter, requantizes codes from the
    /// producer's grid, or quantizes floats.
    fn convert(&mut self, value: ValueId, from: Basis<Grid>, to: &Grid) -> Result<ValueId, Failure> {
        match from {
            Basis::Codes(codes) => {
                let base = primitive_name(self.walk.name_of(value), "codes");
                self.walk.shared(&base, codes, to.params())
            }
            Basis::Left(grid, codes) => self.requantize(value, &QuantizedValue { value: codes, grid }, to),
            Basis::Real(float) => {
                let quantize = Quantize {
                    rounding: to.rounding,
                    ..quantize(self.spec, to.ty)
                };
                self.walk.boundary(value, quantize, float, Some(to.params()))
            }
        }
    }

    fn real_of(&mut self, value: ValueId, left: ValueId) -> Result<ValueId, Failure> {
        self.walk.boundary(value, Dequantize {}, left, None)
    }

    fn given(&self, value: ValueId, given: &QuantParams) -> Option<Grid> {
        let mut read = self
            .graph()
            .uses(value)
            .filter_map(|at| self.grid(at.node, Port::Operand(at.operand.into())));
        let known = read.find(|grid| given.has_numbers_of((&grid.params(), grid.ty.into())));
        known.or_else(|| self.grid_of_host(given))
    }
}

impl<'a> Lowering<'a> {
    /// Creates the builder. Nothing is lowered yet.
    fn new(source: &'a Module, spec: &'a TargetSpec) -> Lowering<'a> {
        Lowering::on(Walk::new(source, "lowered", Stage::Integer), spec)
    }

    fn on(walk: Walk<'a, Grid>, spec: &'a TargetSpec) -> Lowering<'a> {
        Lowering {
            walk,
            spec,
            sums: BTreeMap::new(),
            behind: RefCell::default(),
            known: KnownBounds::default(),
            nearness: BTreeMap::new(),
            origins: BTreeMap::new(),
            row: None,
            refused: Vec::new(),
        }
    }

    /// The lowered graph. It is an error if a node was refused.
    fn finished(self, threads: NonZeroUsize) -> Result<Lowered, LowerError> {
        if !self.refused.is_empty() {
            return Err(LowerError::Nodes(self.refused));
        }
        let mut out = self.walk.out;
        let main = out.main;
        boundary::cancel(&mut out, main).map_err(|failure| LowerError::Ours(failure.to_string()))?;
        let out = out;
        let name = |id| out.main().producer(id).map(|(_, node)| out.name(node.name).to_owned());
        let nearness: Vec<(ValueId, HowNear<'_>)> = self.nearness.into_iter().collect();
        let computed = |(id, near): &(ValueId, HowNear<'_>)| Some((name(*id)?, near.computed()?));
        let nearness = each(threads, &nearness, &computed);
        let origins = self.origins.into_iter();
        let origins = origins.map(|(name, row)| (out.name(name).to_owned(), row.to_owned()));
        Ok(Lowered {
            nearness: nearness.into_iter().flatten().collect(),
            origins: origins.collect(),
            module: out,
        })
    }

    /// Finds the grid for a result that the host computes and that the model rounds to the grid `given`. The codes of
    /// the returned grid have a type that the target supports: the model's own type, or the same type with the other
    /// signedness.
    fn grid_of_host(&self, given: &QuantParams) -> Option<Grid> {
        let ((scale, zero), own) = (given.as_tensor()?, given.codes?);
        let has = |ty: &IntType| {
            let mut pairs = self.spec.types.pairs.iter();
            pairs.any(|pair| pair.codes() == Some((*ty).into()))
        };
        let types = [Some(own), own.other_sign()].into_iter().flatten();
        let ty = types.filter_map(Elem::int_type).find(has)?;
        let range = ty.range();
        Some(Grid {
            ty,
            zero: zero + range.start() - i32::try_from(own.integers()?.0).ok()?,
            range,
            rounding: Rounding::HalfEven,
            scale,
        })
    }

    /// Converts operands of a node to real numbers if they are accumulators. An accumulator that was already converted
    /// for another reader is not converted again.
    fn sums_as_reals(&mut self, node: &Node) -> Result<(), Failure> {
        for &value in node.inputs.iter().flatten() {
            if let Some(sum) = self.sum(value).filter(|_| !self.walk.is_plain(value)) {
                let made = self.walk.boundary(value, Dequantize {}, sum.acc, None)?;
                self.walk.set_plain(value, made)?;
            }
        }
        Ok(())
    }

    /// Copies a node that runs on the host, where it reads and makes floats. If its weights are dequantized from codes,
    /// these weights are passed as `weights`.
    fn host(&mut self, id: NodeId, node: &Node, weights: Option<ValueId>, reason: Reason) -> Result<(), Failure> {
        self.row = None;
        let id = self.on_reals(id, node, weights)?;
        node.outputs.iter().for_each(|value| _ = self.sums.remove(value));
        // A conversion between codes and real numbers lies between accelerator and host, and belongs to neither.
        if node.op.term().kind() != Kind::Boundary {
            self.walk.out.main_mut().place_on_host(id, reason);
        }
        Ok(())
    }

    /// Copies a node so that it reads and makes real numbers. If its weights are dequantized from codes, these weights
    /// are passed as `weights`.
    pub(crate) fn on_reals(&mut self, id: NodeId, node: &Node, weights: Option<ValueId>) -> Result<NodeId, Failure> {
        let mut operands = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            operands.push(match (*input, weights) {
                (Some(_), Some(weights)) if index == node.op.weights_operand() => Some(weights),
                (Some(value), _) => {
                    let operand = index as u16;
                    Some(self.real_at(value, Use { node: id, operand })?)
                }
                (None, _) => None,
            });
        }
        self.round_to_sums(node, &mut operands)?;
        let id = self.walk.copy(node, &operands)?;
        // The new node comes from the same nodes of the model as the old node. The new node's own name is not a name of
        // the model, so this name must not be among the sources.
        self.walk.out.main_mut().set_sources(id, &[]);
        self.add_sources(id, node);
        if let Some(row) = self.row {
            let name = self.walk.intern(node.name);
            self.origins.insert(name, row);
        }
        Ok(id)
    }

    fn add_sources(&mut self, id: NodeId, origin: &Node) {
        let sources = origin.sources.iter().map(|&name| self.walk.intern(name));
        let sources: Vec<Symbol> = sources.collect();
        self.walk.out.main_mut().add_sources(id, &sources);
    }

    // ---- Functions for recipes ----

    /// The source graph.
    pub(crate) fn graph(&self) -> &'a Graph {
        self.walk.graph
    }

    /// The data of a constant of the source graph. `None` if the value is not a constant.
    pub(crate) fn constant(&self, value: ValueId) -> Option<&'a TensorData> {
        self.walk.source.constant(self.walk.graph, value)
    }

    /// Appends a primitive and returns its only result. The result's type is inferred.
    pub(crate) fn emit(
        &mut self,
        origin: &Node,
        op: impl Into<Op>,
        operands: &[ValueId],
        quant: Option<Arc<QuantParams>>,
        suffix: &str,
    ) -> Result<ValueId, Failure> {
        let results = self.emit_all(origin, op, operands, quant, suffix)?;
        results
            .first()
            .copied()
            .ok_or_else(|| Failure::defect(format!("the primitive {suffix} has no result")))
    }

    /// Like [`Lowering::emit`], but for a primitive with any number of results, which are all on the same grid.
    pub(crate) fn emit_all(
        &mut self,
        origin: &Node,
        op: impl Into<Op>,
        operands: &[ValueId],
        quant: Option<Arc<QuantParams>>,
        suffix: &str,
    ) -> Result<Vec<ValueId>, Failure> {
        let op = op.into();
        let main = self.walk.out.main();
        let types = operands.iter().map(|&value| main.value(value).map(|value| &value.ty));
        let types = self.walk.out.result_types(&op, &types.collect::<Vec<_>>(), None);
        let types = types.map_err(|reason| Failure::Defect(format!("the primitive {suffix}: {reason}")))?;
        let base = primitive_name(self.walk.source.name(origin.name), suffix);
        let results = types.into_iter();
        let results = results.map(|ty| (self.walk.out.names.fresh(&base), ty, quant.clone()));
        let results: Vec<_> = results.collect();
        // A primitive has the name of its first result. This name is always new, so a recipe may use a suffix twice.
        let name = results.first().map_or(origin.name, |(result, ..)| *result);
        let operands: Vec<Option<ValueId>> = operands.iter().copied().map(Some).collect();
        let id = self.walk.out.main_mut().add_node(name, op, &operands, results);
        self.add_sources(id, origin);
        if let Some(row) = self.row {
            self.origins.insert(name, row);
        }
        let made = self.walk.out.main().node(id);
        Ok(made.map(|node| node.outputs.to_vec()).unwrap_or_default())
    }

    /// Computes `(x - zero) · 2^bits` for the operand x, in the type of accumulators. If the operand is a constant,
    /// this is done at compile time, so that a requantize that reads the result still reads a constant.
    pub(crate) fn shift_left(
        &mut self,
        origin: &Node,
        shift: ShiftLeft,
        operand: ValueId,
        quant: Option<Arc<QuantParams>>,
        suffix: &str,
    ) -> Result<ValueId, Failure> {
        let main = self.walk.out.main();
        let (Some(tensor), Some(value)) = (self.walk.out.constant(main, operand), main.value(operand)) else {
            let ty = main.value(operand).map(|value| &value.ty);
            self.walk.out.result_types(&shift.clone().into(), &[ty], None)?;
            return self.emit(origin, shift, &[operand], quant, suffix);
        };
        // This check fails if a shifted number could overflow.
        self.walk
            .out
            .result_types(&shift.clone().into(), &[Some(&value.ty)], None)?;
        let codes = tensor.to_i64()?;
        let shifted = codes.iter().map(|&code| (code - i64::from(shift.zero)) << shift.bits);
        let made = TensorData::from_integers(shift.accumulator.elem(), tensor.shape(), &shifted.collect::<Vec<i64>>())?;
        let base = primitive_name(self.walk.source.name(origin.name), suffix);
        Ok(self.walk.data(&base, made, quant))
    }

    /// Converts `acc`, the accumulators of a node whose result is `value`, to real numbers.
    pub(crate) fn dequantize_accumulator(
        &mut self,
        origin: &Node,
        value: ValueId,
        acc: ValueId,
    ) -> Result<(), Failure> {
        let made = self.emit(origin, Dequantize {}, &[acc], None, "dequantize")?;
        self.walk.set_plain(value, made)?;
        self.rename(value, made);
        Ok(())
    }

    /// The element type and the scale of a value of the new module. The value must have a single scale.
    pub(crate) fn made(&self, value: ValueId) -> Result<(Elem, f32), Failure> {
        let value = self.walk.out.main().value(value);
        let found = value.and_then(|v| Some((v.ty.elem, v.quant.as_deref()?.as_tensor()?.0)));
        found.ok_or_else(|| Failure::defect("what a primitive made has no single grid"))
    }

    /// The shape of a value of the new module. All extents are fixed at this point.
    pub(crate) fn dims(&self, value: ValueId) -> Vec<u64> {
        let value = self.walk.out.main().value(value);
        value.and_then(|value| value.ty.dims()).unwrap_or_default().to_vec()
    }
}

/// A tensor of type `elem` whose elements are the codes `codes`.
pub(crate) fn integers(shape: &[u64], codes: &[i32], elem: Elem) -> Result<TensorData, TensorError> {
    let codes: Vec<i64> = codes.iter().map(|&code| code.into()).collect();
    TensorData::from_integers(elem, shape, &codes)
}

#[cfg(test)]
mod tests;
