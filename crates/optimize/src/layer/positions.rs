//! What a layer reads and what it should make, at some positions of some samples.

use super::numbers;
use strait_exchange::{Portable, Reader};

/// What one layer, or one group of a convolution, reads and should make. All numbers are integers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Positions {
    /// The number of inputs of one output: K.
    pub(crate) width: usize,
    /// The number of outputs: O.
    pub(crate) outputs: usize,
    /// The inputs, position by position: real = step of x × element.
    pub(crate) x: Vec<f32>,
    /// The outputs of the float model, position by position: real = step of y × element.
    pub(crate) y: Vec<f32>,
}

impl Positions {
    /// Room for so many positions.
    pub(crate) fn new([width, outputs]: [usize; 2], positions: usize) -> Positions {
        Positions {
            width,
            outputs,
            x: Vec::with_capacity(positions * width),
            y: Vec::with_capacity(positions * outputs),
        }
    }

    /// Appends the positions of one of `samples` samples. All of them have about as many positions.
    pub(crate) fn extend(&mut self, other: Positions, samples: usize) {
        if self.y.is_empty() {
            self.x.reserve_exact(other.x.len() * samples);
            self.y.reserve_exact(other.y.len() * samples);
        }
        self.x.extend(other.x);
        self.y.extend(other.y);
    }

    /// True if other positions are of the same layer or group.
    pub(crate) fn fits(&self, other: &Positions) -> bool {
        let count = other.count();
        let lengths = [other.width * count, other.outputs * count];
        (self.width, self.outputs) == (other.width, other.outputs) && lengths == [other.x.len(), other.y.len()]
    }

    /// The number of positions.
    pub(crate) fn count(&self) -> usize {
        self.y.len() / self.outputs.max(1)
    }
}

impl Portable for Positions {
    fn write(&self, out: &mut Vec<u8>) {
        (self.width, self.outputs).write(out);
        numbers::write(&self.x, out);
        numbers::write(&self.y, out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Positions> {
        let (width, outputs) = Portable::read(from)?;
        Some(Positions {
            width,
            outputs,
            x: numbers::read(from)?,
            y: numbers::read(from)?,
        })
    }
}

/// Returns the transpose of a matrix whose rows have `width` elements.
pub(crate) fn transposed(elements: Vec<f32>, width: usize) -> Vec<f32> {
    const TILE: usize = 32;
    let rows = elements.len() / width.max(1);
    let mut out = vec![0.0; rows * width];
    for row in (0..rows).step_by(TILE) {
        for column in (0..width).step_by(TILE) {
            for r in row..rows.min(row + TILE) {
                for c in column..width.min(column + TILE) {
                    out[c * rows + r] = elements[r * width + c];
                }
            }
        }
    }
    out
}

/// The exponent e of the finest grid of steps 2^e on which no number up to `largest` exceeds 2^22 steps. Products of such
/// numbers with codes of up to 17 bits can be added 2^13 times in f64 without an error.
pub(crate) fn exponent(largest: f32) -> i32 {
    let (mut exponent, largest) = (-126, f64::from(largest));
    while largest > 2f64.powi(exponent + 22) {
        exponent += 1;
    }
    exponent
}

/// Divides numbers by a step, and rounds the quotients to the nearest integers, ties to even. Quotients are smaller than 2^51:
/// then the sum with 1.5·2^52 is a number whose last place is 1, so the addition rounds.
pub(crate) fn to_integers(elements: &mut [f32], step: f64) {
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    for element in elements {
        *element = (f64::from(*element) / step + ROUND - ROUND) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_nearest_integers() {
        let numbers = [0.5f32, 1.5, -0.5, -2.5, 2.6, -1e9, 4194303.4, 0.0];
        let mut made = numbers;
        to_integers(&mut made, 1.0);
        assert_eq!(made, numbers.map(f32::round_ties_even));
    }
}
