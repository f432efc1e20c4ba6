//! Convert the element type: towards integers numbers are truncated and saturate.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::{Elem, op};

struct Cast {
    from: Elem,
    to: Elem,
}

pub(crate) fn prepare(op: &op::Cast, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let from = site.input(0)?.elem;
    if [from, op.to].contains(&Elem::F16) {
        return Err(StepError::Unsupported("a cast from or to f16".into()));
    }
    Ok(Box::new(Cast { from, to: op.to }))
}

/// Every element as the widest type of its kind, exact.
enum Wide {
    Float(Vec<f64>),
    Integer(Vec<i64>),
}

impl Step for Cast {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        fn integers<T: bytemuck::Pod + Into<i64>>(io: &Io<'_>) -> Result<Wide, StepError> {
            Ok(Wide::Integer(io.input::<T>(0)?.iter().map(|&v| v.into()).collect()))
        }
        let wide = match self.from {
            Elem::F32 => Wide::Float(io.input::<f32>(0)?.iter().map(|&v| f64::from(v)).collect()),
            Elem::F64 | Elem::F16 => Wide::Float(io.input::<f64>(0)?.to_vec()),
            Elem::I8 | Elem::I4 => integers::<i8>(io)?,
            Elem::U8 | Elem::U4 | Elem::Bool => integers::<u8>(io)?,
            Elem::I16 => integers::<i16>(io)?,
            Elem::U16 => integers::<u16>(io)?,
            Elem::I32 => integers::<i32>(io)?,
            Elem::I64 => integers::<i64>(io)?,
        };
        macro_rules! write {
            ($t:ty) => {{
                let out = io.output::<$t>()?;
                match wide {
                    // `as` truncates towards zero and saturates; NaN is 0.
                    Wide::Float(values) => out.iter_mut().zip(values).for_each(|(o, v)| *o = v as $t),
                    Wide::Integer(values) => out.iter_mut().zip(values).for_each(|(o, v)| *o = v.saturate()),
                }
            }};
        }
        match self.to {
            Elem::F32 => write!(f32),
            Elem::F64 | Elem::F16 => write!(f64),
            Elem::I8 => write!(i8),
            Elem::U8 => write!(u8),
            Elem::I16 => write!(i16),
            Elem::U16 => write!(u16),
            Elem::I4 => {
                write!(i8);
                io.output::<i8>()?.iter_mut().for_each(|v| *v = (*v).clamp(-8, 7));
            }
            Elem::U4 => {
                write!(u8);
                io.output::<u8>()?.iter_mut().for_each(|v| *v = (*v).min(15));
            }
            Elem::I32 => write!(i32),
            Elem::I64 => write!(i64),
            Elem::Bool => {
                let truth: Vec<bool> = match wide {
                    Wide::Float(values) => values.iter().map(|&v| v != 0.0).collect(),
                    Wide::Integer(values) => values.iter().map(|&v| v != 0).collect(),
                };
                io.output::<u8>()?
                    .iter_mut()
                    .zip(truth)
                    .for_each(|(o, v)| *o = u8::from(v));
            }
        }
        Ok(())
    }
}

/// The nearest value of another type.
trait Saturate<T> {
    fn saturate(self) -> T;
}

macro_rules! saturate_integers {
    ($($t:ty),*) => { $(impl Saturate<$t> for i64 {
        fn saturate(self) -> $t {
            self.clamp(i64::from(<$t>::MIN), i64::from(<$t>::MAX)) as $t
        }
    })* };
}
saturate_integers!(i8, u8, i16, u16, i32, i64);

impl Saturate<f32> for i64 {
    fn saturate(self) -> f32 {
        self as f32
    }
}

impl Saturate<f64> for i64 {
    fn saturate(self) -> f64 {
        self as f64
    }
}
