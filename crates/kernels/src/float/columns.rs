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
        // The end of what is read after a tap if all runs are copied in whole groups, and the end of what is written.
        let whole = |length: usize| length.next_multiple_of(SLACK);
        let read = runs[..used]
            .iter()
            .map(|&(offset, length)| offset + whole(length))
            .max();
        let (read, written) = (read.unwrap_or(0), depth * width + SLACK);
        assert!(
            count <= width && panel.len() >= written,
            "a panel with too few elements"
        );
        for (k, &tap) in self.taps[from..from + depth].iter().enumerate() {
            let mut to = k * width;
            let inside = tap + read <= self.image.len();
            for &(offset, length) in &runs[..used] {
                if inside {
                    for done in (0..length).step_by(SLACK) {
                        // SAFETY: the groups of all runs end at most `read` elements after the tap, which is inside of the image.
                        // The runs of a row have `count ≤ width` elements together, so a group starts before the end of the row
                        // and ends at most `SLACK` elements after it. An array has the alignment of its elements.
                        unsafe {
                            let from = self.image.as_ptr().add(tap + offset + done).cast::<[f32; SLACK]>();
                            *panel.as_mut_ptr().add(to + done).cast::<[f32; SLACK]>() = *from;
                        }
                    }
                } else {
                    copy_stretch(&self.image[tap + offset..], length, &mut panel[to..]);
                }
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
