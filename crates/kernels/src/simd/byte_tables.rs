//! A table of numbers as four tables of bytes.

/// A table with an i32 for each byte, stored as four tables of its bytes: the lowest bytes first.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only kernels for x86-64 read it")
)]
pub(crate) struct ByteTables(pub(crate) [[u8; 256]; 4]);

impl ByteTables {
    /// Stores the table so that it can be looked up by a byte x: the number for x is `table[x XOR flip]`.
    pub(crate) fn new(table: &[i32; 256], flip: u8) -> ByteTables {
        let mut tables = [[0; 256]; 4];
        for byte in 0..256 {
            let bytes = table[byte ^ usize::from(flip)].to_le_bytes();
            for (table, part) in tables.iter_mut().zip(bytes) {
                table[byte] = part;
            }
        }
        ByteTables(tables)
    }

    /// The number for a byte.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only kernels for x86-64 read it")
    )]
    pub(crate) fn get(&self, byte: u8) -> i32 {
        i32::from_le_bytes(self.0.map(|table| table[usize::from(byte)]))
    }
}
