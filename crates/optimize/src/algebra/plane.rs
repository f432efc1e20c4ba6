//! The nearest-plane algorithm (Babai 1986), which rounds weights one after the other. Each rounding takes into account
//! the errors of the weights that were rounded before. GPTQ (Frantar et al. 2022) is the same algorithm.
//!
//! For the weights w of one output and codes that stand for the weights ŵ, the error of the output is
//! (w − ŵ)ᵀ·H·(w − ŵ) = |Lᵀ·e|² with e = w − ŵ and H = L·Lᵀ. Row k of Lᵀ·e is
//! L[k][k]·(w_k − ŵ_k + a_k), where a_k = Σ_{i>k} L[i][k]·e_i / L[k][k].
//! So the weights are rounded from the last one to the first one, and ŵ_k is the grid point next to w_k + a_k.

use super::cholesky::{Bundle, Square};
use rayon::prelude::*;

/// The numbers that the codes of some weights stand for: `steps[n]·(q − zeros[n])` for a code q of weight n within
/// `range`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lattice {
    /// The scale of each weight.
    pub(crate) steps: Vec<f32>,
    /// The zero point of each weight.
    pub(crate) zeros: Vec<i32>,
    /// The smallest and the largest code.
    pub(crate) range: [i32; 2],
}

impl Lattice {
    /// The code whose number is nearest to `real`.
    pub(crate) fn nearest(&self, index: usize, real: f64) -> i32 {
        let (step, zero) = self.at(index);
        let code = (real / step).round_ties_even() + f64::from(zero);
        // The clamp comes before the cast, so that the cast is exact. A NaN becomes 0.
        (code.clamp(f64::from(self.range[0]), f64::from(self.range[1]))) as i32
    }

    /// The number of a code.
    pub(crate) fn real(&self, index: usize, code: i32) -> f64 {
        let (step, zero) = self.at(index);
        step * (f64::from(code) - f64::from(zero))
    }

    fn at(&self, index: usize) -> (f64, i32) {
        let step = self.steps.get(index).copied().unwrap_or(1.0);
        (f64::from(step), self.zeros.get(index).copied().unwrap_or(0))
    }
}

/// Rounds the rows of `targets`, each of which has the weights of one output. `square` has a factor.
pub(crate) fn nearest_plane(square: &Square, targets: &[f64], lattice: &Lattice) -> Vec<i32> {
    let size = square.size();
    let mut codes = vec![0; targets.len()];
    let tile = (size * Bundle::ROWS).max(1);
    let rows = codes.par_chunks_mut(tile).zip(targets.par_chunks(tile));
    rows.enumerate().for_each(|(at, (codes, targets))| {
        let count = targets.len() / size.max(1);
        // Column k holds w_k + a_k, as soon as all weights behind k are rounded.
        let mut open = Bundle::of_rows(targets, size);
        for k in (0..size).rev() {
            let factor = square.factor_row(k);
            let mut errors = [0.0; Bundle::ROWS];
            for (row, error) in errors.iter_mut().enumerate().take(count) {
                let (own, index) = (row * size + k, at * tile + row * size + k);
                // The sum of the products with L was collected without the division.
                let carried = (open.0[k][row] - targets[own]) / factor[k];
                let code = lattice.nearest(index, targets[own] + carried);
                codes[own] = code;
                *error = targets[own] - lattice.real(index, code);
            }
            open.subtract(&factor[..k], errors.map(|error| -error));
        }
    });
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::products::{Matrix, products};

    fn error(square: &Square, target: &[f64], lattice: &Lattice, codes: &[i32]) -> f64 {
        let e: Vec<f64> = target
            .iter()
            .zip(codes)
            .enumerate()
            .map(|(k, (w, &q))| w - lattice.real(k, q))
            .collect();
        let pairs = (0..e.len()).flat_map(|i| (0..e.len()).map(move |j| (i, j)));
        pairs.map(|(i, j)| e[i] * square.at(i, j) * e[j]).sum()
    }

    #[test]
    fn inputs_that_are_alike_let_weights_share_their_errors_and_inputs_that_are_apart_do_not() {
        let size = 12;
        let numbers: Vec<f64> = (0..size * 5)
            .map(|n| f64::from((n * n * 7 + 3 * n) % 19) - 9.0)
            .collect();
        let rows = Matrix::new(&numbers, 5);
        let mut elements = vec![0.0; (size * size) as usize];
        products(rows, rows, (&mut elements, size as usize), true, |out, sum| *out = sum);
        let mut square = Square::of_lower(size as usize, elements);
        assert!(square.factor(0.5));
        let lattice = Lattice {
            steps: vec![0.25; 3 * size as usize],
            zeros: vec![0; 3 * size as usize],
            range: [-7, 7],
        };
        let targets: Vec<f64> = (0..3 * size).map(|n| f64::from((n * 31) % 23) / 13.0 - 0.9).collect();
        let found = nearest_plane(&square, &targets, &lattice);
        let mut errors = [0.0; 2];
        for (target, codes) in targets.chunks(size as usize).zip(found.chunks(size as usize)) {
            let nearest: Vec<i32> = target.iter().enumerate().map(|(k, &w)| lattice.nearest(k, w)).collect();
            errors[0] += error(&square, target, &lattice, codes);
            errors[1] += error(&square, target, &lattice, &nearest);
        }
        assert!(errors[0] < 0.75 * errors[1], "{errors:?}");
        let mut apart = Square::of_lower(2, vec![3.0, 0.0, 0.0, 5.0]);
        assert!(apart.factor(0.0));
        assert_eq!(nearest_plane(&apart, &[0.3, -0.3], &lattice), [1, -1]);
    }
}
