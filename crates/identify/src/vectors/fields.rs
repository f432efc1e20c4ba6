//! The arrays of one layer.

use super::{LayerScales, VectorsError};
use std::collections::BTreeMap;
use strait_requantize::{IntType, Per};
use strait_samples::{Array, NumberType};

/// The names of all arrays that a layer may have.
const KNOWN: [&str; 14] = [
    "accumulator",
    "output",
    "input",
    "weight",
    "bias",
    "zero_point",
    "input_zero_point",
    "input_scale",
    "weight_scale",
    "output_scale",
    "stride",
    "padding",
    "dilation",
    "groups",
];

/// The arrays of a layer, by name.
pub(super) struct Fields<'a> {
    file: &'a str,
    layer: &'a str,
    arrays: BTreeMap<&'a str, &'a Array>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        file: &'a str,
        layer: &'a str,
        arrays: BTreeMap<&'a str, &'a Array>,
    ) -> Result<Fields<'a>, VectorsError> {
        let fields = Fields { file, layer, arrays };
        match fields.arrays.keys().find(|field| !KNOWN.contains(field)) {
            Some(field) => {
                let right = format!("the arrays of a layer are {}", KNOWN.join(", "));
                Err(fields.error(field, "no layer has such an array".into(), right))
            }
            None => Ok(fields),
        }
    }

    pub(super) fn layer(&self) -> &'a str {
        self.layer
    }

    pub(super) fn error(&self, field: &str, wrong: String, right: String) -> VectorsError {
        VectorsError {
            file: self.file.to_owned(),
            array: Some(format!("{}/{field}", self.layer)),
            wrong,
            right,
        }
    }

    pub(super) fn get(&self, field: &str) -> Option<&'a Array> {
        self.arrays.get(field).copied()
    }

    pub(super) fn need(&self, field: &str, why: &str) -> Result<&'a Array, VectorsError> {
        self.get(field)
            .ok_or_else(|| self.error(field, "it is missing".into(), why.to_owned()))
    }

    /// The array of the outputs, and the type of the codes, which is the array's element type.
    pub(super) fn output(&self) -> Result<(&'a Array, IntType), VectorsError> {
        let output = self.need("output", "the codes that the chip wrote")?;
        let out = match output.number_type() {
            NumberType::I8 => IntType::I8,
            NumberType::U8 => IntType::U8,
            NumberType::I16 => IntType::I16,
            NumberType::U16 => IntType::U16,
            NumberType::I32 => IntType::I32,
            other => {
                let right = "int8, uint8, int16, uint16 or int32, as the chip writes it".into();
                return Err(self.error("output", format!("its numbers are {}", other.name()), right));
            }
        };
        Ok((output, out))
    }

    /// The elements of an array of integers.
    pub(super) fn integers(&self, field: &str, array: &Array) -> Result<Vec<i64>, VectorsError> {
        if array.number_type().is_float() {
            let wrong = format!("its numbers are {}", array.number_type().name());
            return Err(self.error(field, wrong, "integers of at most 64 bits with a sign".into()));
        }
        array.integers().ok_or_else(|| {
            let wrong = "it has a number of more than 64 bits with a sign".to_owned();
            self.error(field, wrong, "integers below 2^63".into())
        })
    }

    /// The numbers of an array that must have exactly N integers. If the array is missing, `default`.
    pub(super) fn numbers<const N: usize>(&self, field: &str, default: [i64; N]) -> Result<[i64; N], VectorsError> {
        let Some(array) = self.get(field) else {
            return Ok(default);
        };
        self.few(field, array, N)?;
        let numbers = self.integers(field, array)?;
        let count = numbers.len();
        numbers
            .try_into()
            .map_err(|_| self.error(field, format!("it has {count} numbers"), format!("{N} whole numbers")))
    }

    /// Refuses an array with more than `most` elements before its elements are read.
    fn few(&self, field: &str, array: &Array, most: usize) -> Result<(), VectorsError> {
        let count = array.shape().iter().product::<usize>();
        if count <= most {
            return Ok(());
        }
        Err(self.error(field, format!("it has {count} numbers"), format!("at most {most}")))
    }

    /// The zero point in the array `field`, which must be a code of the given type. `None` if the array is missing.
    pub(super) fn zero_point(&self, field: &str, of: IntType) -> Result<Option<i32>, VectorsError> {
        if self.get(field).is_none() {
            return Ok(None);
        }
        let [zero] = self.numbers(field, [0])?;
        match i32::try_from(zero) {
            Ok(zero) if of.range().contains(&zero) => Ok(Some(zero)),
            _ => Err(self.error(field, format!("it is {zero}"), format!("a code of {of}"))),
        }
    }

    /// The scales of the input, the weights and the output. The file has to have either all three of them or none.
    pub(super) fn scales(&self, channels: usize) -> Result<Option<LayerScales>, VectorsError> {
        let names = ["input_scale", "weight_scale", "output_scale"];
        if names.iter().all(|name| self.get(name).is_none()) {
            return Ok(None);
        }
        let read = |name: &str, most: usize| {
            let array = self.need(name, "input_scale, weight_scale and output_scale, or none of them")?;
            self.few(name, array, most)?;
            let scales = array.reals();
            let illegal = scales.iter().find(|scale| !(**scale > 0.0 && scale.is_finite()));
            let wrong = match (scales.first(), illegal) {
                (Some(_), None) => return Ok(scales),
                (None, _) => "it is empty".to_owned(),
                (_, Some(scale)) => format!("as float32 it has the scale {scale}"),
            };
            let right = match most {
                1 => "one number, finite and above zero".to_owned(),
                most => format!("1 to {most} numbers, finite and above zero"),
            };
            Err(self.error(name, wrong, right))
        };
        let (input, weight, output) = (read(names[0], 1)?, read(names[1], channels)?, read(names[2], 1)?);
        let weight = match weight.as_slice() {
            [one] => Per::Tensor(*one),
            all if all.len() == channels => all.iter().copied().collect(),
            all => {
                let wrong = format!("it has {} scales for {channels} channels", all.len());
                return Err(self.error(names[1], wrong, "one, or one for each channel".into()));
            }
        };
        Ok(Some(LayerScales {
            input: input[0],
            weight,
            output: output[0],
        }))
    }
}
