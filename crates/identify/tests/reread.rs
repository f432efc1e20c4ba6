//! Tests of recordings in files that describe the layer wrongly.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{
    Numbers,
    arrays::{i8s, i32s, read},
    factor,
};
use strait_identify::{Answer, ChannelAxis, Rereading, Tolerance, document, identify};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};

/// A convolution with a 3 × 3 window and padding 1 on 3 × 3 images with three channels. All extents except the batch
/// are 3, so its arrays can be read with the channels first or last.
struct Convolution {
    images: usize,
    input: Vec<i8>,
    weight: Vec<i8>,
    bias: Vec<i32>,
}

const EXTENT: usize = 3;

impl Convolution {
    fn drawn(numbers: &mut Numbers) -> Convolution {
        let images = 160;
        Convolution {
            images,
            input: (0..images * 27).map(|_| numbers.between(-128, 127) as i8).collect(),
            weight: (0..81).map(|_| numbers.between(-40, 90) as i8).collect(),
            bias: (0..EXTENT).map(|_| numbers.between(-3000, 3000) as i32).collect(),
        }
    }

    /// Computes the accumulator at one position. With `channels_last`, images are [height, width, channels] and weights
    /// are [outputs, height, width, inputs]; otherwise the channels come before the pixels. Both readings use the same
    /// two arrays.
    fn accumulator(&self, zero: i64, channels_last: bool, [image, y, x, output]: [usize; 4]) -> i64 {
        let at = |[y, x, channel]: [usize; 3]| match channels_last {
            true => (y * EXTENT + x) * EXTENT + channel,
            false => (channel * EXTENT + y) * EXTENT + x,
        };
        let mut sum = i64::from(self.bias[output]);
        for ky in 0..EXTENT {
            for kx in 0..EXTENT {
                let (Some(row), Some(column)) = ((y + ky).checked_sub(1), (x + kx).checked_sub(1)) else {
                    continue;
                };
                if row >= EXTENT || column >= EXTENT {
                    continue;
                }
                for channel in 0..EXTENT {
                    let code = i64::from(self.input[image * 27 + at([row, column, channel])]) - zero;
                    sum += code * i64::from(self.weight[output * 27 + at([ky, kx, channel])]);
                }
            }
        }
        sum
    }

    /// The outputs, in the same axis order as the images.
    fn outputs(&self, zero: i64, channels_last: bool, form: &Requantization) -> Vec<i8> {
        let (mut outputs, all) = (Vec::new(), 0..EXTENT);
        for image in 0..self.images {
            for a in all.clone() {
                for b in all.clone() {
                    for c in all.clone() {
                        let at = match channels_last {
                            true => [image, a, b, c],
                            false => [image, b, c, a],
                        };
                        let sum = self.accumulator(zero, channels_last, at);
                        outputs.push(form.eval(at[3], sum).unwrap() as i8);
                    }
                }
            }
        }
        outputs
    }

    fn recorded(&self, outputs: &[i8], more: &[(&'static str, Vec<u8>)]) -> Answer {
        let mut arrays = vec![
            ("c/input", i8s(&[self.images, EXTENT, EXTENT, EXTENT], &self.input)),
            ("c/weight", i8s(&[EXTENT; 4], &self.weight)),
            ("c/bias", i32s(&[EXTENT], &self.bias)),
            ("c/padding", i32s(&[4], &[1; 4])),
            ("c/output", i8s(&[self.images, EXTENT, EXTENT, EXTENT], outputs)),
        ];
        arrays.extend_from_slice(more);
        identify("v.npz", &read(&arrays).unwrap()[0]).unwrap()
    }
}

fn after(numbers: &mut Numbers) -> Requantization {
    let parts: Per<(i32, u8)> = (0..EXTENT).map(|_| factor(15, numbers)).collect();
    form::TfLite {
        sc: parts.map(|parts| parts.0),
        zp: -11,
        narrowing: Narrowing {
            shift: parts.map(|parts| parts.1 + 1),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        },
    }
    .into()
}

fn is_explained(answer: &Answer) -> bool {
    answer
        .explained
        .iter()
        .any(|one| one.subject.name() == "multiply-15-half-even")
}

#[test]
fn a_wrong_zero_point_of_the_input_is_found_and_said_so() {
    let mut numbers = Numbers::new(7);
    for (wrong, states_output) in [(0, true), (0, false), (100, true), (100, false)] {
        let (layer, form) = (Convolution::drawn(&mut numbers), after(&mut numbers));
        let mut outputs = layer.outputs(-6, false, &form);
        for _ in 0..wrong {
            let at = numbers.between(0, outputs.len() as i64 - 1) as usize;
            outputs[at] ^= 1 << numbers.between(0, 6);
        }
        let mut more = vec![("c/input_zero_point", i32s(&[1], &[5]))];
        if states_output {
            more.push(("c/zero_point", i32s(&[1], &[-11])));
        }
        let answer = layer.recorded(&outputs, &more);
        let (stated, found) = (5, -6);
        assert_eq!(answer.rereadings, [Rereading::InputZeroPoint { stated, found }]);
        assert!(is_explained(&answer) && answer.missed() <= Some(wrong), "{answer:?}");
        assert!(!answer.is_exact());
        let text = document("v.npz", &[answer], Tolerance::default());
        assert!(
            text.contains("is explained if the input's zero point is -6 instead of 5"),
            "{text}"
        );
    }
}

#[test]
fn a_zero_point_of_the_input_that_is_right_stays() {
    let mut numbers = Numbers::new(8);
    let (layer, form) = (Convolution::drawn(&mut numbers), after(&mut numbers));
    let outputs = layer.outputs(5, false, &form);
    let answer = layer.recorded(&outputs, &[("c/input_zero_point", i32s(&[1], &[5]))]);
    assert!(answer.is_exact() && is_explained(&answer), "{answer:?}");
}

#[test]
fn a_convolution_that_fits_with_its_channels_last_as_well_is_read_so_too() {
    let mut numbers = Numbers::new(9);
    let (layer, form) = (Convolution::drawn(&mut numbers), after(&mut numbers));
    let outputs = layer.outputs(0, true, &form);
    let answer = layer.recorded(&outputs, &[]);
    assert_eq!(answer.rereadings, [Rereading::Channels(ChannelAxis::Last)]);
    assert!(is_explained(&answer) && answer.missed() == Some(0), "{answer:?}");

    // Here the stated zero point of the input is wrong as well.
    let outputs = layer.outputs(3, true, &form);
    let answer = layer.recorded(&outputs, &[]);
    let zero = Rereading::InputZeroPoint { stated: 0, found: 3 };
    assert_eq!(answer.rereadings, [Rereading::Channels(ChannelAxis::Last), zero]);
}
