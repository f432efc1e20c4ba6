//! The sums over positions from which a layer's codes are chosen. All of them are sums of integers that f64 holds exactly.
//! So they do not depend on the order of the positions, and the sums of two parts of the samples can be added.

use super::positions::{Positions, transposed};
use crate::algebra::cholesky::Square;
use crate::algebra::products::{Matrix, products};

/// Sums over the positions of one layer, or of one group of a convolution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moments {
    /// The number of positions.
    pub(crate) count: f64,
    /// Σ x[i]·x[j], for j ≤ i.
    pub(crate) xx: Vec<f64>,
    /// Σ y[o]·x[k], output by output.
    pub(crate) yx: Vec<f64>,
    /// Σ x[k].
    pub(crate) x: Vec<f64>,
    /// Σ y[o].
    pub(crate) y: Vec<f64>,
}

impl Moments {
    /// The positions are used up, because they take much memory.
    pub(crate) fn of(positions: Positions) -> Moments {
        let (width, outputs, count) = (positions.width, positions.outputs, positions.count());
        let (x, y) = (transposed(positions.x, width), transposed(positions.y, outputs));
        let rows = |elements| Matrix::new(elements, count);
        let (mut xx, mut yx) = (vec![0.0; width * width], vec![0.0; outputs * width]);
        products(rows(&x), rows(&x), (&mut xx, width), true, |out, sum| *out = sum);
        products(rows(&y), rows(&x), (&mut yx, width), false, |out, sum| *out = sum);
        let sums = |elements: &[f32], rows: usize| -> Vec<f64> {
            let row = |at: usize| elements[at * count..(at + 1) * count].iter();
            (0..rows)
                .map(|at| row(at).map(|&element| f64::from(element)).sum())
                .collect()
        };
        Moments {
            count: count as f64,
            xx,
            yx,
            x: sums(&x, width),
            y: sums(&y, outputs),
        }
    }

    /// The mean of x[i]·x[j]. If `centred` is true, of the deviations from the means. The sums of these products are used up,
    /// because there are many of them.
    pub(crate) fn inputs(&mut self, centred: bool) -> Square {
        let width = self.x.len();
        let mut elements = std::mem::take(&mut self.xx);
        for i in 0..width {
            for j in 0..=i {
                let element = &mut elements[i * width + j];
                *element = self.mean(*element, centred, self.x[i], self.x[j]);
            }
        }
        Square::of_lower(width, elements)
    }

    /// The mean of y[o]·x[k], output by output. If `centred` is true, of the deviations from the means.
    pub(crate) fn results(&self, centred: bool) -> Vec<f64> {
        let width = self.x.len().max(1);
        let element = |(at, &sum): (usize, &f64)| self.mean(sum, centred, self.y[at / width], self.x[at % width]);
        self.yx.iter().enumerate().map(element).collect()
    }

    fn mean(&self, sum: f64, centred: bool, first: f64, second: f64) -> f64 {
        match centred {
            true => (sum - first * second / self.count) / self.count,
            false => sum / self.count,
        }
    }
}
