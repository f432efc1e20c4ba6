//! Short helpers, each of which adds one op. Readers use them for operators that become several ops. If all operands of
//! a helper are constants, its result is a constant, too.

use std::slice::from_ref;
use strait_core::op::{
    Add, BinaryFunction, Cast, Combination, Concat, Div, Function, MatMul, Mul, Pow, Reduce, Reduction, Relation,
    Reshape, Scatter, ScatterBy, Select, Slice, Softmax, Sub, Transpose, Unsqueeze,
};
use strait_core::{Carrier, Dim, Elem, ReasonCode, TensorData};

use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

/// The extent of an axis as a number.
fn fixed((axis, dim): (usize, &Dim)) -> Result<i64, Refusal> {
    match dim {
        Dim::Fixed(extent) => {
            i64::try_from(*extent).map_err(|_| Refusal::invalid(ReasonCode::Limit, "an axis is too long"))
        }
        Dim::Named(_) => Err(Refusal::invalid(
            ReasonCode::SymbolicAxis,
            format!("axis {axis} of an operand is symbolic; bind it to a number"),
        )),
    }
}

impl Layer<'_, '_> {
    /// The extents of a value. Refuses a value with symbolic extents.
    pub fn extents(&mut self, arg: &Arg) -> Result<Vec<i64>, Refusal> {
        let shape = self.arg_type(arg)?.shape;
        shape.iter().enumerate().map(fixed).collect()
    }

    /// The extent of one axis of a value. A negative `axis` counts from the end. Refuses a symbolic extent.
    pub fn extent(&mut self, arg: &Arg, axis: i64) -> Result<i64, Refusal> {
        let shape = self.arg_type(arg)?.shape;
        let axis = self.axis(axis, shape.len())?;
        fixed((axis, &shape[axis]))
    }

    /// Counts an axis of a value with `rank` axes from 0. A negative `axis` counts from the end.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Refusal> {
        let position = match axis {
            ..0 => axis.saturating_add(rank as i64),
            _ => axis,
        };
        let position = usize::try_from(position).ok().filter(|&position| position < rank);
        position.ok_or_else(|| Refusal::invalid(ReasonCode::Axis, format!("axis {axis} is outside rank {rank}")))
    }

    /// The number of elements of a constant that is filled in from a shape. Refuses shapes that are too large.
    pub fn room(&mut self, shape: &[u64]) -> Result<usize, Refusal> {
        // Even if one extent is 0, the other extents must be within the limit, because code loops over these axes.
        let count = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent.max(1)));
        match count.filter(|&n| self.builder.may_write(n)) {
            Some(_) if shape.contains(&0) => Ok(0),
            Some(count) => Ok(count as usize),
            None => Err(Refusal::Unsupported(format!(
                "a constant of shape {shape:?} is too large"
            ))),
        }
    }

    /// A constant of this shape with the numbers 0, 1, …, `count` − 1.
    pub fn counted(&mut self, shape: &[u64], count: i64) -> Result<Arg, Refusal> {
        self.room(&[count.unsigned_abs()])?;
        let values: Vec<i64> = (0..count).collect();
        Ok(Arg::Constant(self.integers(shape, &values)?))
    }

    /// A number as a scalar with the element type of `like`.
    pub fn number(&mut self, like: &Arg, value: f64) -> Result<Arg, Refusal> {
        let scalar = match self.arg_type(like)?.elem {
            Elem::F64 => TensorData::scalar(value),
            elem if elem.is_float() => TensorData::scalar(value as f32),
            Elem::Bool => self.truths(&[], &[value != 0.0])?,
            _ => TensorData::scalar(value as i64),
        };
        Ok(Arg::Constant(scalar))
    }

    /// A constant of integers.
    pub fn integers(&self, shape: &[u64], values: &[i64]) -> Result<TensorData, Refusal> {
        Ok(TensorData::from_values(shape, values)?)
    }

    /// A constant of floats.
    pub fn floats_of(&self, shape: &[u64], values: &[f32]) -> Result<TensorData, Refusal> {
        Ok(TensorData::from_values(shape, values)?)
    }

    /// A constant of booleans.
    pub fn truths(&self, shape: &[u64], values: &[bool]) -> Result<TensorData, Refusal> {
        let bytes: Vec<u8> = values.iter().map(|&value| u8::from(value)).collect();
        Ok(TensorData::from_unpacked(Elem::Bool, shape, bytes.into())?)
    }

    /// Adds an op that computes a + b, broadcast.
    pub fn plus(&mut self, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(Add {}, &[a.clone(), b.clone()])
    }

    /// Adds an op that computes a − b, broadcast.
    pub fn minus(&mut self, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(Sub {}, &[a.clone(), b.clone()])
    }

    /// Adds an op that computes a · b, broadcast.
    pub fn times(&mut self, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(Mul::float(), &[a.clone(), b.clone()])
    }

    /// Adds an op that computes a / b, broadcast.
    pub fn over(&mut self, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(Div {}, &[a.clone(), b.clone()])
    }

    /// Adds an op that computes a to the power b, broadcast.
    pub fn power(&mut self, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(Pow {}, &[a.clone(), b.clone()])
    }

    /// A value times a number. Adds no op if the number is 1.
    pub fn scaled(&mut self, x: &Arg, factor: f64) -> Result<Arg, Refusal> {
        if factor == 1.0 {
            return Ok(x.clone());
        }
        let factor = self.number(x, factor)?;
        self.times(x, &factor)
    }

    /// A value plus a number. Adds no op if the number is 0.
    pub fn shifted(&mut self, x: &Arg, summand: f64) -> Result<Arg, Refusal> {
        if summand == 0.0 {
            return Ok(x.clone());
        }
        let summand = self.number(x, summand)?;
        self.plus(x, &summand)
    }

    /// Applies a function to each element.
    pub fn function(&mut self, function: Function, x: &Arg) -> Result<Arg, Refusal> {
        self.push(function, from_ref(x))
    }

    /// Applies a function to pairs of elements, broadcast.
    pub fn binary(&mut self, function: BinaryFunction, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(function, &[a.clone(), b.clone()])
    }

    /// Compares pairs of elements, broadcast.
    pub fn compare(&mut self, relation: Relation, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(relation, &[a.clone(), b.clone()])
    }

    /// Selects elements: `a` where the condition is true, and `b` where it is false.
    pub fn select(&mut self, condition: &Arg, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(Select {}, &[condition.clone(), a.clone(), b.clone()])
    }

    /// Reduces a value over `axes`, which are kept with extent 1. An empty list means all axes.
    pub fn reduced(&mut self, reduction: Reduction, x: &Arg, axes: &[i64]) -> Result<Arg, Refusal> {
        self.push(reduction_over(reduction, axes, true), from_ref(x))
    }

    /// Softmax along an axis.
    pub fn softmax(&mut self, x: &Arg, axis: i64) -> Result<Arg, Refusal> {
        self.push(Softmax { axis }, from_ref(x))
    }

    /// The product of two matrices, or of two stacks of matrices.
    pub fn product(&mut self, a: &Arg, b: &Arg) -> Result<Arg, Refusal> {
        self.push(matrix_product(), &[a.clone(), b.clone()])
    }

    /// A value with another shape. One extent may be −1; that extent is computed from the others.
    pub fn reshaped(&mut self, x: &Arg, shape: &[i64]) -> Result<Arg, Refusal> {
        self.push(Reshape { shape: shape.into() }, from_ref(x))
    }

    /// A value whose axes are permuted: axis i of the result is axis `permutation[i]` of the value.
    pub fn transposed(&mut self, x: &Arg, permutation: &[u32]) -> Result<Arg, Refusal> {
        let permutation = permutation.into();
        self.push(Transpose { permutation }, from_ref(x))
    }

    /// A value with new axes of extent 1; `axes` are positions in the result.
    pub fn unsqueezed(&mut self, x: &Arg, axes: &[i64]) -> Result<Arg, Refusal> {
        self.push(Unsqueeze { axes: axes.into() }, from_ref(x))
    }

    /// The part of a value with the positions `start..end` along an axis.
    pub fn part(&mut self, x: &Arg, axis: i64, start: i64, end: i64) -> Result<Arg, Refusal> {
        self.push(slice_along([(axis, [start, end, 1])]), from_ref(x))
    }

    /// The values in `parts`, joined one after the other along an axis.
    pub fn joined(&mut self, parts: &[Arg], axis: i64) -> Result<Arg, Refusal> {
        self.push(Concat { axis }, parts)
    }

    /// A value, converted to another element type. Adds no op if the value already has that type.
    pub fn converted(&mut self, x: &Arg, to: Elem) -> Result<Arg, Refusal> {
        match self.arg_type(x)?.elem == to {
            true => Ok(x.clone()),
            false => self.push(Cast { to }, from_ref(x)),
        }
    }
}

/// Makes a slice op. Each of `parts` has an axis and, for this axis, the first position, the end and the step.
pub fn slice_along(parts: impl IntoIterator<Item = (i64, [i64; 3])>) -> Slice {
    let parts: Vec<(i64, [i64; 3])> = parts.into_iter().collect();
    let all = |number: usize| parts.iter().map(|(_, part)| part[number]).collect();
    Slice {
        starts: all(0),
        ends: all(1),
        axes: parts.iter().map(|&(axis, _)| axis).collect(),
        steps: all(2),
    }
}

/// A scatter of slices. Along the last axis, the indices have the coordinates of a slice.
pub fn scatter_slices(combine: Combination) -> Scatter {
    Scatter {
        by: ScatterBy::Slice,
        axis: 0,
        combine,
    }
}

/// A scatter of single elements to positions along an axis.
pub fn scatter_elements(axis: i64, combine: Combination) -> Scatter {
    Scatter {
        by: ScatterBy::Element,
        axis,
        combine,
    }
}

/// A reduction op for floats, or for integers that are not codes.
pub fn reduction_over(reduction: Reduction, axes: &[i64], keep_dims: bool) -> Reduce {
    Reduce {
        reduction,
        axes: axes.into(),
        keep_dims,
        accumulator: Carrier::I32,
    }
}

/// A matrix product op for floats, or for integers that are not codes.
pub fn matrix_product() -> MatMul {
    MatMul {
        a_zero: 0,
        b_zero: 0,
        accumulator: Carrier::I32,
    }
}
