//! Byte buffers that start on a cache line.

/// The alignment of every buffer, and of every value in an arena, in bytes.
pub(crate) const LINE: usize = 64;

/// A zeroed buffer, aligned to [`LINE`].
#[derive(Debug)]
pub(crate) struct AlignedBytes {
    storage: Box<[u8]>,
    start: usize,
    len: usize,
}

impl AlignedBytes {
    /// Returns a buffer of `len` zeros.
    pub(crate) fn zeroed(len: usize) -> AlignedBytes {
        let storage = vec![0u8; len + LINE].into_boxed_slice();
        // `align_offset` returns a number below `LINE` here, because `LINE` is a power of two and the elements are
        // bytes. By its contract it could also return `usize::MAX` for "no offset". `min` would then keep the start
        // inside of the buffer, and a later cast of the bytes would fail with an error.
        let start = storage.as_ptr().align_offset(LINE).min(LINE);
        AlignedBytes { storage, start, len }
    }

    /// Makes a copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> AlignedBytes {
        let mut copy = AlignedBytes::zeroed(bytes.len());
        copy.as_mut_slice().copy_from_slice(bytes);
        copy
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.len]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.len]
    }
}

impl Clone for AlignedBytes {
    fn clone(&self) -> AlignedBytes {
        AlignedBytes::copy_of(self.as_slice())
    }
}
