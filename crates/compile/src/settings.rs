//! Settings: the rules for one target's float graph, resolved to its nodes and values.

use std::num::NonZeroU32;

use strait_core::{Elem, Module, NodeId, Port, QuantParams, TensorData};
use strait_lower::FusionPolicy;
use strait_quantize::{
    ObserverChoice,
    annotate::{Directives, Given, Placing, TypeWishes},
};
use strait_target::{
    TargetSpec,
    spec::{Alignments, Difference, WeightPer},
};

/// The rules for one target's float graph, resolved to its nodes and values.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where single nodes are to run.
    pub placing: Placing,
    /// Choices for single nodes and values.
    pub directives: Directives,
    /// The observer where nothing says another.
    pub observer: ObserverChoice,
    /// Granularity of the scales of weights where nothing says another.
    pub weight_per: Option<WeightPer>,
    /// Inputs that share a scale of weights, where scales are by block.
    pub weight_block: Option<NonZeroU32>,
    /// Types of activations and weights.
    pub types: TypeWishes,
    /// Which grids operands and results share.
    pub alignments: Alignments,
    /// Grids and codes that are known before: from a program, or from a record.
    pub given: Vec<GivenGrid>,
    /// Where a node cannot have the grid that a quantized model has for a value: true if the value gets another one, false
    /// if the node runs on the host.
    pub requantizes: bool,
    /// Which fusions are made.
    pub fusion: FusionPolicy,
}

/// A grid that is known before annotation.
#[derive(Clone, Debug)]
pub struct GivenGrid {
    /// The node.
    pub node: NodeId,
    /// Which of its operands or results.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// Of a parameter: its codes, which are taken instead of rounding.
    pub codes: Option<TensorData>,
}

impl GivenGrid {
    /// The same as annotation takes it, with the codes in the pool of the module.
    pub(crate) fn annotation(&self, module: &mut Module) -> Given {
        Given {
            elem: self.elem,
            params: self.params.clone().into(),
            codes: self.codes.as_ref().map(|codes| module.add_data(codes.clone())),
        }
    }
}

impl Settings {
    /// As a target's table says, from the extremes of what was observed.
    pub fn new(spec: &TargetSpec) -> Settings {
        Settings {
            placing: Placing::new(),
            directives: Directives::default(),
            observer: ObserverChoice::default(),
            weight_per: None,
            weight_block: None,
            types: TypeWishes::default(),
            alignments: spec.passes.alignment,
            given: Vec::new(),
            requantizes: false,
            fusion: fusion_policy(spec, None, None),
        }
    }
}

/// Which fusions are made: as `accept` and `most` LSB say, else as the target's table does.
pub fn fusion_policy(spec: &TargetSpec, accept: Option<Difference>, most: Option<u32>) -> FusionPolicy {
    let default = &spec.fusion_default;
    match accept.unwrap_or(default.accept) {
        Difference::Exact => FusionPolicy::Exact,
        Difference::Bounded => {
            let bound = accept.map_or(default.bound(), |_| most);
            FusionPolicy::Bounded(bound.unwrap_or(1))
        }
        Difference::Any => FusionPolicy::Any,
    }
}
