//! The Cholesky factor of a symmetric positive definite matrix, and equations with it.
//!
//! H = L·Lᵀ, with a lower triangular matrix L. Both share one square matrix: H is in the upper half, with its diagonal in
//! a vector beside it, and L is in the lower half, with its diagonal. So H can be factored again with another diagonal.

use super::products::{Matrix, dot, products};
use rayon::prelude::*;

/// The number of columns that are eliminated together.
const BLOCK: usize = 64;

/// A symmetric matrix, with its Cholesky factor after [`Square::factor`].
#[derive(Clone, Debug)]
pub(crate) struct Square {
    size: usize,
    /// H above the diagonal, and L below and on it.
    elements: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Square {
    /// Takes a matrix whose lower half, with the diagonal, is filled.
    pub(crate) fn of_lower(size: usize, mut elements: Vec<f64>) -> Square {
        for i in 0..size {
            for j in 0..i {
                elements[j * size + i] = elements[i * size + j];
            }
        }
        Square {
            size,
            diagonal: (0..size).map(|i| elements[i * size + i]).collect(),
            elements,
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The mean of the diagonal of H.
    pub(crate) fn mean(&self) -> f64 {
        self.diagonal.iter().sum::<f64>() / self.size.max(1) as f64
    }

    /// The element of H in a row and a column.
    #[cfg(test)]
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        match i == j {
            true => self.diagonal[i],
            false => self.elements[i.min(j) * self.size + i.max(j)],
        }
    }

    /// The elements of row `i` of L up to the diagonal.
    pub(crate) fn factor_row(&self, i: usize) -> &[f64] {
        &self.elements[i * self.size..i * self.size + i + 1]
    }

    /// Computes L for H + `more`·I. Returns false if this matrix is not positive definite in f64.
    ///
    /// Blocks of columns are computed from left to right. For rows i ≥ j of the block that starts at column s:
    /// A[i][j] = H[i][j] − Σ_{k<s} L[i][k]·L[j][k]. The block on the diagonal is then factored on its own, and the rows
    /// below it are L[i][j] = (A[i][j] − Σ_{s≤k<j} L[i][k]·L[j][k]) / L[j][j].
    pub(crate) fn factor(&mut self, more: f64) -> bool {
        let size = self.size;
        for i in 0..size {
            for j in 0..i {
                self.elements[i * size + j] = self.elements[j * size + i];
            }
            self.elements[i * size + i] = self.diagonal[i] + more;
        }
        for start in (0..size).step_by(BLOCK) {
            let end = size.min(start + BLOCK);
            let open = &mut self.elements[start * size..];
            let width = end - start;
            // The rows of the block and below, without the columns that are already factors.
            let factors: Vec<f64> = open.chunks(size).flat_map(|row| &row[..start]).copied().collect();
            let mut sums = vec![0.0; (size - start) * width];
            if start > 0 {
                let all = Matrix::new(&factors, start);
                products(all, all, (&mut sums, width), false, |out, sum| *out = sum);
            }
            for (at, (row, sums)) in open.chunks_mut(size).zip(sums.chunks(width)).enumerate() {
                // The elements right of the diagonal are those of H.
                for (element, sum) in row[start..end].iter_mut().zip(sums).take(at + 1) {
                    *element -= sum;
                }
            }
            let (block, below) = open.split_at_mut(width * size);
            for i in 0..width {
                let (before, own) = block.split_at_mut(i * size);
                for j in 0..=i {
                    let sum = match j == i {
                        true => dot(&own[start..start + j], &own[start..start + j]),
                        false => dot(&own[start..start + j], &before[j * size + start..j * size + start + j]),
                    };
                    let rest = own[start + j] - sum;
                    own[start + j] = match j == i {
                        true if rest > 0.0 => rest.sqrt(),
                        true => return false,
                        false => rest / before[j * size + start + j],
                    };
                }
            }
            below.par_chunks_mut(size).for_each(|row| {
                for j in 0..width {
                    let factor = &block[j * size + start..j * size + start + j + 1];
                    let rest = row[start + j] - dot(&row[start..start + j], &factor[..j]);
                    row[start + j] = rest / factor[j];
                }
            });
        }
        true
    }

    /// Solves (L·Lᵀ)·x = b for each row of `rows`, in place: first L·y = b, then Lᵀ·x = y.
    pub(crate) fn solve(&self, rows: &mut [f64]) {
        let size = self.size;
        rows.par_chunks_mut((size * Bundle::ROWS).max(1)).for_each(|rows| {
            let mut bundle = Bundle::of_rows(rows, size);
            for i in 0..size {
                let factor = self.factor_row(i);
                let mut open = bundle.0[i];
                for (solved, factor) in bundle.0[..i].iter().zip(factor) {
                    for (open, solved) in open.iter_mut().zip(solved) {
                        *open -= factor * solved;
                    }
                }
                bundle.0[i] = open.map(|open| open / factor[i]);
            }
            for i in (0..size).rev() {
                let factor = self.factor_row(i);
                let solved = bundle.0[i].map(|open| open / factor[i]);
                bundle.0[i] = solved;
                bundle.subtract(&factor[..i], solved);
            }
            bundle.to_rows(rows, size);
        });
    }
}

/// Several rows of a matrix, with the elements of a column next to each other. A row of a factor that was loaded is
/// then used for all of these rows.
pub(crate) struct Bundle(pub(crate) Vec<[f64; Bundle::ROWS]>);

impl Bundle {
    /// The number of rows.
    pub(crate) const ROWS: usize = 8;

    /// Bundles the rows of a matrix. Missing rows are zero.
    pub(crate) fn of_rows(rows: &[f64], width: usize) -> Bundle {
        let element = |row: usize, column: usize| rows.get(row * width + column).copied().unwrap_or(0.0);
        let column = |column: usize| std::array::from_fn(|row| element(row, column));
        Bundle((0..width).map(column).collect())
    }

    /// Writes the rows back to a matrix.
    pub(crate) fn to_rows(&self, rows: &mut [f64], width: usize) {
        for (at, row) in rows.chunks_mut(width.max(1)).enumerate() {
            for (to, from) in row.iter_mut().zip(&self.0) {
                *to = from[at];
            }
        }
    }

    /// Subtracts `factors[k]·of` from column k, for each of the factors.
    pub(crate) fn subtract(&mut self, factors: &[f64], of: [f64; Bundle::ROWS]) {
        for (column, factor) in self.0.iter_mut().zip(factors) {
            for (element, of) in column.iter_mut().zip(of) {
                *element -= factor * of;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of numbers that look random, times its transpose.
    fn square(size: usize) -> Square {
        let numbers: Vec<f64> = (0..size * (size + 3))
            .map(|n| ((n * n + 7 * n) % 31) as f64 - 15.0)
            .collect();
        let rows = Matrix::new(&numbers, size + 3);
        let mut elements = vec![0.0; size * size];
        products(rows, rows, (&mut elements, size), true, |out, sum| *out = sum);
        Square::of_lower(size, elements)
    }

    #[test]
    fn the_factor_times_its_transpose_is_the_matrix() {
        for size in [1, 5, 64, 65, 150] {
            let mut square = square(size);
            assert!(square.factor(1.5));
            for i in 0..size {
                for j in 0..=i {
                    let product = dot(&square.factor_row(i)[..=j], square.factor_row(j));
                    let exact = square.at(i, j) + if i == j { 1.5 } else { 0.0 };
                    assert!(
                        (product - exact).abs() < 1e-9 * square.mean() * size as f64,
                        "{size}: {i}, {j}"
                    );
                }
            }
        }
    }

    #[test]
    fn solutions_solve_their_equations() {
        let mut square = square(70);
        assert!(square.factor(2.0));
        let b: Vec<f64> = (0..140).map(|n| f64::from(n % 13)).collect();
        let mut x = b.clone();
        square.solve(&mut x);
        for (x, b) in x.chunks(70).zip(b.chunks(70)) {
            for i in 0..70 {
                let product: f64 = (0..70).map(|j| square.at(i, j) * x[j]).sum::<f64>() + 2.0 * x[i];
                assert!((product - b[i]).abs() < 1e-6, "{product} and {}", b[i]);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        let mut square = Square::of_lower(2, vec![1.0, 0.0, 2.0, 1.0]);
        assert!(!square.factor(0.0));
        assert!(square.factor(2.0));
    }
}
