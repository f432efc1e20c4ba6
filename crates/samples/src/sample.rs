//! A sample of one input. Its numbers have the type of the input.

use crate::NumberType;
use strait_core::Elem;

/// The numbers of one sample for one input. They have the type and the shape of the input, are little-endian, and the
/// last axis varies fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    elem: Elem,
    shape: Vec<usize>,
    /// The bytes, stored in 64-bit words so that numbers of any type are aligned.
    words: Vec<u64>,
}

impl Sample {
    /// A sample of zeros. The shape fits into memory, because samples of this size were found in files.
    pub(crate) fn zeros(elem: Elem, shape: &[usize]) -> Sample {
        let bytes = elem.size() * shape.iter().product::<usize>();
        Sample {
            elem,
            shape: shape.to_vec(),
            words: vec![0; bytes.div_ceil(size_of::<u64>())],
        }
    }

    /// Type of the numbers.
    pub fn elem(&self) -> Elem {
        self.elem
    }

    /// The shape of the input, including the batch dimension if the input has one.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes of the numbers, aligned for their type.
    pub fn bytes(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        &bytes[..self.elem.size() * self.shape.iter().product::<usize>()]
    }

    /// The numbers as float32. The result is empty if the numbers are bfloat16.
    pub fn reals(&self) -> Vec<f32> {
        numbers(self).unwrap_or_default()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.bytes().len();
        &mut bytemuck::cast_slice_mut(&mut self.words)[..length]
    }
}

/// The numbers of a sample as float32.
pub(crate) fn numbers(sample: &Sample) -> Option<Vec<f32>> {
    // Arrays in files have no bfloat16.
    if sample.elem() == Elem::BF16 {
        return None;
    }
    let mut numbers = vec![0.0; sample.shape().iter().product()];
    NumberType::from(sample.elem()).to_f32(sample.bytes(), &mut numbers);
    Some(numbers)
}
