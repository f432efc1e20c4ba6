//! Memory for tiles.

#![allow(unsafe_code, reason = "the C interface")]

use strait_plugin_interface::ALIGNMENT;

/// As many bytes as a processor loads at a time, aligned as the interface says.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

const _: () = assert!(align_of::<Line>() == ALIGNMENT);

/// Bytes that begin at a multiple of [`ALIGNMENT`].
pub(super) struct Aligned {
    lines: Vec<Line>,
    size: usize,
}

impl Aligned {
    /// So many zeros.
    pub(super) fn new(size: usize) -> Aligned {
        Aligned {
            lines: vec![Line([0; ALIGNMENT]); size.div_ceil(ALIGNMENT)],
            size,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the lines have at least `size` bytes, all of them initialised and without gaps.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.size) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.size) }
    }
}
