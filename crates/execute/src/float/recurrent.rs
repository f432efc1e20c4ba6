//! Recurrent layers, computed step by step. In each step, a GEMM multiplies the state by the weights of several gates
//! at once.

use crate::prelude::*;
use crate::step::elements_mut;
use strait_core::op::{Activation, Cell, Direction};
use strait_kernels::Context;
use strait_kernels::float::{Bias, Matrix, Unary, gemm, unary};

struct Recurrent {
    op: op::Recurrent,
    steps: usize,
    batch: usize,
    hidden: usize,
    directions: usize,
    /// Number of pre-activations in one step of one direction.
    gates: usize,
}

impl Executable for op::Recurrent {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, weight) = (&site.input(0)?.dims, &site.input(1)?.dims);
        let (&[steps, batch, _], &[directions, gates, hidden]) = (&x[..], &weight[..]) else {
            return Err(StepError::Model("a recurrent layer of other ranks than three".into()));
        };
        Ok(Box::new(Recurrent {
            op: self.clone(),
            steps,
            batch,
            hidden,
            directions,
            gates,
        }))
    }

    fn indices(&self) -> Option<usize> {
        Some(2)
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        // There is one matrix product for each step, direction and gate.
        let elements = types.operand(0).map_or(types.made(), count);
        times(elements, types.extent_from_end(1, 1))
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        // A step needs memory for pre-activations, gates, products, copies, and both states.
        let step = product_from(x, 1) / self.directions().max(1);
        Scratch::run(times(step, 6 * FLOAT).saturating_add(times(extent(x, 1), WORD)))
    }
}

/// Clips numbers to ±`bound`. A NaN stays a NaN.
fn cut_off(values: &mut [f32], bound: f32) {
    if bound.is_infinite() {
        return;
    }
    values.iter_mut().for_each(|x| {
        *x = if *x > bound {
            bound
        } else if *x < -bound {
            -bound
        } else {
            *x
        }
    });
}

/// An activation function with its parameters, and the bound for clipping its argument.
#[derive(Clone, Copy)]
struct Function {
    activation: Activation,
    a: f32,
    b: f32,
    clip: f32,
}

impl Function {
    /// Applies the function to each element of `values`. `copy` is working memory of the same length.
    fn apply(self, context: &Context, values: &mut [f32], copy: &mut [f32]) -> Result<(), StepError> {
        let Function { activation, a, b, clip } = self;
        cut_off(values, clip);
        let copy = &mut copy[..values.len()];
        let mut elementary = |function: Unary, scale: f32, values: &mut [f32]| {
            for (copy, &x) in copy.iter_mut().zip(&*values) {
                *copy = scale * x;
            }
            unary(context, function, copy, values)
        };
        match activation {
            Activation::Sigmoid => elementary(Unary::Sigmoid, 1.0, values)?,
            Activation::Tanh => elementary(Unary::Tanh, 1.0, values)?,
            Activation::Softplus => elementary(Unary::Softplus, 1.0, values)?,
            Activation::ScaledTanh => {
                elementary(Unary::Tanh, b, values)?;
                values.iter_mut().for_each(|x| *x *= a);
            }
            Activation::Elu => {
                copy.copy_from_slice(values);
                unary(context, Unary::Exp, copy, values)?;
                for (y, &x) in values.iter_mut().zip(&*copy) {
                    *y = if x < 0.0 { a * (*y - 1.0) } else { x };
                }
            }
            Activation::Relu => values.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            Activation::Affine => values.iter_mut().for_each(|x| *x = a * *x + b),
            Activation::LeakyRelu => values.iter_mut().for_each(|x| *x = if *x < 0.0 { a * *x } else { *x }),
            Activation::ThresholdedRelu => values.iter_mut().for_each(|x| *x = if *x <= a { 0.0 } else { *x }),
            Activation::HardSigmoid => values.iter_mut().for_each(|x| {
                // The comparisons are arranged such that a NaN stays a NaN.
                let line = a * *x + b;
                let above = if line < 0.0 { 0.0 } else { line };
                *x = if above > 1.0 { 1.0 } else { above };
            }),
            Activation::Softsign => values.iter_mut().for_each(|x| *x /= 1.0 + x.abs()),
        }
        Ok(())
    }
}

/// The weights that one direction reads in every step.
struct Weights<'a> {
    /// The recurrent weights, `[G·H, H]`, where G is the number of gates and H the size of the state.
    recurrent: &'a [f32],
    /// The peepholes, which are the weights by which the cell state is multiplied for the gates i, o and f.
    peepholes: Option<&'a [f32]>,
    bias: Option<&'a [f32]>,
    functions: &'a [Function],
}

/// The state of one direction, and buffers for one step. All have the shape `[N, H]`, for N sequences and H numbers per
/// state, except for the buffers of the gates.
struct State {
    h: Vec<f32>,
    c: Vec<f32>,
    /// The pre-activations `[N, G·H]` of the G gates. During a step, the gates overwrite them.
    gates: Vec<f32>,
    /// Working memory. During a step, it first has the products of the gates `[G, N, H]`; later it has the new state,
    /// or an operand of the product with the weights.
    parts: Vec<f32>,
    product: Vec<f32>,
    copy: Vec<f32>,
}

impl Recurrent {
    fn functions(&self, direction: usize) -> Vec<Function> {
        let count = self.op.cell.activations();
        let at = |index: usize| Function {
            activation: self.op.activations.0[index],
            a: self.op.alpha[index],
            b: self.op.beta[index],
            clip: self.op.clip,
        };
        (direction * count..(direction + 1) * count).map(at).collect()
    }

    /// Multiplies the state `[N, H]` by the weights of `gates`, and writes the products to `state.parts`, gate by gate.
    /// If `reset` is true, `state.copy` takes the place of the state. Unless `alone` is true, the pre-activations in
    /// `state.gates` are added to the products.
    fn product(
        &self,
        context: &Context,
        weights: &Weights<'_>,
        state: &mut State,
        gates: std::ops::Range<usize>,
        reset: bool,
        alone: bool,
    ) -> Result<(), StepError> {
        let (batch, hidden) = (self.batch, self.hidden);
        let columns = gates.len() * hidden;
        let left = if reset { &state.copy[..batch * hidden] } else { &state.h };
        let weight = &weights.recurrent[gates.start * hidden * hidden..gates.end * hidden * hidden];
        let product = &mut state.product[..batch * columns];
        gemm(
            context,
            [batch, columns, hidden],
            Matrix::row_major(left, hidden),
            Matrix::transposed(weight, hidden),
            Bias::Zero,
            product,
        )?;
        for (row, made) in product.chunks_exact(columns).enumerate() {
            let before = &state.gates[row * self.gates..(row + 1) * self.gates];
            for (index, gate) in gates.clone().enumerate() {
                let to = (gate * batch + row) * hidden;
                let to = &mut state.parts[to..to + hidden];
                let made = &made[index * hidden..(index + 1) * hidden];
                if alone {
                    to.copy_from_slice(made);
                } else {
                    let before = &before[gate * hidden..(gate + 1) * hidden];
                    to.iter_mut()
                        .zip(made)
                        .zip(before)
                        .for_each(|((to, made), before)| *to = before + made);
                }
            }
        }
        Ok(())
    }

    /// Computes one step. The new state of all sequences is written to the first `[N, H]` elements of `state.parts`.
    /// For an LSTM, the new cell state is written to the next `[N, H]` elements.
    fn step(&self, context: &Context, weights: &Weights<'_>, state: &mut State) -> Result<(), StepError> {
        let (size, hidden, gates) = (self.batch * self.hidden, self.hidden, self.op.cell.gates() as usize);
        let functions = weights.functions;
        match self.op.cell {
            Cell::Plain => {
                self.product(context, weights, state, 0..1, false, false)?;
                functions[0].apply(context, &mut state.parts[..size], &mut state.copy)
            }
            Cell::Lstm => {
                self.product(context, weights, state, 0..gates, false, false)?;
                let State { c, parts, copy, .. } = state;
                let (i, rest) = parts.split_at_mut(size);
                let (o, rest) = rest.split_at_mut(size);
                let (f, g) = rest.split_at_mut(size);
                let peep = |gate: &mut [f32], cell: &[f32], which: usize| {
                    let Some(weights) = weights.peepholes else { return };
                    let weights = &weights[which * hidden..(which + 1) * hidden];
                    for (gate, cell) in gate.chunks_exact_mut(hidden).zip(cell.chunks_exact(hidden)) {
                        gate.iter_mut()
                            .zip(cell)
                            .zip(weights)
                            .for_each(|((gate, cell), weight)| *gate += weight * cell);
                    }
                };
                peep(i, c, 0);
                peep(f, c, 2);
                functions[0].apply(context, i, copy)?;
                if self.op.coupled {
                    f.iter_mut().zip(&*i).for_each(|(f, i)| *f = 1.0 - i);
                } else {
                    functions[0].apply(context, f, copy)?;
                }
                functions[1].apply(context, g, copy)?;
                for (((f, c), i), g) in f.iter_mut().zip(&*c).zip(&*i).zip(&*g) {
                    *f = *f * c + i * g;
                }
                cut_off(f, self.op.cell_clip);
                peep(o, f, 1);
                functions[0].apply(context, o, copy)?;
                // The caller reads the new state from the first part (`i`), and the new cell state from the second part
                // (`o`).
                i.copy_from_slice(f);
                functions[2].apply(context, i, copy)?;
                i.iter_mut().zip(&*o).for_each(|(i, o)| *i *= o);
                o.copy_from_slice(f);
                Ok(())
            }
            Cell::Gru | Cell::GruLinear => {
                self.product(context, weights, state, 0..2, false, false)?;
                functions[0].apply(context, &mut state.parts[..2 * size], &mut state.copy)?;
                let linear = self.op.cell == Cell::GruLinear;
                if !linear {
                    let (r, h) = (&state.parts[size..2 * size], &state.h);
                    state.copy[..size]
                        .iter_mut()
                        .zip(r)
                        .zip(h)
                        .for_each(|((to, r), h)| *to = r * h);
                }
                self.product(context, weights, state, 2..3, !linear, linear)?;
                let State {
                    h, gates, parts, copy, ..
                } = state;
                let (z, rest) = parts.split_at_mut(size);
                let (r, new) = rest.split_at_mut(size);
                if linear {
                    for (row, new) in new.chunks_exact_mut(hidden).enumerate() {
                        let before = &gates[row * self.gates + 2 * hidden..(row + 1) * self.gates];
                        for (index, (new, r)) in new.iter_mut().zip(&r[row * hidden..]).enumerate() {
                            let bias = weights.bias.map_or(0.0, |bias| bias[index]);
                            *new = before[index] + r * (*new + bias);
                        }
                    }
                }
                functions[1].apply(context, new, copy)?;
                for ((z, new), h) in z.iter_mut().zip(&*new).zip(&*h) {
                    *z = (1.0 - *z) * new + *z * h;
                }
                Ok(())
            }
        }
    }

    /// Returns the number of steps of each sequence.
    fn lengths(&self, lengths: Option<&[i64]>) -> Result<Vec<usize>, StepError> {
        let Some(lengths) = lengths else {
            return Ok(vec![self.steps; self.batch]);
        };
        let length = |&length: &i64| {
            let steps = usize::try_from(length).ok().filter(|&length| length <= self.steps);
            steps.ok_or_else(|| StepError::Model(format!("a sequence of {length} steps among {}", self.steps)))
        };
        lengths.iter().map(length).collect()
    }
}

impl Step for Recurrent {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (x, recurrent) = (io.input::<f32>(0)?, io.input::<f32>(1)?);
        let lengths = self.lengths(io.optional::<i64>(2)?)?;
        let [first_h, first_c] = [io.optional::<f32>(3)?, io.optional::<f32>(4)?];
        let [peepholes, bias] = [io.optional::<f32>(5)?, io.optional::<f32>(6)?];
        let (context, hidden) = (io.context, self.hidden);
        let size = self.batch * hidden;
        let mut outputs = io.outputs.iter_mut();
        let mut result = || match outputs.next() {
            Some(bytes) => elements_mut::<f32>(bytes),
            None => Err(StepError::Ours("a recurrent layer without its results".into())),
        };
        let (all, last_h) = (result()?, result()?);
        let mut last_c = (self.op.cell == Cell::Lstm).then(result).transpose()?;
        all.fill(0.0);
        for direction in 0..self.directions {
            let of = |values: &'_ [f32], each: usize| -> std::ops::Range<usize> {
                let from = (direction * each).min(values.len());
                from..(from + each).min(values.len())
            };
            let state = |first: Option<&[f32]>| first.map_or_else(|| vec![0.0; size], |v| v[of(v, size)].to_vec());
            let functions = self.functions(direction);
            let weights = Weights {
                recurrent: &recurrent[of(recurrent, self.gates * hidden)],
                peepholes: peepholes.map(|values| &values[of(values, 3 * hidden)]),
                bias: bias.map(|values| &values[of(values, hidden)]),
                functions: &functions,
            };
            let mut state = State {
                h: state(first_h),
                c: state(first_c),
                gates: vec![0.0; self.batch * self.gates],
                parts: vec![0.0; self.batch * self.gates],
                product: vec![0.0; self.batch * self.gates],
                copy: vec![0.0; self.batch * self.gates],
            };
            let backwards = self.op.direction == Direction::Reverse || direction == 1;
            for turn in 0..self.steps {
                // In the backward direction, a sequence starts at its own last step. Until the loop reaches this step,
                // the state of the sequence does not change.
                let at = if backwards { self.steps - 1 - turn } else { turn };
                for (row, to) in state.gates.chunks_exact_mut(self.gates.max(1)).enumerate() {
                    let from = ((at * self.batch + row) * self.directions + direction) * self.gates;
                    to.copy_from_slice(&x[from..from + self.gates]);
                }
                self.step(context, &weights, &mut state)?;
                for (row, _) in lengths.iter().enumerate().filter(|(_, length)| at < **length) {
                    let span = row * hidden..(row + 1) * hidden;
                    state.h[span.clone()].copy_from_slice(&state.parts[span.clone()]);
                    if self.op.cell == Cell::Lstm {
                        state.c[span.clone()].copy_from_slice(&state.parts[size..][span.clone()]);
                    }
                    let to = ((at * self.directions + direction) * self.batch + row) * hidden;
                    all[to..to + hidden].copy_from_slice(&state.h[span]);
                }
            }
            last_h[direction * size..(direction + 1) * size].copy_from_slice(&state.h);
            if let Some(last) = &mut last_c {
                last[direction * size..(direction + 1) * size].copy_from_slice(&state.c);
            }
        }
        Ok(())
    }
}
