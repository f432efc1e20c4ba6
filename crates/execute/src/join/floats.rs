//! Joins `dequantize → add → activation → quantize`, or a part of it: float steps between codes that work on each element.
//! The values between them are not stored, except the one that is quantized, if others read it.

use super::float_steps::{Found, Operand};
use super::producer;
use super::scope::{FoundJoin, Join, Joins, Scope};
use crate::error::ExecuteError;
use crate::integer::operands::carried;
use crate::prelude::*;
use crate::reference::Grids;
use crate::step::elements_mut;
use smallvec::{SmallVec, smallvec};
use strait_core::op::Function;
use strait_core::{NodeId, Op, Stage, ValueId};
use strait_kernels::mixed::{Activation, ChainResults, ChainSlice, CodeSlice, FloatChain};
use strait_requantize::IntType;
use strait_requantize::quantize::Quantization;

/// The step of a chain. The first result has the codes, if there are any; the real numbers follow.
struct Chain {
    kernel: FloatChain,
    elements: SmallVec<[Option<IntType>; 2]>,
    extents: [usize; 3],
    orders: Orders,
    codes: bool,
}

/// Joins a quantization with the steps before it.
pub(super) fn look_for_codes(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let Some(node) = scope.node(id) else { return Ok(None) };
    let (Op::Quantize(op), Some(&Some(value)), Some(&codes)) = (&node.op, node.inputs.first(), node.outputs.first())
    else {
        return Ok(None);
    };
    let Some(mut found) = behind(scope, joins, value)? else {
        return Ok(None);
    };
    // Other nodes that read the real numbers must run after this join, which computes them.
    let mut others = scope.graph.uses(value).filter(|of| of.node != id).peekable();
    let shared = scope.graph.is_output(value) || others.peek().is_some();
    // A convolution writes either codes or real numbers.
    if shared
        && let Some(kernel) = found.kernel(None).map_err(|error| scope.error(id, error.into()))?
        && let Some(join) = producer::join(scope, joins, &found, &kernel, &smallvec![value])?
    {
        return Ok(Some(join));
    }
    if others.any(|of| scope.position(of.node) < scope.position(id)) {
        return Ok(None);
    }
    let out = scope.slot(codes)?;
    let (Ok(grids), Some(to)) = (Grids::of(&out), out.elem.int_type()) else {
        return Ok(None);
    };
    if !grids.is_single() {
        return Ok(None);
    }
    found.nodes.push(id);
    let mut outputs = smallvec![codes];
    outputs.extend(shared.then_some(value));
    join(scope, joins, id, found, Some(grids.at(0).quantization(op, to)), outputs)
}

/// Joins dequantizations with the sum or the activation after them, if its results are not quantized at once.
pub(super) fn look_for_reals(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let Some(value) = scope.result(id) else { return Ok(None) };
    let follows = scope
        .follower(joins, id)
        .is_some_and(|(_, node)| activation(&node.op).is_some());
    match behind(scope, joins, value)? {
        Some(found) if !follows => join(scope, joins, id, found, None, smallvec![value]),
        _ => Ok(None),
    }
}

fn activation(op: &Op) -> Option<Activation> {
    match op {
        Op::Relu(_) => Some(Activation::Relu),
        Op::Clip(op) => Some(Activation::Clip([op.min, op.max])),
        Op::Unary(op) if op.function == Function::Silu => Some(Activation::Silu),
        _ => None,
    }
}

/// Finds the chain that makes a value. Values inside of it have no other uses. `None` if no node belongs to it.
fn behind(scope: &Scope<'_>, joins: &Joins, value: ValueId) -> Result<Option<Found>, ExecuteError> {
    // All values of a graph that is not in the integer stage can be observed.
    if scope.graph.stage() != Stage::Integer {
        return Ok(None);
    }
    let result = scope.slot(value)?;
    let free = |of: ValueId| {
        let inner = of == value || scope.graph.only_use(of).is_some();
        let (id, node) = scope.graph.producer(of).filter(|_| inner)?;
        let alike = scope
            .slot(of)
            .is_ok_and(|slot| slot.elem == Elem::F32 && slot.dims == result.dims);
        (alike && !joins.taken[id.index()] && node.fused.is_none()).then_some((id, node))
    };
    let mut found = Found {
        nodes: Vec::new(),
        operands: SmallVec::new(),
        activation: Activation::Identity,
    };
    let mut summed = value;
    if let Some((id, node)) = free(value)
        && let (Some(activation), Some(&Some(operand))) = (activation(&node.op), node.inputs.first())
    {
        found.activation = activation;
        found.nodes.push(id);
        summed = operand;
    }
    let terms: SmallVec<[ValueId; 2]> = match free(summed) {
        Some((id, node)) if matches!(node.op, Op::Add(_)) => {
            found.nodes.insert(0, id);
            node.inputs.iter().copied().flatten().collect()
        }
        _ => smallvec![summed],
    };
    for term in terms {
        let mut operand = Operand {
            value: term,
            codes: None,
        };
        if let Some((id, node)) = free(term)
            && let (Op::Dequantize(_), Some(&Some(codes))) = (&node.op, node.inputs.first())
        {
            let slot = scope.slot(codes)?;
            if let (Some(element), Ok(grids)) = (slot.elem.int_type(), Grids::of(&slot)) {
                found.nodes.insert(0, id);
                operand = Operand {
                    value: codes,
                    codes: Some((carried(element), grids)),
                };
            }
        }
        if operand.codes.is_none() {
            let slot = scope.slot(term)?;
            if slot.elem != Elem::F32 || slot.dims != result.dims {
                return Ok(None);
            }
        }
        found.operands.push(operand);
    }
    Ok((!found.nodes.is_empty()).then_some(found))
}

/// Makes the join. `None` if there is no kernel for it.
fn join(
    scope: &Scope<'_>,
    joins: &Joins,
    id: NodeId,
    found: Found,
    quantization: Option<Quantization>,
    outputs: SmallVec<[ValueId; 1]>,
) -> FoundJoin {
    let Some(&output) = outputs.first() else {
        return Ok(None);
    };
    let (dims, grids) = (scope.slot(output)?.dims, || {
        found.operands.iter().filter_map(|of| of.codes.as_ref())
    });
    let kernel = found.kernel(quantization);
    let Some(kernel) = kernel.map_err(|error| scope.error(id, error.into()))? else {
        return Ok(None);
    };
    if let Some(join) = producer::join(scope, joins, &found, &kernel, &outputs)? {
        return Ok(Some(join));
    }
    // A single step runs by itself.
    if found.nodes.len() < 2 {
        return Ok(None);
    }
    let count = dims.iter().product();
    // Operands with a grid per channel must agree about what the channels are.
    let of_channels = |extents: &dyn Fn(&Grids) -> Option<[usize; 3]>| {
        let mut all = grids()
            .filter(|(_, grids)| !grids.is_single())
            .map(|(_, grids)| extents(grids));
        match all.next() {
            None => Some([1, 1, count]),
            Some(first) => first.filter(|_| all.all(|other| other == first)),
        }
    };
    let Some(extents) = of_channels(&|grids| Some(grids.extents(count))) else {
        return Ok(None);
    };
    let elements: SmallVec<[_; 2]> = found
        .operands
        .iter()
        .map(|of| of.codes.as_ref().map(|(element, _)| *element))
        .collect();
    let any = grids().all(|(_, grids)| grids.is_single());
    let step = |extents: [usize; 3]| -> Box<dyn Step> {
        Box::new(Chain {
            kernel: kernel.clone(),
            elements: elements.clone(),
            extents,
            orders: if any { Orders::Any } else { Orders::Planes },
            codes: quantization.is_some(),
        })
    };
    let last = of_channels(&|grids| grids.extents_last(&dims)).filter(|_| scope.last && !any);
    let join = Join {
        node: id,
        inputs: found.operands.iter().map(|of| Some(of.value)).collect(),
        outputs,
        step: step(extents),
        last: last.map(step),
    };
    Ok(Some((join, found.nodes)))
}

impl Step for Chain {
    fn orders(&self) -> Orders {
        self.orders
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let mut operands: SmallVec<[ChainSlice<'_>; 2]> = SmallVec::new();
        for (index, element) in self.elements.iter().enumerate() {
            operands.push(match element {
                None => ChainSlice::Reals(io.input(index)?),
                Some(IntType::I8 | IntType::I4) => ChainSlice::Codes(CodeSlice::I8(io.input(index)?)),
                Some(IntType::U8 | IntType::U4) => ChainSlice::Codes(CodeSlice::U8(io.input(index)?)),
                Some(IntType::I16) => ChainSlice::Codes(CodeSlice::I16(io.input(index)?)),
                Some(IntType::U16) => ChainSlice::Codes(CodeSlice::U16(io.input(index)?)),
                Some(IntType::I32) => ChainSlice::Codes(CodeSlice::I32(io.input(index)?)),
            });
        }
        let context = io.context;
        let mut outputs = io.outputs.iter_mut();
        let codes = match self.codes {
            true => outputs.next().map(|bytes| &mut **bytes),
            false => None,
        };
        let reals = outputs.next().map(|bytes| elements_mut(bytes)).transpose()?;
        Ok(self
            .kernel
            .run(context, self.extents, &operands, ChainResults { reals, codes })?)
    }
}
