//! Memory for tiles, with and without guard bytes or guard pages.

#![allow(unsafe_code, reason = "the C interface")]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;
use std::{io, ptr};
use strait_plugin_interface::ALIGNMENT;

use crate::wire::Fence;

/// Bytes of one cache line, with the alignment that the interface requires.
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
    /// Memory of `size` zeros.
    pub(super) fn new(size: usize) -> Aligned {
        let mut bytes = Aligned::default();
        bytes.resize(size);
        bytes
    }

    /// Changes the number of bytes. Existing bytes stay, and bytes that are added after them are 0. The memory is
    /// reused if it is large enough.
    pub(super) fn resize(&mut self, size: usize) {
        self.lines.resize(size.div_ceil(ALIGNMENT), Line([0; ALIGNMENT]));
        self.size = size;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the lines have at least `size` bytes together, all initialised and without gaps between them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.size) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the lines have at least `size` bytes together, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.size) }
    }
}

/// Number of guard bytes on each side of a [`Room`].
const MARGIN: usize = 4096;

/// Bytes between two margins. The margins are filled with a known value, which shows whether they are overwritten.
pub(super) struct Room {
    bytes: Aligned,
    size: usize,
    mark: u8,
}

impl Room {
    /// Makes a room of `size` bytes with the value `fill`, between margins of bytes with the value `mark`.
    pub(super) fn new(size: usize, fill: u8, mark: u8) -> Room {
        let mut bytes = Aligned::new(size + 2 * MARGIN);
        bytes.bytes_mut().fill(mark);
        let mut room = Room { bytes, size, mark };
        room.inside_mut().fill(fill);
        room
    }

    /// Makes a room with a copy of `bytes`, between margins of bytes with the value `mark`.
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

    /// Whether the margin before the bytes was overwritten, and whether the one after them was.
    pub(super) fn touched(&self) -> [bool; 2] {
        let (before, rest) = self.bytes.bytes().split_at(MARGIN);
        let mark = &[self.mark; MARGIN][..];
        [before, &rest[self.size..]].map(|margin| margin != mark)
    }
}

/// Bytes between two guard pages. On one side, the guard page begins directly at the bytes. On the other side there may
/// be a gap.
pub(super) struct Fenced {
    pages: *mut c_void,
    /// `mapped` is the size of all pages in bytes, and `page` is the size of the guard page before the bytes.
    mapped: usize,
    page: usize,
    /// Offset at which the bytes begin.
    at: usize,
    size: usize,
}

impl Fenced {
    /// Memory of `size` zeros that begins at a multiple of `alignment`. If `size` is not a multiple of `alignment`,
    /// there may be a gap after the bytes.
    pub(super) fn new(size: usize, side: Fence, alignment: usize) -> io::Result<Fenced> {
        let page = rustix::param::page_size();
        let open = size.div_ceil(page) * page;
        let mapped = open + 2 * page;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: this maps new memory at an address that the system chooses.
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
        // SAFETY: the first and the last of the pages that were just mapped are protected.
        unsafe {
            mprotect(pages, page, MprotectFlags::empty())?;
            mprotect(pages.byte_add(mapped - page), page, MprotectFlags::empty())?;
        }
        Ok(fenced)
    }

    /// A copy of `bytes` in memory that cannot be written any more.
    pub(super) fn holding(bytes: &[u8], side: Fence, alignment: usize) -> io::Result<Fenced> {
        let mut fenced = Fenced::new(bytes.len(), side, alignment)?;
        fenced.bytes_mut().copy_from_slice(bytes);
        let open = fenced.mapped - 2 * fenced.page;
        // SAFETY: the pages between the first and the last one are protected, and nobody has borrowed them.
        unsafe { mprotect(fenced.pages.byte_add(fenced.page), open, MprotectFlags::READ)? };
        Ok(fenced)
    }

    pub(super) fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies within the pages.
        unsafe { self.pages.cast::<u8>().add(self.at) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: there are `size` bytes at this address, the system has filled them with zeros, and `self` is borrowed
        // mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.size) }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: nobody else uses these pages. If unmapping fails, the pages stay, which does no harm.
        let _ = unsafe { munmap(self.pages, self.mapped) };
    }
}
