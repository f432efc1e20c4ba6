//! The reference interpreter of integer graphs. It runs one node at a time, every number is an i64, and every
//! requantization is evaluated by `strait-requantize`. The interpreter defines what a graph computes. A
//! [`Plan`](crate::Plan) computes the same results faster.
//!
//! If a sum exceeds its accumulator type (i32 or i64), the interpreter returns an error, but a plan wraps around.
//! Lowering makes sure that no sum exceeds its type. For operators that a target leaves to the host, and for ops that
//! only move elements, the interpreter uses the same code as a plan.

mod array;
mod boundary;
mod elementwise;
mod primitive;
mod products;
mod rows;
mod windows;

pub(crate) use array::{Array, write};
pub(crate) use boundary::{Grid, Grids, dequantize};
pub(crate) use primitive::Primitive;

use crate::error::{ExecuteError, StepError};
use crate::inputs;
use crate::late;
use crate::layout;
use crate::options::PlanOptions;
use crate::plan::ordered;
use crate::prepare::prepare;
use crate::site::{NodeSlots, slot};
use crate::step::{Input, Io};
use crate::tensor::{Tensor, TensorView};
use strait_core::{Def, GraphId, Module, Op, ValueId};
use strait_kernels::{Context, Isa};

/// Runs a graph once. `observe` is called with each value as soon as it is computed.
///
/// # Errors
/// As for [`Plan::new`](crate::Plan::new) and [`Plan::run`](crate::Plan::run).
pub fn run(
    module: &Module,
    graph: GraphId,
    inputs: &[TensorView<'_>],
    observe: &mut dyn FnMut(ValueId, TensorView<'_>),
) -> Result<Vec<Tensor>, ExecuteError> {
    let (graph, order) = ordered(module, graph)?;
    let options = PlanOptions {
        context: Context::with_isa(Isa::Scalar),
        join: false,
        ..PlanOptions::default()
    };
    let mut values: Vec<Option<Tensor>> = Vec::new();
    values.resize_with(graph.value_bound(), || None);
    if inputs.len() != graph.inputs().len() {
        return Err(ExecuteError::InputCount {
            expected: graph.inputs().len(),
            found: inputs.len(),
        });
    }
    for (&value, input) in graph.inputs().iter().zip(inputs) {
        let slot = slot(module, graph, value)?;
        let name = || {
            graph
                .value(value)
                .map_or_else(String::new, |v| module.name(v.name).into())
        };
        inputs::check(name, slot.elem, &slot.dims, *input)?;
        observe(value, *input);
        values[value.index()] = Some(input.to_tensor());
    }
    for (id, _) in graph.values().filter(|(_, value)| matches!(value.def, Def::Data(_))) {
        let slot = slot(module, graph, id)?;
        if let Some(constant) = slot.constant {
            let tensor = Tensor::from_bytes(slot.elem, &slot.dims, &constant.unpacked());
            values[id.index()] = Some(tensor.map_err(|error| ExecuteError::Ours(error.to_string()))?);
        }
    }
    for id in order {
        if let Some(node) = graph.node(id).filter(|node| late::applies(graph, node)) {
            let operand = |v: &Option<ValueId>| v.and_then(|v| values[v.index()].as_ref()).map(Tensor::view);
            let operands: Vec<_> = node.inputs.iter().map(operand).collect();
            let made = late::Late::new(module, graph, node, &options, 0)?.run(&operands, &mut |_, _, _| None);
            let made = made.map_err(|source| ExecuteError::at(module, graph, id, source))?;
            for (&value, result) in node.outputs.iter().zip(made) {
                observe(value, result.view());
                values[value.index()] = Some(result);
            }
            continue;
        }
        let site = NodeSlots::new(module, graph, id, &options)?;
        let operands: Vec<_> = site
            .node
            .inputs
            .iter()
            .map(|v| v.and_then(|v| values[v.index()].as_ref()))
            .collect();
        let results = interpret(&site, &operands).map_err(|source| ExecuteError::Node {
            node: module.name(site.node.name).to_string(),
            op: site.node.op.term().name(),
            source,
        })?;
        for (&value, result) in site.node.outputs.iter().zip(results) {
            observe(value, result.view());
            values[value.index()] = Some(result);
        }
    }
    let output = |&value: &ValueId| {
        values[value.index()]
            .clone()
            .ok_or_else(|| ExecuteError::Ours(format!("there is no {value}")))
    };
    graph.outputs().iter().map(output).collect()
}

fn interpret(site: &NodeSlots<'_>, operands: &[Option<&Tensor>]) -> Result<Vec<Tensor>, StepError> {
    let mut results = Vec::new();
    for slot in &site.outputs {
        results.push(Tensor::zeros(slot.elem, &slot.dims)?);
    }
    let first = operands.first().copied().flatten();
    let array = |index: usize| match (operands.get(index).copied().flatten(), site.optional(index)) {
        (Some(tensor), Some(slot)) => Array::read(&slot.shape(), tensor.view().bytes()).map(Some),
        _ => Ok(None),
    };
    match (&site.node.op, first, results.first_mut()) {
        (Op::Quantize(op), Some(x), Some(result)) => {
            let out = site.output()?;
            let to = out
                .elem
                .int_type()
                .ok_or_else(|| StepError::Model(format!("{} has no codes", out.elem)))?;
            let codes = boundary::quantize(op, &Grids::of(out)?, to, x.values()?);
            write(out.elem, &codes, result.bytes_mut())?;
        }
        (Op::Dequantize(_), Some(_), Some(result)) => {
            let x = array(0)?.ok_or_else(|| StepError::Model("operand 0 is absent".into()))?;
            let reals = dequantize(&Grids::of(site.input(0)?)?, &x.values);
            result.values_mut()?.copy_from_slice(&reals);
        }
        (op, Some(_), Some(result)) if site.input(0)?.is_quantized() && Primitive::is_defined(op) => {
            let primitive = site.primitive()?;
            let operands = (0..operands.len()).map(array).collect::<Result<Vec<_>, _>>()?;
            write(site.output()?.elem, &primitive.compute(&operands)?, result.bytes_mut())?;
        }
        (_, Some(x), Some(result)) if layout::is_alias(site) => {
            result.bytes_mut().copy_from_slice(x.view().bytes());
        }
        _ => {
            // The op only moves elements, so the interpreter runs the same step as a plan.
            prepare(site)?.run(&mut Io {
                context: &site.options.context,
                inputs: operands.iter().map(|&tensor| input(tensor)).collect(),
                outputs: results.iter_mut().map(Tensor::bytes_mut).collect(),
            })?;
        }
    }
    Ok(results)
}

fn input(tensor: Option<&Tensor>) -> Input<'_> {
    tensor.map_or(Input::Absent, |t| Input::Bytes(t.view().bytes()))
}
