//! Memory for tiles.

#![allow(unsafe_code, reason = "the C interface")]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;
use std::{io, ptr};
use strait_plugin_interface::ALIGNMENT;

/// As many bytes as a processor loads at a time, aligned as the interface says.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

const _: () = assert!(align_of::<Line>() == ALIGNMENT);

/// Bytes that begin at a multiple of [`ALIGNMENT`].
#[derive(Default)]
pub(super) struct Aligned {
    lines: Vec<Line>,
    size: usize,
}

impl Aligned {
    /// So many zeros.
    pub(super) fn new(size: usize) -> Aligned {
        let mut bytes = Aligned::default();
        bytes.resize(size);
        bytes
    }

    /// So many bytes: those that were there, and zeros behind them. Memory that is there already is used again.
    pub(super) fn resize(&mut self, size: usize) {
        self.lines.resize(size.div_ceil(ALIGNMENT), Line([0; ALIGNMENT]));
        self.size = size;
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

/// Bytes that end where memory ends that may be touched, and begin at a multiple of [`ALIGNMENT`] if their number is one.
pub(super) struct Fenced {
    pages: *mut c_void,
    /// All pages, and those in front of the last.
    mapped: [usize; 2],
    size: usize,
}

impl Fenced {
    pub(super) fn new(size: usize) -> io::Result<Fenced> {
        let page = rustix::param::page_size();
        let open = size.div_ceil(page) * page;
        let mapped = [open + page, open];
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: memory of its own, wherever the system likes.
        let pages = unsafe { mmap_anonymous(ptr::null_mut(), mapped[0], access, MapFlags::PRIVATE)? };
        let fenced = Fenced { pages, mapped, size };
        // SAFETY: the last page of those.
        unsafe { mprotect(pages.byte_add(open), page, MprotectFlags::empty())? };
        Ok(fenced)
    }

    pub(super) fn start(&self) -> *mut u8 {
        // SAFETY: the bytes are in the pages.
        unsafe { self.pages.cast::<u8>().add(self.mapped[1] - self.size) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes are there, the system has filled them with zeros, and this borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.size) }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: these pages, which nobody else knows. That they stay if it fails does no harm.
        let _ = unsafe { munmap(self.pages, self.mapped[0]) };
    }
}
