//! Reads fields of IR bytes and checks them. A count in the bytes never makes the reader allocate memory for more items
//! than the remaining bytes can hold.

use super::BytesError;

/// The bytes and the position of the next field. Fields are read up to the end of the current record.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    /// True if the bytes have a later minor version. Then bytes after the known fields of a record are skipped.
    pub(super) newer: bool,
}

pub(super) type Read<T> = Result<T, BytesError>;

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            bytes,
            at: 0,
            newer: false,
        }
    }

    pub(super) fn take(&mut self, count: usize, what: &'static str) -> Read<&'a [u8]> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(BytesError::Truncated { what, at: self.at })?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Read<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Read<u8> {
        self.array::<1>(what).map(|[v]| v)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Read<u16> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Read<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self, what: &'static str) -> Read<i32> {
        self.array(what).map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Read<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self, what: &'static str) -> Read<i64> {
        self.array(what).map(i64::from_le_bytes)
    }

    pub(super) fn f32(&mut self, what: &'static str) -> Read<f32> {
        self.u32(what).map(f32::from_bits)
    }

    /// Reads a boolean, 0 or 1.
    pub(super) fn flag(&mut self, what: &'static str) -> Read<bool> {
        let at = self.at;
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(BytesError::malformed("0 or 1", at, other)),
        }
    }

    /// Reads a boolean that says whether an item follows, and the item if it does.
    pub(super) fn optional<T>(
        &mut self,
        what: &'static str,
        item: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<Option<T>> {
        Ok(if self.flag(what)? { Some(item(self)?) } else { None })
    }

    /// Reads a byte and returns what it stands for. `meaning` returns `None` for a byte without a meaning.
    pub(super) fn tag<T>(&mut self, what: &'static str, meaning: impl FnOnce(u8) -> Option<T>) -> Read<T> {
        let at = self.at;
        let tag = self.u8(what)?;
        meaning(tag).ok_or_else(|| BytesError::malformed(what, at, tag))
    }

    /// Reads the number of items that follow. Each item takes at least `size` bytes, so a number that is too large for
    /// the remaining bytes is refused.
    pub(super) fn count(&mut self, size: usize, what: &'static str) -> Read<usize> {
        let at = self.at;
        let count = self.u32(what)? as usize;
        if count > (self.bytes.len() - self.at) / size.max(1) {
            return Err(BytesError::Truncated { what, at });
        }
        Ok(count)
    }

    /// Reads a list: first the number of items, then the items, which take at least `size` bytes each.
    pub(super) fn list<T>(
        &mut self,
        size: usize,
        what: &'static str,
        mut item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let count = self.count(size, what)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Reads one record: its length, and the fields that `body` reads. Bytes after these fields are an error, unless a
    /// later version wrote them.
    pub(super) fn record<T>(&mut self, what: &'static str, body: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let size = self.u32(what)? as usize;
        let start = self.at;
        self.take(size, what)?;
        let mut inner = Reader {
            bytes: &self.bytes[..self.at],
            at: start,
            newer: self.newer,
        };
        let read = body(&mut inner)?;
        inner.finish(what)?;
        Ok(read)
    }

    /// Checks that no bytes follow the known fields. If the bytes have a later minor version, more fields may follow.
    pub(super) fn finish(&self, what: &'static str) -> Read<()> {
        if self.newer || self.at == self.bytes.len() {
            return Ok(());
        }
        Err(BytesError::Trailing { what, at: self.at })
    }
}
