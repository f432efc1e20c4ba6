//! A node as its preparation sees it: operands and results with fixed extents.

use crate::error::{ExecuteError, StepError};
use crate::plan::PlanOptions;
use crate::tensor::{Dims, byte_count};
use smallvec::SmallVec;
use std::sync::Arc;
use strait_core::{Dim, Elem, Graph, Module, Node, NodeId, QuantParams, TensorData, ValueId};

/// Type, extents and grid of one operand or result.
#[derive(Clone, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) elem: Elem,
    pub(crate) dims: Dims,
    pub(crate) quant: Option<&'a Arc<QuantParams>>,
    /// The tensor, where it is one of the pool.
    pub(crate) constant: Option<&'a TensorData>,
}

impl Slot<'_> {
    /// The number of elements.
    pub(crate) fn count(&self) -> usize {
        self.dims.iter().product()
    }
}

/// One node, ready to be prepared.
pub(crate) struct Site<'a> {
    pub(crate) node: &'a Node,
    pub(crate) inputs: SmallVec<[Option<Slot<'a>>; 3]>,
    pub(crate) outputs: SmallVec<[Slot<'a>; 1]>,
    pub(crate) options: &'a PlanOptions<'a>,
}

impl<'a> Site<'a> {
    pub(crate) fn new(
        module: &'a Module,
        graph: &'a Graph,
        id: NodeId,
        options: &'a PlanOptions<'a>,
    ) -> Result<Site<'a>, ExecuteError> {
        let node = graph
            .node(id)
            .ok_or_else(|| ExecuteError::Ours(format!("{id:?} was removed")))?;
        let input = |value: &Option<ValueId>| value.map(|v| slot(module, graph, v)).transpose();
        Ok(Site {
            node,
            inputs: node.inputs.iter().map(input).collect::<Result<_, _>>()?,
            outputs: node
                .outputs
                .iter()
                .map(|&v| slot(module, graph, v))
                .collect::<Result<_, _>>()?,
            options,
        })
    }

    /// A required operand.
    pub(crate) fn input(&self, index: usize) -> Result<&Slot<'a>, StepError> {
        self.optional(index)
            .ok_or_else(|| StepError::Model(format!("operand {index} is absent")))
    }

    /// An optional operand.
    pub(crate) fn optional(&self, index: usize) -> Option<&Slot<'a>> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// The first result.
    pub(crate) fn output(&self) -> Result<&Slot<'a>, StepError> {
        self.outputs
            .first()
            .ok_or_else(|| StepError::Ours("a node without a result".into()))
    }
}

/// Type and extents of a value.
pub(crate) fn slot<'a>(module: &'a Module, graph: &'a Graph, id: ValueId) -> Result<Slot<'a>, ExecuteError> {
    let value = graph
        .value(id)
        .ok_or_else(|| ExecuteError::Ours(format!("{id:?} was removed")))?;
    let name = || module.name(value.name).to_string();
    let too_large = |bytes| ExecuteError::TooLarge { value: name(), bytes };
    let mut dims = Dims::new();
    for &dim in &value.ty.shape {
        match dim {
            Dim::Fixed(extent) => dims.push(usize::try_from(extent).map_err(|_| too_large(extent))?),
            Dim::Named(symbol) => {
                return Err(ExecuteError::Symbolic {
                    value: name(),
                    dimension: module.name(symbol).to_string(),
                });
            }
        }
    }
    byte_count(value.ty.elem, &dims).ok_or_else(|| too_large(u64::MAX))?;
    Ok(Slot {
        elem: value.ty.elem,
        dims,
        quant: value.quant.as_ref(),
        constant: module.constant(graph, id),
    })
}
