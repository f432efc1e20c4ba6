//! One node as the functions in [`super::ops`] see it: operands, and what becomes of it. Its attributes are read in
//! [`super::attributes`].

use super::build::{Builder, Entry, check_limits, no_tensor};
use super::fold;
use super::index::{Index, TensorId, node_name};
use super::inline::Versions;
use super::tensor::is_finite;
use crate::proto::{AttributeProto, GraphProto, NodeProto};
use smallvec::{SmallVec, smallvec};
use strait_core::op::{Cast, Identity};
use strait_core::{Elem, Op, Reason, ReasonCode, TensorData, TensorType, ValueId};

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
    index: &'a Index<'a>,
    /// Of the node in its graph.
    position: usize,
    opset: i64,
    /// Attributes that were asked for; any other is one that we do not know.
    pub(super) asked: SmallVec<[&'static str; 8]>,
}

impl<'b, 'a> NodeReader<'b, 'a> {
    /// The node at a position of the graph.
    pub(crate) fn new(builder: &'b mut Builder<'a>, position: usize, opset: i64) -> Self {
        let index = builder.scope.index;
        NodeReader {
            builder,
            node: &index.graph.node[position],
            index,
            position,
            opset,
            asked: SmallVec::new(),
        }
    }

    /// The version of the standard operator set that the model uses.
    pub(crate) fn opset(&self) -> i64 {
        self.opset
    }

    /// The versions of single nodes of a graph that an attribute of this one is.
    pub(crate) fn versions_of(&self, graph: &GraphProto) -> Option<&'a Versions> {
        let is_it = |attribute: &AttributeProto| attribute.g.as_deref().is_some_and(|own| std::ptr::eq(own, graph));
        let attribute = self.node.attribute.iter().position(is_it)?;
        self.builder.scope.own_versions.inside(self.position, attribute)
    }

    // ---- operands ----

    fn operand(&self, position: usize) -> Option<TensorId> {
        self.index.operands(self.position).get(position).copied().flatten()
    }

    fn result(&self, position: usize) -> Option<TensorId> {
        self.index.results(self.position).get(position).copied().flatten()
    }

    /// True if the operand is there.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.operand(position).is_some()
    }

    /// Number of operands, including those left out in between.
    pub(crate) fn operand_count(&self) -> usize {
        self.node.input.len()
    }

    pub(super) fn entry(&mut self, position: usize) -> Result<Entry, Refusal> {
        match self.operand(position) {
            Some(id) => self.builder.entry(id),
            None => Err(Refusal::invalid(
                ReasonCode::MissingOperand,
                format!("operand {position} is missing"),
            )),
        }
    }

    /// The tensor that is the node's first result.
    pub(super) fn first_result(&self) -> Option<TensorId> {
        self.index.results(self.position).first().copied().flatten()
    }

    /// The type of an operand.
    pub(crate) fn ty(&mut self, position: usize) -> Result<TensorType, Refusal> {
        match self.entry(position)? {
            Entry::Constant(tensor) => Ok(tensor.tensor_type()),
            Entry::Value(id) => Ok(self.type_of(id)),
            Entry::Sequence(_) => Err(no_tensor(&self.node.input[position])),
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

    /// Refuses operands of several types where ONNX has one for all. What is left out is of any. Floats are all f32 here, but
    /// for constants of f64.
    pub(crate) fn one_type(&mut self, positions: impl IntoIterator<Item = usize>) -> Result<(), Refusal> {
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

    /// Adds an op in front of the node's last one, and answers with its first result.
    pub(crate) fn push(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<Arg, Refusal> {
        let results = self.apply(op.into(), args, &[])?;
        Ok(results.into_iter().next().unwrap_or(Arg::Absent))
    }

    /// The same, with all of its results.
    pub(crate) fn push_all(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<SmallVec<[Arg; 1]>, Refusal> {
        self.apply(op.into(), args, &[])
    }

    /// Adds the op whose results are the node's.
    pub(crate) fn finish(&mut self, op: impl Into<Op>, args: &[Arg]) -> Result<(), Refusal> {
        self.finish_result(0, op, args)
    }

    /// True if the model uses the result at this position.
    pub(crate) fn has_result(&self, position: usize) -> bool {
        self.result(position).is_some_and(|id| self.builder.is_used(id))
    }

    /// Adds an op whose results are the node's from `position` on; nothing where the node has no such result
    /// that is used. A node's first result is there all the same.
    pub(crate) fn finish_result(&mut self, position: usize, op: impl Into<Op>, args: &[Arg]) -> Result<(), Refusal> {
        let node = self.node;
        let names = node.output.get(position..).unwrap_or_default();
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

    /// The results of an op: constants where all operands are, values called `names` otherwise.
    ///
    /// What computes with integers does it in i64: narrower ones are widened in front of it, and its results become as
    /// narrow again, by their low bits, as the model has them.
    fn apply(&mut self, op: Op, args: &[Arg], names: &'a [String]) -> Result<SmallVec<[Arg; 1]>, Refusal> {
        let mut args = self.resolve(args)?;
        let narrow = fold::computes(&op)
            .then(|| self.widen(&mut args))
            .transpose()?
            .flatten();
        let folded = args
            .constants()
            .and_then(|constants| fold::evaluate(&op, &constants, |work| self.builder.may_take(work)));
        // A few bytes of a file ask for many elements: past the limit for all of them the graph keeps the op.
        let count = |folded: &Vec<TensorData>| folded.iter().map(|tensor| tensor.len() as u64).sum();
        if let Some(folded) = folded.filter(|folded| self.builder.may_write(count(folded))) {
            let back = |tensor: TensorData| match narrow {
                Some(elem) if tensor.elem() == Elem::I64 => fold::convert(&tensor, elem).unwrap_or(tensor),
                _ => tensor,
            };
            let back = |(position, tensor)| match makes_positions(&op, position) {
                true => tensor,
                false => back(tensor),
            };
            return Ok(folded.into_iter().enumerate().map(back).map(Arg::Constant).collect());
        }
        let wide = self.add(op.clone(), args, if narrow.is_some() { &[] } else { names })?;
        let Some(narrow) = narrow else {
            return Ok(wide.into_iter().map(Arg::Value).collect());
        };
        let mut results = SmallVec::new();
        for (position, id) in wide.into_iter().enumerate() {
            let cast: Op = match self.type_of(id).elem {
                Elem::I64 if !makes_positions(&op, position) => Cast { to: narrow }.into(),
                // A comparison: the name is the model's all the same.
                _ => Identity {}.into(),
            };
            let name = names.get(position..).unwrap_or_default();
            let source = Resolved(smallvec![Source::Value(id)]);
            results.extend(self.add(cast, source, name)?.into_iter().map(Arg::Value));
        }
        Ok(results)
    }

    /// Widens all integers among the operands to i64, and answers with the type that the first of them had, if any was
    /// narrower.
    fn widen(&mut self, args: &mut Resolved) -> Result<Option<Elem>, Refusal> {
        let mut narrow = None;
        for source in &mut args.0 {
            let elem = match source {
                Source::Absent => continue,
                Source::Value(id) => self.type_of(*id).elem,
                Source::Constant(_, tensor) => tensor.elem(),
            };
            if !fold::is_narrow(elem) {
                continue;
            }
            narrow.get_or_insert(elem);
            *source = match source {
                Source::Constant(_, tensor) => match fold::convert(tensor, Elem::I64) {
                    Some(wide) => Source::Constant(None, wide),
                    None => return Err(Refusal::Unsupported(format!("a constant of {elem} is too large"))),
                },
                Source::Value(id) => Source::Value(self.wide(*id)?),
                Source::Absent => Source::Absent,
            };
        }
        Ok(narrow)
    }

    /// An integer value as i64; cast once, however many read it.
    fn wide(&mut self, id: ValueId) -> Result<ValueId, Refusal> {
        if let Some(&wide) = self.builder.widened.get(&id) {
            return Ok(wide);
        }
        let source = Resolved(smallvec![Source::Value(id)]);
        let wide = self.add(Cast { to: Elem::I64 }.into(), source, &[])?;
        let wide = wide.first().copied().unwrap_or(id);
        self.builder.widened.insert(id, wide);
        Ok(wide)
    }

    /// An operand that holds positions or counts, as i64.
    pub(crate) fn indices(&mut self, position: usize) -> Result<Arg, Refusal> {
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
    pub(crate) fn finish_constant(&mut self, tensor: TensorData) {
        if let Some(id) = self.result(0) {
            self.builder.define(id, Entry::Constant(widened_float(tensor)));
        }
    }

    /// Notes the results that the node's ops do not have.
    pub(crate) fn finish_results(&mut self) {
        for (position, id) in self.index.results(self.position).iter().enumerate() {
            if let Some(id) = id.filter(|&id| !self.builder.is_known(id)) {
                let entry = Entry::NotComputed(self.node.op_type.clone(), position);
                self.builder.define(id, entry);
            }
        }
    }

    fn resolve(&mut self, args: &[Arg]) -> Result<Resolved, Refusal> {
        let mut resolved = Resolved(SmallVec::new());
        for arg in args {
            resolved.0.push(match arg {
                Arg::Absent => Source::Absent,
                Arg::Value(id) => Source::Value(*id),
                Arg::Constant(tensor) => Source::Constant(None, widened_float(tensor.clone())),
                Arg::Operand(position) => match self.operand(*position) {
                    None => Source::Absent,
                    Some(id) => match self.builder.entry(id)? {
                        Entry::Constant(tensor) => Source::Constant(Some(id), tensor),
                        Entry::Value(id) => Source::Value(id),
                        Entry::Sequence(_) => return Err(no_tensor(self.index.name(id))),
                        Entry::NotComputed(..) | Entry::Unknown => return Err(Refusal::Unknown),
                    },
                },
            });
        }
        Ok(resolved)
    }

    fn add(&mut self, op: Op, args: Resolved, results: &'a [String]) -> Result<SmallVec<[ValueId; 1]>, Refusal> {
        let node = self.node;
        let base = node_name(node);
        if args.0.len() > MOST_OPERANDS || node.output.len() > MOST_RESULTS {
            return Err(Refusal::unsupported("it has too many operands or results"));
        }
        let mut inputs: SmallVec<[Option<ValueId>; 3]> = SmallVec::new();
        let has_parameters = matches!(
            op,
            Op::Conv(_)
                | Op::Gemm(_)
                | Op::MatMul(_)
                | Op::BatchNormalization(_)
                | Op::LayerNormalization(_)
                | Op::RmsNormalization(_)
        );
        for source in args.0 {
            if let Source::Constant(id, tensor) = &source
                && has_parameters
                && !is_finite(tensor)
            {
                let name = id.map_or(base, |id| self.index.name(id));
                let text = format!("the parameter `{name}` holds NaN or an infinity");
                return Err(Refusal::invalid(ReasonCode::NotFinite, text));
            }
            inputs.push(match source {
                Source::Absent => None,
                Source::Value(id) => Some(id),
                Source::Constant(Some(id), _) => Some(self.builder.value(id)?),
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
        let mut inferred = self.builder.module.result_types(&op, &operands, None)?;
        self.builder.module.name_extents(base, &mut inferred);
        if inferred.len() > MOST_RESULTS {
            return Err(Refusal::unsupported("it has too many results"));
        }
        let mut typed = Vec::with_capacity(inferred.len());
        for (position, ty) in inferred.into_iter().enumerate() {
            check_limits(&ty)?;
            let name = results.get(position).filter(|name| !name.is_empty());
            let name = match name.filter(|name| !self.builder.rounded.contains(name.as_str())) {
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
enum Source {
    Absent,
    Value(ValueId),
    /// With the model's tensor, if it is one.
    Constant(Option<TensorId>, TensorData),
}

struct Resolved(SmallVec<[Source; 3]>);

impl Resolved {
    /// All operands as constants, or nothing.
    fn constants(&self) -> Option<SmallVec<[Option<&TensorData>; 3]>> {
        fn constant(source: &Source) -> Option<Option<&TensorData>> {
            match source {
                Source::Constant(_, tensor) => Some(Some(tensor)),
                Source::Absent => Some(None),
                Source::Value(_) => None,
            }
        }
        self.0.iter().map(constant).collect()
    }
}

/// True if the result at this position counts elements, and is i64 whatever the operands are.
fn makes_positions(op: &Op, position: usize) -> bool {
    match op {
        Op::ArgReduce(_) | Op::NonZero(_) | Op::NonMaxSuppression(_) | Op::ShapeOf(_) => true,
        Op::TopK(_) | Op::Unique(_) => position > 0,
        _ => false,
    }
}

/// Floats of 16 bits are computed with as f32.
pub(super) fn widened_float(tensor: TensorData) -> TensorData {
    if !matches!(tensor.elem(), Elem::F16 | Elem::BF16) {
        return tensor;
    }
    narrowed_float(tensor)
}

/// Any float as f32, as which it is in a graph.
pub(super) fn narrowed_float(tensor: TensorData) -> TensorData {
    if tensor.elem() == Elem::F32 || !tensor.elem().is_float() {
        return tensor;
    }
    let floats = tensor
        .to_f32()
        .ok()
        .map(|values| TensorData::from_values(tensor.shape(), &values));
    // As many elements as before, in a type that was looked at.
    floats.and_then(Result::ok).unwrap_or(tensor)
}

/// For conversions that the type has been checked for.
fn internal(error: strait_core::TensorError) -> Refusal {
    Refusal::invalid(ReasonCode::Constant, error.to_string())
}
