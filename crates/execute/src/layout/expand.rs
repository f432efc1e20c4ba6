//! Repeats a tensor along axes.

use super::{copies, strided};
use crate::prelude::*;

impl Executable for op::Expand {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, result) = (site.input(0)?, site.output()?.dims.clone());
        Ok(copies::along(x.elem, (0, strided::repeated(&x.dims, &result)?), result))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}
