//! Memory for results, surrounded by bytes that a kernel must not write.

use strait_requantize::IntType;

/// Number of guard bytes on each side. 256 bytes are the size of several SIMD vectors and a multiple of every
/// alignment.
const MARGIN: usize = 256;

/// Memory for results, with guard bytes around it.
pub(crate) struct Placed {
    all: Vec<u8>,
    out: IntType,
    fill: u8,
}

impl Placed {
    /// Makes room for `count` results, filled with the byte `fill`.
    pub(crate) fn new(out: IntType, count: usize, fill: u8) -> Placed {
        let size = count * width(out);
        let mut all = vec![!fill; size + 2 * MARGIN];
        all[MARGIN..MARGIN + size].fill(fill);
        Placed { all, out, fill }
    }

    /// True if a guard byte was overwritten.
    pub(crate) fn is_spilled(&self) -> bool {
        let mut margins = self.all[..MARGIN].iter().chain(&self.all[self.all.len() - MARGIN..]);
        margins.any(|&byte| byte != !self.fill)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let end = self.all.len() - MARGIN;
        &mut self.all[MARGIN..end]
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.all[MARGIN..self.all.len() - MARGIN]
    }

    /// Number of bytes of one result.
    pub(crate) fn width(&self) -> usize {
        width(self.out)
    }

    pub(crate) fn results(&self) -> Vec<i32> {
        decoded(self.out, self.bytes())
    }
}

/// Number of bytes of one element.
pub(crate) fn width(t: IntType) -> usize {
    usize::from(t.bits().div_ceil(8))
}

/// Reads elements in the byte order of the machine.
pub(crate) fn decoded(t: IntType, bytes: &[u8]) -> Vec<i32> {
    let codes = bytes.chunks_exact(width(t)).filter_map(|code| t.decode(code));
    codes.collect()
}
