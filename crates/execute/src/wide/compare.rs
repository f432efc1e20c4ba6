//! Comparisons of two operands of the same type.

use crate::elementwise::Broadcast;
use crate::prelude::*;
use bytemuck::Pod;
use strait_core::op::Relation;

impl Executable for op::Compare {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        prepare(self.relation, site)
    }
}

/// Prepares a comparison. Codes on the same grid can be compared, too, because they have the order of the real numbers.
pub(crate) fn prepare(relation: Relation, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    fn step<T: Pod + Send + Sync + PartialOrd>(
        relation: Relation,
        site: &NodeSlots<'_>,
    ) -> Result<Box<dyn Step>, StepError> {
        let broadcast = Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?;
        Ok(reading(2, move |io| {
            let (a, b) = (io.input::<T>(0)?, io.input::<T>(1)?);
            let out = io.output::<u8>()?;
            match relation {
                Relation::Equal => broadcast.apply_to(a, b, out, |a, b| u8::from(a == b)),
                Relation::Less => broadcast.apply_to(a, b, out, |a, b| u8::from(a < b)),
                Relation::LessOrEqual => broadcast.apply_to(a, b, out, |a, b| u8::from(a <= b)),
            }
        }))
    }
    match site.input(0)?.elem {
        Elem::F32 => step::<f32>(relation, site),
        Elem::F64 => step::<f64>(relation, site),
        Elem::I64 => step::<i64>(relation, site),
        Elem::Bool | Elem::U8 => step::<u8>(relation, site),
        Elem::I8 => step::<i8>(relation, site),
        Elem::I16 => step::<i16>(relation, site),
        Elem::U16 => step::<u16>(relation, site),
        _ => unsupported(site),
    }
}
