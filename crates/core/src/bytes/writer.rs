//! Writes little-endian fields, lists with a count, and records with their size.

/// Converts a count to the 32-bit number that is stored. Ids have 32 bits, so no count is larger.
pub(super) fn count(n: usize) -> u32 {
    debug_assert!(u32::try_from(n).is_ok());
    n as u32
}

#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, v: u8) {
        self.0.push(v);
    }

    pub(super) fn u16(&mut self, v: u16) {
        self.0.extend(v.to_le_bytes());
    }

    pub(super) fn u32(&mut self, v: u32) {
        self.0.extend(v.to_le_bytes());
    }

    pub(super) fn i32(&mut self, v: i32) {
        self.0.extend(v.to_le_bytes());
    }

    pub(super) fn u64(&mut self, v: u64) {
        self.0.extend(v.to_le_bytes());
    }

    pub(super) fn i64(&mut self, v: i64) {
        self.0.extend(v.to_le_bytes());
    }

    pub(super) fn f32(&mut self, v: f32) {
        self.u32(v.to_bits());
    }

    /// Writes a count, then each item.
    pub(super) fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Writer, &T)) {
        self.u32(count(items.len()));
        for i in items {
            item(self, i);
        }
    }

    /// Writes a boolean that says whether there is an item, and then the item if there is one.
    pub(super) fn optional<T>(&mut self, item: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        self.u8(item.is_some().into());
        if let Some(item) = item {
            write(self, item);
        }
    }

    /// Writes the number of bytes that `body` writes, and then these bytes.
    pub(super) fn record<E>(&mut self, body: impl FnOnce(&mut Writer) -> Result<(), E>) -> Result<(), E> {
        let start = self.0.len();
        self.u32(0);
        body(self)?;
        let size = count(self.0.len() - start - 4);
        self.0[start..start + 4].copy_from_slice(&size.to_le_bytes());
        Ok(())
    }
}
