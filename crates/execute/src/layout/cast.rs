//! Converts between element types.
//!
//! A conversion between integers keeps the low bits, as in C and ONNX. A conversion from floats to integers truncates
//! towards zero. Where ONNX does not define the result, the conversion saturates, and NaN becomes 0. A conversion to
//! booleans gives true for each number that is not zero. All other conversions round to nearest, ties to even.

use crate::prelude::*;
use bytemuck::Pod;
use strait_core::{BF16, F16};

struct Cast {
    from: Elem,
    to: Elem,
}

impl Executable for op::Cast {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        Ok(Box::new(Cast {
            from: site.input(0)?.elem,
            to: self.to,
        }))
    }

    fn takes_any_type(&self) -> bool {
        true
    }

    fn scratch(&self, x: &TensorType, _: &TensorType, _: &Types<'_>) -> Scratch {
        // Memory for each element in the widest type (float or integer), and as a boolean.
        match self.to == x.elem {
            true => Scratch::default(),
            false => Scratch::run(times(count(x), WORD + 1)),
        }
    }
}

fn each<A: Pod, B: Pod>(io: &mut Io<'_>, convert: impl Fn(A) -> B) -> Result<(), StepError> {
    let input = io.input::<A>(0)?;
    for (out, &x) in io.output::<B>()?.iter_mut().zip(input) {
        *out = convert(x);
    }
    Ok(())
}

/// Converts elements that are stored as `$stored`. `$read` turns a stored element into a Rust number.
macro_rules! from {
    ($io:ident, $to:expr, $stored:ty, $read:expr) => {{
        let read = $read;
        match $to {
            Elem::F32 => each($io, |x: $stored| read(x) as f32),
            Elem::F64 => each($io, |x: $stored| read(x) as f64),
            Elem::F16 => each($io, |x: $stored| F16.encode(read(x) as f64)),
            Elem::BF16 => each($io, |x: $stored| BF16.encode(read(x) as f64)),
            Elem::I8 => each($io, |x: $stored| read(x) as i8),
            Elem::U8 => each($io, |x: $stored| read(x) as u8),
            Elem::I16 => each($io, |x: $stored| read(x) as i16),
            Elem::U16 => each($io, |x: $stored| read(x) as u16),
            Elem::I32 => each($io, |x: $stored| read(x) as i32),
            Elem::U32 => each($io, |x: $stored| read(x) as u32),
            Elem::I64 => each($io, |x: $stored| read(x) as i64),
            Elem::U64 => each($io, |x: $stored| read(x) as u64),
            // Compares the number itself with zero: the low bits of 256 are zero, and 0.5 is truncated to zero.
            Elem::Bool => each($io, |x: $stored| u8::from(read(x) as f64 != 0.0)),
            // Keeps the low four of eight bits. For i4, the sign is extended.
            Elem::I4 => each($io, |x: $stored| (read(x) as i8) << 4 >> 4),
            Elem::U4 => each($io, |x: $stored| read(x) as u8 & 15),
        }
    }};
}

impl Step for Cast {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        match self.from {
            Elem::F32 => from!(io, self.to, f32, |x| x),
            Elem::F64 => from!(io, self.to, f64, |x| x),
            Elem::F16 => from!(io, self.to, u16, |x| F16.decode(x)),
            Elem::BF16 => from!(io, self.to, u16, |x| BF16.decode(x)),
            Elem::I8 | Elem::I4 => from!(io, self.to, i8, |x| x),
            Elem::U8 | Elem::U4 | Elem::Bool => from!(io, self.to, u8, |x| x),
            Elem::I16 => from!(io, self.to, i16, |x| x),
            Elem::U16 => from!(io, self.to, u16, |x| x),
            Elem::I32 => from!(io, self.to, i32, |x| x),
            Elem::U32 => from!(io, self.to, u32, |x| x),
            Elem::I64 => from!(io, self.to, i64, |x| x),
            Elem::U64 => from!(io, self.to, u64, |x| x),
        }
    }
}
