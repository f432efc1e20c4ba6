//! Convolutions over three axes.

use super::{KnownValue, Maker};
use strait_core::op;

impl Maker {
    /// Adds a convolution over three axes. The channels of an image are split into channels and layers for it.
    pub(super) fn volume(&mut self, x: &KnownValue) {
        let divisors: Vec<u64> = (1..=x.dims[1]).filter(|&d| x.dims[1].is_multiple_of(d)).collect();
        let channels = self.random.pick(&divisors);
        let dims = [x.dims[0], channels, x.dims[1] / channels, x.dims[2], x.dims[3]];
        let pad_value = self.pad_value(x);
        let r = &mut self.random;
        let codes = r.codes();
        let bits = x.bits() + i64::from(codes.bits()) + 1;
        let groups = r.pick(&[1, channels]);
        let outputs = groups * r.range(1, 3) as u64;
        let kernel = [0; 3].map(|_: u64| r.range(1, 3) as u64);
        let pad: Vec<u32> = (0..6).map(|_| r.range(0, 1) as u32).collect();
        let dilation: Vec<u32> = (0..3).map(|_| r.range(1, 2) as u32).collect();
        let reaches = |axis: usize| {
            let room = dims[axis + 2] + u64::from(pad[axis] + pad[axis + 3]);
            room > (kernel[axis] - 1) * u64::from(dilation[axis])
        };
        if !(0..3).all(reaches) {
            return;
        }
        let op = op::Conv {
            stride: (0..3).map(|_| r.range(1, 2) as u32).collect(),
            pad: pad.into(),
            dilation: dilation.into(),
            groups: groups as u32,
            pad_value,
            accumulator: r.carrier(bits + 7),
            weight_zero: self.weight_zero(codes, outputs),
        };
        let layers = op::Reshape {
            shape: dims.iter().map(|&extent| extent as i64).collect(),
        };
        let layers = self.add(layers, &[x.id], None);
        let weights = self.weights(codes, &[outputs, channels / groups, kernel[0], kernel[1], kernel[2]]);
        let mut inputs = vec![layers, weights];
        if self.random.flip() {
            inputs.push(self.bias(outputs, op.accumulator));
        }
        self.accumulate(op, &inputs, bits, Some((outputs as usize, 1)));
    }
}
