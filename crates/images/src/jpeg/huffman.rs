//! Canonical Huffman codes of 1 to 16 bits.

use super::bits::Bits;

/// Codes of up to this many bits are found with one table lookup.
const FAST: u32 = 9;

/// A Huffman table.
pub(super) struct Huffman {
    /// A lookup table, indexed by the next [`FAST`] bits. An entry has the decoded symbol in its low bits, and the
    /// length of the symbol's code above them. The entry is 0 if the code is longer than [`FAST`] bits.
    fast: [u16; 1 << FAST],
    /// For each code length, a bound: if the next 16 bits, read as a number, are below the bound, they begin with a
    /// code of at most this length.
    ends: [u32; 18],
    /// For each length of a code: the number to add to a code to get the position of its symbol.
    offsets: [i32; 17],
    symbols: [u8; 256],
}

impl Huffman {
    /// Makes a table from `counts`, the number of codes of each length, and `listed`, the symbols in the order of their
    /// codes. Returns `None` if the numbers are not valid.
    pub(super) fn new(counts: &[u8; 16], listed: &[u8]) -> Option<Huffman> {
        let mut symbols = [0; 256];
        symbols.get_mut(..listed.len())?.copy_from_slice(listed);
        let mut table = Huffman {
            fast: [0; 1 << FAST],
            ends: [0; 18],
            offsets: [0; 17],
            symbols,
        };
        let (mut code, mut position) = (0u32, 0usize);
        for (bits, &count) in (1u32..).zip(counts) {
            let at = bits as usize;
            table.offsets[at] = position as i32 - code as i32;
            for _ in 0..count {
                if code >= 1 << bits {
                    return None;
                }
                if bits <= FAST {
                    let begin = (code << (FAST - bits)) as usize;
                    let entry = (bits as u16) << 8 | u16::from(symbols[position]);
                    table.fast[begin..begin + (1 << (FAST - bits))].fill(entry);
                }
                code += 1;
                position += 1;
            }
            table.ends[at] = code << (16 - bits);
            code <<= 1;
        }
        // This is larger than any code, so that the search for a length ends here.
        table.ends[17] = u32::MAX;
        Some(table)
    }

    /// Reads the next symbol. At least 16 bits have to be buffered.
    #[inline(always)]
    pub(super) fn symbol(&self, bits: &mut Bits<'_>) -> Option<u8> {
        let next = bits.peek(16);
        let entry = self.fast[(next >> (16 - FAST)) as usize];
        if entry != 0 {
            bits.skip(u32::from(entry >> 8));
            return Some(entry as u8);
        }
        self.long(next, bits)
    }

    #[cold]
    fn long(&self, next: u32, bits: &mut Bits<'_>) -> Option<u8> {
        let length = (FAST as usize + 1..=16).find(|&length| next < self.ends[length])?;
        bits.skip(length as u32);
        let code = (next >> (16 - length)) as i32;
        let position = usize::try_from(code + self.offsets[length]).ok()?;
        self.symbols.get(position).copied()
    }
}
