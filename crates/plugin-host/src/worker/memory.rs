//! Memory for tiles.

#![allow(unsafe_code, reason = "the C interface")]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;
use std::{io, ptr};
use strait_plugin_interface::ALIGNMENT;

use crate::wire::Fence;

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

/// Bytes of a mark on each side of a [`Room`].
const MARGIN: usize = 4096;

/// Bytes between two margins full of a mark.
pub(super) struct Room {
    bytes: Aligned,
    size: usize,
    mark: u8,
}

impl Room {
    /// So many bytes of `fill`, between others of `mark`.
    pub(super) fn new(size: usize, fill: u8, mark: u8) -> Room {
        let mut bytes = Aligned::new(size + 2 * MARGIN);
        bytes.bytes_mut().fill(mark);
        let mut room = Room { bytes, size, mark };
        room.inside_mut().fill(fill);
        room
    }

    /// These bytes, between others of `mark`.
    pub(super) fn holding(bytes: &[u8], mark: u8) -> Room {
        let mut room = Room::new(bytes.len(), 0, mark);
        room.inside_mut().copy_from_slice(bytes);
        room
    }

    pub(super) fn inside(&self) -> &[u8] {
        &self.bytes.bytes()[MARGIN..MARGIN + self.size]
    }

    pub(super) fn inside_mut(&mut self) -> &mut [u8] {
        &mut self.bytes.bytes_mut()[MARGIN..MARGIN + self.size]
    }

    /// True of the margin in front, and of that behind, if it is no longer as it was.
    pub(super) fn touched(&self) -> [bool; 2] {
        let (before, rest) = self.bytes.bytes().split_at(MARGIN);
        let mark = &[self.mark; MARGIN][..];
        [before, &rest[self.size..]].map(|margin| margin != mark)
    }
}

/// Bytes between pages that nobody may touch: on one side at once, on the other at the end of a page.
pub(super) struct Fenced {
    pages: *mut c_void,
    /// Bytes of all pages, and those of the page in front.
    mapped: usize,
    page: usize,
    /// Where the bytes begin.
    at: usize,
    size: usize,
}

impl Fenced {
    /// So many zeros that begin at a multiple of `alignment`. Behind them there may be a gap up to that, where their number is none.
    pub(super) fn new(size: usize, side: Fence, alignment: usize) -> io::Result<Fenced> {
        let page = rustix::param::page_size();
        let open = size.div_ceil(page) * page;
        let mapped = open + 2 * page;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: memory of its own, wherever the system likes.
        let pages = unsafe { mmap_anonymous(ptr::null_mut(), mapped, access, MapFlags::PRIVATE)? };
        let at = match side {
            Fence::Before => page,
            Fence::Behind => page + (open - size) / alignment * alignment,
        };
        let fenced = Fenced {
            pages,
            mapped,
            page,
            at,
            size,
        };
        // SAFETY: the first and the last page of those.
        unsafe {
            mprotect(pages, page, MprotectFlags::empty())?;
            mprotect(pages.byte_add(mapped - page), page, MprotectFlags::empty())?;
        }
        Ok(fenced)
    }

    /// The same with these bytes, which nobody may change.
    pub(super) fn holding(bytes: &[u8], side: Fence, alignment: usize) -> io::Result<Fenced> {
        let mut fenced = Fenced::new(bytes.len(), side, alignment)?;
        fenced.bytes_mut().copy_from_slice(bytes);
        let open = fenced.mapped - 2 * fenced.page;
        // SAFETY: the pages between the first and the last one, which nobody has borrowed.
        unsafe { mprotect(fenced.pages.byte_add(fenced.page), open, MprotectFlags::READ)? };
        Ok(fenced)
    }

    pub(super) fn start(&self) -> *mut u8 {
        // SAFETY: the bytes are in the pages.
        unsafe { self.pages.cast::<u8>().add(self.at) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes are there, the system has filled them with zeros, and this borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.size) }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: these pages, which nobody else knows. That they stay if it fails does no harm.
        let _ = unsafe { munmap(self.pages, self.mapped) };
    }
}
