//! A view of a matrix.

use crate::error::KernelError;

/// A view of a matrix: element `(i, j)` is `data[i·strides[0] + j·strides[1]]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The elements of the matrix, at the positions that `strides` give.
    pub data: &'a [f32],
    /// Elements from one row to the next, and from one column to the next.
    pub strides: [usize; 2],
}

impl<'a> Matrix<'a> {
    /// Row-major, `columns` elements a row.
    pub fn row_major(data: &'a [f32], columns: usize) -> Matrix<'a> {
        Matrix {
            data,
            strides: [columns, 1],
        }
    }

    /// The transpose of a row-major matrix with `columns` elements a row.
    pub fn transposed(data: &'a [f32], columns: usize) -> Matrix<'a> {
        Matrix {
            data,
            strides: [1, columns],
        }
    }

    /// Checks that the view has `rows × columns` elements.
    pub(super) fn check(&self, what: &str, rows: usize, columns: usize) -> Result<(), KernelError> {
        let last = |extent: usize, stride: usize| extent.checked_sub(1)?.checked_mul(stride);
        let end = match (last(rows, self.strides[0]), last(columns, self.strides[1])) {
            (Some(down), Some(right)) => down.checked_add(right),
            _ if rows == 0 || columns == 0 => return Ok(()),
            _ => None,
        };
        match end {
            Some(end) if end < self.data.len() => Ok(()),
            _ => Err(KernelError::Shape(format!(
                "{what} is a view of {rows} × {columns} beyond its {} elements",
                self.data.len()
            ))),
        }
    }
}
