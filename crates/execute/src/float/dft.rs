//! Discrete Fourier transforms in f64. If the length is a power of two, a transform is repeatedly split into two
//! transforms of half the length. For any other length, Bluestein's algorithm is used: the transform is a convolution
//! with chirps, which is computed by transforms whose length is a power of two.

use crate::layout::{around, axis};
use crate::prelude::*;
use strait_core::op::Transform;

/// A complex number.
type Number = [f64; 2];

fn product(a: Number, b: Number) -> Number {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// Computes e^(−2πi·part/whole).
fn root(part: usize, whole: usize) -> Number {
    let angle = -2.0 * std::f64::consts::PI * part as f64 / whole as f64;
    [libm::cos(angle), libm::sin(angle)]
}

/// What all transforms of one length have in common.
struct Plan {
    length: usize,
    /// e^(−2πi·k/size), where `size` is the power of two for which `by_halves` computes transforms.
    roots: Vec<Number>,
    /// The chirps e^(−πi·k²/length). Empty if the length is a power of two.
    chirps: Vec<Number>,
    /// The transform of the conjugates of the chirps. Empty if the length is a power of two.
    filter: Vec<Number>,
}

impl Plan {
    fn new(length: usize) -> Plan {
        let size = if length.is_power_of_two() {
            length
        } else {
            (2 * length - 1).next_power_of_two()
        };
        let mut plan = Plan {
            length,
            roots: (0..size / 2).map(|k| root(k, size)).collect(),
            chirps: Vec::new(),
            filter: Vec::new(),
        };
        if size != length {
            // k² is reduced modulo 2·length, so that the angle stays small and precise.
            let chirp = |k: usize| root((k as u128 * k as u128 % (2 * length as u128)) as usize, 2 * length);
            plan.chirps = (0..length).map(chirp).collect();
            let mut filter = vec![[0.0; 2]; size];
            for (k, &[re, im]) in plan.chirps.iter().enumerate() {
                filter[k] = [re, -im];
                filter[(size - k) % size] = [re, -im];
            }
            plan.by_halves(&mut filter);
            plan.filter = filter;
        }
        plan
    }

    /// Transforms numbers in place, by repeated halving. Their number must be a power of two.
    fn by_halves(&self, x: &mut [Number]) {
        let size = x.len();
        let bits = size.trailing_zeros();
        for at in 0..size {
            let other = if bits == 0 {
                at
            } else {
                at.reverse_bits() >> (usize::BITS - bits)
            };
            if at < other {
                x.swap(at, other);
            }
        }
        let mut half = 1;
        while half < size {
            for block in x.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for (k, (left, right)) in left.iter_mut().zip(right).enumerate() {
                    let turned = product(*right, self.roots[k * (size / (2 * half))]);
                    *right = [left[0] - turned[0], left[1] - turned[1]];
                    *left = [left[0] + turned[0], left[1] + turned[1]];
                }
            }
            half *= 2;
        }
    }

    /// Computes X_k = Σ x_n·e^(−2πi·kn/length), in place.
    fn forward(&self, x: &mut [Number]) {
        if self.chirps.is_empty() {
            return self.by_halves(x);
        }
        let mut spread = vec![[0.0; 2]; self.filter.len()];
        for ((to, &x), &chirp) in spread.iter_mut().zip(&*x).zip(&self.chirps) {
            *to = product(x, chirp);
        }
        self.by_halves(&mut spread);
        // The inverse transform is computed by the forward transform: conjugates go in, and the conjugates of the
        // results are divided by the number of elements.
        for (x, &filter) in spread.iter_mut().zip(&self.filter) {
            let [re, im] = product(*x, filter);
            *x = [re, -im];
        }
        self.by_halves(&mut spread);
        let count = spread.len() as f64;
        for ((to, &[re, im]), &chirp) in x.iter_mut().zip(&spread).zip(&self.chirps) {
            *to = product([re / count, -im / count], chirp);
        }
    }
}

struct Dft {
    transform: Transform,
    plan: Plan,
    /// The product of the extents before the axis, the extent of the axis, and the product of the extents between the
    /// axis and the last axis, which has real and imaginary parts.
    extents: [usize; 3],
    /// The extent of the result along the axis.
    made: usize,
    /// How many floats make a number of the operand, and of the result: 1 for real and 2 for complex numbers.
    parts: [usize; 2],
}

impl Executable for op::Dft {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, y) = (site.input(0)?, site.output()?);
        let axis = axis(self.axis, x.dims.len())?;
        let last = x.dims.len() - 1;
        let [outer, extent, _] = around(&x.dims, axis);
        Ok(Box::new(Dft {
            transform: self.transform,
            plan: Plan::new(self.length as usize),
            extents: [outer, extent, x.dims[axis + 1..last].iter().product()],
            made: y.dims[axis],
            parts: [x.dims[last], y.dims[last]],
        }))
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        // The transform is computed by one or two transforms whose length is a power of two below 4·`length`. With b
        // the number of bits of `length`, each of these transforms has at most b + 1 rounds, and a round takes half a
        // multiplication per number. For each number of the result, this gives at most 2·(b + 1)·4 / 2 ≤ 8·b
        // multiplications.
        types.each(8 * u64::from(u32::BITS - self.length.leading_zeros()))
    }

    fn scratch(&self, _: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        // The plan holds the roots, the chirps and the filter for the next power of two. During a run, the numbers that
        // are transformed take as much memory again.
        let size = u64::from(self.length).saturating_mul(2).next_power_of_two();
        Scratch {
            held: times(size, 6 * WORD),
            run: times(size, 6 * WORD),
        }
    }
}

impl Dft {
    /// Computes one transform in place.
    fn run(&self, x: &mut [Number]) {
        let length = self.plan.length;
        let inverse = matches!(self.transform, Transform::Inverse | Transform::InverseHalf);
        if self.transform == Transform::InverseHalf {
            for k in length / 2 + 1..length {
                let [re, im] = x[length - k];
                x[k] = [re, -im];
            }
        }
        if !inverse {
            return self.plan.forward(x);
        }
        x.iter_mut().for_each(|x| x[1] = -x[1]);
        self.plan.forward(x);
        let count = length as f64;
        x.iter_mut().for_each(|x| *x = [x[0] / count, -x[1] / count]);
    }
}

impl Step for Dft {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let out = io.output::<f32>()?;
        let ([outer, extent, inner], [from, to]) = (self.extents, self.parts);
        let length = self.plan.length;
        // If only half of the numbers are given, the others are the conjugates of these in reverse order.
        let read = if self.transform == Transform::InverseHalf {
            length / 2 + 1
        } else {
            length
        };
        let mut numbers = vec![[0.0; 2]; length];
        for block in 0..outer {
            for column in 0..inner {
                numbers.fill([0.0; 2]);
                for (k, number) in numbers.iter_mut().enumerate().take(read.min(extent)) {
                    let at = ((block * extent + k) * inner + column) * from;
                    let imaginary = if from == 2 { x[at + 1].into() } else { 0.0 };
                    *number = [x[at].into(), imaginary];
                }
                self.run(&mut numbers);
                for (k, number) in numbers.iter().enumerate().take(self.made) {
                    let at = ((block * self.made + k) * inner + column) * to;
                    for (out, &part) in out[at..at + to].iter_mut().zip(number) {
                        *out = part as f32;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_of_any_length_is_its_definition() {
        for length in [1, 2, 3, 5, 8, 12, 31, 64, 100] {
            let x: Vec<Number> = (0..length)
                .map(|n| [(n * 7 % 11) as f64 - 5.0, (n * 3 % 5) as f64])
                .collect();
            let mut found = x.clone();
            Plan::new(length).forward(&mut found);
            for (k, found) in found.iter().enumerate() {
                let terms = x
                    .iter()
                    .enumerate()
                    .map(|(n, &x)| product(x, root(k * n % length, length)));
                let expected = terms.fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]]);
                let apart = (found[0] - expected[0]).abs().max((found[1] - expected[1]).abs());
                assert!(
                    apart < 1e-9 * length as f64,
                    "{length}, {k}: {found:?} instead of {expected:?}"
                );
            }
        }
    }
}
