//! The bits of a scan, the highest first. `FF 00` is the byte FF, and any other FF is a marker, behind which there are zeros.

/// See the module.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// The byte that is filled in next.
    at: usize,
    /// Bits that are filled in, from the highest on.
    buffer: u64,
    /// Their number; less than 0 behind the end.
    count: i32,
    /// Zero bits that were filled in behind the end.
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

    /// Sees to it that there are at least 32 bits.
    #[inline(always)]
    pub(super) fn fill(&mut self) {
        if self.count >= 32 {
            return;
        }
        if let Some(&next) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>()) {
            let word = u32::from_be_bytes(next);
            // No byte of it is FF: none of its complement is 0.
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

    /// The next `count` bits, 1 to 16, which stay.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u32 {
        (self.buffer >> (64 - count)) as u32
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.buffer <<= count;
        self.count -= count as i32;
    }

    /// The next `count` bits, 0 to 16, of those that are filled in.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        // In two steps, so that none moves by 64.
        let found = (self.buffer >> 1 >> (63 - count)) as u32;
        self.skip(count);
        found
    }

    /// A number of `size` bits as differences are coded: from −2^size + 1 to 2^size − 1 without those of fewer bits.
    #[inline(always)]
    pub(super) fn signed(&mut self, size: u32) -> i32 {
        let found = self.take(size) as i32;
        let is_negative = found < (1 << size >> 1);
        if is_negative { found - (1 << size) + 1 } else { found }
    }

    /// True if bits were used that are not there.
    pub(super) fn is_over(&self) -> bool {
        i64::from(self.missing) > i64::from(self.count)
    }

    /// Passes over what is left in front of the next marker, and over that if it is a restart; false where it is none.
    pub(super) fn restart(&mut self) -> bool {
        let found = self.marker();
        self.at = found + 2;
        (self.buffer, self.count, self.missing) = (0, 0, 0);
        let marker = self.bytes.get(found + 1);
        marker.is_some_and(|marker| (0xd0..=0xd7).contains(marker))
    }

    /// Where the next marker begins, or the end.
    pub(super) fn marker(&self) -> usize {
        // Not in front of what was filled in: bits that are left over fill up a byte.
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let place = rest
            .windows(2)
            .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff));
        self.at + place.unwrap_or(rest.len())
    }
}
