//! The rules for one target's float graph, resolved to its nodes and values, with what is given besides.

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

/// The rules for one target's float graph, resolved.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Of its nodes, values and operands.
    pub settings: Settings,
    /// Statistics that these read, those that annotation always reads among them.
    pub requests: Requests,
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

impl Resolved {
    /// As a target's table says, from the extremes of what was observed.
    pub fn new(spec: &TargetSpec) -> Resolved {
        Resolved {
            settings: Settings::new(spec),
            requests: Requests::default(),
            given: Vec::new(),
            requantizes: false,
            fusion: fusion_policy(spec, None, None),
        }
    }

    /// Rules, resolved to the float graph that a target's table has made of a model.
    ///
    /// # Errors
    /// All that is wrong with the rules.
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

    /// The given grids as annotation takes them, with the codes in the pool of the module.
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
