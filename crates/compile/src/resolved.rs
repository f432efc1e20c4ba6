//! The user's rules, resolved to the nodes and values of one target's float graph, and other settings of the
//! compilation.

use strait_core::{Elem, Module, NodeId, Port, QuantParams, TensorData};
use strait_lower::FusionPolicy;
use strait_quantize::{
    Requests,
    annotate::{Constraints, Given, Settings},
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
    /// The statistics that the settings need, including those that annotation always needs.
    pub requests: Requests,
    /// Grids and codes that are known beforehand: the caller gave them, or they come from a record.
    pub given: Vec<GivenGrid>,
    /// What happens if a node does not support the grid that a quantized model has for a value. True: the value gets
    /// another grid. False: the node runs on the host.
    pub requantizes: bool,
    /// Which fusions are made.
    pub fusion: FusionPolicy,
}

/// A grid that is known before annotation.
#[derive(Clone, Debug)]
pub struct GivenGrid {
    /// The node.
    pub node: NodeId,
    /// The operand or result of the node that has this grid.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// For a parameter: its codes. They are used as they are, without rounding the float values.
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
            fusion: fusion_policy(spec, None, None),
        }
    }

    /// Resolves rules to the float graph that a target's table has made of a model.
    ///
    /// # Errors
    /// Everything that is wrong with the rules.
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

    /// The given grids in the form that annotation takes. Given codes go into the module's pool of tensors.
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
}

/// Which fusions are made. `accept` is the difference that a fusion may cause, and `most` the largest one in LSB.
/// Whatever is absent comes from the target's table.
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
