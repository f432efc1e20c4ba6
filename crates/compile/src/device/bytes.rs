//! Brings the nodes that convert 8-bit inputs to real numbers into one form.

use std::sync::Arc;

use strait_core::op::{BatchNormalization, Dequantize, Transpose};
use strait_core::{Elem, Failure, Graph, Module, NewNode, NodeId, Op, Patch, QuantParams, Source, TensorData, ValueId};

/// A number is taken for an integer if it differs from it by no more than this part of a step between two codes. The
/// rounding of a model's own f32 constants is smaller, and so is what the difference does to an accumulator.
const NEAR: f64 = 1e-4;

/// At most this many nodes behind an input are looked at.
const MOST: usize = 16;

/// The nodes between an input of 8-bit numbers and the first other node. They compute (number − offset) · factor for
/// each channel, and move the axes.
struct Chain {
    nodes: Vec<NodeId>,
    /// Those of them that compute, so that a new node can have the name of the last one.
    computes: Vec<NodeId>,
    end: ValueId,
    /// Axis i of the end is axis `permutation[i]` of the input.
    permutation: Vec<u32>,
    /// The axis of the input along which offsets and factors differ.
    axis: Option<u32>,
    offset: Vec<f64>,
    factor: Vec<f64>,
}

/// Replaces the nodes between inputs of 8-bit numbers and the first layer: by a `dequantize`, a transpose if axes move,
/// and a batch normalization if more is computed than a difference to an integer.
///
/// # Errors
/// The compiler has a defect.
pub(crate) fn take_bytes(module: &mut Module) -> Result<(), Failure> {
    let (main, inputs) = (module.main, module.main().inputs().to_vec());
    for input in inputs {
        let Some(chain) = chain(module, input) else { continue };
        let Some((patch, zero)) = patch(module, input, &chain)? else {
            continue;
        };
        let grid = QuantParams::tensor(1.0, zero);
        module.main_mut().set_quant(input, Some(Arc::new(grid)));
        let applied = module.apply(main, patch);
        applied.map_err(|error| Failure::defect(error.to_string()))?;
    }
    Ok(())
}

/// The values of a graph that stand for the 8-bit numbers of an input, each with the smallest and the largest number.
/// They are the results of `dequantize`, and what transposes make of them.
pub(crate) fn ranges(graph: &Graph) -> Vec<(ValueId, [f32; 2])> {
    let mut found = Vec::new();
    for &input in graph.inputs() {
        let Some(value) = graph.value(input) else { continue };
        let (Some((low, high)), Some(grid)) = (value.ty.elem.integers(), &value.quant) else {
            continue;
        };
        let (Some((scale, zero)), true) = (grid.as_tensor(), value.ty.elem.bits() == 8) else {
            continue;
        };
        let range = [low, high].map(|code| (code - i64::from(zero)) as f32 * scale);
        let mut next = input;
        while let Some(at) = graph.only_use(next)
            && let Some(node) = graph.node(at.node)
            && matches!(node.op, Op::Dequantize(_) | Op::Transpose(_))
            && let Some(result) = node.result()
        {
            if graph
                .value(result)
                .is_some_and(|value| value.quant.is_none() && value.ty.elem.is_float())
            {
                found.push((result, range));
            }
            next = result;
        }
    }
    found
}

fn chain(module: &Module, input: ValueId) -> Option<Chain> {
    let graph = module.main();
    let value = graph.value(input)?;
    if !matches!(value.ty.elem, Elem::U8 | Elem::I8) || value.quant.is_some() {
        return None;
    }
    let first = graph.only_use(input)?.node;
    let cast = graph.node(first)?;
    let Op::Cast(to) = &cast.op else { return None };
    let mut chain = Chain {
        nodes: vec![first],
        computes: Vec::new(),
        end: cast.result().filter(|_| to.to == Elem::F32)?,
        permutation: (0..value.ty.shape.len() as u32).collect(),
        axis: None,
        offset: vec![0.0],
        factor: vec![1.0],
    };
    while chain.nodes.len() < MOST && chain.step(module).is_some() {}
    Some(chain)
}

impl Chain {
    /// Takes the node behind the end into the chain, if it only moves axes or computes with a constant.
    fn step(&mut self, module: &Module) -> Option<()> {
        let graph = module.main();
        let at = graph.only_use(self.end)?;
        let node = graph.node(at.node)?;
        let result = node.result()?;
        let (from, to) = (graph.value(self.end)?, graph.value(result)?);
        if to.quant.is_some() {
            return None;
        }
        if let Op::Transpose(transpose) = &node.op {
            let moved = transpose.permutation.iter();
            self.permutation = moved
                .map(|&axis| self.permutation.get(axis as usize).copied())
                .collect::<Option<_>>()?;
        } else {
            let other = node
                .input(usize::from(at.operand == 0))
                .filter(|_| node.inputs.len() == 2)?;
            let constant = module.data(graph.data_of(other)?)?;
            if from.ty != to.ty || constant.elem() != Elem::F32 {
                return None;
            }
            let (axis, numbers) = self.numbers(constant)?;
            self.compute(&node.op, at.operand == 0, axis, &numbers)?;
            self.computes.push(at.node);
        }
        self.nodes.push(at.node);
        self.end = result;
        Some(())
    }

    /// The numbers of a constant, and the axis of the input along which they lie; `None` for one number.
    fn numbers(&self, constant: &TensorData) -> Option<(Option<u32>, Vec<f64>)> {
        let numbers: Vec<f64> = constant.to_f32().ok()?.iter().map(|&number| number.into()).collect();
        let missing = self.permutation.len().checked_sub(constant.shape().len())?;
        let mut long = (constant.shape().iter().enumerate()).filter(|(_, extent)| **extent != 1);
        let axis = match (long.next(), long.next()) {
            (None, _) => None,
            (Some((axis, _)), None) => Some(*self.permutation.get(axis + missing)?),
            _ => return None,
        };
        Some((axis, numbers))
    }

    /// Adds an operation with a constant to the affine map.
    fn compute(&mut self, op: &Op, is_first: bool, axis: Option<u32>, numbers: &[f64]) -> Option<()> {
        if axis.is_some() && self.axis.is_some_and(|own| Some(own) != axis) {
            return None;
        }
        let count = numbers.len().max(self.offset.len());
        let at = |list: &[f64], index: usize| list.get(index).or(list.first()).copied();
        let (mut offsets, mut factors) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for index in 0..count {
            let (offset, factor) = (at(&self.offset, index)?, at(&self.factor, index)?);
            let number = at(numbers, index)?;
            let (offset, factor) = match op {
                Op::Add(_) => (offset - number / factor, factor),
                Op::Sub(_) if is_first => (offset + number / factor, factor),
                Op::Mul(_) => (offset, factor * number),
                Op::Div(_) if is_first => (offset, factor / number),
                _ => return None,
            };
            (offset.is_finite() && factor.is_finite() && factor != 0.0).then_some(())?;
            offsets.push(offset);
            factors.push(factor);
        }
        self.axis = self.axis.or(axis);
        (self.offset, self.factor) = (offsets, factors);
        Some(())
    }

    /// The code that the chain maps to 0 in every channel, if there is one.
    fn zero(&self, elem: Elem) -> Option<i32> {
        let (low, high) = elem.integers()?;
        let zero = self.offset.first()?.round();
        let fits = (low as f64..=high as f64).contains(&zero);
        let same = self.offset.iter().all(|offset| (offset - zero).abs() <= NEAR);
        (fits && same).then_some(zero as i32)
    }
}

/// The patch for a chain, and the zero point of the input. `None` if the form does not fit the chain.
fn patch(module: &Module, input: ValueId, chain: &Chain) -> Result<Option<(Patch, i32)>, Failure> {
    let graph = module.main();
    let Some(value) = graph.value(input) else {
        return Ok(None);
    };
    let found = chain.zero(value.ty.elem);
    // Without such a code, the smallest one stands for 0, so that the codes are the numbers of the device.
    let zero = found.unwrap_or(value.ty.elem.integers().map_or(0, |(low, _)| low as i32));
    let is_scaled = found.is_none() || chain.factor.iter().any(|&factor| factor != 1.0);
    let rank = chain.permutation.len();
    // The channels of a batch normalization lie along axis 1.
    let channel = match chain.axis {
        _ if !is_scaled => 1,
        Some(axis) => chain.permutation.iter().position(|&own| own == axis).unwrap_or(0),
        None => 1,
    };
    if is_scaled && (rank < 2 || channel == 0) {
        return Ok(None);
    }
    let mut patch = Patch::default();
    let origins = &chain.nodes;
    let (first, last) = (&origins[..1], &origins[origins.len() - 1..]);
    patch
        .add
        .push(NewNode::new(Dequantize {}, &[Some(Source::Old(input))], first));
    if !is_scaled {
        push_transpose(&mut patch, &chain.permutation, origins);
    } else {
        let mut normal: Vec<u32> = chain.permutation.clone();
        let moved = normal.remove(channel);
        normal.insert(1, moved);
        push_transpose(&mut patch, &normal, first);
        let extent = (value.ty.shape.get(moved as usize)).and_then(|extent| extent.fixed());
        let Some(extent) = extent.and_then(|extent| usize::try_from(extent).ok()) else {
            return Ok(None);
        };
        let at = |list: &[f64], index: usize| list.get(index).or(list.first()).copied().unwrap_or(0.0);
        let summand = |index| match found {
            Some(_) => 0.0,
            None => (f64::from(zero) - at(&chain.offset, index)) * at(&chain.factor, index),
        };
        let columns: [(&str, Vec<f64>); 4] = [
            ("scale", (0..extent).map(|index| at(&chain.factor, index)).collect()),
            ("bias", (0..extent).map(summand).collect()),
            ("mean", vec![0.0; extent]),
            ("variance", vec![1.0; extent]),
        ];
        let mut operands = vec![Some(Source::New(patch.add.len() as u16 - 1, 0))];
        for (position, (name, exact)) in columns.into_iter().enumerate() {
            let numbers: Vec<f32> = exact.iter().map(|&number| number as f32).collect();
            patch
                .data
                .push((name.to_owned(), TensorData::from_values(&[extent as u64], &numbers)?));
            if position < 2 {
                patch.unrounded.push((position as u16, exact));
            }
            operands.push(Some(Source::Data(position as u16)));
        }
        let of = chain.computes.last().or(origins.last());
        let others = origins.iter().rev().filter(|id| Some(*id) != of);
        let all: Vec<NodeId> = of.into_iter().chain(others).copied().collect();
        patch
            .add
            .push(NewNode::new(BatchNormalization { epsilon: 0.0 }, &operands, &all));
        let back: Option<Vec<u32>> = (chain.permutation.iter())
            .map(|axis| normal.iter().position(|own| own == axis).map(|place| place as u32))
            .collect();
        push_transpose(&mut patch, &back.unwrap_or_default(), last);
    }
    let end = Source::New(patch.add.len() as u16 - 1, 0);
    patch.replace.push((chain.end, end));
    patch.remove.extend(origins.iter().rev());
    Ok(Some((patch, zero)))
}

/// Adds a transpose of the last node's result, unless no axis moves.
fn push_transpose(patch: &mut Patch, permutation: &[u32], origins: &[NodeId]) {
    if permutation.iter().copied().eq(0..permutation.len() as u32) {
        return;
    }
    let from = Source::New(patch.add.len() as u16 - 1, 0);
    let permutation = permutation.iter().copied().collect();
    patch
        .add
        .push(NewNode::new(Transpose { permutation }, &[Some(from)], origins));
}
