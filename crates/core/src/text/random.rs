//! The elements of a tensor that a text declares as `random SEED`. This generator is part of the text format, so it
//! gives the same elements on every machine and in every version.
//!
//! Element i is computed from z_i, the i-th output (from 0) of splitmix64 with the seed as its first state:
//!
//! ```text
//! state ← state + 0x9e3779b97f4a7c15
//! z ← (state ⊕ state >> 30) · 0xbf58476d1ce4e5b9;   z ← (z ⊕ z >> 27) · 0x94d049bb133111eb;   z ← z ⊕ z >> 31
//! ```
//!
//! * f32, f64: (z >> 40) · 2^-23 − 1, and f16: (z >> 53) · 2^-10 − 1. Both are uniform in [−1, 1) and exact in the
//!   type.
//! * i4, u4, i8, u8, i16, u16: the lowest bits of z. Every code can occur.
//! * i32, i64: the lowest 16 bits of z as an i16. These are used as biases and indices, and their sums do not overflow.
//! * bool: the lowest bit of z.

use crate::elem::Elem;
use strait_requantize::half_float::{BF16, F16};

/// The splitmix64 generator.
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Returns a generator with this seed, which is its first state.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// Returns the next number of the generator.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns the little-endian bytes of `count` random elements, as they are stored at run time.
pub fn random(elem: Elem, count: usize, seed: u64) -> Vec<u8> {
    let mut generator = SplitMix64::new(seed);
    let mut bytes = Vec::with_capacity(count.saturating_mul(elem.size()));
    for _ in 0..count {
        let z = generator.next_u64();
        let (low, unit) = (z as i16, (z >> 40) as f64 / 8_388_608.0 - 1.0);
        match elem {
            // The number has 24 bits, as many as an f32 can have, so nothing is rounded.
            Elem::F32 => bytes.extend((unit as f32).to_le_bytes()),
            Elem::F64 => bytes.extend(unit.to_le_bytes()),
            Elem::F16 => bytes.extend(F16.encode((z >> 53) as f64 / 1024.0 - 1.0).to_le_bytes()),
            Elem::BF16 => bytes.extend(BF16.encode((z >> 56) as f64 / 128.0 - 1.0).to_le_bytes()),
            Elem::I8 | Elem::U8 => bytes.push(z as u8),
            Elem::I16 | Elem::U16 => bytes.extend(low.to_le_bytes()),
            Elem::I4 => bytes.push(((z as i8) << 4 >> 4).cast_unsigned()),
            Elem::U4 => bytes.push(z as u8 & 15),
            Elem::U32 => bytes.extend(u32::from(low.cast_unsigned()).to_le_bytes()),
            Elem::U64 => bytes.extend(u64::from(low.cast_unsigned()).to_le_bytes()),
            Elem::I32 => bytes.extend(i32::from(low).to_le_bytes()),
            Elem::I64 => bytes.extend(i64::from(low).to_le_bytes()),
            Elem::Bool => bytes.push((z & 1) as u8),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // The first outputs for seed 1234567, from the generator's published test vector.
        let mut generator = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| generator.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn floats_lie_in_the_unit_interval_and_are_exact_in_their_type() {
        let narrow = random(Elem::F32, 1000, 7);
        let wide = random(Elem::F64, 1000, 7);
        for (f, d) in narrow.chunks_exact(4).zip(wide.chunks_exact(8)) {
            let f = f32::from_le_bytes([f[0], f[1], f[2], f[3]]);
            assert!((-1.0..1.0).contains(&f));
            assert_eq!(f64::from(f).to_le_bytes(), d);
        }
        let half = random(Elem::F16, 100_000, 7);
        assert!(
            half.chunks_exact(2)
                .all(|b| F16.decode(u16::from_le_bytes([b[0], b[1]])) < 1.0)
        );
    }

    #[test]
    fn codes_cover_their_type() {
        let mut codes = random(Elem::I8, 10_000, 3);
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 256);
        for (elem, first) in [(Elem::I4, -8), (Elem::U4, 0)] {
            let bytes = random(elem, 1000, 3);
            let tensor = crate::TensorData::from_unpacked(elem, &[1000], bytes.into()).unwrap();
            let mut codes = tensor.to_i64().unwrap();
            codes.sort_unstable();
            codes.dedup();
            assert_eq!(codes, (first..first + 16).collect::<Vec<_>>());
        }
    }
}
