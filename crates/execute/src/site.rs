//! A node with its operands and results, all of which have fixed extents. Steps are prepared from it.

use crate::error::{ExecuteError, StepError};
use crate::options::PlanOptions;
use crate::tensor::{Dims, byte_count};
use smallvec::SmallVec;
use std::sync::Arc;
use strait_core::{Dim, Elem, Fused, Graph, Module, Node, NodeId, QuantParams, TensorData, TensorType, ValueId};
use strait_kernels::mixed::FloatChain;

/// Type, extents and grid of one operand or result of a node.
#[derive(Clone, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) elem: Elem,
    pub(crate) dims: Dims,
    pub(crate) quant: Option<&'a Arc<QuantParams>>,
    /// The tensor, if it is a constant.
    pub(crate) constant: Option<&'a TensorData>,
}

/// Type, extents and grid of one operand or result, without a reference to the module.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) elem: Elem,
    pub(crate) dims: Dims,
    /// The code that stands for the real number 0; 0 if there is no grid, or if there is one grid per channel.
    pub(crate) zero_point: i64,
}

impl Slot<'_> {
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            elem: self.elem,
            dims: self.dims.clone(),
            zero_point: self.zero_point(),
        }
    }

    /// Returns the code that stands for the real number 0; 0 if there is no grid, or if there is one grid per channel.
    pub(crate) fn zero_point(&self) -> i64 {
        self.quant
            .and_then(|quant| quant.as_tensor())
            .map_or(0, |(_, zero)| i64::from(zero))
    }

    /// True for codes and accumulators. An i64 without a grid is not quantized: it is a shape or an index.
    pub(crate) fn is_quantized(&self) -> bool {
        self.elem.int_type().is_some() || (self.elem == Elem::I64 && self.quant.is_some())
    }

    pub(crate) fn tensor_type(&self) -> TensorType {
        let dims: Vec<u64> = self.dims.iter().map(|&extent| extent as u64).collect();
        TensorType::fixed(self.elem, &dims)
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> usize {
        self.dims.iter().product()
    }
}

/// One node, with everything that is needed to prepare its step.
pub(crate) struct NodeSlots<'a> {
    pub(crate) node: &'a Node,
    pub(crate) inputs: SmallVec<[Option<Slot<'a>>; 3]>,
    pub(crate) outputs: SmallVec<[Slot<'a>; 1]>,
    /// The steps that are applied to the node's accumulators: those that are fused into the node, or those that a join
    /// adds.
    pub(crate) fused: Option<Fused>,
    /// The float steps that a join applies to the node's accumulators, instead of a requantization.
    pub(crate) chain: Option<FloatChain>,
    pub(crate) options: &'a PlanOptions<'a>,
    /// True if the plan can store operands and results with their channels last.
    pub(crate) last: bool,
}

impl<'a> NodeSlots<'a> {
    pub(crate) fn new(
        module: &'a Module,
        graph: &'a Graph,
        id: NodeId,
        options: &'a PlanOptions<'a>,
    ) -> Result<NodeSlots<'a>, ExecuteError> {
        let node = graph
            .node(id)
            .ok_or_else(|| ExecuteError::Ours(format!("{id} was removed")))?;
        let input = |value: &Option<ValueId>| value.map(|v| slot(module, graph, v)).transpose();
        check_types(module, graph, node).map_err(|source| ExecuteError::at(module, graph, id, source))?;
        Ok(NodeSlots {
            node,
            inputs: node.inputs.iter().map(input).collect::<Result<_, _>>()?,
            outputs: node
                .outputs
                .iter()
                .map(|&v| slot(module, graph, v))
                .collect::<Result<_, _>>()?,
            fused: node.fused.as_deref().cloned(),
            chain: None,
            options,
            last: false,
        })
    }

    /// Returns the operand at `index`. Fails if it is absent.
    pub(crate) fn input(&self, index: usize) -> Result<&Slot<'a>, StepError> {
        self.optional(index)
            .ok_or_else(|| StepError::Model(format!("operand {index} is absent")))
    }

    /// Returns the operand at `index`, if it is present.
    pub(crate) fn optional(&self, index: usize) -> Option<&Slot<'a>> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// Returns the first result of the node.
    pub(crate) fn output(&self) -> Result<&Slot<'a>, StepError> {
        self.outputs
            .first()
            .ok_or_else(|| StepError::Ours("a node without a result".into()))
    }
}

/// Checks that the results of a node have the types that inference computes for them. All steps rely on this.
pub(crate) fn check_types(module: &Module, graph: &Graph, node: &Node) -> Result<(), StepError> {
    let ty = |value: ValueId| graph.value(value).map(|v| &v.ty);
    let operands: Vec<_> = node.inputs.iter().map(|input| input.and_then(ty)).collect();
    let inferred = module.result_types(&node.op, &operands, node.fused.as_deref())?;
    let stated = |(inferred, &value): (&TensorType, &ValueId)| ty(value).is_some_and(|ty| inferred.is_stated_by(ty));
    if inferred.len() == node.outputs.len() && inferred.iter().zip(&node.outputs).all(stated) {
        return Ok(());
    }
    let stated: Vec<String> = node
        .outputs
        .iter()
        .filter_map(|&v| ty(v))
        .map(ToString::to_string)
        .collect();
    let inferred: Vec<String> = inferred.iter().map(ToString::to_string).collect();
    Err(StepError::Model(format!(
        "the results are stated as {}, but are {}",
        stated.join(" and "),
        inferred.join(" and ")
    )))
}

/// Returns the type, extents and grid of a value.
pub(crate) fn slot<'a>(module: &'a Module, graph: &'a Graph, id: ValueId) -> Result<Slot<'a>, ExecuteError> {
    let value = graph
        .value(id)
        .ok_or_else(|| ExecuteError::Ours(format!("{id} was removed")))?;
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
    let constant = module.constant(graph, id);
    if constant.is_some_and(|tensor| tensor.tensor_type() != value.ty) {
        return Err(ExecuteError::Ours(format!("`{}` is not of its tensor's type", name())));
    }
    Ok(Slot {
        elem: value.ty.elem,
        dims,
        quant: value.quant.as_ref(),
        constant,
    })
}
