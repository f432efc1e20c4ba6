//! Steps that are prepared during a run, for each set of extents that occurs.

use super::zeros::zeros;
use crate::layout::is_alias;
use crate::options::PlanOptions;
use crate::prelude::*;
use crate::prepare::prepare;
use crate::single::Single;
use crate::site::Slot;
use crate::step::Input;
use crate::tensor::{Dims, Tensor, TensorView};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};
use strait_core::{Op, TensorData};
use strait_kernels::Context;

/// How many prepared steps a node keeps. If there are more, the oldest one is dropped.
const MOST_KEPT: usize = 8;

/// The prepared steps of one node, by the attributes and extents for which they were prepared.
pub(super) struct AtExtents {
    /// The operands that are constant.
    constants: Vec<Option<TensorData>>,
    kept: Mutex<Vec<Arc<Prepared>>>,
}

type Types = SmallVec<[Option<(Elem, Dims)>; 3]>;

/// A step that was prepared for one set of extents.
struct Prepared {
    op: Op,
    operands: Types,
    results: Vec<(Elem, Dims)>,
    /// The step; `None` if the result shares the bytes of the first operand, so that nothing is computed.
    step: Option<Box<dyn Step>>,
}

impl AtExtents {
    pub(super) fn new(constants: Vec<Option<TensorData>>) -> AtExtents {
        AtExtents {
            constants,
            kept: Mutex::new(Vec::new()),
        }
    }

    /// Computes the results of `op` on operands with the extents of this run.
    pub(super) fn run(
        &self,
        op: &Op,
        operands: &[Option<TensorView<'_>>],
        context: &Context,
    ) -> Result<Vec<Tensor>, StepError> {
        let types: Types = operands
            .iter()
            .map(|operand| operand.map(|tensor| (tensor.elem(), tensor.shape().into())))
            .collect();
        let prepared = self.prepared(op, types)?;
        let mut results = Vec::with_capacity(prepared.results.len());
        for (elem, dims) in &prepared.results {
            results.push(zeros(*elem, dims)?);
        }
        match (&prepared.step, operands.first(), results.first_mut()) {
            (None, Some(Some(operand)), Some(result)) => result.bytes_mut().copy_from_slice(operand.bytes()),
            (Some(step), ..) => step.run(&mut Io {
                context,
                inputs: operands
                    .iter()
                    .map(|operand| operand.map_or(Input::Absent, |tensor| Input::Bytes(tensor.bytes())))
                    .collect(),
                outputs: results.iter_mut().map(Tensor::bytes_mut).collect(),
            })?,
            _ => {}
        }
        Ok(results)
    }

    fn prepared(&self, op: &Op, operands: Types) -> Result<Arc<Prepared>, StepError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| known.operands == operands && known.op == *op) {
            return Ok(known.clone());
        }
        let made = Arc::new(self.prepare(op, operands)?);
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push(made.clone());
        Ok(made)
    }

    fn prepare(&self, op: &Op, operands: Types) -> Result<Prepared, StepError> {
        let fixed = |(elem, dims): &(Elem, Dims)| {
            let dims: SmallVec<[u64; 4]> = dims.iter().map(|&extent| extent as u64).collect();
            TensorType::fixed(*elem, &dims)
        };
        let types: SmallVec<[Option<TensorType>; 3]> = operands.iter().map(|ty| ty.as_ref().map(fixed)).collect();
        let types: SmallVec<[Option<&TensorType>; 3]> = types.iter().map(Option::as_ref).collect();
        let mut results = Vec::new();
        let inferred = op.infer(&types)?;
        for ty in &inferred {
            let dims = ty
                .dims()
                .ok_or_else(|| StepError::Ours(format!("{} leaves an extent open", op.term())))?;
            let extent = |&extent: &u64| usize::try_from(extent).ok();
            let dims: Option<Dims> = dims.iter().map(extent).collect();
            results.push((
                ty.elem,
                dims.ok_or_else(|| StepError::Model(format!("{ty} is too large")))?,
            ));
        }
        let (single, options) = (Single::new(op, &types, &inferred), PlanOptions::default());
        let slot = |(elem, dims): &(Elem, Dims), constant| Slot {
            elem: *elem,
            dims: dims.clone(),
            quant: None,
            constant,
        };
        let constant = |index: usize| self.constants.get(index).and_then(Option::as_ref);
        let inputs = operands.iter().enumerate();
        let inputs = inputs.map(|(index, ty)| ty.as_ref().map(|ty| slot(ty, constant(index))));
        let outputs = results.iter().map(|ty| slot(ty, None)).collect();
        let site = single.site(inputs.collect(), outputs, &options)?;
        let step = match is_alias(&site) {
            true => None,
            false => Some(prepare(&site)?),
        };
        Ok(Prepared {
            op: op.clone(),
            operands,
            results,
            step,
        })
    }
}
