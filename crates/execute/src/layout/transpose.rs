//! Permutes axes.

use super::{copies, strided};
use crate::prelude::*;

impl Executable for op::Transpose {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, result) = (site.input(0)?, site.output()?.dims.clone());
        let own = strided::strides(&x.dims);
        let moved = self.permutation.iter().map(|&axis| own[axis as usize]).collect();
        Ok(copies::along(x.elem, (0, moved), result))
    }

    fn takes_any_type(&self) -> bool {
        true
    }
}
