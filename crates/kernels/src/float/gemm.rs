//! Matrix products of floats.
//!
//! The sum over the inner dimension K is cut into blocks of [`BLOCK`] products. The products of a block are added in
//! ascending order, as a chain of fused multiply-adds that starts at +0. The results of the chains are then added to
//! the bias one after the other. Several short chains that start at 0 have a smaller rounding error than one long chain
//! that starts from the bias. The shape of the register tile does not affect the bits of the result.

use super::columns::{Columns, SLACK};
use crate::context::Context;
use crate::float::matrix::Matrix;
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::{Shared, for_each, threads},
    simd::{F32s, Simd},
};
use std::mem::MaybeUninit;

/// The number from which each sum of products starts: the bias of a matrix product.
#[derive(Clone, Copy, Debug)]
pub enum Bias<'a> {
    /// All sums start from +0.
    Zero,
    /// All sums of a row start from the same number. There is one number for each row.
    Rows(&'a [f32]),
    /// All sums of a column start from the same number. There is one number for each column.
    Columns(&'a [f32]),
    /// Each sum starts from a number of its own. The numbers are row-major.
    Elements(&'a [f32]),
}

/// Computes the matrix product `out[m, n] = bias + a[m, k] · b[k, n]`. All matrices are row-major.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents that follow from `[m, n, k]`.
pub fn gemm(
    cx: &Context,
    [m, n, k]: [usize; 3],
    a: Matrix<'_>,
    b: Matrix<'_>,
    bias: Bias<'_>,
    out: &mut [f32],
) -> Result<(), KernelError> {
    expect_len("the product", out.len(), product(&[m, n]))?;
    a.check("the left operand", m, k)?;
    b.check("the right operand", k, n)?;
    match bias {
        Bias::Zero => {}
        Bias::Rows(rows) => expect_len("the bias", rows.len(), Some(m))?,
        Bias::Columns(columns) => expect_len("the bias", columns.len(), Some(n))?,
        Bias::Elements(elements) => expect_len("the bias", elements.len(), product(&[m, n]))?,
    }
    let copy: Vec<f32>;
    let (rows, row_stride) = if a.strides[1] == 1 || k <= 1 {
        (a.data, a.strides[0])
    } else {
        let element = |i: usize, kk: usize| a.data[i * a.strides[0] + kk * a.strides[1]];
        copy = (0..m).flat_map(|i| (0..k).map(move |kk| element(i, kk))).collect();
        (&copy[..], k)
    };
    let product = Product {
        m,
        n,
        k,
        rows,
        row_stride,
        columns: &b,
        bias,
    };
    let out = Shared::new(out);
    let split = product.split();
    for_each(split.tasks(), m.saturating_mul(n).saturating_mul(k), &|task| {
        product.part(cx, split.part(task), &out, 0);
    });
    Ok(())
}

/// A product of a row-major matrix with a matrix whose columns are packed.
pub(crate) struct Product<'a, C> {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) rows: &'a [f32],
    pub(crate) row_stride: usize,
    pub(crate) columns: &'a C,
    pub(crate) bias: Bias<'a>,
}

/// The part of the output that one task computes.
pub(crate) struct Part {
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
}

/// The way in which the output is divided into parts.
pub(crate) struct Split {
    extents: [usize; 2],
    step: [usize; 2],
}

impl Split {
    pub(crate) fn tasks(&self) -> usize {
        (0..2).map(|a| self.extents[a].div_ceil(self.step[a])).product()
    }

    pub(crate) fn part(&self, task: usize) -> Part {
        let down = self.extents[0].div_ceil(self.step[0]).max(1);
        let range = |axis: usize, index: usize| {
            let start = index * self.step[axis];
            start..(start + self.step[axis]).min(self.extents[axis])
        };
        Part {
            rows: range(0, task % down),
            columns: range(1, task / down),
        }
    }
}

/// Number of products in one chain. It affects the bits of the result; see the top of this file. A panel is packed for
/// one block of K at a time, so a panel of 32 columns takes 32 KB, about as much as the first-level cache.
pub(crate) const BLOCK: usize = 256;
/// Number of columns that a task computes. With this number, the packed block of a task stays in the second-level
/// cache.
const STRIP: usize = 192;

impl<C: Columns> Product<'_, C> {
    /// Divides the output into strips of columns. If there are fewer strips than threads, the rows are divided, too,
    /// and every part packs its strip itself.
    pub(crate) fn split(&self) -> Split {
        let strips = self.n.div_ceil(STRIP).max(1);
        let row_parts = (2 * threads()).div_ceil(strips).min(self.m.div_ceil(96)).max(1);
        let rows = if threads() == 1 {
            self.m
        } else {
            self.m.div_ceil(row_parts).next_multiple_of(12)
        };
        Split {
            extents: [self.m, self.n],
            step: [rows.max(1), STRIP],
        }
    }

    /// Computes one part of the matrix product. The product's output begins at index `base` of `out`.
    pub(crate) fn part(&self, cx: &Context, part: Part, out: &Shared<'_, f32>, base: usize) {
        cx.run(PartJob {
            product: self,
            part,
            out,
            base,
        });
    }
}

struct PartJob<'a, 'b, C> {
    product: &'a Product<'a, C>,
    part: Part,
    out: &'a Shared<'b, f32>,
    base: usize,
}

impl<C: Columns> Job for PartJob<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Product {
            n,
            k,
            rows,
            row_stride,
            columns,
            bias,
            ..
        } = *self.product;
        let Part {
            rows: row_range,
            columns: column_range,
        } = self.part;
        let (first, count) = (column_range.start, column_range.len());
        let width = 2 * S::F32s::LANES;
        let by_tiles = k > 0 && matches!(bias, Bias::Zero | Bias::Rows(_));
        if !by_tiles {
            for i in row_range.clone() {
                // SAFETY: the parts of a product do not overlap, each part belongs to one task, and the borrow ends in this
                // loop.
                let out = unsafe { self.out.slice(self.base + i * n + first, count) };
                match bias {
                    Bias::Zero => out.fill(0.0),
                    Bias::Rows(values) => out.fill(values[i]),
                    Bias::Columns(values) => out.copy_from_slice(&values[column_range.clone()]),
                    Bias::Elements(values) => out.copy_from_slice(&values[i * n + first..i * n + first + count]),
                }
            }
        }
        let mut panels = vec![0.0; BLOCK.min(k) * count.next_multiple_of(width) + SLACK];
        for from in (0..k).step_by(BLOCK) {
            let depth = BLOCK.min(k - from);
            for column in (0..count).step_by(width) {
                columns.pack::<S>(
                    from,
                    depth,
                    first + column,
                    width.min(count - column),
                    width,
                    &mut panels[depth * column..],
                );
            }
            let mut i = row_range.start;
            while i < row_range.end {
                let left = row_range.end - i;
                let height = [12, 8, 6, 4, 2, 1]
                    .into_iter()
                    .find(|&h| h <= left && h <= S::F32s::ROWS)
                    .unwrap_or(1);
                for column in (0..count).step_by(width) {
                    let tile = Tile {
                        rows: &rows[i * row_stride + from..],
                        row_stride,
                        panel: &panels[depth * column..depth * (column + width)],
                        starts: match bias {
                            Bias::Rows(values) if from == 0 => Some(&values[i..]),
                            Bias::Zero if from == 0 => Some(&ZEROS),
                            _ => None,
                        },
                        out: self.out,
                        at: self.base + i * n + first + column,
                        out_stride: n,
                        columns: width.min(count - column),
                    };
                    match height {
                        12 => tile.run::<S::F32s, 12>(),
                        8 => tile.run::<S::F32s, 8>(),
                        6 => tile.run::<S::F32s, 6>(),
                        4 => tile.run::<S::F32s, 4>(),
                        2 => tile.run::<S::F32s, 2>(),
                        _ => tile.run::<S::F32s, 1>(),
                    }
                }
                i += height;
            }
        }
    }
}

/// What the sums of a tile start from if there is no bias.
const ZEROS: [f32; 12] = [0.0; 12];

/// The largest number of columns that a register tile has.
const EDGE: usize = 32;

/// A register tile. It multiplies some rows with one panel, and adds the products to what is already in the output, or
/// to a number for each row.
struct Tile<'a, 'b> {
    rows: &'a [f32],
    row_stride: usize,
    panel: &'a [f32],
    /// The numbers from which the sums of each row start, if these are the first products.
    starts: Option<&'a [f32]>,
    out: &'a Shared<'b, f32>,
    at: usize,
    out_stride: usize,
    columns: usize,
}

impl Tile<'_, '_> {
    #[inline(always)]
    fn run<V: F32s, const ROWS: usize>(&self) {
        let width = 2 * V::LANES;
        let depth = self.panel.len() / width;
        let mut rows: [&[f32]; ROWS] = [&[]; ROWS];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = &self.rows[r * self.row_stride..r * self.row_stride + depth];
        }
        // SAFETY: the tiles of a product do not overlap, this tile belongs to this task, and each borrow ends where it
        // is used.
        let out = |r: usize| unsafe { self.out.slice(self.at + r * self.out_stride, self.columns) };
        // The last panel may have more columns than are left in the output. Its tile is then computed in `edge`, and
        // only the columns that the output has are copied.
        let mut edge = MaybeUninit::<[[f32; EDGE]; ROWS]>::uninit();
        let narrow = (self.columns < width).then(|| edge.write([[0.0; EDGE]; ROWS]));
        let to: [*mut f32; ROWS] = match narrow {
            Some(edge) => {
                if self.starts.is_none() {
                    for (r, edge) in edge.iter_mut().enumerate() {
                        edge[..self.columns].copy_from_slice(out(r));
                    }
                }
                std::array::from_fn(|r| edge[r].as_mut_ptr())
            }
            None => std::array::from_fn(|r| out(r).as_mut_ptr()),
        };
        let starts = self.starts.map(|starts| &starts[..ROWS]);
        // SAFETY: loads and stores touch two vectors, at most `EDGE` elements: a whole row of the output or of `edge`,
        // or a row of `panel`, which has `depth` rows of this width. This code runs only on machines that have the
        // instruction set of `V`.
        unsafe {
            let mut sums = [[V::splat(0.0); 2]; ROWS];
            for k in 0..depth {
                let row = self.panel.as_ptr().add(k * width);
                let right = [V::load(row), V::load(row.add(V::LANES))];
                for r in 0..ROWS {
                    let left = *rows[r].get_unchecked(k);
                    sums[r][0] = sums[r][0].add_product(left, right[0]);
                    sums[r][1] = sums[r][1].add_product(left, right[1]);
                }
            }
            if let Some(starts) = starts {
                for (([left, right], to), &start) in sums.into_iter().zip(to).zip(starts) {
                    let start = V::splat(start);
                    start.add_product(1.0, left).store(to);
                    start.add_product(1.0, right).store(to.add(V::LANES));
                }
            } else {
                for ([left, right], to) in sums.into_iter().zip(to) {
                    V::load(to).add_product(1.0, left).store(to);
                    let to = to.add(V::LANES);
                    V::load(to).add_product(1.0, right).store(to);
                }
            }
            if self.columns < width {
                for (r, &edge) in to.iter().enumerate() {
                    out(r).copy_from_slice(std::slice::from_raw_parts(edge, self.columns));
                }
            }
        }
    }
}
