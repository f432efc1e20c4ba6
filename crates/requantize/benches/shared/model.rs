//! A model with many channels, and pseudorandom numbers for it. The benches of several crates use this file.
#![allow(dead_code, reason = "each bench uses a part")]

/// Lists, for every convolution and for the fully connected layer, the number of output channels and the number of
/// weights of each channel.
pub(crate) fn mobilenet_v2() -> Vec<(usize, usize)> {
    let mut layers = vec![(32, 27)];
    let mut input = 32;
    for (expansion, channels, repeats) in [
        (1, 16, 1),
        (6, 24, 2),
        (6, 32, 3),
        (6, 64, 4),
        (6, 96, 3),
        (6, 160, 3),
        (6, 320, 1),
    ] {
        for _ in 0..repeats {
            let hidden = input * expansion;
            if expansion > 1 {
                layers.push((hidden, input));
            }
            layers.extend([(hidden, 9), (channels, hidden)]);
            input = channels;
        }
    }
    layers.extend([(1280, 320), (1000, 1280)]);
    layers
}

/// A generator of pseudorandom numbers: xorshift.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number in [low, high).
    pub(crate) fn real(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}
