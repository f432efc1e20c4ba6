//! Determinants, by Gaussian elimination in f64 with the largest element of each column as the pivot.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};

struct Det {
    rows: usize,
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let rows = site.input(0)?.dims.last().copied().unwrap_or(0);
    Ok(Box::new(Det { rows }))
}

/// The determinant of a square matrix, which is overwritten.
fn determinant(matrix: &mut [f64], rows: usize) -> f64 {
    let mut product = 1.0;
    for column in 0..rows {
        let size = |row: &usize| matrix[row * rows + column].abs();
        // If two are equally large, the first one is taken.
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
