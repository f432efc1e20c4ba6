//! What a layer reads and what it should make, at some positions of some samples.

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
    pub(crate) fn new(width: usize, outputs: usize) -> Positions {
        Positions {
            width,
            outputs,
            x: Vec::new(),
            y: Vec::new(),
        }
    }

    /// The number of positions.
    pub(crate) fn count(&self) -> usize {
        self.y.len() / self.outputs.max(1)
    }
}

/// Returns the transpose of a matrix whose rows have `width` elements.
pub(crate) fn transposed(elements: &[f32], width: usize) -> Vec<f32> {
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
