//! Tensors of the reference interpreter, in which each element is an i64.

use crate::error::StepError;
use crate::site::Shape;
use crate::step::{elements, elements_mut};
use crate::tensor::Dims;
use strait_core::Elem;

/// A tensor of integers, as the reference interpreter stores it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) dims: Dims,
    /// The code that stands for the real number 0; 0 if the tensor does not have a single grid.
    pub(crate) zero_point: i64,
    pub(crate) values: Vec<i64>,
}

impl Array {
    /// Reads elements of the type and extents in `shape` from `bytes`.
    pub(crate) fn read(shape: &Shape, bytes: &[u8]) -> Result<Array, StepError> {
        fn widen<T: bytemuck::Pod + Into<i64>>(bytes: &[u8]) -> Result<Vec<i64>, StepError> {
            Ok(elements::<T>(bytes)?.iter().map(|&v| v.into()).collect())
        }
        let values = match shape.elem {
            Elem::I8 | Elem::I4 => widen::<i8>(bytes)?,
            Elem::U8 | Elem::U4 => widen::<u8>(bytes)?,
            Elem::I16 => widen::<i16>(bytes)?,
            Elem::U16 => widen::<u16>(bytes)?,
            Elem::I32 => widen::<i32>(bytes)?,
            Elem::I64 => widen::<i64>(bytes)?,
            other @ (Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 | Elem::U32 | Elem::U64 | Elem::Bool) => {
                return Err(no_arithmetic(other));
            }
        };
        Ok(Array {
            dims: shape.dims.clone(),
            zero_point: shape.zero_point,
            values,
        })
    }

    /// Returns the element at this position.
    pub(crate) fn at(&self, position: &[usize]) -> i64 {
        let index = self
            .dims
            .iter()
            .zip(position)
            .fold(0, |index, (&extent, &p)| index * extent + p);
        self.values[index]
    }
}

/// Writes values as elements of type `elem`. It is an error if a value does not fit, because an accumulator has then
/// overflowed.
pub(crate) fn write(elem: Elem, values: &[i64], out: &mut [u8]) -> Result<(), StepError> {
    fn narrow<T: bytemuck::Pod + TryFrom<i64>>(elem: Elem, values: &[i64], out: &mut [u8]) -> Result<(), StepError> {
        let out = elements_mut::<T>(out)?;
        if out.len() != values.len() {
            return Err(StepError::Ours(format!(
                "{} values for {} elements",
                values.len(),
                out.len()
            )));
        }
        // A 4-bit element is stored in a byte, which can also hold larger numbers, so the range is checked.
        let ends = elem
            .int_type()
            .filter(|_| elem.is_packed())
            .map(|t| [t.min(), t.max()].map(i64::from));
        let holds = |value| ends.is_none_or(|[low, high]| (low..=high).contains(&value));
        for (to, &value) in out.iter_mut().zip(values) {
            let fits = T::try_from(value).ok().filter(|_| holds(value));
            *to = fits.ok_or_else(|| StepError::Model(format!("{value} does not fit into {elem}")))?;
        }
        Ok(())
    }
    match elem {
        Elem::I8 | Elem::I4 => narrow::<i8>(elem, values, out),
        Elem::U8 | Elem::U4 => narrow::<u8>(elem, values, out),
        Elem::I16 => narrow::<i16>(elem, values, out),
        Elem::U16 => narrow::<u16>(elem, values, out),
        Elem::I32 => narrow::<i32>(elem, values, out),
        Elem::I64 => narrow::<i64>(elem, values, out),
        other @ (Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 | Elem::U32 | Elem::U64 | Elem::Bool) => {
            Err(no_arithmetic(other))
        }
    }
}

fn no_arithmetic(elem: Elem) -> StepError {
    StepError::Unsupported(format!("integer arithmetic on {elem}"))
}

/// Returns every position in a tensor, in row-major order.
pub(super) fn positions(dims: &[usize]) -> impl Iterator<Item = Dims> + '_ {
    let count: usize = dims.iter().product();
    (0..count).map(move |mut index| {
        let mut position: Dims = dims.into();
        for (p, &extent) in position.iter_mut().zip(dims).rev() {
            *p = index % extent;
            index /= extent;
        }
        position
    })
}
