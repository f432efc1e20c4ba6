//! Makes random numbers instead of samples, for a first look at a model if there are no data. Let u be uniform in
//! [0, 1):
//!
//! ```text
//! floats with a range [a, b]                            a + (b − a) · u; these numbers are not preprocessed
//! floats without a range, preprocessing has steps       whole numbers from 0 to 255, which are then preprocessed
//! floats without a range, no steps                      u
//! integers without a range                              0 or 1
//! ```
//!
//! The generator is SplitMix64 (Steele, Lea, Flood 2014), seeded anew for each sample and input.

use strait_core::Elem;

use crate::numbers::NumberType;

/// Random samples for one input.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    pub(crate) count: usize,
    /// The position of the input.
    pub(crate) input: usize,
    /// The shape of a sample before the preprocessing.
    pub(crate) shape: Vec<usize>,
    pub(crate) number_type: NumberType,
    /// The smallest and the largest number.
    pub(crate) range: [f64; 2],
}

impl Random {
    /// Returns the type and the range of the random numbers for an input of type `elem`. Random integers are small
    /// enough for a byte, even if the input's type is wider.
    pub(crate) fn kind(elem: Elem, has_steps: bool, range: Option<[f64; 2]>) -> (NumberType, [f64; 2]) {
        match (elem.is_float(), range) {
            (true, Some(range)) => (NumberType::F32, range),
            (true, None) if has_steps => (NumberType::U8, [0.0, 255.0]),
            (true, None) => (NumberType::F32, [0.0, 1.0]),
            (false, range) => (NumberType::from(elem), range.unwrap_or([0.0, 1.0])),
        }
    }

    pub(crate) fn describe(&self) -> String {
        format!("random 1 {self:?}")
    }

    pub(crate) fn read(&self, sample: usize) -> Vec<u8> {
        let mut state = ((self.input as u64) << 40) ^ sample as u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let [low, high] = self.range;
        let numbers: usize = self.shape.iter().product();
        let mut bytes = Vec::with_capacity(numbers * self.number_type.size());
        for _ in 0..numbers {
            let unit = (next() >> 40) as f64 / f64::from(1u32 << 24);
            match self.number_type {
                NumberType::F32 => bytes.extend(((low + (high - low) * unit) as f32).to_le_bytes()),
                whole => {
                    let number = (low.ceil() + ((high.floor() - low.ceil() + 1.0) * unit).floor()) as i64;
                    bytes.extend_from_slice(&number.to_le_bytes()[..whole.size()]);
                }
            }
        }
        bytes
    }
}
