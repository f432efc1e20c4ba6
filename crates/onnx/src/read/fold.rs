//! Arithmetic on small constants while a model is read.
//!
//! Exporters compute shapes in the graph: `Shape` → `Gather` → `Mul` → `Concat` → `Reshape`. As shapes are static here,
//! such a chain is a constant, and the op at its end wants to know it. Only ops on constants of at most [`MOST_ELEMENTS`]
//! are done here; weights are folded by the canonicaliser, by the same kernels that would run them.

use smallvec::SmallVec;
use strait_core::op::{Function, Op};
use strait_core::shape::fixed_dims;
use strait_core::{Elem, TensorData, TensorType};

/// The longest shape computation that anybody has is a few numbers; this leaves room for small tables.
const MOST_ELEMENTS: usize = 1024;

/// The result of an op on constants, if it is one that is done here. Integer arithmetic that overflows is not.
pub(crate) fn evaluate(op: &Op, operands: &[&TensorData]) -> Option<TensorData> {
    if operands.is_empty() || operands.iter().any(|o| o.len() > MOST_ELEMENTS) {
        return None;
    }
    let types: Vec<TensorType> = operands.iter().map(|o| o.tensor_type()).collect();
    let types: SmallVec<[Option<&TensorType>; 3]> = types.iter().map(Some).collect();
    let result = op.infer(&types).ok()?.into_iter().next()?;
    let shape = fixed_dims(&result.shape)?;
    if shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))? > MOST_ELEMENTS as u64 {
        return None;
    }
    let first = operands[0];
    match op {
        Op::Identity(_) => Some(first.clone()),
        Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => first.reshaped(&shape).ok(),
        Op::Cast(cast) => convert(first, cast.to),
        Op::Slice(slice) => {
            let spans = slice.spans(&first.tensor_type().shape).ok()?;
            pick(first, &shape, |index| {
                for &(axis, start, step, _) in &spans {
                    // `spans` keeps every position inside of the operand.
                    index[axis] = (start as i64 + index[axis] as i64 * step) as u64;
                }
                Some(())
            })
        }
        Op::Gather(gather) => {
            let (axis, indices) = (axis(gather.axis, first.shape().len())?, operands.get(1)?);
            let (extent, positions) = (i64::try_from(first.shape()[axis]).ok()?, indices.to_i64().ok()?);
            pick(first, &shape, |index| {
                let inner = axis..axis + indices.shape().len();
                let position = positions.get(flat(&index[inner.clone()], indices.shape())?)?;
                let position = if *position < 0 { position + extent } else { *position };
                index.drain(inner);
                index.insert(axis, u64::try_from(position).ok().filter(|_| position < extent)?);
                Some(())
            })
        }
        Op::Concat(concat) => join(operands, axis(concat.axis, shape.len())?, &shape),
        Op::Add(_) => arithmetic(operands, &shape, i64::checked_add, |a, b| a + b),
        Op::Sub(_) => arithmetic(operands, &shape, i64::checked_sub, |a, b| a - b),
        Op::Mul(_) => arithmetic(operands, &shape, i64::checked_mul, |a, b| a * b),
        Op::Div(_) => arithmetic(operands, &shape, i64::checked_div, |a, b| a / b),
        Op::Unary(unary) => match unary.function {
            Function::Neg => arithmetic(&[&zero(first)?, first], &shape, i64::checked_sub, |_, x| -x),
            Function::Floor => floats(first, f32::floor),
            Function::Ceil => floats(first, f32::ceil),
            _ => None,
        },
        _ => None,
    }
}

fn axis(axis: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()
}

/// The position of an element in row-major order.
fn flat(index: &[u64], shape: &[u64]) -> Option<usize> {
    let mut position = 0u64;
    for (i, extent) in index.iter().zip(shape) {
        position = position.checked_mul(*extent)?.checked_add(*i)?;
    }
    usize::try_from(position).ok()
}

/// A tensor of `shape`, whose elements are those of `source` at the index that `map` makes of theirs.
fn pick(source: &TensorData, shape: &[u64], map: impl Fn(&mut SmallVec<[u64; 8]>) -> Option<()>) -> Option<TensorData> {
    let (size, elements) = (source.elem().size(), source.unpacked());
    let mut bytes = Vec::new();
    let count: u64 = shape.iter().product();
    for number in 0..count {
        let mut index: SmallVec<[u64; 8]> = SmallVec::new();
        let mut rest = number;
        for extent in shape.iter().rev() {
            index.insert(0, rest % extent);
            rest /= extent;
        }
        map(&mut index)?;
        let at = flat(&index, source.shape())? * size;
        bytes.extend_from_slice(elements.get(at..at + size)?);
    }
    TensorData::from_unpacked(source.elem(), shape, bytes.into()).ok()
}

/// The operands one after the other along `axis`.
fn join(operands: &[&TensorData], axis: usize, shape: &[u64]) -> Option<TensorData> {
    let outer: u64 = shape[..axis].iter().product();
    let unpacked: Vec<_> = operands.iter().map(|operand| operand.unpacked()).collect();
    let mut bytes = Vec::new();
    for row in 0..outer as usize {
        for operand in &unpacked {
            let length = operand.len() / outer as usize;
            bytes.extend_from_slice(operand.get(row * length..(row + 1) * length)?);
        }
    }
    TensorData::from_unpacked(operands[0].elem(), shape, bytes.into()).ok()
}

/// `a ∘ b` with numpy's broadcasting, on integers of one type or on floats.
fn arithmetic(
    operands: &[&TensorData],
    shape: &[u64],
    integers: fn(i64, i64) -> Option<i64>,
    floats: fn(f32, f32) -> f32,
) -> Option<TensorData> {
    // An axis of extent 1, or one that is not there, stays at 0.
    let spread = |operand: &TensorData| {
        let extents: SmallVec<[u64; 8]> = operand.shape().into();
        pick(operand, shape, move |index| {
            let lead = index.len().checked_sub(extents.len())?;
            index.drain(..lead);
            for (i, extent) in index.iter_mut().zip(&extents) {
                *i = if *extent == 1 { 0 } else { *i };
            }
            Some(())
        })
    };
    let (a, b) = (spread(operands[0])?, spread(operands.get(1)?)?);
    match a.elem() {
        Elem::F32 => {
            let (a, b) = (a.values::<f32>().ok()?, b.values::<f32>().ok()?);
            let values: Vec<f32> = a.iter().zip(b.iter()).map(|(a, b)| floats(*a, *b)).collect();
            TensorData::from_values(shape, &values).ok()
        }
        elem @ (Elem::I64 | Elem::I32) => {
            let pairs = a.to_i64().ok()?.into_iter().zip(b.to_i64().ok()?);
            let values: Option<Vec<i64>> = pairs.map(|(a, b)| integers(a, b)).collect();
            convert(&TensorData::from_values(shape, &values?).ok()?, elem)
        }
        _ => None,
    }
}

/// The number 0 of the same type, as a scalar.
fn zero(tensor: &TensorData) -> Option<TensorData> {
    TensorData::from_unpacked(tensor.elem(), &[], vec![0; tensor.elem().size()].into()).ok()
}

/// A function of each float.
fn floats(tensor: &TensorData, function: fn(f32) -> f32) -> Option<TensorData> {
    let values: Vec<f32> = tensor.values::<f32>().ok()?.iter().map(|v| function(*v)).collect();
    TensorData::from_values(tensor.shape(), &values).ok()
}

/// The same numbers as another type; none where they do not fit. Floats are truncated.
fn convert(tensor: &TensorData, to: Elem) -> Option<TensorData> {
    let (from, shape) = (tensor.elem(), tensor.shape());
    if from == to {
        return Some(tensor.clone());
    }
    let integers: Vec<i64> = match from {
        Elem::F32 => {
            // 2^63 is the first float that is too large.
            let fits = |v: &f32| (-9.223_372e18..9.223_372e18).contains(v);
            let values = tensor.values::<f32>().ok()?;
            values
                .iter()
                .map(|v| fits(v).then_some(*v as i64))
                .collect::<Option<_>>()?
        }
        Elem::F16 | Elem::F64 => return None,
        _ => tensor.to_i64().ok()?,
    };
    match to {
        Elem::I64 => TensorData::from_values(shape, &integers).ok(),
        Elem::I32 => {
            let values: Option<Vec<i32>> = integers.iter().map(|v| i32::try_from(*v).ok()).collect();
            TensorData::from_values(shape, &values?).ok()
        }
        Elem::F32 => TensorData::from_values(shape, &integers.iter().map(|v| *v as f32).collect::<Vec<f32>>()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;
    use strait_core::op::{Add, Cast, Concat, Div, Gather, Mul, Slice, Unary, Unsqueeze};

    fn ints(values: &[i64]) -> TensorData {
        TensorData::from_values(&[values.len() as u64], values).unwrap()
    }

    fn check(op: impl Into<Op>, operands: &[&TensorData], expect: Option<&TensorData>) {
        let op = op.into();
        assert_eq!(evaluate(&op, operands).as_ref(), expect, "{op:?}");
    }

    #[test]
    fn shape_arithmetic_is_done_exactly() {
        let (mul, plain) = (Mul::float(), ints(&[2, 3, 4]));
        let slice = |starts, ends, steps| Slice {
            starts: smallvec![starts],
            ends: smallvec![ends],
            axes: smallvec![0],
            steps: smallvec![steps],
        };
        let scalar = TensorData::scalar(2i64);
        check(Gather { axis: 0 }, &[&plain, &ints(&[-1, 0])], Some(&ints(&[4, 2])));
        check(
            Gather { axis: 0 },
            &[&plain, &TensorData::scalar(1i64)],
            Some(&TensorData::scalar(3i64)),
        );
        check(Gather { axis: 0 }, &[&plain, &ints(&[3])], None);
        check(slice(-1, i64::MIN, -2), &[&plain], Some(&ints(&[4, 2])));
        check(Concat { axis: 0 }, &[&plain, &ints(&[9])], Some(&ints(&[2, 3, 4, 9])));
        check(Unsqueeze { axes: smallvec![0] }, &[&scalar], Some(&ints(&[2])));
        check(Add {}, &[&plain, &scalar], Some(&ints(&[4, 5, 6])));
        check(mul, &[&scalar, &plain], Some(&ints(&[4, 6, 8])));
        check(
            Unary {
                function: Function::Neg,
            },
            &[&plain],
            Some(&ints(&[-2, -3, -4])),
        );
        check(Div {}, &[&ints(&[-7, 7]), &scalar], Some(&ints(&[-3, 3])));
        check(Div {}, &[&plain, &TensorData::scalar(0i64)], None);
        check(Add {}, &[&ints(&[i64::MAX]), &ints(&[1])], None);
    }

    #[test]
    fn rows_of_matrices_are_joined_and_cut() {
        let a = TensorData::from_values(&[2, 2], &[1i64, 2, 3, 4]).unwrap();
        let b = TensorData::from_values(&[2, 1], &[8i64, 9]).unwrap();
        let joined = TensorData::from_values(&[2, 3], &[1i64, 2, 8, 3, 4, 9]).unwrap();
        check(Concat { axis: 1 }, &[&a, &b], Some(&joined));
        let column = Slice {
            starts: smallvec![1],
            ends: smallvec![2],
            axes: smallvec![1],
            steps: smallvec![1],
        };
        check(
            column,
            &[&a],
            Some(&TensorData::from_values(&[2, 1], &[2i64, 4]).unwrap()),
        );
        check(
            Gather { axis: 1 },
            &[&a, &ints(&[1, 1])],
            Some(&TensorData::from_values(&[2, 2], &[2i64, 2, 4, 4]).unwrap()),
        );
    }

    #[test]
    fn conversions_truncate_and_refuse_what_does_not_fit() {
        let floats = TensorData::from_values(&[2], &[2.9f32, -2.9]).unwrap();
        check(Cast { to: Elem::I64 }, &[&floats], Some(&ints(&[2, -2])));
        check(Cast { to: Elem::I64 }, &[&TensorData::scalar(f32::NAN)], None);
        check(Cast { to: Elem::I32 }, &[&ints(&[1 << 40])], None);
        check(
            Cast { to: Elem::F32 },
            &[&ints(&[3])],
            Some(&TensorData::from_values(&[1], &[3f32]).unwrap()),
        );
    }
}
