//! Chooses and prepares the step of a node, by its op and the types of its operands.

use crate::error::StepError;
use crate::executable::executable;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::{integer, wide};
use strait_core::Elem;

/// The step of a node whose results have no elements. It does nothing.
struct Nothing;

impl Step for Nothing {
    fn run(&self, _: &mut Io<'_>) -> Result<(), StepError> {
        Ok(())
    }
}

/// Prepares the step of one node.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    // If the results have no elements, the op's own step is not prepared, because that could loop over very long axes.
    if site.outputs.iter().all(|result| result.count() == 0) {
        return Ok(Box::new(Nothing));
    }
    let op = executable(&site.node.op);
    let (any, indices) = (op.takes_any_type(), op.indices());
    let integers = site.input(0)?.is_quantized();
    if (any || !integers) && site.fused.is_some() {
        let op = site.node.op.term();
        return Err(StepError::Model(format!(
            "a requantization is fused into {op}, which makes no accumulators"
        )));
    }
    if integers && !any {
        return integer::prepare(site);
    }
    let others = site
        .inputs
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != indices);
    let is_wide = others
        .filter_map(|(_, slot)| slot.as_ref())
        .any(|slot| slot.elem != Elem::F32);
    if is_wide && !any {
        return wide::prepare(site);
    }
    op.prepare(site)
}
