//! The user's rules, resolved to the nodes and values of one target's float graph, and the other settings of a
//! compilation.

use strait_core::{Elem, Graph, Module, NodeId, Port, QuantParams, TensorData};
use strait_lower::FusionPolicy;
use strait_quantize::{
    Requests,
    annotate::{Constraints, Given, OnCodes, Settings},
};
use strait_target::{TargetSpec, spec::Difference};

use crate::{
    Model,
    rules::{self, GivenGrids, RuleErrors, Rules},
};

/// The user's rules, resolved to one target's float graph.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The settings of the graph's nodes, values and operands.
    pub settings: Settings,
    /// The statistics that have to be observed for the settings, including those that annotation always needs.
    pub requests: Requests,
    /// Grids and codes that are known before annotation, because the caller gave them or because they come from the
    /// record of a vendor's tool.
    pub given: Vec<GivenGrid>,
    /// What happens if a node does not support the grid that a quantized model has for a value. If true, the value gets
    /// another grid. If false, the node runs on the host.
    pub requantizes: bool,
    /// True if the caller wants codes at the outputs of the graph. A softmax at an output then computes on codes, although
    /// real numbers would be more accurate.
    pub outputs_are_codes: bool,
    /// How much fusions may change results.
    pub fusion: FusionPolicy,
}

/// A grid that is known before annotation.
#[derive(Clone, Debug)]
pub struct GivenGrid {
    /// The node that has the grid at one of its operands or results.
    pub node: NodeId,
    /// The operand or result that has the grid.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// For a parameter: its codes. They are used without a change, and the float values are not rounded.
    pub codes: Option<TensorData>,
}

impl Resolved {
    /// The default settings of a target's table. Ranges are the observed minimum and maximum.
    pub fn new(spec: &TargetSpec) -> Resolved {
        Resolved {
            settings: Settings::new(spec),
            requests: Requests::default(),
            given: Vec::new(),
            requantizes: false,
            outputs_are_codes: false,
            fusion: fusion_policy(spec, None, None),
        }
    }

    /// Resolves the user's `rules` to the nodes and values of `module`. The main graph of `module` is the float graph
    /// for one target: the float rules of the target's table have made it from `model`.
    ///
    /// # Errors
    /// All errors in the rules.
    pub fn of(rules: &Rules, model: &Model, module: &Module, spec: &TargetSpec) -> Result<Resolved, RuleErrors> {
        rules::consistent(rules)?;
        let selection = rules::select(&model.module, &model.layers, &rules.quantize, &[&spec.id])?;
        let selection = selection.carried(&model.module, module);
        Ok(Resolved {
            requests: rules::requests(module, rules, &selection)?,
            settings: rules::settings(module, rules, &selection, spec)?,
            requantizes: rules.quantize.given == Some(GivenGrids::Requantize),
            ..Resolved::new(spec)
        })
    }

    /// Converts the given grids to the constraints that annotation reads. Given codes are added to the module's pool of
    /// tensors.
    pub(crate) fn constraints(&self, module: &mut Module) -> Constraints {
        let mut constraints = Constraints::default();
        for grid in &self.given {
            let given = Given {
                elem: grid.elem,
                params: grid.params.clone().into(),
                codes: grid.codes.as_ref().map(|codes| module.add_data(codes.clone())),
            };
            constraints.given.insert((grid.node, grid.port), given);
        }
        constraints
    }

    /// If the outputs of the graph are codes, records this for the nodes that make them.
    pub(crate) fn constrain_outputs(&self, graph: &Graph, constraints: &mut Constraints) {
        for &output in graph.outputs().iter().filter(|_| self.outputs_are_codes) {
            if let Some((id, _)) = graph.producer(output) {
                let on_codes = &mut constraints.nodes.entry(id).or_default().on_codes;
                *on_codes = OnCodes::Results.max(*on_codes);
            }
        }
    }
}

/// Returns how much fusions may change results. `accept` is the kind of difference that is allowed, and `most` the
/// largest difference in LSB. If one of them is absent, the default of the target's table is used.
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
