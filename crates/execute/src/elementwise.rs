//! Loops over elements. Threads divide the elements of the result among them, so the order of summation does not depend
//! on the number of threads.

use crate::error::StepError;
use crate::step::Operand;
use rayon::prelude::*;
use strait_kernels::integer;

/// The smallest number of elements that a thread gets at a time. For fewer elements, waking another thread takes longer
/// than the work.
const PIECE: usize = 4096;
/// The smallest number of elements of a loop that runs on several threads.
const WORTH_SPLITTING: usize = 1 << 16;

/// Runs `work(first element, piece)` on consecutive pieces of `out` with `size` elements each. `work` is called through
/// a pointer, so the loop over threads is compiled only once for each element type.
pub(crate) fn for_each_piece<T: Send>(
    out: &mut [T],
    size: usize,
    work: &(dyn Fn(usize, &mut [T]) -> Result<(), StepError> + Sync),
) -> Result<(), StepError> {
    let size = size.max(1);
    if out.len() >= WORTH_SPLITTING && strait_kernels::threads() > 1 {
        let pieces = out.par_chunks_mut(size).enumerate();
        pieces.try_for_each(|(index, piece)| work(index * size, piece))
    } else {
        let mut pieces = out.chunks_mut(size).enumerate();
        pieces.try_for_each(|(index, piece)| work(index * size, piece))
    }
}

/// `out = function(input)`, piece by piece. If the input is already in the buffer of `out`, each piece is copied first.
pub(crate) fn map(
    input: Operand<'_, f32>,
    out: &mut [f32],
    function: impl Fn(&[f32], &mut [f32]) -> Result<(), StepError> + Sync,
) -> Result<(), StepError> {
    match input {
        Operand::Slice(input) => for_each_piece(out, PIECE, &|first, out| {
            let piece = input.get(first..first + out.len()).ok_or_else(lengths)?;
            function(piece, out)
        }),
        Operand::InPlace => for_each_piece(out, PIECE, &|_, out| {
            let mut copy = [0.0; PIECE];
            let copy = &mut copy[..out.len()];
            copy.copy_from_slice(out);
            function(copy, out)
        }),
    }
}

/// `out = function(input)`, element by element.
pub(crate) fn map_each(
    input: Operand<'_, f32>,
    out: &mut [f32],
    function: impl Fn(f32) -> f32 + Sync,
) -> Result<(), StepError> {
    for_each_piece(out, PIECE, &|first, out| {
        match input {
            Operand::Slice(input) => {
                let piece = input.get(first..first + out.len()).ok_or_else(lengths)?;
                out.iter_mut().zip(piece).for_each(|(y, &x)| *y = function(x));
            }
            Operand::InPlace => out.iter_mut().for_each(|x| *x = function(*x)),
        }
        Ok(())
    })
}

fn lengths() -> StepError {
    StepError::Ours("an operand and its result differ in length".into())
}

/// Broadcasting of two arrays by NumPy's rule: the last axes are aligned, and elements along an axis of extent 1 are
/// repeated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Broadcast(integer::Broadcast);

/// One row of an operand. It is already in the buffer of the result, or is a single repeated element, or is a slice.
#[derive(Clone, Copy)]
enum Row<'a, T> {
    Here,
    One(T),
    Each(&'a [T]),
}

impl Broadcast {
    /// Determines how two row-major arrays with these extents broadcast.
    pub(crate) fn new(a: &[usize], b: &[usize]) -> Result<Broadcast, StepError> {
        Ok(Broadcast(integer::Broadcast::new(a, b)?))
    }

    /// `out = function(a, b)`. If an operand is already in the buffer of `out`, it has the extents of the result.
    pub(crate) fn apply<T: Copy + Send + Sync>(
        &self,
        a: Operand<'_, T>,
        b: Operand<'_, T>,
        out: &mut [T],
        function: impl Fn(T, T) -> T + Sync,
    ) -> Result<(), StepError> {
        let (extent, strides) = self.0.last();
        if out.is_empty() {
            return Ok(());
        }
        let rows = (PIECE / extent).max(1);
        for_each_piece(out, rows * extent, &|first, out| {
            for (index, out) in out.chunks_mut(extent).enumerate() {
                let starts = self.0.row(first / extent + index);
                let length = out.len();
                let a = operand_row(a, starts[0], strides[0], length)?;
                let b = operand_row(b, starts[1], strides[1], length)?;
                combine(a, b, out, &function);
            }
            Ok(())
        })
    }

    /// Like `apply`, for a result of another type. No operand of such a result is in the buffer of `out`.
    pub(crate) fn apply_to<T: Copy + Sync, U: Send>(
        &self,
        a: &[T],
        b: &[T],
        out: &mut [U],
        function: impl Fn(T, T) -> U + Sync,
    ) -> Result<(), StepError> {
        let (extent, strides) = self.0.last();
        if out.is_empty() {
            return Ok(());
        }
        let rows = (PIECE / extent).max(1);
        for_each_piece(out, rows * extent, &|first, out| {
            for (index, out) in out.chunks_mut(extent).enumerate() {
                let starts = self.0.row(first / extent + index);
                for (at, out) in out.iter_mut().enumerate() {
                    let [x, y] = [0, 1].map(|o| starts[o] + at * strides[o]);
                    let (Some(&x), Some(&y)) = (a.get(x), b.get(y)) else {
                        return Err(lengths());
                    };
                    *out = function(x, y);
                }
            }
            Ok(())
        })
    }
}

fn operand_row<T: Copy>(
    operand: Operand<'_, T>,
    start: usize,
    stride: usize,
    length: usize,
) -> Result<Row<'_, T>, StepError> {
    Ok(match operand {
        Operand::InPlace => Row::Here,
        Operand::Slice(all) if stride == 0 => Row::One(*all.get(start).ok_or_else(lengths)?),
        // The stride of the innermost axis is 0 or 1.
        Operand::Slice(all) => Row::Each(all.get(start..start + length).ok_or_else(lengths)?),
    })
}

fn combine<T: Copy>(a: Row<'_, T>, b: Row<'_, T>, out: &mut [T], f: impl Fn(T, T) -> T) {
    match (a, b) {
        (Row::Each(a), Row::Each(b)) => out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = f(a, b)),
        (Row::Each(a), Row::One(b)) => out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a, b)),
        (Row::One(a), Row::Each(b)) => out.iter_mut().zip(b).for_each(|(o, &b)| *o = f(a, b)),
        (Row::One(a), Row::One(b)) => out.fill(f(a, b)),
        (Row::Here, Row::Each(b)) => out.iter_mut().zip(b).for_each(|(o, &b)| *o = f(*o, b)),
        (Row::Here, Row::One(b)) => out.iter_mut().for_each(|o| *o = f(*o, b)),
        (Row::Each(a), Row::Here) => out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a, *o)),
        (Row::One(a), Row::Here) => out.iter_mut().for_each(|o| *o = f(a, *o)),
        (Row::Here, Row::Here) => out.iter_mut().for_each(|o| *o = f(*o, *o)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(a_dims: &[usize], b_dims: &[usize], len: usize) -> Vec<i32> {
        let count = |dims: &[usize]| dims.iter().product::<usize>() as i32;
        let a: Vec<i32> = (0..count(a_dims)).collect();
        let b: Vec<i32> = (0..count(b_dims)).map(|v| 100 * v).collect();
        let mut out = vec![-1; len];
        let broadcast = Broadcast::new(a_dims, b_dims).unwrap();
        broadcast
            .apply(Operand::Slice(&a), Operand::Slice(&b), &mut out, |a, b| a + b)
            .unwrap();
        out
    }

    #[test]
    fn every_element_is_mapped_in_place_too() {
        let input: Vec<f32> = (0..3 * PIECE as i32 + 5).map(|at| at as f32).collect();
        let expected: Vec<f32> = input.iter().map(|x| x + 0.5).collect();
        let mut out = vec![0.0; input.len()];
        map_each(Operand::Slice(&input), &mut out, |x| x + 0.5).unwrap();
        assert_eq!(out, expected);
        let mut out = input.clone();
        map_each(Operand::InPlace, &mut out, |x| x + 0.5).unwrap();
        assert_eq!(out, expected);
        assert!(map_each(Operand::Slice(&input[1..]), &mut out, |x| x).is_err());
    }

    #[test]
    fn operands_meet_as_in_numpy() {
        assert_eq!(add(&[2, 2], &[2, 2], 4), [0, 101, 202, 303]);
        assert_eq!(add(&[2, 2], &[2], 4), [0, 101, 2, 103]);
        assert_eq!(add(&[2, 1], &[2], 4), [0, 100, 1, 101]);
        assert_eq!(add(&[1, 2, 2], &[2, 1, 1], 8), [0, 1, 2, 3, 100, 101, 102, 103]);
        assert_eq!(add(&[], &[3], 3), [0, 100, 200]);
        assert!(Broadcast::new(&[2], &[3]).is_err());
    }

    #[test]
    fn in_place_and_apart_agree() {
        let broadcast = Broadcast::new(&[2, 3], &[3]).unwrap();
        let (a, b) = ([1, 2, 3, 4, 5, 6], [10, 20, 30]);
        let (mut apart, mut here) = ([0; 6], a);
        broadcast
            .apply(Operand::Slice(&a), Operand::Slice(&b), &mut apart, |a, b| a - b)
            .unwrap();
        broadcast
            .apply(Operand::InPlace, Operand::Slice(&b), &mut here, |a, b| a - b)
            .unwrap();
        assert_eq!(apart, here);
    }
}
