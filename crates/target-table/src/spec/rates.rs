//! `[silicon.rates]`: how much a chip does in a cycle.

use std::num::NonZeroU32;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much the chip does in a cycle. From these rates, `strait check` estimates the cycles of each layer on the accelerator:
/// the multiply-adds or elements at their rate, or the bytes at theirs, whichever takes longer, because data moves while the
/// chip computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Multiply-adds of a convolution or matrix product.
    pub multiply_adds: NonZeroU32,
    /// Elements that any other operation visits.
    pub elements: NonZeroU32,
    /// Bytes of constants and values that move between memory and the accelerator.
    pub bytes: NonZeroU32,
}

/// What a layer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// So many multiply-adds.
    MultiplyAdds(u64),
    /// An operation without products, which visits so many elements.
    Elements(u64),
}

impl Rates {
    /// The cycles of a layer that does this work and moves so many bytes.
    pub fn cycles(&self, work: Work, bytes: u64) -> u64 {
        let of = |count: u64, rate: NonZeroU32| count.div_ceil(rate.get().into());
        let computing = match work {
            Work::MultiplyAdds(count) => of(count, self.multiply_adds),
            Work::Elements(count) => of(count, self.elements),
        };
        computing.max(of(bytes, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_of_computing_and_moving_counts() {
        let rates: Rates = serde_json::from_str(r#"{"multiply_adds": 128, "elements": 4, "bytes": 8}"#).unwrap();
        assert_eq!(rates.cycles(Work::MultiplyAdds(1280), 79), 10);
        assert_eq!(rates.cycles(Work::MultiplyAdds(1281), 88), 11);
        assert_eq!(rates.cycles(Work::MultiplyAdds(1), 800), 100);
        assert_eq!(rates.cycles(Work::Elements(42), 0), 11);
        assert_eq!(rates.cycles(Work::Elements(u64::MAX), 0), u64::MAX / 4 + 1);
    }
}
