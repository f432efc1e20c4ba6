//! Splits batched matrix products, by NumPy's rules, into products of two matrices each.

use crate::error::StepError;

/// The matrix products that make up one batched matrix product.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Batches {
    /// The number of rows, the number of columns, and the number of summands per element. All of these matrix products
    /// have the same numbers.
    pub(crate) extents: [usize; 3],
    /// For each matrix product, the indices of its two matrices: in the first operand, and in the second.
    pub(crate) pairs: Vec<[usize; 2]>,
}

impl Batches {
    /// Lists the matrix products of operands `[…, M, K]` and `[…, K, N]`, whose leading axes are broadcast. If the
    /// first operand is a vector, it is treated as a row. If the second operand is a vector, it is treated as a column.
    pub(crate) fn new(a: &[usize], b: &[usize]) -> Result<Batches, StepError> {
        let (a_batch, [rows, depth]) = match a {
            [batch @ .., rows, depth] => (batch, [*rows, *depth]),
            [depth] => (&[][..], [1, *depth]),
            [] => return Err(StepError::Model("a product with a scalar".into())),
        };
        let (b_batch, [b_depth, columns]) = match b {
            [batch @ .., depth, columns] => (batch, [*depth, *columns]),
            [depth] => (&[][..], [*depth, 1]),
            [] => return Err(StepError::Model("a product with a scalar".into())),
        };
        if depth != b_depth {
            return Err(StepError::Model(format!(
                "the inner dimensions differ: {depth} and {b_depth}"
            )));
        }
        let rank = a_batch.len().max(b_batch.len());
        let aligned = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
        let mut pairs = vec![[0, 0]];
        for axis in 0..rank {
            let own = [aligned(a_batch, axis), aligned(b_batch, axis)];
            let extent = match own {
                [a, b] if a == b || b == 1 => a,
                [1, b] => b,
                _ => return Err(StepError::Model(format!("{a:?} and {b:?} do not broadcast"))),
            };
            let step =
                |pair: [usize; 2], at: usize| [0, 1].map(|o| pair[o] * own[o] + if own[o] == 1 { 0 } else { at });
            pairs = pairs
                .iter()
                .flat_map(|&pair| (0..extent).map(move |at| step(pair, at)))
                .collect();
        }
        Ok(Batches {
            extents: [rows, columns, depth],
            pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_axes_broadcast_and_vectors_gain_an_axis() {
        let pairs = |a: &[usize], b: &[usize]| Batches::new(a, b).unwrap().pairs;
        assert_eq!(
            pairs(&[2, 3, 4, 5], &[3, 5, 6]),
            [[0, 0], [1, 1], [2, 2], [3, 0], [4, 1], [5, 2]]
        );
        assert_eq!(pairs(&[2, 1, 4, 5], &[1, 2, 5, 6]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(
            Batches::new(&[5], &[5]).unwrap(),
            Batches {
                extents: [1, 1, 5],
                pairs: vec![[0, 0]]
            }
        );
        assert!(Batches::new(&[2, 3], &[4, 5]).is_err());
    }
}
