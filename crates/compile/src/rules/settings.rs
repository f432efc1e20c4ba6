//! Turns rules into settings for the layers, values and operands of one target's graph.

use strait_core::{Module, NodeId, ValueId};
use strait_quantize::{
    ObserverChoice, Settings,
    annotate::{
        self, Defaults, GridSettings, LayerSettings, OperandSettings, RangeFrom, ValueSettings, WeightSettings,
    },
};
use strait_target::{
    TargetSpec,
    spec::{Activation, Alignments, ScaleSet},
};

use super::{
    Activations, Alignment, Rule, RuleErrors, Rules, Run, Selection, Weights, check,
    selection::{moves_codes, weighs},
};

/// Combines the selected rules with the settings for all layers, and checks them against the target's table.
///
/// # Errors
/// Types and other settings that the target does not support.
pub fn settings(
    module: &Module,
    rules: &Rules,
    selection: &Selection,
    spec: &TargetSpec,
) -> Result<Settings, RuleErrors> {
    let resolving = Resolving {
        module,
        rules,
        selection,
        spec,
    };
    let mut settings = Settings {
        default: resolving.defaults(),
        ..Settings::new(spec)
    };
    resolving.layers(&mut settings);
    resolving.values(&mut settings);
    resolving.operands(&mut settings);
    check::check(module, rules, selection, spec, &settings)?;
    Ok(settings)
}

/// The rules, and everything that is needed to resolve them.
struct Resolving<'a> {
    module: &'a Module,
    rules: &'a Rules,
    selection: &'a Selection,
    spec: &'a TargetSpec,
}

impl Resolving<'_> {
    fn defaults(&self) -> Defaults {
        let quantize = &self.rules.quantize;
        Defaults {
            activation: quantize.activations.ty,
            grid: of_activations(&quantize.activations),
            weights: weights(&quantize.weights),
            observer: self.rules.observer_of(&Rule::default(), self.spec),
            alignments: alignments(&quantize.alignment, self.spec.passes.alignment),
        }
    }

    fn layers(&self, settings: &mut Settings) {
        let (quantize, graph) = (&self.rules.quantize, self.module.main());
        for (&id, rules) in &self.selection.nodes {
            settings.layers.insert(id, self.layer(id, rules));
        }
        for (id, rules) in self.selection.computing(graph, self.spec) {
            let activations = quantize.together(&rules).activations;
            let own = settings.layers.entry(id).or_insert_with(|| LayerSettings {
                rules,
                ..LayerSettings::default()
            });
            own.activation = own.activation.or(activations.ty);
            if graph.node(id).is_some_and(|node| moves_codes(self.spec, node)) {
                own.grid = of_activations(&activations);
            }
        }
    }

    fn layer(&self, id: NodeId, rules: &[usize]) -> LayerSettings {
        let quantize = &self.rules.quantize;
        let said = quantize.together(rules);
        let weighs = self.module.main().node(id).is_some_and(weighs);
        let own = || WeightSettings {
            ty: quantize.weight_type(rules),
            ..weights(&said.weights)
        };
        LayerSettings {
            rules: rules.to_vec(),
            activation: (said.run == Some(Run::Float)).then_some(Activation::Float32),
            grid: of_activations(&said.activations),
            weights: weighs.then(own).unwrap_or_default(),
            alignment: said.alignment,
            simplify: said.simplify,
            run: match said.run {
                None | Some(Run::Auto) => None,
                Some(Run::Integer) => Some(annotate::Run::Integer),
                Some(Run::Float) => {
                    let reason = said.reason.unwrap_or_else(|| "the configuration says so".to_owned());
                    Some(annotate::Run::Float(reason))
                }
            },
        }
    }

    fn values(&self, settings: &mut Settings) {
        let (quantize, graph) = (&self.rules.quantize, self.module.main());
        for (&value, rules) in &self.selection.values {
            let said = quantize.together(rules);
            // If a rule chooses the layer that makes the value, the type that the rule sets is for the activations on
            // which this layer computes, and not for the value.
            let maker = graph.producer(value).and_then(|(id, _)| self.selection.nodes.get(&id));
            let named = rules
                .iter()
                .filter(|&index| !maker.is_some_and(|of_layer| of_layer.contains(index)));
            let own = ValueSettings {
                rules: rules.clone(),
                ty: quantize.together(named).activations.ty.and_then(Activation::codes),
                range: self.range(&said),
                exact: None,
                grid: of_activations(&said.activations),
            };
            settings.values.insert(value, own);
        }
        // All numbers of 8-bit inputs are possible, whatever the samples have.
        let bytes = crate::device::ranges(self.module.main());
        for (value, range) in self.input_ranges().chain(bytes) {
            let own = settings.values.entry(value).or_default();
            own.range.get_or_insert(RangeFrom::Rule(range));
        }
    }

    fn operands(&self, settings: &mut Settings) {
        let (quantize, graph) = (&self.rules.quantize, self.module.main());
        for (&at, rules) in &self.selection.operands {
            let range = self.selection.read(graph, at).and_then(|(value, rules)| {
                let from = self.range(&quantize.together(&rules))?;
                // If rules set the same range for an operand and for its value, the operand has no range of its own and
                // uses the grid of the value.
                let same = match settings.values.get(&value).and_then(|value| value.range.as_ref()) {
                    Some(of_value) => *of_value == from,
                    None => from == RangeFrom::Observer(settings.default.observer.clone()),
                };
                (!same).then_some(from)
            });
            let own = OperandSettings {
                rules: rules.clone(),
                range,
                exact: None,
                grid: of_activations(&quantize.together(&self.selection.of_operand(at)).activations),
            };
            settings.operands.insert(at, own);
        }
    }

    /// The source of the range that a rule sets. `None` if the rule sets none.
    fn range(&self, said: &Rule) -> Option<RangeFrom> {
        if let Some(range) = said.range {
            return Some(RangeFrom::Rule(range.limits()));
        }
        let observer = || RangeFrom::Observer(self.rules.observer_of(said, self.spec));
        said.ranges().then(observer)
    }

    /// The ranges of inputs that the user has set.
    fn input_ranges(&self) -> impl Iterator<Item = (ValueId, [f32; 2])> {
        let graph = self.module.main();
        graph.inputs().iter().filter_map(move |&id| {
            let name = self.module.name(graph.value(id)?.name);
            Some((id, self.rules.inputs.get(name)?.limits()))
        })
    }
}

impl Rules {
    /// Returns the observer that the rule `said` chooses. If the rule chooses none, returns the default observer of the
    /// configuration, or else that of the target's table.
    pub(super) fn observer_of(&self, said: &Rule, spec: &TargetSpec) -> ObserverChoice {
        let observer = said.observer.or(self.observer).unwrap_or(spec.quantize.observer);
        ObserverChoice {
            observer,
            options: said.observer_options.clone().or(&self.observer_options),
        }
    }
}

fn weights(said: &Weights) -> WeightSettings {
    WeightSettings {
        ty: said.ty,
        grid: grid(said.symmetric, said.scale),
        per: said.per,
        block: said.block,
        ties: None,
        observer: said.observer.map(ObserverChoice::from),
        unfit: said.unfit,
    }
}

fn of_activations(said: &Activations) -> GridSettings {
    grid(said.symmetric, said.scale)
}

fn grid(symmetric: Option<bool>, scale: Option<ScaleSet>) -> GridSettings {
    GridSettings {
        symmetric,
        power_of_two: scale.map(|scale| scale == ScaleSet::PowerOfTwo),
    }
}

/// The alignments for all layers. The target's table has defaults for all that the configuration does not set.
fn alignments(said: &Alignment, table: Alignments) -> Alignments {
    Alignments {
        activation: said.activation.unwrap_or(table.activation),
        elementwise: said.elementwise.unwrap_or(table.elementwise),
        concat: said.concat.unwrap_or(table.concat),
        pooling: said.pooling.unwrap_or(table.pooling),
        resize: said.resize.unwrap_or(table.resize),
        passive: said.passive.unwrap_or(table.passive),
        simplify: said.simplify.unwrap_or(table.simplify),
        force_overlap: said.force_overlap.unwrap_or(table.force_overlap),
    }
}
