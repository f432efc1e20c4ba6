//! Random numbers that are the same in every run.

/// A pseudo-random number generator (xorshift).
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Starts a sequence that depends on the name.
    pub(crate) fn new(name: &str) -> Numbers {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        // The generator works with every state except zero.
        Numbers(name.bytes().fold(0xCBF2_9CE4_8422_2325, mix) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next pseudo-random number in `low ..= high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let count = high.wrapping_sub(low).cast_unsigned().wrapping_add(1).max(1);
        // The upper bits of the generator's numbers are more random than the lower ones.
        low.wrapping_add(((self.next() >> 8) % count).cast_signed())
    }

    /// A pseudo-random number in `low ..= high`. All magnitudes (numbers of bits) are equally likely.
    pub(crate) fn of_any_size(&mut self, low: i64, high: i64) -> i64 {
        let widest = low.unsigned_abs().max(high.unsigned_abs()).max(1).ilog2();
        let limit = 1i64 << self.between(0, i64::from(widest).min(61) + 1);
        self.between(-limit, limit).clamp(low, high)
    }
}
