//! Runs a primitive that has no fast loop, by its reference definition.

use crate::prelude::*;
use crate::reference::{Array, Primitive, write};
use crate::site::{Shape, Slot};
use crate::step::Input;
use smallvec::SmallVec;

struct Plain {
    primitive: Primitive,
    operands: SmallVec<[Option<Shape>; 3]>,
    out: Elem,
}

pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(Plain {
        primitive: site.primitive()?,
        operands: site.inputs.iter().map(|slot| slot.as_ref().map(Slot::shape)).collect(),
        out: site.output()?.elem,
    }))
}

impl Step for Plain {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let array = |(shape, input): (&Option<Shape>, &Input<'_>)| match (shape, input) {
            (Some(shape), Input::Bytes(bytes)) => Array::read(shape, bytes).map(Some),
            _ => Ok(None),
        };
        let operands = self
            .operands
            .iter()
            .zip(&io.inputs)
            .map(array)
            .collect::<Result<Vec<_>, _>>()?;
        write(self.out, &self.primitive.compute(&operands)?, io.output::<u8>()?)
    }
}
