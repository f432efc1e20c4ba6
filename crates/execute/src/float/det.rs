//! Determinants, by Gaussian elimination in f64 with the largest element of each column as the pivot.

use crate::prelude::*;

struct Det {
    rows: usize,
}

impl Executable for op::Det {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let rows = site.input(0)?.dims.last().copied().unwrap_or(0);
        Ok(Box::new(Det { rows }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        // The determinant of a matrix with n rows takes n³/3 multiplications.
        (times(types.elements(0), types.extent_from_end(0, 1)) / 3).max(types.made())
    }

    fn scratch(&self, _: &TensorType, _: &TensorType, types: &Types<'_>) -> Scratch {
        Scratch::run(times(types.extent_from_end(0, 1).saturating_pow(2), WORD))
    }
}

/// Computes the determinant of a square matrix, and overwrites the matrix.
fn determinant(matrix: &mut [f64], rows: usize) -> f64 {
    let mut product = 1.0;
    for column in 0..rows {
        let size = |row: &usize| matrix[row * rows + column].abs();
        // If several elements are equally large, the pivot is the first of them.
        let pivot = (column..rows).reduce(|best, row| if size(&row) > size(&best) { row } else { best });
        let pivot = pivot.unwrap_or(column);
        if pivot != column {
            for k in 0..rows {
                matrix.swap(pivot * rows + k, column * rows + k);
            }
            product = -product;
        }
        let divisor = matrix[column * rows + column];
        product *= divisor;
        if divisor == 0.0 {
            return 0.0;
        }
        for row in column + 1..rows {
            let factor = matrix[row * rows + column] / divisor;
            for k in column..rows {
                matrix[row * rows + k] -= factor * matrix[column * rows + k];
            }
        }
    }
    product
}

impl Step for Det {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let out = io.output::<f32>()?;
        let each = self.rows * self.rows;
        if each == 0 {
            out.fill(1.0);
            return Ok(());
        }
        for (x, out) in x.chunks_exact(each).zip(out) {
            let mut matrix: Vec<f64> = x.iter().map(|&x| x.into()).collect();
            *out = determinant(&mut matrix, self.rows) as f32;
        }
        Ok(())
    }
}
