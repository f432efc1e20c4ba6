//! A view of a matrix.

use crate::error::KernelError;

/// A view of a matrix: element `(i, j)` is `data[i·strides[0] + j·strides[1]]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The memory with the elements of the matrix. `strides` says where they are.
    pub data: &'a [f32],
    /// Distance from one row to the next, and from one column to the next, in elements.
    pub strides: [usize; 2],
}

impl<'a> Matrix<'a> {
    /// A view of a row-major matrix with `columns` elements in each row.
    pub fn row_major(data: &'a [f32], columns: usize) -> Matrix<'a> {
        Matrix {
            data,
            strides: [columns, 1],
        }
    }

    /// A view of the transpose of a row-major matrix with `columns` elements in each row.
    pub fn transposed(data: &'a [f32], columns: usize) -> Matrix<'a> {
        Matrix {
            data,
            strides: [1, columns],
        }
    }

    /// Checks that all elements of a `rows × columns` matrix are inside of the data.
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
