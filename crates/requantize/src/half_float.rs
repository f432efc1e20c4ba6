//! The two formats of 16-bit floats, as bits: binary16 of IEEE 754, and bfloat16, which is the upper half of an f32.
//!
//! **Source**: IEEE 754-2019, section 3.4. binary16 has 5 bits of exponent and 10 of mantissa, bfloat16 has 8 and 7.

use crate::small_float::power;

/// A format of 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfFloat {
    exponent: u32,
    mantissa: u32,
}

/// The format binary16, with 5 bits of exponent and 10 of mantissa.
pub const F16: HalfFloat = HalfFloat {
    exponent: 5,
    mantissa: 10,
};

/// The format bfloat16, with 8 bits of exponent and 7 of mantissa.
pub const BF16: HalfFloat = HalfFloat {
    exponent: 8,
    mantissa: 7,
};

impl HalfFloat {
    /// The bits of positive infinity.
    const fn infinity(self) -> u16 {
        0x7fff >> self.mantissa << self.mantissa
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The number with the bits `bits`. A NaN keeps its payload and becomes a quiet NaN.
    pub fn decode(self, bits: u16) -> f32 {
        let (sign, magnitude) = (u32::from(bits >> 15) << 31, bits & 0x7fff);
        let fraction = u32::from(magnitude & !self.infinity());
        if magnitude >= self.infinity() {
            let quiet = if fraction == 0 { 0 } else { 1 << 22 };
            return f32::from_bits(sign | f32::INFINITY.to_bits() | quiet | fraction << (23 - self.mantissa));
        }
        let field = i32::from(magnitude >> self.mantissa);
        // A subnormal number has no leading one. Its exponent is the same as for the field value 1.
        let whole = if field == 0 {
            fraction
        } else {
            fraction | 1 << self.mantissa
        };
        let step = power(field.max(1) - self.bias() - self.mantissa as i32);
        f32::from_bits(sign | ((f64::from(whole) * step) as f32).to_bits())
    }

    /// The bits of the nearest number, ties to even. A number beyond the largest number of the format becomes infinite.
    pub fn encode(self, x: f64) -> u16 {
        let (sign, magnitude) = ((x.to_bits() >> 48) as u16 & 0x8000, x.abs());
        if x.is_nan() {
            let payload = (x.to_bits() >> (52 - self.mantissa)) as u16 & !self.infinity() & 0x7fff;
            return sign | self.infinity() | 1 << (self.mantissa - 1) | payload;
        }
        let own = ((magnitude.to_bits() >> 52) as i32 - 1023).clamp(1 - self.bias(), self.bias() + 1);
        let whole = (magnitude / power(own - self.mantissa as i32)).round_ties_even();
        // The leading one of `whole` adds one to the exponent field. A mantissa that was rounded up to two adds another
        // one.
        let code = f64::from((own + self.bias() - 1) << self.mantissa) + whole;
        sign | code.min(f64::from(self.infinity())) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_code_is_the_number_that_the_crate_half_makes_of_it() {
        for bits in 0..=u16::MAX {
            let theirs = [f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32()];
            let ours = [F16, BF16].map(|format| format.decode(bits).to_bits());
            assert_eq!(ours, theirs.map(f32::to_bits), "{bits:#x}");
        }
    }

    #[test]
    fn numbers_of_32_bits_are_rounded_as_by_the_crate_half() {
        let theirs: [fn(f32) -> u16; 2] = [|x| f16::from_f32(x).to_bits(), |x| bf16::from_f32(x).to_bits()];
        for (format, theirs) in [F16, BF16].into_iter().zip(theirs) {
            let mut numbers = vec![f32::NAN, -f32::NAN, f32::MAX, f32::INFINITY, f32::MIN_POSITIVE, 1e-45];
            for bits in 0..format.infinity() {
                let (here, next) = (format.decode(bits), format.decode(bits + 1));
                // Both numbers are exact in f32, so a number between them comes from the midpoint of their bit patterns.
                let middle = f32::from_bits(here.to_bits().midpoint(next.to_bits()));
                numbers.extend([here, middle, middle.next_up(), middle.next_down()]);
            }
            for x in numbers.into_iter().flat_map(|x| [x, -x]) {
                assert_eq!(format.encode(f64::from(x)), theirs(x), "{format:?} {x:e}");
            }
        }
    }

    /// The crate `half` is not compared here: it first rounds floats of 64 bits to 32 bits if the machine has
    /// instructions for that.
    #[test]
    fn numbers_of_64_bits_are_rounded_once() {
        for format in [F16, BF16] {
            for bits in 0..format.infinity() - 1 {
                let [here, next] = [bits, bits + 1].map(|bits| f64::from(format.decode(bits)));
                let middle = f64::midpoint(here, next);
                let rounded = [middle.next_down(), middle, middle.next_up()].map(|x| format.encode(x));
                assert_eq!(rounded, [bits, bits + bits % 2, bits + 1], "{format:?} {middle:e}");
            }
        }
    }
}
