//! The exact search for the nearest point of a small lattice (Schnorr and Euchner 1994).
//!
//! The nearest-plane algorithm gives a first point. The search then tries, for each weight from the last one to the
//! first one, the codes in the order of their distance, and leaves a branch as soon as its error exceeds that of the best
//! point so far.

use super::cholesky::Square;
use super::plane::Lattice;
use rayon::prelude::*;

/// The largest number of weights for which the search is worth its time.
pub(crate) const MOST_WEIGHTS: usize = 16;

/// The number of codes that are tried for one output. The best point so far is then the result.
const MOST_TRIALS: usize = 20_000;

/// Finds the codes with the least error for each row of `targets`, starting from `codes`, which are those of
/// [`nearest_plane`](super::plane::nearest_plane).
pub(crate) fn nearest_point(square: &Square, targets: &[f64], lattice: &Lattice, codes: &mut [i32]) {
    let size = square.size();
    let rows = codes.par_chunks_mut(size.max(1)).zip(targets.par_chunks(size.max(1)));
    rows.enumerate().for_each(|(row, (codes, target))| {
        let mut search = Search {
            square,
            target,
            lattice,
            first: row * size,
            errors: vec![0.0; size],
            codes: codes.to_vec(),
            best: codes.to_vec(),
            least: f64::INFINITY,
            left: MOST_TRIALS,
        };
        search.least = search.error();
        search.descend(size, 0.0);
        codes.copy_from_slice(&search.best);
    });
}

struct Search<'a> {
    square: &'a Square,
    target: &'a [f64],
    lattice: &'a Lattice,
    /// The index of the first weight of this output in the lattice.
    first: usize,
    /// The error w − ŵ of each weight whose code is chosen.
    errors: Vec<f64>,
    codes: Vec<i32>,
    best: Vec<i32>,
    least: f64,
    left: usize,
}

impl Search<'_> {
    /// The error of the present codes.
    fn error(&self) -> f64 {
        let reals = self
            .codes
            .iter()
            .enumerate()
            .map(|(k, &code)| self.lattice.real(self.first + k, code));
        let errors: Vec<f64> = self
            .target
            .iter()
            .zip(reals)
            .map(|(target, real)| target - real)
            .collect();
        let component = |k: usize| {
            let parts = (k..errors.len()).map(|i| self.square.factor_row(i)[k] * errors[i]);
            parts.sum::<f64>()
        };
        (0..errors.len()).map(|k| component(k) * component(k)).sum()
    }

    /// Chooses codes for the first `open` weights. `spent` is the error of the others.
    fn descend(&mut self, open: usize, spent: f64) {
        let Some(k) = open.checked_sub(1) else {
            (self.least, self.best) = (spent, self.codes.clone());
            return;
        };
        let diagonal = self.square.factor_row(k)[k];
        let carried: f64 = (open..self.errors.len())
            .map(|i| self.square.factor_row(i)[k] * self.errors[i])
            .sum();
        let centre = self.target[k] + carried / diagonal;
        let nearest = self.lattice.nearest(self.first + k, centre);
        // The codes left and right of the nearest one get worse with the distance, so each side ends on its own.
        for (start, step) in [(nearest, 1), (nearest - 1, -1)] {
            let mut code = start;
            while (self.lattice.range[0]..=self.lattice.range[1]).contains(&code) && self.left > 0 {
                self.left -= 1;
                let real = self.lattice.real(self.first + k, code);
                let part = diagonal * (centre - real);
                let error = spent + part * part;
                if error >= self.least {
                    break;
                }
                (self.codes[k], self.errors[k]) = (code, self.target[k] - real);
                self.descend(k, error);
                code += step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::plane::nearest_plane;

    #[test]
    fn the_search_finds_the_best_of_all_codes() {
        let lower = vec![4.0, 0.0, 0.0, 2.5, 5.0, 0.0, -2.0, 0.5, 3.0];
        let mut square = Square::of_lower(3, lower);
        assert!(square.factor(0.0));
        let lattice = Lattice {
            steps: vec![0.5, 0.75, 0.5],
            zeros: vec![0, 1, 0],
            range: [-3, 3],
        };
        for n in 0..200 {
            let target: Vec<f64> = (0..3)
                .map(|k| f64::from((n * 17 + k * 29 + n * k) % 41) / 14.0 - 1.4)
                .collect();
            let error = |codes: [i32; 3]| {
                let e: Vec<f64> = (0..3).map(|k| target[k] - lattice.real(k, codes[k])).collect();
                (0..9)
                    .map(|ij| e[ij / 3] * square.at(ij / 3, ij % 3) * e[ij % 3])
                    .sum::<f64>()
            };
            let mut found = nearest_plane(&square, &target, &lattice);
            nearest_point(&square, &target, &lattice, &mut found);
            let all = (0..343).map(|n| [n % 7 - 3, n / 7 % 7 - 3, n / 49 - 3]);
            let least = all.map(error).fold(f64::INFINITY, f64::min);
            assert!((error([found[0], found[1], found[2]]) - least).abs() < 1e-12);
        }
    }
}
