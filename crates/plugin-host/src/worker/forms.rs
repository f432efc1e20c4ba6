//! Converts a form to the arrays of the interface.

use bytemuck::cast_slice;
use std::{convert::Infallible, io, ptr};
use strait_core::Elem;
use strait_plugin_interface as c;
use strait_requantize::form::Arithmetic;
use strait_requantize::{FormError, Requantization, Rounding};

use super::memory::Fenced;
use crate::wire::Fence;

/// A form as the interface hands it over: one array for each field, with an entry for each channel.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Arrays {
    out: u32,
    width: usize,
    range: [i32; 2],
    per_channel: bool,
    row: String,
    json: Vec<u8>,
    family: Vec<u32>,
    rounding: Vec<u32>,
    factor: Vec<i32>,
    addend: Vec<i64>,
    shift: Vec<u32>,
    zero_point: Vec<i32>,
    scale: Vec<f64>,
    second_scale: Vec<f64>,
    offset: Vec<f64>,
    domain_low: Vec<i64>,
    domain_high: Vec<i64>,
    thresholds: Vec<i32>,
    threshold_count: Vec<u32>,
}

/// The parameters of a form for one channel. Parameters that the channel's family of arithmetic does not use are 0.
#[derive(Default)]
struct Numbers {
    family: u32,
    rounding: u32,
    factor: i32,
    addend: i64,
    shift: u32,
    zero_point: i32,
    scale: f64,
    second_scale: f64,
    offset: f64,
}

impl From<Arithmetic<'_>> for Numbers {
    fn from(arithmetic: Arithmetic<'_>) -> Numbers {
        match arithmetic {
            Arithmetic::Affine(a) => Numbers {
                family: c::FAMILY_AFFINE,
                rounding: rounding(a.rounding),
                factor: a.factor,
                addend: a.addend,
                shift: a.shift.into(),
                zero_point: a.zero_point,
                ..Numbers::default()
            },
            Arithmetic::Doubling(d) => Numbers {
                family: c::FAMILY_DOUBLING,
                factor: d.factor,
                addend: d.addend,
                shift: d.shift.into(),
                zero_point: d.zero_point,
                ..Numbers::default()
            },
            Arithmetic::Float(f) => Numbers {
                family: c::FAMILY_FLOAT,
                scale: f.scale.into(),
                zero_point: f.zero_point,
                ..Numbers::default()
            },
            Arithmetic::Double(f) => Numbers {
                family: c::FAMILY_DOUBLE,
                scale: f.scale,
                zero_point: f.zero_point,
                ..Numbers::default()
            },
            Arithmetic::FloatAffine(f) => Numbers {
                family: c::FAMILY_FLOAT_AFFINE,
                scale: f.factor.into(),
                second_scale: f.scale.into(),
                offset: f.offset.into(),
                ..Numbers::default()
            },
            Arithmetic::Steps(s) => Numbers {
                family: c::FAMILY_STEPS,
                zero_point: s.lowest,
                ..Numbers::default()
            },
        }
    }
}

fn rounding(rounding: Rounding) -> u32 {
    match rounding {
        Rounding::Floor => c::ROUND_FLOOR,
        Rounding::Ceil => c::ROUND_CEIL,
        Rounding::TowardZero => c::ROUND_TOWARD_ZERO,
        Rounding::HalfUp => c::ROUND_HALF_UP,
        Rounding::HalfDown => c::ROUND_HALF_DOWN,
        Rounding::HalfAway => c::ROUND_HALF_AWAY,
        Rounding::HalfTowardZero => c::ROUND_HALF_TOWARD_ZERO,
        Rounding::HalfEven => c::ROUND_HALF_EVEN,
    }
}

impl Arrays {
    pub(super) fn new(form: &Requantization, row: String, json: &[u8]) -> Result<Arrays, FormError> {
        form.check()?;
        let mut arrays = Arrays {
            out: Elem::from(form.out()).tag().into(),
            width: Elem::from(form.out()).size(),
            range: form.range(),
            per_channel: form.channels().is_some(),
            row,
            json: json.to_vec(),
            ..Arrays::default()
        };
        for channel in 0..form.channels().unwrap_or(1) {
            let channel = form.channel(channel)?;
            let numbers = Numbers::from(channel.arithmetic());
            let thresholds = match channel.arithmetic() {
                Arithmetic::Steps(steps) => steps.thresholds,
                _ => &[],
            };
            let (low, high) = channel.domain().into_inner();
            arrays.family.push(numbers.family);
            arrays.rounding.push(numbers.rounding);
            arrays.factor.push(numbers.factor);
            arrays.addend.push(numbers.addend);
            arrays.shift.push(numbers.shift);
            arrays.zero_point.push(numbers.zero_point);
            arrays.scale.push(numbers.scale);
            arrays.second_scale.push(numbers.second_scale);
            arrays.offset.push(numbers.offset);
            arrays.domain_low.push(low);
            arrays.domain_high.push(high);
            arrays.thresholds.extend(thresholds);
            arrays.threshold_count.push(thresholds.len() as u32);
        }
        Ok(arrays)
    }

    /// Number of channels; `None` if all channels have the same parameters.
    pub(super) fn channels(&self) -> Option<usize> {
        self.per_channel.then_some(self.family.len())
    }

    /// Size of one of the form's codes in bytes.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The C struct of the form. Its pointers point into the arrays of this value.
    pub(super) fn form(&self) -> c::Form {
        let Ok(form) = self.placed(|bytes| Ok::<_, Infallible>(bytes.as_ptr()));
        form
    }

    /// The C struct of the form. Its pointers point into copies of the arrays. Each copy is in read-only memory and
    /// ends, or begins, at a guard page. The struct is valid for as long as the copies exist.
    pub(super) fn fenced(&self, side: Fence) -> io::Result<(c::Form, Vec<Fenced>)> {
        let mut copies = Vec::new();
        let form = self.placed(|bytes| {
            // With an alignment of 1, there is no gap between the bytes and the guard page.
            let copy = Fenced::holding(bytes, side, 1)?;
            let start = copy.start().cast_const();
            copies.push(copy);
            io::Result::Ok(start)
        })?;
        Ok((form, copies))
    }

    /// The C struct of the form, whose pointers are those that `place` returns for the bytes of the arrays.
    fn placed<E>(&self, mut place: impl FnMut(&[u8]) -> Result<*const u8, E>) -> Result<c::Form, E> {
        Ok(c::Form {
            channels: self.family.len() as u32,
            per_channel: self.per_channel.into(),
            out: self.out,
            low: self.range[0],
            high: self.range[1],
            row: place(self.row.as_bytes())?,
            row_size: self.row.len() as u64,
            json: place(&self.json)?,
            json_size: self.json.len() as u64,
            family: place(cast_slice(&self.family))?.cast(),
            rounding: place(cast_slice(&self.rounding))?.cast(),
            factor: place(cast_slice(&self.factor))?.cast(),
            addend: place(cast_slice(&self.addend))?.cast(),
            shift: place(cast_slice(&self.shift))?.cast(),
            zero_point: place(cast_slice(&self.zero_point))?.cast(),
            scale: place(cast_slice(&self.scale))?.cast(),
            second_scale: place(cast_slice(&self.second_scale))?.cast(),
            offset: place(cast_slice(&self.offset))?.cast(),
            domain_low: place(cast_slice(&self.domain_low))?.cast(),
            domain_high: place(cast_slice(&self.domain_high))?.cast(),
            thresholds: match self.thresholds.is_empty() {
                true => ptr::null(),
                false => place(cast_slice(&self.thresholds))?.cast(),
            },
            threshold_count: place(cast_slice(&self.threshold_count))?.cast(),
            ..<c::Form as c::Layout>::EMPTY
        })
    }
}
