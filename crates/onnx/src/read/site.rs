//! One node as the functions in [`super::ops`] see it: operands, and what becomes of it. Its attributes are read in
//! [`super::attributes`].

use super::build::{Builder, Entry, check_limits};
use super::fold;
use super::index::node_name;
use super::tensor::is_finite;
use crate::proto::NodeProto;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use strait_core::op::Cast;
use strait_core::{Elem, Kind, Op, Reason, ReasonCode, TensorData, TensorType, ValueId};

/// Reason why a node is not read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// We lack something.
    Unsupported(String),
    /// The model contradicts itself.
    Invalid(Reason),
    /// An operand comes from a node that was refused; nothing more is to be said.
    Unknown,
}

impl Refusal {
    pub(crate) fn invalid(code: ReasonCode, text: impl Into<String>) -> Refusal {
        Refusal::Invalid(Reason::new(code, text))
    }

    pub(crate) fn unsupported(text: impl Into<String>) -> Refusal {
        Refusal::Unsupported(text.into())
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::Invalid(reason)
    }
}

/// An operand of an op that a node becomes.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// The node's operand at this position; it may be left out.
    Operand(usize),
    /// A value that the node has added.
    Value(ValueId),
    /// A constant that the model does not have.
    Constant(TensorData),
    /// Left out.
    Absent,
}

/// The limits of the use lists of `strait-core`: operands and results of one node.
const MOST_OPERANDS: usize = u16::MAX as usize;
const MOST_RESULTS: usize = u8::MAX as usize;

/// A node while it is read.
pub(crate) struct NodeReader<'b, 'a> {
    pub(super) builder: &'b mut Builder<'a>,
    pub(super) node: &'a NodeProto,
    opset: i64,
    /// Attributes that were asked for; any other is one that we do not know.
    pub(super) asked: BTreeSet<&'static str>,
}

impl<'b, 'a> NodeReader<'b, 'a> {
    pub(crate) fn new(builder: &'b mut Builder<'a>, node: &'a NodeProto, opset: i64) -> Self {
        NodeReader {
            builder,
            node,
            opset,
            asked: BTreeSet::new(),
        }
    }

    /// The version of the standard operator set that the model uses.
    pub(crate) fn opset(&self) -> i64 {
        self.opset
    }

    // ---- operands ----

    fn operand_name(&self, position: usize) -> Option<&'a str> {
        self.node
            .input
            .get(position)
            .map(String::as_str)
            .filter(|name| !name.is_empty())
    }

    /// True if the operand is there.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.operand_name(position).is_some()
    }

    /// Number of operands, including those left out in between.
    pub(crate) fn operand_count(&self) -> usize {
        self.node.input.len()
    }

    fn entry(&mut self, position: usize) -> Result<Entry, Refusal> {
        match self.operand_name(position) {
            Some(name) => self.builder.entry(name),
            None => Err(Refusal::invalid(
                ReasonCode::MissingOperand,
                format!("operand {position} is missing"),
            )),
        }
    }

    /// The type of an operand.
    pub(crate) fn ty(&mut self, position: usize) -> Result<TensorType, Refusal> {
        match self.entry(position)? {
            Entry::Constant(tensor) => Ok(tensor.tensor_type()),
            Entry::Value(id) => Ok(self.type_of(id)),
            Entry::NotComputed(..) | Entry::Unknown => Err(Refusal::Unknown),
        }
    }

    /// The type of a value that a node takes or has made.
    pub(crate) fn arg_type(&mut self, arg: &Arg) -> Result<TensorType, Refusal> {
        match arg {
            Arg::Operand(position) => self.ty(*position),
            Arg::Value(id) => Ok(self.type_of(*id)),
            Arg::Constant(tensor) => Ok(tensor.tensor_type()),
            Arg::Absent => Err(Refusal::invalid(ReasonCode::MissingOperand, "an operand is missing")),
        }
    }

    fn type_of(&self, id: ValueId) -> TensorType {
        // Every id in an entry came from this graph, and nothing is taken out of a graph while it is built.
        let value = self.builder.module.main().value(id);
        value.map_or_else(|| TensorType::fixed(Elem::F32, &[]), |v| v.ty.clone())
    }

    /// The rank of an operand.
    pub(crate) fn rank(&mut self, position: usize) -> Result<usize, Refusal> {
        Ok(self.ty(position)?.shape.len())
    }

    /// An operand whose elements are known, if they are; `None` also where it is left out.
    pub(crate) fn constant(&mut self, position: usize) -> Result<Option<TensorData>, Refusal> {
        if !self.has(position) {
            return Ok(None);
        }
        match self.entry(position)? {
            Entry::Constant(tensor) => Ok(Some(tensor)),
            _ => Ok(None),
        }
    }

    /// An operand that we need to know the elements of; `None` where it is left out.
    pub(crate) fn known(&mut self, position: usize, what: &str) -> Result<Option<TensorData>, Refusal> {
        match (self.has(position), self.constant(position)?) {
            (true, None) => Err(Refusal::Unsupported(format!("its {what} is computed at run time"))),
            (_, constant) => Ok(constant),
        }
    }

    /// A list of integers that is an operand.
    pub(crate) fn known_ints(&mut self, position: usize, what: &str) -> Result<Option<Vec<i64>>, Refusal> {
        let Some(tensor) = self.known(position, what)? else {
            return Ok(None);
        };
        match tensor.elem() {
            Elem::I64 | Elem::I32 => Ok(Some(tensor.to_i64().map_err(internal)?)),
            other => Err(Refusal::invalid(
                ReasonCode::OperandType,
                format!("its {what} is of type {other}"),
            )),
        }
    }

    /// One float that is an operand. NaN is refused.
    pub(crate) fn known_float(&mut self, position: usize, what: &str) -> Result<Option<f32>, Refusal> {
        let Some(tensor) = self.known(position, what)? else {
            return Ok(None);
        };
        let values = match tensor.elem().is_float() {
            true => tensor.to_f32().map_err(internal)?,
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

    /// A list of integers that is an attribute up to some operator set, and the operand at `position` from `since` on.
    pub(crate) fn list(&mut self, key: &'static str, position: usize, since: i64) -> Result<Option<Vec<i64>>, Refusal> {
        if self.opset < since {
            return Ok(self.ints(key)?.map(<[i64]>::to_vec));
        }
        self.known_ints(position, key)
    }

    // ---- results ----

    /// Number of results of the node, including those without a name.
    pub(crate) fn result_count(&self) -> usize {
        self.node.output.len()
    }

    /// Adds an op in front of the node's last one, and answers with its only result.
    pub(crate) fn push(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<Arg, Refusal> {
        let (op, args) = (op.into(), self.resolve(args)?);
        if let Some(folded) = fold::evaluate(&op, &args.constants()) {
            return Ok(Arg::Constant(folded));
        }
        let outputs = self.add(op, args, &[])?;
        Ok(outputs.first().map_or(Arg::Absent, |&id| Arg::Value(id)))
    }

    /// The same, with all of its results.
    pub(crate) fn push_all(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<SmallVec<[Arg; 1]>, Refusal> {
        let (op, args) = (op.into(), self.resolve(args)?);
        Ok(self.add(op, args, &[])?.into_iter().map(Arg::Value).collect())
    }

    /// An operand that holds positions or counts, as i64.
    pub(crate) fn indices(&mut self, position: usize) -> Result<Arg, Refusal> {
        match self.ty(position)?.elem {
            Elem::I64 => Ok(Arg::Operand(position)),
            _ => self.push(Cast { to: Elem::I64 }, &[Arg::Operand(position)]),
        }
    }

    /// Adds the op whose results are the node's.
    pub(crate) fn finish(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<(), Refusal> {
        self.finish_result(0, op, args)
    }

    /// True if the model uses the result at this position.
    pub(crate) fn has_result(&self, position: usize) -> bool {
        let name = self.node.output.get(position);
        name.is_some_and(|name| !name.is_empty() && self.builder.is_used(name))
    }

    /// Adds an op whose results are the node's from `position` on; nothing where the node has no such result
    /// that is used. A node's first result is there all the same.
    pub(crate) fn finish_result(&mut self, position: usize, op: impl Into<Op>, args: &[Arg]) -> Result<(), Refusal> {
        let node = self.node;
        let names = node.output.get(position..).unwrap_or_default();
        if names.is_empty() || (position > 0 && !self.has_result(position)) {
            return Ok(());
        }
        let (op, args) = (op.into(), self.resolve(args)?);
        if let Some(folded) = fold::evaluate(&op, &args.constants()) {
            if let Some(name) = names.first().filter(|name| !name.is_empty()) {
                self.builder.define(name, Entry::Constant(folded));
            }
            return Ok(());
        }
        let outputs = self.add(op, args, names)?;
        for (name, id) in names.iter().zip(outputs).filter(|(name, _)| !name.is_empty()) {
            self.builder.define(name, Entry::Value(id));
        }
        Ok(())
    }

    /// Makes the node's first result a constant.
    pub(crate) fn finish_constant(&mut self, tensor: TensorData) {
        let node = self.node;
        if let Some(name) = node.output.first().filter(|name| !name.is_empty()) {
            self.builder.define(name, Entry::Constant(tensor));
        }
    }

    /// Notes the results that the node's ops do not have.
    pub(crate) fn finish_results(&mut self) {
        let node = self.node;
        for (position, name) in node.output.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if !self.builder.is_known(name) {
                let entry = Entry::NotComputed(node.op_type.clone(), position);
                self.builder.define(name, entry);
            }
        }
    }

    fn resolve(&mut self, args: &[Arg]) -> Result<Resolved<'a>, Refusal> {
        let mut resolved = Resolved(SmallVec::new());
        for arg in args {
            resolved.0.push(match arg {
                Arg::Absent => Source::Absent,
                Arg::Value(id) => Source::Value(*id),
                Arg::Constant(tensor) => Source::Constant(None, tensor.clone()),
                Arg::Operand(position) => match self.operand_name(*position) {
                    None => Source::Absent,
                    Some(name) => match self.builder.entry(name)? {
                        Entry::Constant(tensor) => Source::Constant(Some(name), tensor),
                        Entry::Value(id) => Source::Value(id),
                        Entry::NotComputed(..) | Entry::Unknown => return Err(Refusal::Unknown),
                    },
                },
            });
        }
        Ok(resolved)
    }

    fn add(&mut self, op: Op, args: Resolved<'a>, results: &'a [String]) -> Result<SmallVec<[ValueId; 1]>, Refusal> {
        let node = self.node;
        let base = node_name(node);
        if args.0.len() > MOST_OPERANDS || node.output.len() > MOST_RESULTS {
            return Err(Refusal::unsupported("it has too many operands or results"));
        }
        let mut inputs: SmallVec<[Option<ValueId>; 3]> = SmallVec::new();
        let has_parameters = matches!(
            op,
            Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_) | Op::BatchNormalization(_) | Op::LayerNormalization(_)
        );
        for source in args.0 {
            if let Source::Constant(name, tensor) = &source
                && has_parameters
                && !is_finite(tensor)
            {
                let text = format!("the parameter `{}` holds NaN or an infinity", name.unwrap_or(base));
                return Err(Refusal::invalid(ReasonCode::NotFinite, text));
            }
            inputs.push(match source {
                Source::Absent => None,
                Source::Value(id) => Some(id),
                Source::Constant(Some(name), _) => Some(self.builder.value(name)?),
                Source::Constant(None, tensor) => {
                    let name = self.builder.fresh(base);
                    Some(self.builder.place(name, tensor)?)
                }
            });
        }
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        let types: SmallVec<[Option<TensorType>; 3]> =
            inputs.iter().map(|input| input.map(|id| self.type_of(id))).collect();
        let operands: SmallVec<[Option<&TensorType>; 3]> = types.iter().map(Option::as_ref).collect();
        check_integers(&op, &operands)?;
        let inferred = op.infer(&operands)?;
        if inferred.len() > MOST_RESULTS {
            return Err(Refusal::unsupported("it has too many results"));
        }
        let mut typed = Vec::with_capacity(inferred.len());
        for (position, ty) in inferred.into_iter().enumerate() {
            check_limits(&ty)?;
            let name = match results.get(position).filter(|name| !name.is_empty()) {
                Some(name) => self.builder.module.names.intern(name),
                None => self.builder.fresh(base),
            };
            typed.push((name, ty, None));
        }
        let name = self.builder.node_name(base);
        let module = &mut self.builder.module;
        let source = module.names.intern(base);
        let graph = module.main_mut();
        let id = graph.add_node(name, op, &inputs, typed);
        graph.set_sources(id, &[source]);
        Ok(graph.node(id).map(|n| n.outputs.clone()).unwrap_or_default())
    }
}

/// Operands with names resolved.
enum Source<'a> {
    Absent,
    Value(ValueId),
    /// With the model's name, if it has one.
    Constant(Option<&'a str>, TensorData),
}

struct Resolved<'a>(SmallVec<[Source<'a>; 3]>);

impl Resolved<'_> {
    /// All operands as constants, or nothing.
    fn constants(&self) -> Vec<&TensorData> {
        self.0
            .iter()
            .map(|source| match source {
                Source::Constant(_, tensor) => Some(tensor),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default()
    }
}

/// Integer arithmetic is done by [`fold`] while a model is read, or not at all: in the float stage integers are moved
/// around, but not computed with.
fn check_integers(op: &Op, operands: &[Option<&TensorType>]) -> Result<(), Refusal> {
    let moves = matches!(op.term().kind(), Kind::Rearranges | Kind::Moves | Kind::Converts)
        || matches!(
            op,
            Op::Recurrent(_) | Op::RoiAlign(_) | Op::Scatter(_) | Op::ArgReduce(_) | Op::Cumulative(_) | Op::TopK(_)
        );
    match operands.iter().flatten().find(|ty| !ty.elem.is_float()) {
        Some(ty) if !moves => Err(Refusal::Unsupported(format!(
            "it computes with {} at run time; only floats are computed with",
            ty.elem
        ))),
        _ => Ok(()),
    }
}

/// For conversions that the type has been checked for.
fn internal(error: strait_core::TensorError) -> Refusal {
    Refusal::invalid(ReasonCode::Constant, error.to_string())
}
