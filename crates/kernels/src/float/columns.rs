//! The right-hand operand of a float matrix product. It is packed one panel after the other.

use crate::float::matrix::Matrix;
use crate::simd::Simd;
use crate::window::Layout;

/// A matrix with K rows that can be packed into panels. A panel has `depth` rows of `width` neighbouring columns, and
/// is stored row after row.
pub(crate) trait Columns: Sync {
    /// Packs rows `from..from + depth` of the columns `first..first + count`. `panel` has `depth·width` elements and at
    /// least [`SLACK`] more. Columns beyond `count` may get any finite values.
    fn pack<S: Simd>(&self, from: usize, depth: usize, first: usize, count: usize, width: usize, panel: &mut [f32]);
}

/// Number of elements after a panel that packing may overwrite, because it copies elements in groups of this size.
pub(crate) const SLACK: usize = 16;

impl Columns for Matrix<'_> {
    #[inline(always)]
    fn pack<S: Simd>(&self, from: usize, depth: usize, first: usize, count: usize, width: usize, panel: &mut [f32]) {
        let [row_stride, column_stride] = self.strides;
        for (k, row) in panel.chunks_exact_mut(width).take(depth).enumerate() {
            let start = (from + k) * row_stride + first * column_stride;
            if column_stride == 1 {
                row[..count].copy_from_slice(&self.data[start..start + count]);
            } else {
                let elements = self.data[start..].iter().step_by(column_stride);
                row[..count]
                    .iter_mut()
                    .zip(elements)
                    .for_each(|(to, &value)| *to = value);
            }
            row[count..].fill(0.0);
        }
    }
}

/// The im2col matrix of one group of one image. Its rows are taps, and its columns are output positions.
pub(crate) struct ImageColumns<'a> {
    pub(crate) image: &'a [f32],
    pub(crate) taps: &'a [usize],
    pub(crate) layout: &'a Layout,
}

impl Columns for ImageColumns<'_> {
    #[inline(always)]
    fn pack<S: Simd>(&self, from: usize, depth: usize, first: usize, count: usize, width: usize, panel: &mut [f32]) {
        let mut runs = [(0, 0); 32];
        let mut used = 0;
        for (slot, run) in runs.iter_mut().zip(self.layout.runs(first, count)) {
            *slot = run;
            used += 1;
        }
        if count < width {
            panel[..depth * width].fill(0.0);
        }
        for (k, &tap) in self.taps[from..from + depth].iter().enumerate() {
            let mut to = k * width;
            for &(offset, length) in &runs[..used] {
                copy_stretch(&self.image[tap + offset..], length, &mut panel[to..]);
                to += length;
            }
        }
    }
}

/// Copies `length` elements, and possibly up to `SLACK − 1` elements after them. The next copy overwrites these extra
/// elements.
#[inline(always)]
fn copy_stretch(source: &[f32], length: usize, to: &mut [f32]) {
    let mut done = 0;
    while done < length {
        match (
            source[done..].first_chunk::<SLACK>(),
            to[done..].first_chunk_mut::<SLACK>(),
        ) {
            (Some(from), Some(to)) => *to = *from,
            _ => to[done..length].copy_from_slice(&source[done..length]),
        }
        done += SLACK;
    }
}
