//! Adds ops that move elements, ops in which both operands broadcast along different axes, and calls of graphs.

use super::{KnownValue, Maker};
use smallvec::smallvec;
use std::sync::Arc;
use strait_core::op::{self, PadMode, Reduction};
use strait_core::{Elem, Graph, Op, QuantParams, Stage, TensorData, TensorType, ValueId};

/// The largest number of elements of a tensor that is joined or repeated.
const MOST: u64 = 1 << 12;

impl Maker {
    /// A random axis of a tensor with these extents.
    fn axis(&mut self, dims: &[u64]) -> usize {
        self.random.range(0, dims.len() as i64 - 1) as usize
    }

    /// A row of constants along one axis, or the largest or smallest codes of `x` over some axes.
    fn narrower(&mut self, x: &KnownValue) -> ValueId {
        if self.random.flip() {
            let axis = self.axis(&x.dims);
            let first = if self.random.flip() { 0 } else { axis };
            let mut dims = vec![1; x.dims.len()];
            dims[axis] = x.dims[axis];
            return self.weights(x.codes(), &dims[first..]);
        }
        let axes = (0..x.dims.len() as i64).filter(|_| self.random.flip()).collect();
        let op = op::Reduce {
            reduction: self.random.pick(&[Reduction::Max, Reduction::Min]),
            axes,
            keep_dims: true,
            accumulator: strait_core::Carrier::I32,
        };
        self.add(op, &[x.id], None)
    }

    /// Adds a sum, difference or product of two values. Each of them may broadcast along some axes.
    pub(super) fn across(&mut self, x: &KnownValue) {
        let a = if self.random.flip() { x.id } else { self.narrower(x) };
        let b = self.narrower(x);
        let operands = if self.random.flip() { [a, b] } else { [b, a] };
        let (op, bits): (Op, i64) = match self.random.range(0, 2) {
            0 => (op::Add {}.into(), x.bits() + 1),
            1 => (op::Sub {}.into(), x.bits() + 1),
            _ => {
                let accumulator = self.random.carrier(2 * x.bits() + 2);
                let [a_zero, b_zero] = [0; 2].map(|_: i32| x.code(3));
                let op = op::Mul {
                    a_zero,
                    b_zero,
                    accumulator,
                };
                (op.into(), 2 * x.bits())
            }
        };
        // A fused requantization can only have parameters per channel if its op has a channel axis.
        let types = operands.map(|value| self.builder.module.main().value(value).map(|v| &v.ty));
        let result = self.builder.module.result_types(&op, &types, None).unwrap();
        let dims = result[0].dims().unwrap().to_vec();
        let axis = self.axis(&dims);
        let channels = (!self.fuse).then_some((dims[axis] as usize, axis as u32));
        self.accumulate(op, &operands, bits, channels);
    }

    /// Joins `x` with parts of itself, and with clamped or padded copies.
    pub(super) fn joined(&mut self, x: &KnownValue) {
        let axis = self.axis(&x.dims);
        let mut parts = vec![x.id];
        for _ in 0..self.random.range(1, 2) {
            let part = match self.random.range(0, 2) {
                0 => self.slice(x, axis),
                1 => {
                    let mut amounts = smallvec![0; 2 * x.dims.len()];
                    amounts[axis] = self.random.range(0, 2);
                    let (mode, value) = (PadMode::Constant, x.code(7) as f32);
                    self.add(op::Pad { amounts, mode, value }, &[x.id], None)
                }
                _ => {
                    let ends = [self.random.range(-9, 3), self.random.range(4, 30)];
                    let [min, max] = ends.map(|end| x.code(end));
                    self.add(op::Clamp { min, max }, &[x.id], None)
                }
            };
            parts.insert(self.random.range(0, parts.len() as i64) as usize, part);
        }
        if x.dims.iter().product::<u64>() * 4 < MOST {
            self.add(op::Concat { axis: axis as i64 }, &parts, None);
        }
    }

    /// Adds a slice along an axis with a random step, forwards or backwards.
    fn slice(&mut self, x: &KnownValue, axis: usize) -> ValueId {
        let extent = x.dims[axis] as i64;
        let (start, step) = (self.random.range(0, extent - 1), self.random.range(1, 2));
        let (ends, step) = match self.random.flip() {
            true => (self.random.range(start + 1, extent), step),
            // The end lies before the first element.
            false => (-extent - 1, -step),
        };
        let op = op::Slice {
            starts: smallvec![start],
            ends: smallvec![ends],
            axes: smallvec![axis as i64],
            steps: smallvec![step],
        };
        self.add(op, &[x.id], None)
    }

    /// Picks some elements, some of them several times.
    pub(super) fn taken(&mut self, x: &KnownValue) {
        let axis = self.axis(&x.dims);
        let extent = x.dims[axis] as i64;
        match self.random.range(0, 3) {
            0 => drop(self.slice(x, axis)),
            1 => {
                let count = self.random.range(1, 3);
                let at: Vec<i64> = (0..count).map(|_| self.random.range(-extent, extent - 1)).collect();
                let indices = self.builder.integers(Elem::I64, &[count as u64], &at);
                self.add(op::Gather { axis: axis as i64 }, &[x.id, indices], None);
            }
            2 => {
                let first = self.random.range(1, extent);
                let sizes = if first == extent {
                    smallvec![extent]
                } else {
                    smallvec![first, extent - first]
                };
                let axis = axis as i64;
                self.add(op::Split { axis, sizes }, &[x.id], None);
            }
            _ => {
                let shape = x.dims.iter().map(|&extent| if extent == 1 { 3 } else { extent as i64 });
                let front = if self.random.flip() { vec![2] } else { vec![] };
                let shape: Vec<i64> = front.into_iter().chain(shape).collect();
                if shape.len() <= 6 && shape.iter().product::<i64>() < MOST as i64 {
                    self.add(op::Expand { shape: shape.into() }, &[x.id], None);
                }
            }
        }
    }

    /// Permutes the axes, splits one of them, or joins two.
    pub(super) fn rearranged(&mut self, x: &KnownValue) {
        let mut shape: Vec<i64> = x.dims.iter().map(|&extent| extent as i64).collect();
        let axis = self.axis(&x.dims);
        match self.random.range(0, 2) {
            0 => {
                let mut permutation: Vec<u32> = (0..shape.len() as u32).collect();
                for at in 1..permutation.len() {
                    permutation.swap(at, self.random.range(0, at as i64) as usize);
                }
                let permutation = permutation.into();
                self.add(op::Transpose { permutation }, &[x.id], None);
                return;
            }
            1 if shape.len() > 2 => {
                let axis = axis.min(shape.len() - 2);
                shape[axis] *= shape.remove(axis + 1);
            }
            _ if shape.len() < 6 => {
                let divisors: Vec<i64> = (1..=shape[axis]).filter(|d| shape[axis] % d == 0).collect();
                let outer = self.random.pick(&divisors);
                shape[axis] /= outer;
                shape.insert(axis, outer);
            }
            _ => return,
        }
        self.add(op::Reshape { shape: shape.into() }, &[x.id], None);
    }

    /// Calls a graph on `x` that adds a row to its input and requantizes the sum along an axis.
    pub(super) fn called(&mut self, x: &KnownValue) {
        let (row, by) = (self.axis(&x.dims), self.axis(&x.dims));
        let mut dims = vec![1; x.dims.len()];
        dims[row] = x.dims[row];
        let count = dims[row];
        let low = i64::from(x.codes().min());
        let codes: Vec<i64> = (0..count)
            .map(|_| self.random.range(low, x.codes().max().into()))
            .collect();
        let out = self.random.codes();
        let form = self.random.form(x.bits() + 1, Some(x.dims[by] as usize), out);
        let grid = |elem: Elem| elem.int_type().map(|_| Arc::new(QuantParams::tensor(1.0, 0)));
        // An input and an output of an integer graph must have a grid.
        let ends = op::Clamp {
            min: x.codes().min(),
            max: x.codes().max(),
        };
        let given = self.add(ends, &[x.id], None);
        self.builder.quant(given, QuantParams::tensor(1.0, 0));
        let module = &mut self.builder.module;
        let data = module.add_data(TensorData::from_integers(x.elem, &dims, &codes).unwrap());
        let mut graph = Graph::new(module.names.fresh("called"), Stage::Integer);
        let ty = TensorType::fixed(x.elem, &x.dims);
        let input = graph.add_input(module.names.fresh("given"), ty, grid(x.elem));
        let ty = TensorType::fixed(x.elem, &dims);
        let row = graph.add_data(module.names.fresh("row"), ty, None, data);
        let steps: [(Op, Vec<ValueId>); 2] = [
            (op::Add {}.into(), vec![input, row]),
            (op::Requantize { form, axis: by as u32 }.into(), vec![]),
        ];
        let mut last = input;
        for (op, mut operands) in steps {
            if operands.is_empty() {
                operands.push(last);
            }
            let types: Vec<_> = operands.iter().map(|&v| graph.value(v).map(|v| &v.ty)).collect();
            let ty = module.result_types(&op, &types, None).unwrap()[0].clone();
            let operands: Vec<_> = operands.into_iter().map(Some).collect();
            let quant = grid(ty.elem).filter(|_| matches!(op, Op::Requantize(_)));
            let results = vec![(module.names.fresh("made"), ty, quant)];
            let node = graph.add_node(module.names.fresh("step"), op, &operands, results);
            last = graph.node(node).unwrap().outputs[0];
        }
        graph.add_output(last);
        let index = module.graphs.len() as u32;
        module.graphs.push(graph);
        let id = self.add(op::Call { graph: index }, &[given], None);
        self.builder.quant(id, QuantParams::tensor(1.0, 0));
    }
}
