//! Reads the bits of a scan, the highest bit of each byte first. `FF 00` stands for the byte FF. Any other FF begins a
//! marker. At a marker the scan's bits end, and only zeros are read.

/// A reader of the bits of a scan.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// The position of the next byte to put into the buffer.
    at: usize,
    /// The bits that have been buffered. The next bit is the highest.
    buffer: u64,
    /// Number of buffered bits. It is negative if more bits have been consumed than there were.
    count: i32,
    /// Number of zero bits that were added after the end.
    missing: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits {
            bytes,
            at: 0,
            buffer: 0,
            count: 0,
            missing: 0,
        }
    }

    /// Buffers more bits, so that at least 32 bits are buffered.
    #[inline(always)]
    pub(super) fn fill(&mut self) {
        if self.count >= 32 {
            return;
        }
        if let Some(&next) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>()) {
            let word = u32::from_be_bytes(next);
            // If the complement of the word has no byte that is 0, the word has no byte that is FF.
            let other = !word;
            if other.wrapping_sub(0x0101_0101) & !other & 0x8080_8080 == 0 {
                self.buffer |= u64::from(word) << (32 - self.count);
                self.count += 32;
                self.at += 4;
                return;
            }
        }
        self.fill_slowly();
    }

    #[cold]
    fn fill_slowly(&mut self) {
        while self.count <= 48 {
            let byte = match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                (Some(0xff), Some(0)) => {
                    self.at += 2;
                    0xff
                }
                (Some(&byte), _) if byte != 0xff => {
                    self.at += 1;
                    byte
                }
                _ => {
                    self.missing += 8;
                    0
                }
            };
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    /// Returns the next `count` bits (1 to 16) without consuming them.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u32 {
        (self.buffer >> (64 - count)) as u32
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.buffer <<= count;
        self.count -= count as i32;
    }

    /// Consumes and returns the next `count` buffered bits (0 to 16).
    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        // The bits are shifted in two steps, because a single shift by 64 would overflow.
        let found = (self.buffer >> 1 >> (63 - count)) as u32;
        self.skip(count);
        found
    }

    /// Reads a number of `size` bits in JPEG's code for differences. The code of this size stands for the numbers from
    /// −2^size + 1 to 2^size − 1 whose magnitude needs exactly `size` bits.
    #[inline(always)]
    pub(super) fn signed(&mut self, size: u32) -> i32 {
        let found = self.take(size) as i32;
        let is_negative = found < (1 << size >> 1);
        if is_negative { found - (1 << size) + 1 } else { found }
    }

    /// True if more bits have been consumed than the scan has.
    pub(super) fn is_over(&self) -> bool {
        i64::from(self.missing) > i64::from(self.count)
    }

    /// Skips everything up to and including the next marker. Returns true if the marker is a restart marker.
    pub(super) fn restart(&mut self) -> bool {
        let found = self.marker();
        self.at = found + 2;
        (self.buffer, self.count, self.missing) = (0, 0, 0);
        let marker = self.bytes.get(found + 1);
        marker.is_some_and(|marker| (0xd0..=0xd7).contains(marker))
    }

    /// The position of the next marker, or of the end.
    pub(super) fn marker(&self) -> usize {
        // All buffered bytes come before the marker. Bits in the buffer that were not consumed only fill up the last
        // byte of the scan.
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let place = rest
            .windows(2)
            .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff));
        self.at + place.unwrap_or(rest.len())
    }
}
