//! Matrix products: with constant weights, and of two activations.

use super::{
    bytes::{check_8_bits, flip, width},
    finish::{Axis, Finish, Place, check_channels},
    product::{COLUMNS, Factors, STRIP, Strip, padded_depth},
};
use crate::{
    error::{KernelError, expect_len, product},
    isa::{Context, Job},
    parallel::{Shared, try_for_each},
    simd::Simd,
};
use strait_requantize::IntType;

/// Weights of a fully connected layer, packed when the plan is made.
#[derive(Clone, Debug)]
pub struct GemmWeights {
    element: IntType,
    k: usize,
    n: usize,
    panels: Vec<u8>,
    starts: Vec<i32>,
}

impl GemmWeights {
    /// Packs weights for activations of type `element` (I8 or U8). Weight `(k, n)` is `weights[k·strides[0] +
    /// n·strides[1]]`;
    /// `bias` has one value for each `n`, in the accumulator's unit and with all zero points folded in.
    ///
    /// # Errors
    /// [`KernelError::Shape`] where extents, strides and slices do not fit together.
    pub fn new(
        element: IntType,
        [k, n]: [usize; 2],
        weights: &[i8],
        strides: [usize; 2],
        bias: Option<&[i32]>,
    ) -> Result<GemmWeights, KernelError> {
        check_8_bits("the activation", element)?;
        check_view("the weights", weights.len(), [k, n], strides)?;
        if let Some(bias) = bias {
            expect_len("the bias", bias.len(), Some(n))?;
        }
        let mut panels = allocate([k, n])?;
        let mut sums = vec![0; n.next_multiple_of(COLUMNS)];
        pack_columns(&mut panels, &mut sums, [k, n], |k, n| {
            weights[k * strides[0] + n * strides[1]].cast_unsigned()
        });
        // An activation of i8 is read as a + 128: 128·Σw too much.
        let excess = i32::from(flip(element));
        let start = |n: usize| bias.map_or(0, |b| b[n]).wrapping_sub(excess.wrapping_mul(sums[n]));
        let mut starts: Vec<i32> = (0..n).map(start).collect();
        starts.resize(n.next_multiple_of(COLUMNS), 0);
        Ok(GemmWeights {
            element,
            k,
            n,
            panels,
            starts,
        })
    }

    /// The bytes that weights of extents `[k, n]` are packed into, with what is packed beside them. The extents are those
    /// of a tensor that exists.
    pub fn packed_bytes([k, n]: [usize; 2]) -> usize {
        n.next_multiple_of(COLUMNS) * (padded_depth(k) + size_of::<i32>())
    }

    /// `[k, n]`.
    pub fn extents(&self) -> [usize; 2] {
        [self.k, self.n]
    }
}

/// An activation as an operand of a product.
#[derive(Clone, Copy, Debug)]
pub struct Activation<'a> {
    /// The elements.
    pub data: &'a [u8],
    /// I8 or U8.
    pub element: IntType,
    /// The code of real 0.
    pub zero_point: i32,
    /// Elements from one row to the next, and from one column to the next.
    pub strides: [usize; 2],
}

impl Activation<'_> {
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> u8 {
        self.data[row * self.strides[0] + column * self.strides[1]]
    }
}

/// A strided view of `[rows, columns]` stays inside its data.
fn check_view(what: &str, len: usize, extents: [usize; 2], strides: [usize; 2]) -> Result<(), KernelError> {
    if extents.contains(&0) {
        return Ok(());
    }
    let end = |axis: usize| (extents[axis] - 1).checked_mul(strides[axis]);
    match end(0).zip(end(1)).and_then(|(rows, columns)| rows.checked_add(columns)) {
        Some(last) if last < len => Ok(()),
        _ => Err(KernelError::Shape(format!(
            "{what} is a view of {extents:?} beyond its {len} elements"
        ))),
    }
}

/// The largest extent of a product.
const LARGEST_EXTENT: usize = 1 << 28;

/// Room for `n` packed columns of `k` elements.
fn allocate([k, n]: [usize; 2]) -> Result<Vec<u8>, KernelError> {
    if k > LARGEST_EXTENT || n > LARGEST_EXTENT {
        return Err(KernelError::Size(format!("a packed operand of {k} × {n}")));
    }
    // Below 2^57.
    Ok(vec![0; padded_depth(k) * n.next_multiple_of(COLUMNS)])
}

/// Packs `element(k, n)`, as signed bytes, and adds up each column.
fn pack_columns(panels: &mut [u8], sums: &mut [i32], [k, n]: [usize; 2], element: impl Fn(usize, usize) -> u8) {
    let depth = padded_depth(k);
    for (p, panel) in panels.chunks_exact_mut((COLUMNS * depth).max(1)).enumerate() {
        for (i, row) in panel.chunks_exact_mut(4 * COLUMNS).enumerate() {
            for (l, four) in row.chunks_exact_mut(4).enumerate().take(n - p * COLUMNS) {
                for (j, to) in four.iter_mut().enumerate().take(k - 4 * i) {
                    *to = element(4 * i + j, p * COLUMNS + l);
                    sums[p * COLUMNS + l] += i32::from(to.cast_signed());
                }
            }
        }
    }
}

/// Rows of a task, and panels: they stay in the second-level cache.
const TASK_ROWS: usize = 48;
const TASK_PANELS: usize = STRIP / COLUMNS;

/// A product whose panels and column starts are there; its rows are packed task by task.
struct Product<'a> {
    finish: &'a dyn Finish,
    m: usize,
    n: usize,
    k: usize,
    panels: &'a [u8],
    column_starts: &'a [i32],
    /// Writes row `m` as unsigned bytes, `k` of them.
    row: &'a (dyn Fn(usize, &mut [u8]) + Sync),
    /// Factor of the sum of a row's unsigned bytes, which is added to each sum of the row.
    row_factor: i32,
}

impl Product<'_> {
    fn run(&self, cx: &Context, out: &mut [u8]) -> Result<(), KernelError> {
        if out.is_empty() {
            return Ok(());
        }
        let strips = self.n.div_ceil(TASK_PANELS * COLUMNS);
        let tasks = strips * self.m.div_ceil(TASK_ROWS);
        let steps = self.m.saturating_mul(self.n).saturating_mul(self.k.max(1)) / 16;
        let out = Shared::new(out);
        try_for_each(tasks, steps, &|task| {
            cx.run(ProductTask {
                product: self,
                strip: task % strips,
                block: task / strips,
                out: &out,
            })
        })
    }
}

struct ProductTask<'a, 'b> {
    product: &'a Product<'a>,
    strip: usize,
    block: usize,
    out: &'a Shared<'b, u8>,
}

impl Job for ProductTask<'_, '_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let Product {
            finish,
            m,
            n,
            k,
            panels,
            column_starts,
            ref row,
            row_factor,
        } = *self.product;
        let depth = padded_depth(k);
        let first_row = self.block * TASK_ROWS;
        let first_column = self.strip * TASK_PANELS * COLUMNS;
        let count = TASK_ROWS.min(m - first_row);
        let columns = (TASK_PANELS * COLUMNS).min(n - first_column);
        let mut rows = vec![0; count * depth];
        let mut row_starts = [0; TASK_ROWS];
        for r in 0..count {
            let bytes = &mut rows[r * depth..r * depth + k];
            row(first_row + r, bytes);
            if row_factor != 0 {
                let sum = bytes.iter().fold(0_i32, |sum, &b| sum.wrapping_add(i32::from(b)));
                row_starts[r] = row_factor.wrapping_mul(sum);
            }
        }
        let strip = Strip {
            factors: Factors {
                rows: &rows,
                panels: &panels[first_column * depth..],
                depth,
                row_starts: &row_starts,
                column_starts: &column_starts[first_column..],
            },
            place: Place {
                out: self.out,
                at: first_row * n + first_column,
                row_stride: n,
                rows: count,
                columns,
                axis: Axis::Columns,
                first_channel: first_column,
            },
        };
        strip.run::<S, false>(finish)
    }
}

pub(crate) fn gemm(
    finish: &dyn Finish,
    cx: &Context,
    weights: &GemmWeights,
    m: usize,
    a: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let GemmWeights {
        element,
        k,
        n,
        ref panels,
        ref starts,
    } = *weights;
    check_channels(finish, n)?;
    expect_len("the activation", a.len(), product(&[m, k]))?;
    expect_len("the product", out.len(), product(&[m, n, width(finish.out())]))?;
    let flip = flip(element);
    let row = |r: usize, to: &mut [u8]| to.iter_mut().zip(&a[r * k..]).for_each(|(to, &b)| *to = b ^ flip);
    Product {
        finish,
        m,
        n,
        k,
        panels,
        column_starts: starts,
        row: &row,
        row_factor: 0,
    }
    .run(cx, out)
}

/// With a' = a + 128 or a, unsigned, b' = b or b − 128, signed, and the zero points moved alike:
/// Σ (a − za)(b − zb) = Σ a'b' − zb'·Σ a' − za'·Σ b' + k·za'·zb'.
pub(crate) fn matmul(
    finish: &dyn Finish,
    cx: &Context,
    [m, n, k]: [usize; 3],
    a: Activation<'_>,
    b: Activation<'_>,
    out: &mut [u8],
) -> Result<(), KernelError> {
    check_channels(finish, n)?;
    for (what, operand, extents) in [("the left operand", &a, [m, k]), ("the right operand", &b, [k, n])] {
        check_8_bits(what, operand.element)?;
        check_view(what, operand.data.len(), extents, operand.strides)?;
    }
    expect_len("the product", out.len(), product(&[m, n, width(finish.out())]))?;
    let (flip_a, flip_b) = (flip(a.element), flip(b.element) ^ 0x80);
    let zero_a = a.zero_point.wrapping_add(i32::from(flip_a));
    let zero_b = b.zero_point.wrapping_sub(i32::from(flip_b));
    let mut panels = allocate([k, n])?;
    let mut starts = vec![0; n.next_multiple_of(COLUMNS)];
    pack_columns(&mut panels, &mut starts, [k, n], |k, n| b.at(k, n) ^ flip_b);
    // Everything wraps: the sum as a whole is right modulo 2^32.
    let constant = (k as i32).wrapping_mul(zero_a).wrapping_mul(zero_b);
    starts
        .iter_mut()
        .for_each(|sum| *sum = constant.wrapping_sub(zero_a.wrapping_mul(*sum)));
    let row = |r: usize, to: &mut [u8]| to.iter_mut().enumerate().for_each(|(k, to)| *to = a.at(r, k) ^ flip_a);
    Product {
        finish,
        m,
        n,
        k,
        panels: &panels,
        column_starts: &starts,
        row: &row,
        row_factor: zero_b.wrapping_neg(),
    }
    .run(cx, out)
}

#[cfg(test)]
mod tests {
    use super::super::ConvWeights;
    use super::*;
    use crate::{Conv, Images, Window};

    #[test]
    fn packed_weights_have_the_size_that_is_told() {
        for [k, n] in [[1, 1], [9, 16], [30, 17], [64, 48]] {
            let weights = vec![1; k * n];
            let gemm = GemmWeights::new(IntType::I8, [k, n], &weights, [n, 1], None).unwrap();
            let found = gemm.panels.len() + size_of_val(&gemm.starts[..]);
            assert_eq!(found, GemmWeights::packed_bytes([k, n]), "{k} and {n}");
            let conv = Conv {
                window: Window::new([1, 1]),
                input: Images {
                    batch: 1,
                    channels: k,
                    size: [1, 1],
                },
                out_channels: n,
                groups: 1,
            };
            let conv = ConvWeights::new(conv, IntType::I8, 0, &weights, None).unwrap();
            let found = conv.rows.len() + size_of_val(&conv.starts[..]) + size_of_val(&conv.taps[..]);
            assert_eq!(found, ConvWeights::packed_bytes(n, k), "{k} and {n}");
        }
    }
}
