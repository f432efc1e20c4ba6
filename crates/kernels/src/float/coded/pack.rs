//! Packs codes into words, and words into panels of floats.

use super::{CodedMatrix, GROUPS, HalfBytes, LANES, Line, STRIP, Zeros, offset, shift};
use crate::error::KernelError;
use crate::float::columns::Columns;
use crate::simd::{LOWER, Nibbles, Simd};

impl HalfBytes<'_> {
    /// Checks that all codes of a matrix `[rows, columns]` are inside of the bytes.
    pub(super) fn check(&self, rows: usize, columns: usize) -> Result<(), KernelError> {
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let last = |extent: usize, stride: usize| (extent - 1).checked_mul(stride);
        let end = last(rows, self.strides[0])
            .zip(last(columns, self.strides[1]))
            .and_then(|(down, right)| down.checked_add(right));
        match end {
            Some(end) if end / 2 < self.bytes.len() => Ok(()),
            _ => Err(KernelError::Shape(format!(
                "the codes are a view of {rows} × {columns} beyond their {} bytes",
                self.bytes.len()
            ))),
        }
    }

    /// Fills the lines of the strip that starts at the column `first`.
    pub(super) fn pack(&self, first: usize, columns: usize, lines: &mut [Line]) {
        let flip = if self.signed { 8 } else { 0 };
        for column in first..columns.min(first + STRIP) {
            let (group, lane) = ((column - first) / LANES, (column - first) % LANES);
            let mut index = column * self.strides[1];
            for line in &mut *lines {
                let code = self.bytes[index / 2] >> (4 * (index % 2)) & 15;
                line.0[lane] |= u32::from(code ^ flip) << (4 * group);
                index += self.strides[0];
            }
        }
    }
}

impl Line {
    /// Converts the codes of a group, which lie under the mask, in the lower or the upper part of each word.
    #[inline(always)]
    fn convert<V: Nibbles>(
        &self,
        (mask, lower): (u32, bool),
        offsets: &[f32; LANES],
        scales: &[f32; LANES],
        to: &mut [f32; LANES],
    ) {
        for lane in (0..LANES).step_by(V::LANES) {
            // SAFETY: `lane + V::LANES` is at most `LANES`, so loads and stores stay inside of the arrays. This code runs
            // only on machines that have the instruction set of `V`.
            unsafe {
                let words = V::load_words(self.0.as_ptr().add(lane));
                let words = if lower { words } else { V::upper(words) };
                V::masked(words, mask)
                    .scaled(V::load(offsets.as_ptr().add(lane)), V::load(scales.as_ptr().add(lane)))
                    .store(to.as_mut_ptr().add(lane));
            }
        }
    }
}

impl CodedMatrix {
    /// The floats that belong to the zero points of a group, in a strip and block.
    #[inline(always)]
    pub(super) fn offsets(&self, part: usize, group: usize) -> [f32; LANES] {
        match &self.zeros {
            Zeros::One(zero) => [offset(group, *zero); LANES],
            Zeros::Each(zeros) => zeros[part][group].map(|zero| offset(group, zero)),
        }
    }
}

impl Columns for CodedMatrix {
    #[inline(always)]
    fn pack<S: Simd>(&self, from: usize, depth: usize, first: usize, count: usize, width: usize, panel: &mut [f32]) {
        debug_assert!(first.is_multiple_of(LANES) && width.is_multiple_of(LANES));
        for at in (0..width).step_by(LANES) {
            let column = first + at;
            if at >= count {
                for row in panel.chunks_exact_mut(width).take(depth) {
                    row[at..at + LANES].fill(0.0);
                }
                continue;
            }
            let (strip, group) = (column / STRIP, column % STRIP / LANES);
            let lines = &self.lines[strip * self.rows + from..][..depth];
            let mask = 15 << shift(group);
            let mut row = 0;
            while row < depth {
                let block = (from + row) / self.block;
                let end = depth.min((block + 1).saturating_mul(self.block) - from);
                let part = strip * self.blocks() + block;
                let (scales, offsets) = (self.scales[part][group], self.offsets(part, group));
                for (line, to) in lines[row..end].iter().zip(panel[row * width..].chunks_mut(width)) {
                    if let Some(to) = to[at..].first_chunk_mut::<LANES>() {
                        line.convert::<S::F32s>((mask, group < LOWER), &offsets, &scales, to);
                    }
                }
                row = end;
            }
        }
        const { assert!(GROUPS > LOWER && GROUPS <= 2 * LOWER) }
    }
}
