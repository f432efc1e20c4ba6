//! Models that are already quantized: real numbers on a grid, and the codes that stand for them.
//!
//! In its file, a quantized model has codes between its layers. In the module that is read from the file, values are
//! real numbers with grids ([`QuantParams::codes`] is the type of the codes). If a file quantizes a value and then
//! dequantizes it, both operators disappear, and the value before them gets the grid. If another node reads that value
//! unrounded, a copy of the value gets the grid instead. Constants that a file stores as codes become the real numbers
//! that the codes stand for.
//!
//! Quantization tools leave out a ReLU if the smallest code of its result stands for 0, because negative numbers then
//! saturate to 0 anyway. In our module, a value on such a grid also saturates ([`strait_core::Graph::rounds_to`]). But
//! without the ReLU, the results would be wrong if the value later gets a grid with another range. Targets can fuse a
//! ReLU, so the reader adds it again ([`Layer::hidden_activation`]).

use std::num::NonZeroU32;
use std::sync::Arc;

use strait_core::op::{Cast, Clip, Dequantize, Function, Identity, Op, Relu};
use strait_core::shape::fixed_dims;
use strait_core::{Def, Elem, Patch, QuantParams, ReasonCode, Source, Symbol, TensorData, ValueId};
use strait_requantize::{Per, Rounding};

use crate::builder::{Builder, Entry};
use crate::layer::{Arg, Layer};
use crate::quantized::{Copy, Quantized, dequantized, quantize};
use crate::refusal::Refusal;
use crate::wiring::TensorId;

/// The largest number of data-moving ops that are followed between quantizing and dequantizing.
const LONGEST_WAY: usize = 32;

impl Builder<'_> {
    /// Gives a real value a grid. Returns false, and changes nothing, if the value already has a different grid.
    pub fn give(&mut self, value: ValueId, grid: &QuantParams) -> bool {
        let graph = self.module.main_mut();
        match graph.value(value).map(|value| value.quant.as_deref()) {
            Some(None) => {
                graph.set_quant(value, Some(Arc::new(grid.clone())));
                true
            }
            Some(Some(own)) => own == grid,
            None => false,
        }
    }

    /// Records that `codes` are the codes of the real numbers `real` on a grid.
    pub fn note_codes(&mut self, codes: ValueId, real: ValueId, grid: QuantParams) {
        self.quantized.insert(codes, Quantized { real, grid });
    }

    /// Removes copies of values that nothing else reads. The value itself then gets the grid, and keeps its name.
    pub fn join_copies(&mut self) {
        for Copy { of, copy, .. } in std::mem::take(&mut self.copies) {
            let (main, graph) = (self.module.main, self.module.main());
            let made = graph.producer(copy).map(|(id, _)| id);
            let only = graph.only_use(of).filter(|at| Some(at.node) == made);
            let (Some(at), Some(name)) = (only, graph.value(of).map(|value| value.name)) else {
                continue;
            };
            let patch = Patch {
                replace: vec![(copy, Source::Old(of))],
                remove: vec![at.node],
                ..Patch::default()
            };
            if self.module.apply(main, patch).is_ok() {
                self.module.main_mut().rename(of, name);
            }
        }
    }

    /// The real numbers from which codes were quantized, if the grid of the codes is `grid`.
    fn real_of(&self, codes: ValueId, grid: &QuantParams) -> Option<ValueId> {
        let found = self.quantized.get(&codes)?;
        (found.grid == *grid).then_some(found.real)
    }
}

impl Layer<'_, '_> {
    /// Replaces codes by the real numbers that they stand for. This is possible for constants, and for codes that were
    /// quantized from real numbers on the same grid, even if ops have moved the codes since. Returns `None` for all
    /// other codes.
    ///
    /// # Errors
    /// A constant does not fit the grid.
    pub fn real(&mut self, codes: &Arg, grid: &QuantParams) -> Result<Option<Arg>, Refusal> {
        let codes = match codes {
            Arg::Operand(position) => match self.constant(*position)? {
                Some(tensor) => return self.real_constant(&tensor, grid, None).map(Some),
                None => self.resolved(codes)?,
            },
            Arg::Constant(tensor) => return self.real_constant(tensor, grid, None).map(Some),
            other => self.resolved(other)?,
        };
        let Some(codes) = codes else { return Ok(None) };
        if let Some(real) = self.moved(codes, grid, LONGEST_WAY)? {
            return self.on(real, grid).map(|real| Some(Arg::Value(real)));
        }
        let graph = self.builder.module.main_mut();
        let is_input = graph
            .value(codes)
            .is_some_and(|value| matches!(value.def, Def::Input(_)));
        if !is_input || !self.builder.give(codes, &grid.bare()) {
            return Ok(None);
        }
        let real = self.push(Dequantize {}, &[Arg::Value(codes)])?;
        if let Arg::Value(real) = real {
            self.builder.give(real, grid);
        }
        Ok(Some(real))
    }

    /// Dequantizes operand 0, whose codes are on `grid`: the node's first result becomes the real numbers of these
    /// codes. Returns false if the real numbers are not known.
    ///
    /// # Errors
    /// A constant does not fit the grid.
    pub fn finish_real(&mut self, grid: &QuantParams) -> Result<bool, Refusal> {
        let constant = self.constant(0)?;
        let result = self.first_result().filter(|&id| !self.builder.is_output(id));
        let real = match (constant, result) {
            (Some(codes), Some(id)) => {
                let name = self.builder.wiring().name(id);
                let name = self.builder.module.names.intern(name);
                Some(self.real_constant(&codes, grid, Some(name))?)
            }
            _ => self.real(&Arg::Operand(0), grid)?,
        };
        match real {
            Some(Arg::Value(real)) => self.finish_as(0, real).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Reads an operator that only changes codes from one grid to another. If operand 0 is a value on a grid, this
    /// value becomes the node's result. Returns false if operand 0 has no grid.
    ///
    /// # Errors
    /// Only bugs of ours; a model cannot cause an error here.
    pub fn finish_between_grids(&mut self) -> Result<bool, Refusal> {
        let real = self.resolved(&Arg::Operand(0))?;
        let has_grid = |&id: &ValueId| {
            let value = self.builder.module.main().value(id);
            value.is_some_and(|value| value.quant.is_some() && value.ty.elem.is_float())
        };
        match real.filter(has_grid) {
            Some(real) => self.finish_as(0, real).map(|()| true),
            None => Ok(false),
        }
    }

    /// Quantizes real numbers, and makes their codes the node's first result: saturate(round(x / scale) + zero point),
    /// with halves rounded to even.
    ///
    /// # Errors
    /// Only bugs of ours; a model cannot cause an error here.
    pub fn finish_codes(&mut self, of: &Arg, grid: &QuantParams) -> Result<(), Refusal> {
        let op = quantize(grid, Rounding::HalfEven);
        let mut real = self.resolved(of)?;
        if let Some(value) = real
            && let Some((_, maker)) = self.builder.module.main().producer(value)
            && let Some(activation) = self.hidden_activation(&maker.op, &maker.inputs, grid)
        {
            let activated = self.push(activation, &[Arg::Value(value)])?;
            real = self.resolved(&activated)?;
        } else if let (Arg::Operand(position), Some(value)) = (of, real)
            && self.operand(*position).is_some_and(|id| self.builder.is_shared(id))
            && self
                .builder
                .module
                .main()
                .value(value)
                .is_some_and(|value| value.quant.is_none())
        {
            real = Some(self.copy(value, grid)?);
        }
        let operand = real.map_or(Arg::Absent, Arg::Value);
        self.finish(op, &[operand])?;
        let made = self.first_result().and_then(|id| self.builder.value_at(id));
        if let (Some(real), Some(made)) = (real, made) {
            self.builder.give(made, &grid.bare());
            self.builder.note_codes(made, real, grid.clone());
            // If codes leave the model, the last layer should produce them, so the value before them gets their grid.
            if self.first_result().is_some_and(|id| self.builder.is_output(id)) {
                self.builder.give(real, grid);
            }
        }
        Ok(())
    }

    /// Returns the activation that a tool has left out because the codes of the op's result saturate in the same way.
    /// This is a ReLU if the smallest code stands for 0 and the op's result can be negative, and a ReLU6 if in addition
    /// the largest code stands for 6. Returns `None` in all other cases.
    pub fn hidden_activation(&self, op: &Op, operands: &[Option<ValueId>], grid: &QuantParams) -> Option<Op> {
        let graph = self.builder.module.main();
        let from_zero = |value: &Option<ValueId>| {
            let value = value.and_then(|value| graph.value(value));
            value.is_some_and(|value| value.quant.as_deref().and_then(above_zero).is_some())
        };
        let goes_below = match op {
            Op::Conv(_)
            | Op::ConvTranspose(_)
            | Op::Gemm(_)
            | Op::MatMul(_)
            | Op::BatchNormalization(_)
            | Op::Sub(_) => true,
            Op::Add(_) | Op::Mul(_) => !operands.iter().all(from_zero),
            _ => false,
        };
        let [step, last] = above_zero(grid).filter(|_| goes_below)?;
        Some(match (last - 6.0).abs() <= step {
            true => Clip { min: 0.0, max: 6.0 }.into(),
            false => Relu {}.into(),
        })
    }

    /// Returns the codes `codes` as integers, for nodes that compute on codes as integers. If the codes have one scale,
    /// adds ops that compute clip(round(x / scale) + zero point) from the real numbers x, and returns their result.
    /// Codes with several scales, and values that are not codes, are returned unchanged.
    pub(crate) fn as_integers(&mut self, codes: ValueId) -> Result<ValueId, Refusal> {
        if let Some(&integers) = self.builder.integers.get(&codes) {
            return Ok(integers);
        }
        let Some(Quantized { real, grid }) = self.builder.quantized.get(&codes).cloned() else {
            return Ok(codes);
        };
        let producer = self.builder.module.main().producer(codes);
        let is_quantized = producer.is_some_and(|(_, node)| matches!(node.op, Op::Quantize(_)));
        let (Some((scale, zero)), Some(to), true) = (grid.as_tensor(), grid.codes, is_quantized) else {
            return Ok(codes);
        };
        let Some((least, most)) = to.integers() else {
            return Ok(codes);
        };
        let before = std::mem::replace(&mut self.is_aside, true);
        let x = Arg::Value(real);
        let scale = self.number(&x, scale.into())?;
        let steps = self.over(&x, &scale)?;
        let rounded = self.function(Function::Round, &steps)?;
        let zero = self.number(&rounded, zero.into())?;
        let moved = self.plus(&rounded, &zero)?;
        let clip = Clip {
            min: least as f32,
            max: most as f32,
        };
        let clipped = self.push(clip, &[moved])?;
        let integers = self.push(Cast { to }, &[clipped])?;
        self.is_aside = before;
        match integers {
            Arg::Value(integers) => {
                self.builder.integers.insert(codes, integers);
                self.builder.note_codes(integers, real, grid);
                Ok(integers)
            }
            _ => Ok(codes),
        }
    }

    /// Records that the node's first result has the codes of operand 0, clipped to the codes `least` and `most`. The
    /// real numbers of operand 0 are clipped to the numbers that these two codes stand for.
    ///
    /// # Errors
    /// Only bugs of ours; a model cannot cause an error here.
    pub fn note_clipped(&mut self, least: i64, most: i64) -> Result<(), Refusal> {
        let found = self
            .resolved(&Arg::Operand(0))?
            .and_then(|codes| self.builder.quantized.get(&codes).cloned());
        let made = self.first_result().and_then(|id| self.builder.value_at(id));
        let (Some(Quantized { real, grid }), Some(made)) = (found, made) else {
            return Ok(());
        };
        let Some((scale, zero)) = grid.as_tensor() else {
            return Ok(());
        };
        let number = |code: i64| code.saturating_sub(zero.into()) as f32 * scale;
        let clip = Clip {
            min: number(least),
            max: number(most),
        };
        if let Arg::Value(clipped) = self.push(clip, &[Arg::Value(real)])? {
            self.builder.note_codes(made, clipped, grid);
        }
        Ok(())
    }

    /// Returns the value `real` with the grid `grid`. If the value has no grid yet, it gets this grid. If it has
    /// another grid, a copy of it gets this grid.
    ///
    /// # Errors
    /// Only bugs of ours; a model cannot cause an error here.
    pub fn on(&mut self, real: ValueId, grid: &QuantParams) -> Result<ValueId, Refusal> {
        if self.builder.give(real, grid) {
            return Ok(real);
        }
        match self.push(Identity {}, &[Arg::Value(real)])? {
            Arg::Value(copy) => {
                self.builder.give(copy, grid);
                Ok(copy)
            }
            _ => Ok(real),
        }
    }

    /// Returns a copy of a real value, for readers that need the value rounded to a grid while others need it
    /// unrounded. All readers that need the same grid share one copy.
    fn copy(&mut self, real: ValueId, grid: &QuantParams) -> Result<ValueId, Refusal> {
        let mut known = self.builder.copies.iter();
        if let Some(found) = known.find(|found| found.of == real && found.grid == *grid) {
            return Ok(found.copy);
        }
        let copy = match self.push(Identity {}, &[Arg::Value(real)])? {
            Arg::Value(copy) => copy,
            _ => real,
        };
        self.builder.copies.push(Copy {
            of: real,
            grid: grid.clone(),
            copy,
        });
        Ok(copy)
    }

    /// Returns the real numbers that codes stand for, even if ops have moved the codes since they were quantized. In
    /// that case, the same ops are applied to the real numbers from which the codes were quantized. Returns `None` if
    /// these real numbers are not found within `way` ops.
    fn moved(&mut self, codes: ValueId, grid: &QuantParams, way: usize) -> Result<Option<ValueId>, Refusal> {
        if let Some(real) = self.builder.real_of(codes, grid) {
            return Ok(Some(real));
        }
        let graph = self.builder.module.main();
        if let Some(tensor) = self.builder.module.constant(graph, codes).cloned() {
            let real = self.real_constant(&tensor, grid, None)?;
            return self.resolved(&real);
        }
        let found = graph
            .producer(codes)
            .map(|(_, node)| (node.op.clone(), node.inputs.clone()));
        let Some((op, inputs)) = found.filter(|_| way > 0 && grid.axis.is_none()) else {
            return Ok(None);
        };
        let all = match op {
            Op::Concat(_) => inputs.len(),
            Op::Transpose(_)
            | Op::Reshape(_)
            | Op::Squeeze(_)
            | Op::Unsqueeze(_)
            | Op::Flatten(_)
            | Op::Slice(_)
            | Op::Gather(_)
            | Op::Identity(_)
            | Op::MaxPool(_) => 1,
            // A cast to float and back does not change codes of at most 16 bits.
            Op::Cast(_) if grid.codes.is_some_and(|codes| codes.bits() <= 16) => {
                return match inputs.first() {
                    Some(&Some(input)) => self.moved(input, grid, way - 1),
                    _ => Ok(None),
                };
            }
            _ => return Ok(None),
        };
        let mut operands = Vec::with_capacity(inputs.len());
        for (position, input) in inputs.into_iter().enumerate() {
            operands.push(match input {
                None => Arg::Absent,
                Some(value) if position >= all => Arg::Value(value),
                Some(value) => match self.moved(value, grid, way - 1)? {
                    Some(real) => Arg::Value(self.on(real, grid)?),
                    None => return Ok(None),
                },
            });
        }
        match self.push(op, &operands)? {
            Arg::Value(real) => {
                self.builder.note_codes(codes, real, grid.clone());
                Ok(Some(real))
            }
            _ => Ok(None),
        }
    }

    /// Returns the real numbers that constant codes stand for, as a value with the grid of the codes. For biases with
    /// codes of 32 bits, f32 may be too imprecise, so that quantizing the real numbers would give other codes. In this
    /// case, the codes stay in the graph, and an op dequantizes them.
    fn real_constant(&mut self, codes: &TensorData, grid: &QuantParams, name: Option<Symbol>) -> Result<Arg, Refusal> {
        let shape = codes.tensor_type().shape;
        let parts = grid.parts(&shape);
        let fits = |own: Option<usize>| own.is_none_or(|own| parts == Some(own as u64));
        if !fits(grid.scale.channels()) || !fits(grid.zero_point.channels()) {
            let text = "the scales of a constant are not as many as its axis has positions";
            return Err(Refusal::invalid(ReasonCode::OperandType, text));
        }
        let (real, is_exact) = dequantized(codes, grid)?;
        let name = match name {
            Some(name) => name,
            None => self.builder.fresh(self.name()),
        };
        if is_exact {
            let value = self.builder.place(name, real)?;
            self.builder.give(value, grid);
            return Ok(Arg::Value(value));
        }
        let value = self.builder.place(name, codes.clone())?;
        self.builder.give(value, &grid.bare());
        let real = self.push(Dequantize {}, &[Arg::Value(value)])?;
        if let Arg::Value(real) = real {
            self.builder.give(real, grid);
        }
        Ok(real)
    }

    /// Gives a result of the node a grid. If the result's value already has a different grid, the result becomes a
    /// separate value. Does nothing for a constant, which gets its grid when it is added to the graph.
    ///
    /// # Errors
    /// Only bugs of ours; a model cannot cause an error here.
    pub fn give_result(&mut self, position: usize, grid: &QuantParams) -> Result<(), Refusal> {
        let Some((id, value)) = self
            .result(position)
            .and_then(|id| Some((id, self.builder.value_at(id)?)))
        else {
            return Ok(());
        };
        let own = self.on(value, grid)?;
        self.builder.define(id, Entry::Value(own));
        Ok(())
    }

    /// If the tensor is a constant that the model stores as codes, returns a value of real numbers on the grid of these
    /// codes. Returns `None` for any other tensor.
    pub(crate) fn given_constant(&mut self, id: TensorId) -> Result<Option<ValueId>, Refusal> {
        let source = self.builder.scope().source;
        let Some(grid) = source.codes(id) else {
            return Ok(None);
        };
        if let Some(value) = self.builder.given.get(&id) {
            return Ok(Some(*value));
        }
        let name = self.builder.wiring().name(id);
        let name = match self.builder.is_output(id) {
            true => self.builder.fresh(name),
            false => self.builder.module.names.intern(name),
        };
        let value = match source.constant(id) {
            Some(codes) => match self.real_constant(&codes?, &grid, Some(name))? {
                Arg::Value(value) => value,
                _ => return Ok(None),
            },
            // The tensor was computed from constants while the model was read.
            None => {
                let value = self.builder.value(id)?;
                self.on(value, &grid)?
            }
        };
        self.builder.given.insert(id, value);
        Ok(Some(value))
    }

    /// If an op only moves the elements of a constant that has a grid, gives the result the same grid. If the grid has
    /// an axis, the grid of the result has the axis to which the op moves this axis.
    pub(crate) fn carry_grid(&mut self, op: &Op, operand: ValueId, result: ValueId) {
        let graph = self.builder.module.main();
        let Some((from, to)) = graph.value(operand).zip(graph.value(result)) else {
            return;
        };
        let is_constant = matches!(from.def, Def::Data(_));
        let Some(grid) = from.quant.clone().filter(|grid| is_constant && grid.codes.is_some()) else {
            return;
        };
        let moved = match op {
            Op::Transpose(transpose) => grid.permuted(&transpose.permutation),
            Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Flatten(_) | Op::Identity(_) => {
                let [from, to] = [&from.ty.shape, &to.ty.shape].map(|shape| fixed_dims(shape));
                from.zip(to).and_then(|(from, to)| reshaped(&grid, &from, &to))
            }
            _ => None,
        };
        if let Some(grid) = moved {
            self.builder.give(result, &grid);
        }
    }
}

/// The scale of a grid and the largest number that it can represent, if the smallest number is 0.
fn above_zero(grid: &QuantParams) -> Option<[f32; 2]> {
    let (scale, zero) = grid.as_tensor()?;
    let (least, most) = grid.codes.filter(|codes| codes.bits() <= 16)?.integers()?;
    (i64::from(zero) == least).then(|| [scale, (most - least) as f32 * scale])
}

/// Returns the grid of a tensor after a reshape from the shape `from` to the shape `to`. The grid's axis becomes the
/// axis of `to` that has the same extent and the same product of the extents before it. Returns `None` if there is no
/// such axis, or if the grid has a scale per block.
fn reshaped(grid: &QuantParams, from: &[u64], to: &[u64]) -> Option<QuantParams> {
    let Some(axis) = grid.axis.map(usize::from) else {
        return Some(grid.clone());
    };
    let front = |shape: &[u64], axis: usize| shape[..axis].iter().product::<u64>();
    let extent = *from.get(axis)?;
    let found = (0..to.len()).find(|&at| to[at] == extent && front(to, at) == front(from, axis))?;
    grid.block.is_none().then(|| QuantParams {
        axis: Some(found as u8),
        ..grid.clone()
    })
}

/// Returns the grid with these scales and zero points. Returns `None` if a scale is not finite, or not above 0 and
/// not that of a block, or if a zero point is not a code.
pub fn grid_of(
    scales: &[f32],
    zeros: &[i32],
    codes: Elem,
    axis: Option<usize>,
    block: Option<u32>,
) -> Option<QuantParams> {
    let (low, high) = codes.integers()?;
    let legal = zeros.iter().all(|&zero| (low..=high).contains(&i64::from(zero)));
    let (&first, &zero) = (scales.first()?, zeros.first()?);
    let scale = match scales.len() {
        1 => Per::Tensor(first),
        _ => scales.iter().copied().collect(),
    };
    let zero_point = match zeros.iter().all(|other| *other == zero) {
        true => Per::Tensor(zero),
        false => zeros.iter().copied().collect(),
    };
    let several = scale.channels().is_some() || zero_point.channels().is_some();
    let axis = axis.filter(|_| several);
    let block = block.filter(|_| axis.is_some()).and_then(NonZeroU32::new);
    let grid = QuantParams {
        scale,
        zero_point,
        axis: axis.and_then(|axis| u8::try_from(axis).ok()),
        block,
        codes: Some(codes),
    };
    (legal && several == grid.axis.is_some() && grid.has_legal_scales()).then_some(grid)
}
