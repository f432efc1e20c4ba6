//! Adds ops to the graph. All ops are added by the functions of this file, so that they always fold constants, widen
//! integers and infer result types.

use smallvec::{SmallVec, smallvec};
use strait_core::op::{Cast, Identity};
use strait_core::{Elem, Op, ReasonCode, TensorData, TensorType, ValueId};

use crate::builder::{Entry, check_limits, no_tensor};
use crate::fold;
use crate::layer::{Arg, Layer};
use crate::numbers::{is_finite, widened_float};
use crate::refusal::Refusal;
use crate::wiring::TensorId;

/// The largest number of operands or results of one node that the use lists of `strait-core` allow.
const MOST_OPERANDS: usize = u16::MAX as usize;
const MOST_RESULTS: usize = u8::MAX as usize;

impl Layer<'_, '_> {
    /// Applies an op. If all operands are constants, the results are constants too; otherwise they are values called
    /// `names`.
    ///
    /// Ops on integers compute in i64. Narrower operands are widened first. The results are then narrowed to the type
    /// that the model states, by keeping the low bits.
    pub(crate) fn apply(
        &mut self,
        op: Op,
        args: &[Arg],
        names: &[Option<TensorId>],
    ) -> Result<SmallVec<[Arg; 1]>, Refusal> {
        let mut args = self.resolve(args)?;
        for source in &mut args.0 {
            if let Source::Value(id) = source {
                *id = self.as_integers(*id)?;
            }
        }
        let narrow = fold::computes(&op)
            .then(|| self.widen(&mut args))
            .transpose()?
            .flatten();
        let folded = args
            .constants()
            .and_then(|constants| fold::evaluate(&op, &constants, |work| self.builder.may_take(work)));
        // A few bytes of a file can ask for many elements. If all constants together would exceed their limit, the op
        // stays in the graph.
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
                // The result of a comparison is boolean and is not narrowed. An identity op gives the result the name
                // that the model states.
                _ => Identity {}.into(),
            };
            let name = names.get(position..).unwrap_or_default();
            let source = Resolved(smallvec![Source::Value(id)]);
            results.extend(self.add(cast, source, name)?.into_iter().map(Arg::Value));
        }
        Ok(results)
    }

    /// Widens all integer operands to i64. Returns the original type of the first operand that was widened, or `None`
    /// if no operand was widened.
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

    /// An integer value as i64. The value is cast only once, even if several ops read it.
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

    /// The value of an operand; `None` if the operand is omitted or is a constant.
    pub(crate) fn resolved(&mut self, arg: &Arg) -> Result<Option<ValueId>, Refusal> {
        let resolved = self.resolve(std::slice::from_ref(arg))?;
        Ok(match resolved.0.first() {
            Some(Source::Value(value)) => Some(*value),
            _ => None,
        })
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
                        Entry::Constant(tensor) => match self.given_constant(id)? {
                            Some(value) => Source::Value(value),
                            None => Source::Constant(Some(id), tensor),
                        },
                        Entry::Value(id) => Source::Value(id),
                        Entry::Sequence(_) => return Err(no_tensor(self.builder.wiring().name(id))),
                        Entry::NotComputed(..) | Entry::Unknown => return Err(Refusal::Unknown),
                    },
                },
            });
        }
        Ok(resolved)
    }

    fn add(&mut self, op: Op, args: Resolved, results: &[Option<TensorId>]) -> Result<SmallVec<[ValueId; 1]>, Refusal> {
        let base = self.name();
        if args.0.len() > MOST_OPERANDS || self.result_count() > MOST_RESULTS {
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
                let name = id.map_or(base, |id| self.builder.wiring().name(id));
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
            let named = results.get(position).copied().flatten();
            let name = match named.filter(|id| !self.builder.rounded.contains(id)) {
                Some(id) => self.builder.module.names.intern(self.builder.wiring().name(id)),
                None => self.builder.fresh(base),
            };
            typed.push((name, ty, None));
        }
        // The node that computes the operator gets the operator's name. A node that only prepares an operand gets a
        // name derived from the operator's name.
        let is_beside = self.is_aside || (op.term().is_form() && results.is_empty());
        let name = match is_beside {
            true => self.builder.name_beside(base, &op),
            false => self.builder.node_name(base, &op),
        };
        let module = &mut self.builder.module;
        let source = module.names.intern(base);
        let graph = module.main_mut();
        let id = graph.add_node(name, op, &inputs, typed);
        graph.set_sources(id, &[source]);
        let made = graph.node(id).map(|n| (n.op.clone(), n.outputs.clone()));
        let Some((op, results)) = made else {
            return Ok(SmallVec::new());
        };
        if let (Some(&Some(operand)), Some(&result)) = (inputs.first(), results.first()) {
            self.carry_grid(&op, operand, result);
        }
        Ok(results)
    }
}

/// An operand after its tensor has been looked up.
enum Source {
    Absent,
    Value(ValueId),
    /// A constant. If it is a tensor of the model, the first field is the number of this tensor.
    Constant(Option<TensorId>, TensorData),
}

struct Resolved(SmallVec<[Source; 3]>);

impl Resolved {
    /// All operands as constants; `None` if one of them is not a constant.
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

/// True if the result at this position consists of positions or counts. These are i64, whatever types the operands
/// have.
fn makes_positions(op: &Op, position: usize) -> bool {
    match op {
        Op::ArgReduce(_) | Op::NonZero(_) | Op::NonMaxSuppression(_) | Op::ShapeOf(_) => true,
        Op::TopK(_) | Op::Unique(_) => position > 0,
        _ => false,
    }
}
