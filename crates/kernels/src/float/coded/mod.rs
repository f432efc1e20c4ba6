//! Matrix products whose right operand has codes of 4 bits. The codes stay packed in memory, and become floats only in
//! registers or in a panel that fits in the first-level cache.
//!
//! A weight is `f32(code − zero point)·scale`, with one rounding, and the products are added in the order of
//! [`gemm`](super::gemm()). So the result has the same bits as if all weights were converted before.

mod pack;
mod rows;

use crate::context::Context;
use crate::error::{KernelError, expect_len, product};
use crate::float::gemm::{Bias, Product};
use crate::parallel::{Shared, for_each, for_each_chunk};
use crate::simd::{LOWER, MAGIC};
use rows::Rows;

/// Number of lanes of a line: the columns of a group.
const LANES: usize = 16;
/// Number of groups of columns that share the words of a line.
const GROUPS: usize = 8;
/// Number of columns of a strip.
const STRIP: usize = LANES * GROUPS;
/// The least magnitude of a scale. A smaller scale could lose bits when it is divided by 16⁴.
const LEAST_SCALE: f32 = f32::MIN_POSITIVE * 65536.0;
/// The fewest columns. With fewer, the codes that fill a strip would take more memory than they save.
const FEWEST: usize = STRIP / 2;
/// Products with at most this many rows convert the weights in registers, without a panel.
const FEW_ROWS: usize = 16;

/// Codes of 4 bits, two to a byte; the code with an even index is in the lower half of its byte.
#[derive(Clone, Copy, Debug)]
pub struct HalfBytes<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// True if the codes are −8 to 7 in two's complement; otherwise they are 0 to 15.
    pub signed: bool,
    /// Distance from one row to the next, and from one column to the next, in codes.
    pub strides: [usize; 2],
}

/// The right operand `[k, n]` of a matrix product, as codes of 4 bits with a scale and a zero point for each column, or
/// for each block of rows of each column.
#[derive(Clone, Debug)]
pub struct CodedMatrix {
    rows: usize,
    columns: usize,
    /// Number of neighbouring rows of a column that share a scale.
    block: usize,
    /// For each strip of columns, one line for each row. Word `l` of a line has the codes of the columns `l`, `l + 16`,
    /// `l + 32` and so on, the first in the lowest bits. A code is stored as the number from 0 to 15.
    lines: Vec<Line>,
    /// For each strip and block, the scales of each group, divided by the factor that [`factor`] returns.
    scales: Vec<[[f32; LANES]; GROUPS]>,
    zeros: Zeros,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u32; LANES]);

/// The zero points, as numbers from 0 to 15.
#[derive(Clone, Debug)]
enum Zeros {
    /// All columns have the same one.
    One(u8),
    /// For each strip and block, the one of each column.
    Each(Vec<[[u8; LANES]; GROUPS]>),
}

/// The position of a group's code in a word, after the words of the upper groups were moved down.
const fn shift(group: usize) -> u32 {
    4 * (group % LOWER) as u32
}

/// The factor by which a group's codes are too large if they are not moved to the lowest bits.
fn factor(group: usize) -> f32 {
    (1_u32 << shift(group)) as f32
}

/// The float from whose bits a group's codes are read if they all equal `zero`.
fn offset(group: usize, zero: u8) -> f32 {
    f32::from_bits(MAGIC | u32::from(zero) << shift(group))
}

impl CodedMatrix {
    /// Packs a matrix `[rows, columns]`. `scales` and `zero_points` are row-major `[⌈rows / block⌉, columns]`.
    ///
    /// Returns `None` if these kernels do not compute such a matrix: it has fewer than 64 columns, a zero point is not
    /// one of the codes, or the magnitude of a scale is less than 2⁻¹¹⁰ or infinite.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if slices and extents do not fit together.
    pub fn new(
        [rows, columns]: [usize; 2],
        codes: HalfBytes<'_>,
        block: usize,
        scales: &[f32],
        zero_points: &[i32],
    ) -> Result<Option<CodedMatrix>, KernelError> {
        let blocks = match block {
            0 => return Err(KernelError::Shape("blocks of no rows".into())),
            _ => rows.div_ceil(block),
        };
        expect_len("the scales", scales.len(), product(&[blocks, columns]))?;
        expect_len("the zero points", zero_points.len(), product(&[blocks, columns]))?;
        codes.check(rows, columns)?;
        let bias = if codes.signed { 8 } else { 0 };
        let is_code = |zero: &i32| (-bias..16 - bias).contains(zero);
        let is_scale = |scale: &f32| scale.is_finite() && scale.abs() >= LEAST_SCALE;
        if columns < FEWEST || !zero_points.iter().all(is_code) || !scales.iter().all(is_scale) {
            return Ok(None);
        }
        let strips = columns.div_ceil(STRIP);
        let mut lines = vec![Line([0; LANES]); rows * strips];
        for_each_chunk(&mut lines, rows.max(1), rows * columns, |strip, lines| {
            codes.pack(strip * STRIP, columns, lines);
        });
        let zero = |block: usize, column: usize| (zero_points[block * columns + column] + bias) as u8;
        let zeros = match zero_points.iter().all(|zero| zero_points.first() == Some(zero)) {
            true => Zeros::One(zero_points.first().map_or(0, |zero| (zero + bias) as u8)),
            false => Zeros::Each(each(blocks, columns, |block, column, _| zero(block, column))),
        };
        Ok(Some(CodedMatrix {
            rows,
            columns,
            block,
            lines,
            scales: each(blocks, columns, |block, column, group| {
                scales[block * columns + column] / factor(group)
            }),
            zeros,
        }))
    }

    /// Number of bytes that the packed matrix takes.
    pub fn bytes(&self) -> usize {
        let zeros = match &self.zeros {
            Zeros::One(_) => 0,
            Zeros::Each(zeros) => size_of_val(&zeros[..]),
        };
        size_of_val(&self.lines[..]) + size_of_val(&self.scales[..]) + zeros
    }

    /// Computes the matrix product `out[m, n] = bias + a[m, k] · self[k, n]`. Both are row-major, and there is one bias
    /// for each column.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if a slice does not have the extents that follow from `m` and this matrix.
    pub fn product(
        &self,
        cx: &Context,
        m: usize,
        a: &[f32],
        bias: Option<&[f32]>,
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let (n, k) = (self.columns, self.rows);
        expect_len("the left operand", a.len(), product(&[m, k]))?;
        expect_len("the product", out.len(), product(&[m, n]))?;
        if let Some(bias) = bias {
            expect_len("the bias", bias.len(), Some(n))?;
        }
        let steps = m.saturating_mul(n).saturating_mul(k);
        let out = Shared::new(out);
        if m <= FEW_ROWS {
            for_each(n.div_ceil(STRIP), steps, &|strip| {
                Rows::run(cx, (self, strip), (0, m), (a, bias), &out);
            });
            return Ok(());
        }
        let product = Product {
            m,
            n,
            k,
            rows: a,
            row_stride: k,
            columns: self,
            bias: bias.map_or(Bias::Zero, Bias::Columns),
        };
        let split = product.split();
        for_each(split.tasks(), steps, &|task| {
            product.part(cx, split.part(task), &out, 0);
        });
        Ok(())
    }

    /// Number of blocks of a column.
    fn blocks(&self) -> usize {
        self.rows.div_ceil(self.block)
    }
}

/// Arranges a value for each block and column by strip, block and group. Columns that fill the last strip get the default.
fn each<T: Copy + Default>(
    blocks: usize,
    columns: usize,
    value: impl Fn(usize, usize, usize) -> T,
) -> Vec<[[T; LANES]; GROUPS]> {
    let strips = columns.div_ceil(STRIP);
    let of = |strip: usize, block: usize| {
        let mut groups = [[T::default(); LANES]; GROUPS];
        for (index, to) in groups.as_flattened_mut().iter_mut().enumerate() {
            let column = strip * STRIP + index;
            if column < columns {
                *to = value(block, column, index / LANES);
            }
        }
        groups
    };
    (0..strips * blocks)
        .map(|index| of(index / blocks, index % blocks))
        .collect()
}
