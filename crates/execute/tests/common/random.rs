//! Random integer graphs from a seed.

mod addend;
mod moves;
mod rows;
mod volume;

use super::Builder;
use super::numbers::Random;
use smallvec::smallvec;
use strait_core::op::{self, Coordinate, Nearest, PadMode, Reduction, ResizeMode};
use strait_core::{Carrier, Elem, Fused, Module, Op, QuantParams, Stage, ValueId, WeightZero};
use strait_execute::Tensor;
use strait_requantize::{IntType, Per, Requantization, Rounding, form, quantize::ZeroPoint};

/// A value, with the type and the extents by which the next op is chosen.
#[derive(Clone)]
struct KnownValue {
    id: ValueId,
    dims: Vec<u64>,
    elem: Elem,
}

impl KnownValue {
    fn codes(&self) -> IntType {
        self.elem.int_type().unwrap()
    }

    fn bits(&self) -> i64 {
        self.codes().bits().into()
    }

    /// The code of the value's type that is nearest to a number.
    fn code(&self, value: i64) -> i32 {
        self.codes().saturate(value)
    }
}

/// Builds graphs of `steps` random primitives on images of codes.
pub struct Maker {
    pub random: Random,
    builder: Builder,
    values: Vec<KnownValue>,
    /// True if requantizations and clamps are fused into their producers; otherwise they are nodes of their own.
    fuse: bool,
}

impl Maker {
    pub fn new(seed: u64) -> Maker {
        let mut random = Random(seed);
        Maker {
            fuse: random.flip(),
            random,
            builder: Builder::new(Stage::Integer),
            values: Vec::new(),
        }
    }

    /// The module, and inputs for it.
    pub fn graph(mut self, steps: usize) -> (Module, Vec<Tensor>) {
        let mut inputs = Vec::new();
        for _ in 0..2 {
            let r = &mut self.random;
            let dims = [1, r.range(1, 20) as u64, r.range(1, 9) as u64, r.range(1, 9) as u64];
            let id = self.builder.input(Elem::F32, &dims);
            let count: u64 = dims.iter().product();
            let reals: Vec<f32> = (0..count).map(|_| self.random.real()).collect();
            inputs.push(Tensor::from_values(&dims.map(|d| d as usize), &reals).unwrap());
            self.quantize(id, dims.to_vec());
        }
        for _ in 0..steps {
            self.step();
        }
        let outputs = self.finish();
        (self.builder.output(&outputs), inputs)
    }

    fn quantize(&mut self, id: ValueId, dims: Vec<u64>) {
        let r = &mut self.random;
        let codes = r.codes();
        let to = Elem::from(codes);
        let op = op::Quantize {
            to,
            rounding: r.pick(&[Rounding::HalfAway, Rounding::HalfEven]),
            reciprocal: r.flip(),
            zero_point: r.pick(&ZeroPoint::ALL),
        };
        let zero = if to == Elem::U8 { 128 } else { r.range(-20, 20) as i32 };
        let zero = zero.clamp(codes.min(), codes.max());
        let id = self.builder.op(op, &[id]);
        self.builder.quant(id, QuantParams::tensor(0.03, zero));
        self.values.push(KnownValue { id, dims, elem: to });
    }

    /// Makes every value that no node reads an output, converted to floats.
    fn finish(&mut self) -> Vec<ValueId> {
        let unused = |b: &Builder, id: ValueId| b.module.main().uses(id).next().is_none();
        let leaves: Vec<_> = self
            .values
            .iter()
            .filter(|v| unused(&self.builder, v.id))
            .cloned()
            .collect();
        leaves
            .iter()
            .map(|leaf| {
                if self.builder.module.main().value(leaf.id).unwrap().quant.is_none() {
                    self.builder.quant(leaf.id, QuantParams::tensor(0.25, 3));
                }
                self.builder.op(op::Dequantize {}, &[leaf.id])
            })
            .collect()
    }

    fn add(&mut self, op: impl Into<Op>, inputs: &[ValueId], fused: Option<Fused>) -> ValueId {
        let id = self.builder.results(op, inputs, fused)[0];
        let value = self.builder.module.main().value(id).unwrap();
        let dims = value.ty.dims().unwrap().to_vec();
        let elem = value.ty.elem;
        if elem == Elem::I64 {
            // Every i64 accumulator needs a grid.
            self.builder.quant(id, QuantParams::tensor(0.5, 0));
        }
        // Later ops read only codes.
        if elem.int_type().is_some_and(|codes| codes.bits() <= 16) {
            self.values.push(KnownValue { id, dims, elem });
        }
        id
    }

    /// Adds an op whose accumulators have about `bits` bits, then a requantization and perhaps a clamp.
    fn accumulate(&mut self, op: impl Into<Op>, inputs: &[ValueId], bits: i64, channels: Option<(usize, u32)>) {
        let out = self.random.codes();
        let form = self.random.form(bits, channels.map(|(n, _)| n), out);
        self.narrow(op.into(), inputs, form, channels.map_or(0, |(_, axis)| axis), None);
    }

    /// Makes a form with parameters per channel, and an operand that picks a channel for each element of a result with
    /// these extents.
    fn picked(&mut self, bits: i64, out: IntType, dims: &[u64]) -> (Requantization, ValueId) {
        let channels = self.random.range(2, 5) as usize;
        let form = std::iter::repeat_with(|| self.random.form(bits, Some(channels), out))
            .find(|form| form.channels().is_some())
            .unwrap();
        let axes = self.random.range(0, dims.len() as i64) as usize;
        let whole = self.random.flip();
        let shape: Vec<u64> = dims[axes..]
            .iter()
            .map(|&extent| if whole || self.random.flip() { extent } else { 1 })
            .collect();
        let count: u64 = shape.iter().product();
        let picks: Vec<i32> = (0..count)
            .map(|_| self.random.range(0, channels as i64 - 1) as i32)
            .collect();
        (form, self.builder.constant(&shape, &picks))
    }

    /// Adds an op, then the requantization of its accumulators and perhaps a clamp.
    fn narrow(&mut self, op: Op, inputs: &[ValueId], form: Requantization, axis: u32, picks: Option<ValueId>) {
        let out = form.out();
        let clamp = self
            .random
            .flip()
            .then(|| [self.random.range(-20, 10) as i32, self.random.range(20, 100) as i32]);
        let clamp = clamp.map(|ends| ends.map(|end| end.clamp(out.min(), out.max())));
        let with_picks = |inputs: &[ValueId]| inputs.iter().copied().chain(picks).collect::<Vec<_>>();
        if self.fuse {
            let (mut inputs, mut fused) = (with_picks(inputs), Fused::new(form, clamp));
            if self.random.flip() {
                self.addend(&op, &mut inputs, &mut fused);
            }
            self.add(op, &inputs, Some(fused));
            return;
        }
        let sum = self.add(op, inputs, None);
        let q = self.add(op::Requantize { form, axis }, &with_picks(&[sum]), None);
        if let Some([min, max]) = clamp {
            self.values.pop();
            self.add(op::Clamp { min, max }, &[q], None);
        }
    }

    /// Weights of a type.
    fn weights(&mut self, codes: IntType, dims: &[u64]) -> ValueId {
        let count: u64 = dims.iter().product();
        let values: Vec<i64> = (0..count)
            .map(|_| self.random.range(codes.min().into(), codes.max().into()))
            .collect();
        self.builder.integers(codes.into(), dims, &values)
    }

    /// Makes zero points for weights: none, one, or one for each output. They are random codes, often the smallest or
    /// the largest one.
    fn weight_zero(&mut self, codes: IntType, outputs: u64) -> WeightZero {
        let r = &mut self.random;
        let mut zero = || match r.range(0, 3) {
            0 => codes.min(),
            1 => codes.max(),
            _ => r.range(codes.min().into(), codes.max().into()) as i32,
        };
        let zeros: Vec<i32> = (0..outputs).map(|_| zero()).collect();
        match r.range(0, 2) {
            0 => WeightZero::default(),
            1 => WeightZero(Per::Tensor(zeros[0])),
            _ => WeightZero(zeros.into_iter().collect()),
        }
    }

    fn bias(&mut self, count: u64, carrier: Carrier) -> ValueId {
        let values: Vec<i64> = (0..count).map(|_| self.random.range(-20_000, 20_000)).collect();
        self.builder.integers(carrier.elem(), &[count], &values)
    }

    fn step(&mut self) {
        let index = self.random.range(0, self.values.len() as i64 - 1) as usize;
        let x = self.values[index].clone();
        let image = x.dims.len() == 4;
        match self.random.range(0, 23) {
            0..=1 if image => self.conv(&x),
            2 if image => self.volume(&x),
            3 => self.gemm(&x),
            4 if image => self.pool(&x),
            5..=6 => self.sum(&x),
            7 => {
                // Both operands have the same type.
                let other = if self.random.flip() {
                    self.row_of(&x)
                } else {
                    self.same_type(&x)
                };
                let bits = 2 * x.bits() - 2;
                let op = op::Mul {
                    a_zero: x.code(self.random.range(0, 9)),
                    b_zero: 3,
                    // After the zero point is subtracted, a code may have one more bit.
                    accumulator: self.random.carrier(bits + 2),
                };
                self.accumulate(op, &[x.id, other.id], bits, None);
            }
            8 => {
                let count = 1 << x.bits();
                let table: Vec<i8> = (0..count).map(|_| self.random.range(-128, 127) as i8).collect();
                let table = self.builder.constant(&[count], &table);
                self.add(op::Lookup {}, &[x.id, table], None);
                self.lines(&x);
                self.resampled(&x);
            }
            16 => self.softmax(&x),
            17 => self.layer_normalization(&x),
            18 => self.across(&x),
            19 => self.joined(&x),
            20 => self.taken(&x),
            21 => self.rearranged(&x),
            22 => self.called(&x),
            23 => self.scaled_sum(&x),
            9 => {
                let ends = [self.random.range(0, 20), self.random.range(30, 100)];
                let [min, max] = ends.map(|end| x.code(end));
                self.add(op::Clamp { min, max }, &[x.id], None);
            }
            10 => {
                let out = self.random.codes();
                if self.random.flip() {
                    let (form, picks) = self.picked(x.bits(), out, &x.dims);
                    self.add(op::Requantize { form, axis: 0 }, &[x.id, picks], None);
                } else {
                    let form = self.random.form(x.bits(), Some(x.dims[1] as usize), out);
                    self.add(op::Requantize { form, axis: 1 }, &[x.id], None);
                }
            }
            11 => self.matmul(&x),
            12 => self.shape(&x),
            13 if image => {
                let axes = self.random.pick(&[&[2i64, 3][..], &[1], &[0, 2], &[]]);
                let reduction = self.random.pick(&[Reduction::Sum, Reduction::Max, Reduction::Min]);
                let op = op::Reduce {
                    reduction,
                    axes: axes.into(),
                    keep_dims: true,
                    accumulator: match reduction {
                        Reduction::Sum => self.random.carrier(x.bits() + 5),
                        _ => Carrier::I32,
                    },
                };
                match op.reduction {
                    Reduction::Sum => self.accumulate(op, &[x.id], x.bits() + 5, None),
                    _ => drop(self.add(op, &[x.id], None)),
                }
            }
            14 => {
                let other = self.same_type(&x);
                self.add(op::Concat { axis: -1 }, &[x.id, other.id, x.id], None);
            }
            _ => {}
        }
    }

    /// The code of a padding element of `x`: the zero point if `x` has a grid, otherwise any code.
    fn pad_value(&mut self, x: &KnownValue) -> i32 {
        let value = self.builder.module.main().value(x.id).unwrap();
        let zero = value.quant.as_ref().and_then(|q| q.as_tensor()).map(|(_, zero)| zero);
        zero.unwrap_or_else(|| {
            let code = self.random.range(0, 100);
            x.code(code)
        })
    }

    fn conv(&mut self, x: &KnownValue) {
        let pad_value = self.pad_value(x);
        let r = &mut self.random;
        let codes = r.codes();
        let bits = x.bits() + i64::from(codes.bits()) + 1;
        let channels = x.dims[1];
        let groups = if r.flip() { 1 } else { channels };
        let outputs = if groups == 1 {
            r.range(1, 20) as u64
        } else {
            channels * r.range(1, 2) as u64
        };
        let kernel = [r.range(1, 3), r.range(1, 3)].map(|k| k as u64);
        let pad: Vec<u32> = (0..4).map(|_| r.range(0, 1) as u32).collect();
        if (0..2).any(|a| x.dims[a + 2] + u64::from(pad[a] + pad[a + 2]) < kernel[a]) {
            return;
        }
        let stride = smallvec![r.range(1, 2) as u32, r.range(1, 2) as u32];
        let op = op::Conv {
            stride,
            pad: pad.into(),
            dilation: smallvec![1, 1],
            groups: groups as u32,
            pad_value,
            accumulator: r.carrier(bits + 7),
            weight_zero: self.weight_zero(codes, outputs),
        };
        let weights = self.weights(codes, &[outputs, channels / groups, kernel[0], kernel[1]]);
        let bias = self.bias(outputs, op.accumulator);
        let inputs = if self.random.flip() {
            vec![x.id, weights, bias]
        } else {
            vec![x.id, weights]
        };
        self.accumulate(op, &inputs, bits, Some((outputs as usize, 1)));
    }

    fn gemm(&mut self, x: &KnownValue) {
        let (depth, columns) = (*x.dims.last().unwrap(), self.random.range(1, 40) as u64);
        let transpose_b = self.random.flip();
        let codes = self.random.codes();
        let bits = x.bits() + i64::from(codes.bits()) + 1;
        let op = op::Gemm {
            transpose_b,
            accumulator: self.random.carrier(bits + 7),
            weight_zero: self.weight_zero(codes, columns),
            ..op::Gemm::canonical()
        };
        let extents = if transpose_b {
            [columns, depth]
        } else {
            [depth, columns]
        };
        let weights = self.weights(codes, &extents);
        let bias = self.bias(columns, op.accumulator);
        self.accumulate(
            op,
            &[x.id, weights, bias],
            bits,
            Some((columns as usize, x.dims.len() as u32 - 1)),
        );
    }

    fn matmul(&mut self, x: &KnownValue) {
        let mut permutation: Vec<u32> = (0..x.dims.len() as u32).collect();
        let rank = permutation.len();
        permutation.swap(rank - 1, rank - 2);
        let turned = self.add(
            op::Transpose {
                permutation: permutation.into(),
            },
            &[x.id],
            None,
        );
        let columns = x.dims[rank - 2] as usize;
        let op = op::MatMul {
            a_zero: 3,
            b_zero: x.code(self.random.range(0, 20)),
            accumulator: self.random.carrier(2 * x.bits() + 7),
        };
        self.accumulate(op, &[x.id, turned], 2 * x.bits(), Some((columns, rank as u32 - 1)));
    }

    fn pool(&mut self, x: &KnownValue) {
        let r = &mut self.random;
        let size: Vec<u32> = (0..2).map(|a| r.range(1, 3).min(x.dims[a + 2] as i64) as u32).collect();
        let stride: Vec<u32> = (0..2).map(|_| r.range(1, 2) as u32).collect();
        let pad: Vec<u32> = (0..4).map(|a| r.range(0, i64::from(size[a % 2] - 1)) as u32).collect();
        let ceil = r.flip();
        let dilation: Vec<u32> = vec![1; 2];
        macro_rules! window {
            ($op:ident { $($rest:tt)* }) => {
                op::$op { size: size.into(), stride: stride.into(), pad: pad.into(), dilation: dilation.into(), ceil, $($rest)* }
            };
        }
        match r.range(0, 3) {
            0 => drop(self.add(window!(MaxPool {}), &[x.id], None)),
            1 => {
                let count_include_pad = r.flip();
                self.add(window!(AveragePool { count_include_pad }), &[x.id], None);
            }
            2 => drop(self.add(op::GlobalAveragePool {}, &[x.id], None)),
            _ => {
                let pad_value = self.pad_value(x);
                let channels = Some((x.dims[1] as usize, 1));
                let bits = x.bits() + 3;
                let accumulator = self.random.carrier(bits);
                let pool = window!(SumPool { pad_value, accumulator });
                if self.random.flip() {
                    return self.accumulate(pool, &[x.id], bits, channels);
                }
                let module = &self.builder.module;
                let operand = module.main().value(x.id).map(|v| &v.ty);
                let result = module.result_types(&pool.clone().into(), &[operand], None).unwrap();
                let out = self.random.codes();
                let (form, picks) = self.picked(bits, out, &result[0].dims().unwrap());
                self.narrow(pool.into(), &[x.id], form, 0, Some(picks));
            }
        }
    }

    /// Adds x + y on a common grid. Both operands are shifted left and requantized, or only requantized, or added as
    /// they are.
    fn sum(&mut self, x: &KnownValue) {
        let other = self.same_shape(x);
        let way = self.random.range(0, 2);
        let accumulator = self.random.carrier(30);
        let operands = [x, &other].map(|value| match way {
            0 => {
                let zero = self.random.range(0, 9);
                let zero = value.code(zero);
                let shifted = self.add(
                    op::ShiftLeft {
                        zero,
                        bits: (28 - value.bits()) as u8,
                        accumulator,
                    },
                    &[value.id],
                    None,
                );
                let form = Requantization::Gemmlowp(form::Gemmlowp {
                    multiplier: Per::Tensor(self.random.range(1 << 30, i64::from(i32::MAX)) as i32),
                    exponent: Per::Tensor(self.random.range(-3, 0) as i8),
                    zp: 0,
                    roundings: form::Roundings::Two,
                    out: IntType::I32,
                });
                self.add(op::Requantize { form, axis: 0 }, &[shifted], None)
            }
            1 => {
                let form = self.random.form(value.bits() - 4, None, IntType::I32);
                self.add(op::Requantize { form, axis: 0 }, &[value.id], None)
            }
            _ => {
                let zero = self.random.range(0, 9);
                let zero = value.code(zero);
                self.add(
                    op::ShiftLeft {
                        zero,
                        bits: 10,
                        accumulator,
                    },
                    &[value.id],
                    None,
                )
            }
        });
        let bits = [28, 12, 10 + x.bits()][way as usize];
        if self.random.flip() {
            self.accumulate(op::Add {}, &operands, bits, None);
        } else {
            self.accumulate(op::Sub {}, &operands, bits, None);
        }
    }

    fn shape(&mut self, x: &KnownValue) {
        let rank = x.dims.len() as u32;
        match self.random.range(0, 4) {
            0 => drop(self.add(op::Flatten { axis: 1 }, &[x.id], None)),
            1 => drop(self.add(
                op::Transpose {
                    permutation: (0..rank).rev().collect(),
                },
                &[x.id],
                None,
            )),
            2 => {
                let op = op::Slice {
                    starts: smallvec![0],
                    ends: smallvec![i64::MAX],
                    axes: smallvec![-1],
                    steps: smallvec![2],
                };
                self.add(op, &[x.id], None);
            }
            3 => {
                let op = op::Pad {
                    amounts: smallvec![1; 2 * rank as usize],
                    mode: PadMode::Constant,
                    value: 5.0,
                };
                self.add(op, &[x.id], None);
            }
            _ => {
                let mut scales = vec![1.0; rank as usize];
                scales[rank as usize - 1] = 2.0;
                let op = op::Resize {
                    nearest: Nearest::Floor,
                    scales,
                    ..op::Resize::to_sizes(ResizeMode::Nearest, Coordinate::Asymmetric, &[])
                };
                self.add(op, &[x.id], None);
            }
        }
    }

    /// Another value with the same extents, or a row of constants that broadcasts to them.
    fn same_shape(&mut self, x: &KnownValue) -> KnownValue {
        let others: Vec<_> = self.values.iter().filter(|v| v.dims == x.dims).cloned().collect();
        if self.random.range(0, 3) > 0 {
            return others[self.random.range(0, others.len() as i64 - 1) as usize].clone();
        }
        self.row_of(x)
    }

    /// A row of constants that broadcasts.
    fn row_of(&mut self, x: &KnownValue) -> KnownValue {
        let dims = vec![*x.dims.last().unwrap()];
        KnownValue {
            id: self.weights(x.codes(), &dims),
            dims,
            elem: x.elem,
        }
    }

    /// A value with the same extents and type. It may be `x` itself.
    fn same_type(&mut self, x: &KnownValue) -> KnownValue {
        let others: Vec<_> = self
            .values
            .iter()
            .filter(|v| v.dims == x.dims && v.elem == x.elem)
            .cloned()
            .collect();
        others[self.random.range(0, others.len() as i64 - 1) as usize].clone()
    }
}
