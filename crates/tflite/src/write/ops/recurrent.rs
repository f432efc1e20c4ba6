//! Recurrent layers of real numbers, step by step: each step is a few operators.

use super::super::Site;
use super::super::emitter::{Emitter, Index, Refused, Stored};
use super::super::flatbuffer::Table;
use strait_core::layout::Order;
use strait_core::op::{Activation, Cell, Direction, Recurrent};
use strait_core::{Elem, TensorData, ValueId};

/// The largest number of steps, over all directions. Each step is about ten operators.
const MOST_STEPS: u64 = 1024;

/// One direction of a layer.
struct Layer<'a> {
    cell: Cell,
    activations: &'a [&'static str],
    /// The recurrent weights [G·H, H], row by row.
    weights: &'a [f32],
    bias: Option<&'a [f32]>,
    batch: u64,
    hidden: u64,
}

pub(super) fn recurrent(emitter: &mut Emitter<'_>, site: &Site<'_>, own: &Recurrent) -> Result<(), Refused> {
    let operand = |at: usize| site.node.inputs.get(at).copied().flatten();
    if own.clip.is_finite() || own.cell_clip.is_finite() || own.coupled {
        return Err("it clips its state, or couples two gates".into());
    }
    if operand(2).is_some() || operand(5).is_some() {
        return Err("its sequences have lengths of their own, or its gates have peepholes".into());
    }
    let activations: Option<Vec<&str>> = own.activations.0.iter().map(|&activation| name(activation)).collect();
    let activations = activations.ok_or("one of its activations is not a sigmoid, tanh or ReLU")?;
    let x = emitter.image(site.node, 0)?;
    let &[steps, batch, inner] = emitter.tensor(x).shape.as_slice() else {
        return Err("its operand has other axes than three".into());
    };
    let directions = own.directions();
    if steps * directions > MOST_STEPS || steps == 0 {
        return Err(format!(
            "it has {} steps, and at most {MOST_STEPS} are written",
            steps * directions
        ));
    }
    let reals = |emitter: &Emitter<'_>, at: usize| -> Result<Option<Vec<f32>>, Refused> {
        let Some(value) = operand(at) else { return Ok(None) };
        let data = emitter.constant(value).ok_or("its weights are not constant")?;
        let reals = data.to_f32().map_err(|error| error.to_string())?;
        Ok(Some(reals.to_vec()))
    };
    let weights = reals(emitter, 1)?.ok_or("it has no weights")?;
    let bias = reals(emitter, 6)?;
    let gates = own.cell.gates();
    let hidden = inner / (directions * gates).max(1);
    let of_each = parts(emitter, x, 2, directions, vec![steps, batch, inner / directions])?;
    let initial: Vec<Option<ValueId>> = vec![operand(3), operand(4)];
    let (mut all, mut last) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (direction, &x) in of_each.iter().enumerate() {
        let rows = |values: &[f32], each: u64| -> Vec<f32> {
            values
                .iter()
                .skip(direction * each as usize)
                .take(each as usize)
                .copied()
                .collect()
        };
        let weights = rows(&weights, gates * hidden * hidden);
        let bias = bias.as_ref().map(|bias| rows(bias, hidden));
        let count = own.cell.activations();
        let layer = Layer {
            cell: own.cell,
            activations: &activations[direction * count..(direction + 1) * count],
            weights: &weights,
            bias: bias.as_deref(),
            batch,
            hidden,
        };
        let backwards = own.direction == Direction::Reverse || direction == 1;
        let mut state = [None, None];
        for (state, initial) in state.iter_mut().zip(&initial) {
            *state = Some(layer.initial(emitter, x, *initial, (direction, directions))?);
        }
        let (each, end) = layer.run(emitter, x, steps, backwards, state)?;
        all.push(each);
        for (last, end) in last.iter_mut().zip(end) {
            last.push(end);
        }
    }
    let mut results = site.node.outputs.iter().copied();
    if let Some(result) = results.next() {
        let made = emitter.define(result, Order::plain(4))?;
        joined(emitter, &all, 1, made)?;
    }
    for (result, last) in results.zip(&last) {
        let made = emitter.define(result, Order::plain(3))?;
        joined(emitter, last, 0, made)?;
    }
    Ok(())
}

fn name(activation: Activation) -> Option<&'static str> {
    match activation {
        Activation::Sigmoid => Some("LOGISTIC"),
        Activation::Tanh => Some("TANH"),
        Activation::Relu => Some("RELU"),
        _ => None,
    }
}

/// The equal parts of a tensor along an axis, each with the shape `shape`.
fn parts(emitter: &mut Emitter<'_>, x: Index, axis: i32, count: u64, shape: Vec<u64>) -> Result<Vec<Index>, Refused> {
    if count == 1 {
        return Ok(vec![x]);
    }
    let along = emitter.int(axis)?;
    let made = (0..count).map(|part| emitter.like(x, &format!("part_{part}"), shape.clone()));
    let made: Vec<Index> = made.collect::<Result<_, _>>()?;
    let options = Table::default().int(0, count as i32, 0);
    emitter.emit("SPLIT", &[along, x], &made, Some(options))?;
    Ok(made)
}

/// Gives each tensor the rank of `made` and joins them along `axis`.
fn joined(emitter: &mut Emitter<'_>, tensors: &[Index], axis: usize, made: Index) -> Result<(), Refused> {
    let mut shape = emitter.tensor(made).shape.clone();
    if let &[only] = tensors {
        return emitter.reshape(only, made);
    }
    shape[axis] = 1;
    let mut full = Vec::with_capacity(tensors.len());
    for &tensor in tensors {
        let next = emitter.like(tensor, "direction", shape.clone())?;
        emitter.reshape(tensor, next)?;
        full.push(next);
    }
    let options = Table::default().int(0, axis as i32, 0);
    emitter.emit("CONCATENATION", &full, &[made], Some(options))
}

impl Layer<'_> {
    /// The state [N, H] before the first step: zeros, or a part of the operand [D, N, H].
    fn initial(
        &self,
        emitter: &mut Emitter<'_>,
        x: Index,
        given: Option<ValueId>,
        (direction, directions): (usize, u64),
    ) -> Result<Index, Refused> {
        let shape = vec![self.batch, self.hidden];
        let Some(given) = given else {
            let zeros = vec![0.0; (self.batch * self.hidden) as usize];
            return constant(emitter, "zeros", &shape, &zeros);
        };
        let given = emitter.read(given, &Order::plain(3))?;
        let each = parts(emitter, given, 0, directions, vec![1, self.batch, self.hidden])?;
        let made = emitter.like(x, "initial", shape)?;
        emitter.reshape(each[direction], made)?;
        Ok(made)
    }

    /// Appends the operators of all steps. Returns the states after each step, [T, N, H], and the last states.
    fn run(
        &self,
        emitter: &mut Emitter<'_>,
        x: Index,
        steps: u64,
        backwards: bool,
        initial: [Option<Index>; 2],
    ) -> Result<(Index, Vec<Index>), Refused> {
        let [Some(mut h), Some(mut c)] = initial else {
            return Err("it has no state".into());
        };
        let inner = self.cell.gates() * self.hidden;
        let each = (0..steps).map(|step| emitter.like(x, &format!("step_{step}"), vec![self.batch, inner]));
        let each: Vec<Index> = each.collect::<Result<_, _>>()?;
        let options = Table::default().int(0, steps as i32, 0).int(1, 0, 0);
        emitter.emit("UNPACK", &[x], &each, Some(options))?;
        let weights = self.weights(emitter)?;
        let mut states = vec![h; each.len()];
        for at in 0..each.len() {
            let at = if backwards { each.len() - 1 - at } else { at };
            match self.cell {
                Cell::Lstm => (h, c) = self.lstm(emitter, each[at], weights[0], (h, c))?,
                Cell::Plain => {
                    let sum = self.sum(emitter, each[at], h, weights[0])?;
                    h = emitter.step(self.activations[0], &[sum], "state", None)?;
                }
                Cell::Gru | Cell::GruLinear => h = self.gru(emitter, each[at], &weights, h)?,
            }
            states[at] = h;
        }
        let all = emitter.like(x, "states", vec![steps, self.batch, self.hidden])?;
        let options = Table::default().int(0, steps as i32, 0).int(1, 0, 0);
        emitter.emit("PACK", &states, &[all], Some(options))?;
        Ok((all, vec![h, c]))
    }

    /// The weights as constants: those of all gates or, of a GRU, those of the gates z and r, and those of h.
    fn weights(&self, emitter: &mut Emitter<'_>) -> Result<Vec<Index>, Refused> {
        let rows = (self.cell.gates() * self.hidden) as usize;
        let cut = match self.cell {
            Cell::Plain | Cell::Lstm => rows,
            Cell::Gru | Cell::GruLinear => 2 * self.hidden as usize,
        };
        let (first, second) = self.weights.split_at(cut * self.hidden as usize);
        let parts = [first, second].into_iter().filter(|part| !part.is_empty());
        let shape = |part: &[f32]| [part.len() as u64 / self.hidden.max(1), self.hidden];
        parts
            .map(|part| constant(emitter, "recurrent", &shape(part), part))
            .collect()
    }

    /// h·Wᵀ + bias.
    fn product(
        &self,
        emitter: &mut Emitter<'_>,
        h: Index,
        weights: Index,
        bias: Option<Index>,
    ) -> Result<Index, Refused> {
        let rows = emitter.tensor(weights).shape[0];
        let made = emitter.like(h, "product", vec![self.batch, rows])?;
        let options = Some(Table::default());
        emitter.emit_with("FULLY_CONNECTED", &[Some(h), Some(weights), bias], &[made], options)?;
        Ok(made)
    }

    fn sum(&self, emitter: &mut Emitter<'_>, x: Index, h: Index, weights: Index) -> Result<Index, Refused> {
        let product = self.product(emitter, h, weights, None)?;
        two(emitter, "ADD", x, product)
    }

    /// Gates i, o, f and c: c' = f∘c + i∘g, and h' = o∘k(c').
    fn lstm(
        &self,
        emitter: &mut Emitter<'_>,
        x: Index,
        weights: Index,
        (h, c): (Index, Index),
    ) -> Result<(Index, Index), Refused> {
        let sum = self.sum(emitter, x, h, weights)?;
        let gates = parts(emitter, sum, 1, 4, vec![self.batch, self.hidden])?;
        let &[phi, g, k] = self.activations else {
            return Err("it has other activations than three".into());
        };
        let mut made = Vec::with_capacity(4);
        for (gate, activation) in gates.into_iter().zip([phi, phi, phi, g]) {
            made.push(emitter.step(activation, &[gate], "gate", None)?);
        }
        let kept = two(emitter, "MUL", made[2], c)?;
        let new = two(emitter, "MUL", made[0], made[3])?;
        let c = two(emitter, "ADD", kept, new)?;
        let shown = emitter.step(k, &[c], "shown", None)?;
        Ok((two(emitter, "MUL", made[1], shown)?, c))
    }

    /// Gates z, r and h: h' = (1 − z)∘n + z∘h. Of a `gru`, n is g(x + W·(r∘h)), and of a `gru_linear`
    /// g(x + r∘(W·h + b)).
    fn gru(&self, emitter: &mut Emitter<'_>, x: Index, weights: &[Index], h: Index) -> Result<Index, Refused> {
        let (&[of_gates, of_new], &[phi, g]) = (weights, self.activations) else {
            return Err("it has other weights or activations than a GRU".into());
        };
        let own = parts(emitter, x, 1, 3, vec![self.batch, self.hidden])?;
        let product = self.product(emitter, h, of_gates, None)?;
        let product = parts(emitter, product, 1, 2, vec![self.batch, self.hidden])?;
        let mut gates = Vec::with_capacity(2);
        for (&x, &product) in own.iter().zip(&product) {
            let sum = two(emitter, "ADD", x, product)?;
            gates.push(emitter.step(phi, &[sum], "gate", None)?);
        }
        let inner = match self.cell {
            Cell::GruLinear => {
                let bias = self
                    .bias
                    .map(|bias| constant(emitter, "bias", &[self.hidden], bias))
                    .transpose()?;
                let product = self.product(emitter, h, of_new, None)?;
                let shifted = bias.map_or(Ok(product), |bias| two(emitter, "ADD", product, bias))?;
                two(emitter, "MUL", gates[1], shifted)?
            }
            _ => {
                let reset = two(emitter, "MUL", gates[1], h)?;
                self.product(emitter, reset, of_new, None)?
            }
        };
        let sum = two(emitter, "ADD", own[2], inner)?;
        let new = emitter.step(g, &[sum], "new", None)?;
        let one = emitter.number_like(new, 1.0)?;
        let rest = emitter.like(new, "rest", vec![self.batch, self.hidden])?;
        emitter.emit("SUB", &[one, gates[0]], &[rest], Some(Table::default()))?;
        let new = two(emitter, "MUL", rest, new)?;
        let kept = two(emitter, "MUL", gates[0], h)?;
        two(emitter, "ADD", new, kept)
    }
}

/// An operator of two tensors with the shape of the first.
fn two(emitter: &mut Emitter<'_>, name: &'static str, a: Index, b: Index) -> Result<Index, Refused> {
    emitter.step(name, &[a, b], "step", Some(Table::default()))
}

fn constant(emitter: &mut Emitter<'_>, what: &str, shape: &[u64], values: &[f32]) -> Result<Index, Refused> {
    let data = TensorData::from_values(shape, values).map_err(|error| error.to_string())?;
    let (shape, elem, grid) = (shape.to_vec(), Elem::F32, None);
    let name = format!("{what}_{}", emitter.file.tensors.len());
    emitter.add(name, Stored { shape, elem, grid }, Some(data.bytes().clone()))
}
