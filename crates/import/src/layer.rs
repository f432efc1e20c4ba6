//! A node while it is being read: its operands, and the ops that it becomes.

use smallvec::SmallVec;
use strait_core::op::{Cast, Identity};
use strait_core::{Elem, Op, ReasonCode, TensorData, TensorType, ValueId};

use crate::builder::{Builder, Entry, no_tensor};
use crate::fold;
use crate::numbers::widened_float;
use crate::refusal::Refusal;
use crate::wiring::{TensorId, Wiring};

/// An operand for an op that is added to the graph.
#[derive(Clone, Debug)]
pub enum Arg {
    /// The node's operand at this position, which may be omitted.
    Operand(usize),
    /// A value that was added while the node was read.
    Value(ValueId),
    /// A constant that is not in the model.
    Constant(TensorData),
    /// The operand is omitted.
    Absent,
}

/// A node while it is being read. Formats wrap a layer together with their own representation of the node's attributes.
pub struct Layer<'b, 'a> {
    /// Builds the module, to which the ops of the node are added.
    pub builder: &'b mut Builder<'a>,
    wiring: &'a Wiring<'a>,
    /// The node's position in its graph.
    position: usize,
    /// True while ops are added that only prepare an operand of the op that computes the node's result.
    pub(crate) is_aside: bool,
}

impl<'b, 'a> Layer<'b, 'a> {
    /// The node at position `position` in the builder's graph.
    pub fn new(builder: &'b mut Builder<'a>, position: usize) -> Self {
        let wiring = builder.wiring();
        Layer {
            builder,
            wiring,
            position,
            is_aside: false,
        }
    }

    /// The position of the node in its graph.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The name of the node.
    pub fn name(&self) -> &'a str {
        self.wiring.node_name(self.position)
    }

    // The operands of the node.

    /// The tensor of an operand; `None` if the operand is omitted.
    pub fn operand(&self, position: usize) -> Option<TensorId> {
        self.wiring.operands(self.position).get(position).copied().flatten()
    }

    pub(crate) fn result(&self, position: usize) -> Option<TensorId> {
        self.wiring.results(self.position).get(position).copied().flatten()
    }

    /// True if the operand is present.
    pub fn has(&self, position: usize) -> bool {
        self.operand(position).is_some()
    }

    /// Number of operands, including omitted operands between others.
    pub fn operand_count(&self) -> usize {
        self.wiring.operands(self.position).len()
    }

    /// What is known about an operand.
    pub fn entry(&mut self, position: usize) -> Result<Entry, Refusal> {
        match self.operand(position) {
            Some(id) => self.builder.entry(id),
            None => Err(Refusal::invalid(
                ReasonCode::MissingOperand,
                format!("operand {position} is missing"),
            )),
        }
    }

    /// The tensor that is the node's first result.
    pub fn first_result(&self) -> Option<TensorId> {
        self.wiring.results(self.position).first().copied().flatten()
    }

    /// The type of an operand.
    pub fn ty(&mut self, position: usize) -> Result<TensorType, Refusal> {
        match self.entry(position)? {
            Entry::Constant(tensor) => Ok(tensor.tensor_type()),
            Entry::Value(id) => Ok(self.type_of(id)),
            Entry::Sequence(_) => Err(no_tensor(self.operand(position).map_or("", |id| self.wiring.name(id)))),
            Entry::NotComputed(..) | Entry::Unknown => Err(Refusal::Unknown),
        }
    }

    /// The type of `arg`, an operand of an op that is about to be added to the graph.
    pub fn arg_type(&mut self, arg: &Arg) -> Result<TensorType, Refusal> {
        match arg {
            Arg::Operand(position) => self.ty(*position),
            Arg::Value(id) => Ok(self.type_of(*id)),
            Arg::Constant(tensor) => Ok(tensor.tensor_type()),
            Arg::Absent => Err(Refusal::invalid(ReasonCode::MissingOperand, "an operand is missing")),
        }
    }

    pub(crate) fn type_of(&self, id: ValueId) -> TensorType {
        // The value exists: every id in an entry is from this graph, and no values are removed while the graph is
        // built.
        let value = self.builder.module.main().value(id);
        value.map_or_else(|| TensorType::fixed(Elem::F32, &[]), |v| v.ty.clone())
    }

    /// Refuses operands of different types, for operators that need the same type for all of them. Omitted operands fit
    /// any type. All floats are f32 here, except constants of f64.
    pub fn one_type(&mut self, positions: impl IntoIterator<Item = usize>) -> Result<(), Refusal> {
        let mut first = None;
        for position in positions {
            if !self.has(position) {
                continue;
            }
            let elem = self.ty(position)?.elem;
            let one = *first.get_or_insert(elem);
            if one != elem && !(one.is_float() && elem.is_float()) {
                let text = format!("an operand is {one} and another {elem}; the operator takes one type");
                return Err(Refusal::invalid(ReasonCode::ElementTypes, text));
            }
        }
        Ok(())
    }

    /// The rank of an operand.
    pub fn rank(&mut self, position: usize) -> Result<usize, Refusal> {
        Ok(self.ty(position)?.shape.len())
    }

    /// The elements of an operand if they are known now. `None` if they are not known, or if the operand is omitted.
    pub fn constant(&mut self, position: usize) -> Result<Option<TensorData>, Refusal> {
        if !self.has(position) {
            return Ok(None);
        }
        match self.entry(position)? {
            Entry::Constant(tensor) => Ok(Some(tensor)),
            _ => Ok(None),
        }
    }

    /// Returns the elements of an operand, or `None` if the operand is omitted. Refuses the node if the elements are
    /// not known now.
    pub fn known(&mut self, position: usize, what: &str) -> Result<Option<TensorData>, Refusal> {
        match (self.has(position), self.constant(position)?) {
            (true, None) => Err(Refusal::Unsupported(format!("its {what} is computed at run time"))),
            (_, constant) => Ok(constant),
        }
    }

    /// The elements of an operand that is a list of integers and must be known now.
    pub fn known_ints(&mut self, position: usize, what: &str) -> Result<Option<Vec<i64>>, Refusal> {
        let Some(tensor) = self.known(position, what)? else {
            return Ok(None);
        };
        match tensor.elem() {
            Elem::I64 | Elem::I32 => Ok(Some(tensor.to_i64()?)),
            other => Err(Refusal::invalid(
                ReasonCode::OperandType,
                format!("its {what} is of type {other}"),
            )),
        }
    }

    /// The number in an operand that is a single integer and must be known now.
    pub fn known_int(&mut self, position: usize, what: &str) -> Result<Option<i64>, Refusal> {
        match self.known_ints(position, what)?.as_deref() {
            None => Ok(None),
            Some(&[number]) => Ok(Some(number)),
            Some(other) => Err(Refusal::invalid(
                ReasonCode::OperandType,
                format!("its {what} is {other:?}, and not one number"),
            )),
        }
    }

    /// Like [`Layer::known_int`], for an operand that must be present.
    pub fn given_int(&mut self, position: usize, what: &str) -> Result<i64, Refusal> {
        let missing = || Refusal::invalid(ReasonCode::MissingOperand, format!("its {what} is missing"));
        self.known_int(position, what)?.ok_or_else(missing)
    }

    /// The number in an operand that is a single float and must be known now. NaN is refused.
    pub fn known_float(&mut self, position: usize, what: &str) -> Result<Option<f32>, Refusal> {
        let Some(tensor) = self.known(position, what)? else {
            return Ok(None);
        };
        let values = match tensor.elem().is_float() {
            true => tensor.to_f32()?,
            false => return Err(Refusal::Unsupported(format!("its {what} is of type {}", tensor.elem()))),
        };
        match *values {
            [value] if value.is_nan() => Err(Refusal::invalid(ReasonCode::Nan, format!("its {what} is NaN"))),
            [value] => Ok(Some(value)),
            _ => Err(Refusal::invalid(
                ReasonCode::OperandType,
                format!("its {what} is not a single number"),
            )),
        }
    }

    // The results of the node.

    /// Number of results of the node, including results without a name.
    pub fn result_count(&self) -> usize {
        self.wiring.results(self.position).len()
    }

    /// Adds an op whose results the node's last op needs, and returns the first result of the added op. The first op
    /// that computes gets the name of the node. Ops that only bring elements into another shape or layout get names
    /// derived from the name of the node.
    pub fn push(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<Arg, Refusal> {
        let results = self.apply(op.into(), args, &[])?;
        Ok(results.into_iter().next().unwrap_or(Arg::Absent))
    }

    /// Like [`Layer::push`], but returns all results.
    pub fn push_all(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<SmallVec<[Arg; 1]>, Refusal> {
        self.apply(op.into(), args, &[])
    }

    /// Adds the last op of the node: its results become the results of the node.
    pub fn finish(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<(), Refusal> {
        self.finish_result(0, op, args)
    }

    /// True if the model uses the result at this position.
    pub fn has_result(&self, position: usize) -> bool {
        self.result(position).is_some_and(|id| self.builder.is_used(id))
    }

    /// Adds an op whose results are the node's results from `position` on. If the model does not use the result at
    /// `position`, nothing is added, unless `position` is 0.
    pub fn finish_result(&mut self, position: usize, op: impl Into<Op>, args: &[Arg]) -> Result<(), Refusal> {
        let names = self.wiring.results(self.position).get(position..).unwrap_or_default();
        if names.is_empty() || (position > 0 && !self.has_result(position)) {
            return Ok(());
        }
        let results = self.apply(op.into(), args, names)?;
        for (offset, result) in results.into_iter().enumerate() {
            let Some(id) = self.result(position + offset) else {
                continue;
            };
            match result {
                Arg::Value(value) => self.builder.define(id, Entry::Value(value)),
                Arg::Constant(tensor) => self.builder.define(id, Entry::Constant(tensor)),
                Arg::Operand(_) | Arg::Absent => {}
            }
        }
        Ok(())
    }

    /// Makes an existing value a result of the node. If the result is an output of the graph, an identity op is added;
    /// the result of the identity has the name of the output and the grid of the value.
    ///
    /// # Errors
    /// Only bugs of ours; a model cannot cause an error here.
    pub fn finish_as(&mut self, position: usize, value: ValueId) -> Result<(), Refusal> {
        let Some(id) = self.result(position) else { return Ok(()) };
        if self.builder.is_output(id) {
            self.finish_result(position, Identity {}, &[Arg::Value(value)])?;
            let grid = self
                .builder
                .module
                .main()
                .value(value)
                .and_then(|value| value.quant.clone());
            if let (Some(grid), Some(result)) = (grid, self.builder.value_at(id)) {
                self.builder.give(result, &grid);
            }
            return Ok(());
        }
        self.builder.define(id, Entry::Value(value));
        Ok(())
    }

    /// An operand that consists of positions or counts, converted to i64.
    pub fn indices(&mut self, position: usize) -> Result<Arg, Refusal> {
        match self.ty(position)?.elem {
            Elem::I64 => Ok(Arg::Operand(position)),
            elem if fold::is_narrow(elem) => self.push(Cast { to: Elem::I64 }, &[Arg::Operand(position)]),
            other => Err(Refusal::invalid(
                ReasonCode::OperandType,
                format!("operand {position} is of type {other}, and not of integers"),
            )),
        }
    }

    /// Makes the node's first result a constant.
    pub fn finish_constant(&mut self, tensor: TensorData) {
        if let Some(id) = self.result(0) {
            self.builder.define(id, Entry::Constant(widened_float(tensor)));
        }
    }

    /// Records which results of the node were not computed by the ops that were added. `operator` is the name of the
    /// node's operator.
    pub fn finish_results(&mut self, operator: &str) {
        for (position, id) in self.wiring.results(self.position).iter().enumerate() {
            if let Some(id) = id.filter(|&id| !self.builder.is_known(id)) {
                let entry = Entry::NotComputed(operator.into(), position);
                self.builder.define(id, entry);
            }
        }
    }
}
