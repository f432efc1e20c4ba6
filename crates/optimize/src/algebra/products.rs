//! Sums of products of the rows of two matrices.

use rayon::prelude::*;

/// The number of partial sums of a sum of products.
const LANES: usize = 4;

/// The number of rows of each operand that are multiplied together, so that a number that was loaded is used several
/// times.
const TILE: [usize; 2] = [2, 4];

/// The rows of both operands that stay in the cache together.
const ROWS: usize = 32;

/// An element of a matrix whose products are added in f64.
pub(crate) trait Real: Copy + Send + Sync {
    fn real(self) -> f64;
}

impl Real for f32 {
    fn real(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn real(self) -> f64 {
        self
    }
}

/// A matrix in row-major order, whose rows are `stride` elements apart. Only the first `width` elements of a row belong
/// to the matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) elements: &'a [T],
    pub(crate) width: usize,
    pub(crate) stride: usize,
}

impl<'a, T: Real> Matrix<'a, T> {
    /// A matrix whose rows lie next to each other.
    pub(crate) fn new(elements: &'a [T], width: usize) -> Matrix<'a, T> {
        Matrix {
            elements,
            width,
            stride: width,
        }
    }

    pub(crate) fn row(&self, index: usize) -> &'a [T] {
        let start = index * self.stride;
        self.elements.get(start..start + self.width).unwrap_or_default()
    }
}

/// Computes `c[i][j] = Σ_k a[i][k]·b[j][k]` for all rows i of `a` and j of `b`, and gives each `c[i][j]` to `store`
/// together with the element of `out` at (i, j). If `lower` is true, only elements with j ≤ i are computed. `out` has
/// `columns` elements in each row, one for each row of `b`.
///
/// The sum is exact, and does not depend on its order, if all elements are integers and no partial sum exceeds 2^53.
pub(crate) fn products<A: Real, B: Real>(
    a: Matrix<'_, A>,
    b: Matrix<'_, B>,
    (out, columns): (&mut [f64], usize),
    lower: bool,
    store: impl Fn(&mut f64, f64) + Sync,
) {
    if columns == 0 {
        return;
    }
    out.par_chunks_mut(columns * ROWS).enumerate().for_each(|(block, out)| {
        let (first, rows) = (block * ROWS, out.len() / columns);
        let last = if lower { columns.min(first + rows) } else { columns };
        for start in (0..last).step_by(ROWS) {
            for i in (0..rows).step_by(TILE[0]) {
                for j in (start..last.min(start + ROWS)).step_by(TILE[1]) {
                    // A row beyond the end is the last row again. Its products are not stored.
                    let left: [&[A]; TILE[0]] = std::array::from_fn(|at| a.row(first + (i + at).min(rows - 1)));
                    let right: [&[B]; TILE[1]] = std::array::from_fn(|at| b.row((j + at).min(last - 1)));
                    let sums = tile(left, right);
                    for (at, sums) in sums.into_iter().enumerate().take(rows - i) {
                        for (of, sum) in sums.into_iter().enumerate().take(last - j) {
                            let (row, column) = (i + at, j + of);
                            if (!lower || column <= first + row)
                                && let Some(out) = out.get_mut(row * columns + column)
                            {
                                store(out, sum);
                            }
                        }
                    }
                }
            }
        }
    });
}

/// The sums of products of each row on the left with each row on the right.
fn tile<A: Real, B: Real>(a: [&[A]; TILE[0]], b: [&[B]; TILE[1]]) -> [[f64; TILE[1]]; TILE[0]] {
    let mut sums = [[[0.0; LANES]; TILE[1]]; TILE[0]];
    let (a, a_rest) = (
        a.map(|row| row.as_chunks::<LANES>().0),
        a.map(|row| row.as_chunks::<LANES>().1),
    );
    let (b, b_rest) = (
        b.map(|row| row.as_chunks::<LANES>().0),
        b.map(|row| row.as_chunks::<LANES>().1),
    );
    let length = a
        .iter()
        .map(|row| row.len())
        .chain(b.iter().map(|row| row.len()))
        .min()
        .unwrap_or(0);
    let (a, b) = (a.map(|row| &row[..length]), b.map(|row| &row[..length]));
    for k in 0..length {
        let a = a.map(|row| row[k].map(Real::real));
        let b = b.map(|row| row[k].map(Real::real));
        for (sums, a) in sums.iter_mut().zip(a) {
            for (sums, b) in sums.iter_mut().zip(b) {
                for lane in 0..LANES {
                    sums[lane] += a[lane] * b[lane];
                }
            }
        }
    }
    let mut done = [[0.0; TILE[1]]; TILE[0]];
    for (i, done) in done.iter_mut().enumerate() {
        for (j, done) in done.iter_mut().enumerate() {
            let mut lanes = sums[i][j];
            for ((lane, a), b) in lanes.iter_mut().zip(a_rest[i]).zip(b_rest[j]) {
                *lane += a.real() * b.real();
            }
            *done = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        }
    }
    done
}

/// The sum of products of two rows, in the order of [`products`].
pub(crate) fn dot<A: Real, B: Real>(a: &[A], b: &[B]) -> f64 {
    let mut lanes = [0.0; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a.real() * b.real();
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_extents_are_those_of_the_definition() {
        for (rows, columns, width) in [(1, 1, 1), (3, 5, 7), (33, 34, 9), (70, 6, 64)] {
            let a: Vec<f64> = (0..rows * width).map(|n| ((n * 37) % 101) as f64 - 50.0).collect();
            let b: Vec<f32> = (0..columns * width).map(|n| ((n * 53) % 97) as f32 - 40.0).collect();
            let (a, b) = (Matrix::new(&a, width), Matrix::new(&b, width));
            let mut out = vec![0.0; rows * columns];
            products(a, b, (&mut out, columns), false, |out, sum| *out = sum);
            for i in 0..rows {
                for j in 0..columns {
                    let sum: f64 = a.row(i).iter().zip(b.row(j)).map(|(a, b)| a * f64::from(*b)).sum();
                    assert_eq!(out[i * columns + j], sum);
                    assert_eq!(dot(a.row(i), b.row(j)), sum);
                }
            }
        }
    }

    #[test]
    fn the_lower_half_leaves_the_upper_half_alone() {
        let a: Vec<f64> = (0..40 * 3).map(f64::from).collect();
        let a = Matrix::new(&a, 3);
        let mut out = vec![-1.0; 40 * 40];
        products(a, a, (&mut out, 40), true, |out, sum| *out = sum);
        for i in 0..40 {
            for j in 0..40 {
                let expected = if j <= i { dot(a.row(i), a.row(j)) } else { -1.0 };
                assert_eq!(out[i * 40 + j], expected);
            }
        }
    }
}
