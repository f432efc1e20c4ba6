//! Rules of the configuration resolved to the layers, values and operands of one target's graph.

use strait_compile::{Denied, is_unfit};
use strait_core::{Module, NodeId, Placement, Reason, ValueId};
use strait_quantize::{
    ObserverChoice, Settings,
    annotate::{
        Defaults, GridSettings, LayerSettings, OperandSettings, RangeFrom, Run, Unfit, ValueSettings, WeightSettings,
    },
};
use strait_target::{
    TargetSpec,
    spec::{Activation, Alignments, ScaleSet},
};

use crate::{
    config::{
        Loaded, rule,
        types::{self, Alignment, Quantize},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::{
    lowered::Job,
    rules_check,
    selection::{Selection, moves_codes, united, weighs},
};

/// Resolves the rules that match, `[quantize]`, `[calibration]` and `[input]`, and holds them against what the target has.
///
/// # Errors
/// Types that the target does not have, and the like.
pub(super) fn settings(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
) -> Result<Settings, Diagnostics> {
    let resolving = Resolving {
        module,
        loaded,
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
    rules_check::check(module, loaded, selection, spec, &settings)?;
    Ok(settings)
}

/// Material of resolving.
struct Resolving<'a> {
    module: &'a Module,
    loaded: &'a Loaded,
    selection: &'a Selection,
    spec: &'a TargetSpec,
}

impl Resolving<'_> {
    fn defaults(&self) -> Defaults {
        let quantize = &self.loaded.config.quantize;
        Defaults {
            activation: quantize.activations.ty,
            grid: grid(quantize.activations.symmetric, quantize.activations.scale),
            weights: WeightSettings {
                ty: quantize.weights.codes,
                ..weights(&quantize.weights)
            },
            observer: observer(self.loaded, self.spec, &rule::Settings::default()),
            alignments: alignments(&quantize.alignment, self.spec.passes.alignment),
        }
    }

    fn layers(&self, settings: &mut Settings) {
        let (quantize, graph) = (&self.loaded.config.quantize, self.module.main());
        for (&id, rules) in &self.selection.nodes {
            settings.layers.insert(id, self.layer(id, rules));
        }
        for (id, rules) in self.selection.computing(graph, self.spec) {
            let said = quantize.settings(&rules);
            let own = settings.layers.entry(id).or_insert_with(|| LayerSettings {
                rules,
                ..LayerSettings::default()
            });
            own.activation = own.activation.or(said.activations.ty);
            if graph.node(id).is_some_and(|node| moves_codes(self.spec, node)) {
                own.grid = of_activations(&said);
            }
        }
    }

    fn layer(&self, id: NodeId, rules: &[usize]) -> LayerSettings {
        let quantize = &self.loaded.config.quantize;
        let said = quantize.settings(rules);
        let weighs = self.module.main().node(id).is_some_and(weighs);
        let own = || WeightSettings {
            ty: quantize.weight_type(rules).map(|(_, ty)| ty),
            ..weights(&said.weights)
        };
        LayerSettings {
            rules: rules.to_vec(),
            run: run(quantize, &said, rules),
            activation: (said.run == Some(types::Run::Float)).then_some(Activation::Float32),
            grid: of_activations(&said),
            weights: weighs.then(own).unwrap_or_default(),
            alignment: said.alignment,
            simplify: said.simplify,
        }
    }

    fn values(&self, settings: &mut Settings) {
        let (quantize, graph) = (&self.loaded.config.quantize, self.module.main());
        for (&value, rules) in &self.selection.values {
            let said = quantize.settings(rules);
            // What a rule for the layer that makes it says is for what that computes on.
            let maker = graph.producer(value).and_then(|(id, _)| self.selection.nodes.get(&id));
            let named = rules
                .iter()
                .filter(|&index| !maker.is_some_and(|of_layer| of_layer.contains(index)));
            let own = ValueSettings {
                rules: rules.clone(),
                ty: quantize.settings(named).activations.ty.and_then(Activation::codes),
                range: self.range(&said),
                grid: of_activations(&said),
            };
            settings.values.insert(value, own);
        }
        for (value, range) in input_ranges(self.module, self.loaded) {
            settings
                .values
                .entry(value)
                .or_default()
                .range
                .get_or_insert(RangeFrom::Rule(range));
        }
    }

    fn operands(&self, settings: &mut Settings) {
        let (quantize, graph) = (&self.loaded.config.quantize, self.module.main());
        for (&(id, index), rules) in &self.selection.operands {
            let of_layer = united(self.selection.nodes.get(&id), Some(rules));
            let read = self.selection.read(graph, (id, index));
            let range = read.and_then(|(value, rules)| {
                let from = self.range(&quantize.settings(&rules))?;
                // Where it would be the same, the operand is on the grid of the value.
                let same = match settings.values.get(&value).and_then(|value| value.range.as_ref()) {
                    Some(of_value) => *of_value == from,
                    None => from == RangeFrom::Observer(settings.default.observer.clone()),
                };
                (!same).then_some(from)
            });
            let own = OperandSettings {
                rules: rules.clone(),
                range,
                grid: of_activations(&quantize.settings(&of_layer)),
            };
            settings.operands.insert((id, index), own);
        }
    }

    /// The source of a range that rules name; none where they leave it to the default.
    fn range(&self, said: &rule::Settings) -> Option<RangeFrom> {
        if let Some(range) = said.range {
            return Some(RangeFrom::Rule(range.0.map(|limit| limit as f32)));
        }
        let says = said.observer.is_some() || said.observer_options != Default::default();
        says.then(|| RangeFrom::Observer(observer(self.loaded, self.spec, said)))
    }
}

/// All that a table says of weights, but for their type.
fn weights(said: &types::Weights) -> WeightSettings {
    WeightSettings {
        ty: None,
        grid: grid(said.symmetric, said.scale),
        per: said.per,
        block: said.block,
        ties: None,
        observer: said.observer.map(ObserverChoice::from),
        unfit: said.unfit.map(unfit),
    }
}

/// As the configuration says, else as the target's table does.
fn alignments(config: &Alignment, table: Alignments) -> Alignments {
    Alignments {
        activation: config.activation.unwrap_or(table.activation),
        elementwise: config.elementwise.unwrap_or(table.elementwise),
        concat: config.concat.unwrap_or(table.concat),
        pooling: config.pooling.unwrap_or(table.pooling),
        resize: config.resize.unwrap_or(table.resize),
        passive: config.passive.unwrap_or(table.passive),
        simplify: config.simplify.unwrap_or(table.simplify),
        force_overlap: config.force_overlap.unwrap_or(table.force_overlap),
    }
}

fn grid(symmetric: Option<bool>, scale: Option<ScaleSet>) -> GridSettings {
    GridSettings {
        symmetric,
        power_of_two: scale.map(|scale| scale == ScaleSet::PowerOfTwo),
    }
}

/// Settings of the grids of activations.
fn of_activations(said: &rule::Settings) -> GridSettings {
    grid(said.activations.symmetric, said.activations.scale)
}

fn run(quantize: &Quantize, said: &rule::Settings, rules: &[usize]) -> Option<Run> {
    match said.run? {
        types::Run::Integer => Some(Run::Integer),
        types::Run::Auto => None,
        types::Run::Float => {
            let (decides, _) = quantize.last(rules, |rule| rule.run)?;
            let reason = quantize.rule.get(decides)?.reason.clone();
            Some(Run::Float(
                reason.unwrap_or_else(|| "the configuration says so".to_owned()),
            ))
        }
    }
}

/// The observer where `settings` say no other: that of `[calibration]`, or the target's.
pub(super) fn observer(loaded: &Loaded, spec: &TargetSpec, settings: &rule::Settings) -> ObserverChoice {
    let calibration = &loaded.config.calibration;
    let observer = settings.observer.or(calibration.observer);
    ObserverChoice {
        observer: observer.unwrap_or(spec.quantize.observer),
        options: settings.observer_options.clone().or(&calibration.observer_options),
    }
}

/// The ranges of `[input.NAME]`.
fn input_ranges(module: &Module, loaded: &Loaded) -> Vec<(ValueId, [f32; 2])> {
    let graph = module.main();
    let range = |&id: &ValueId| {
        let name = module.name(graph.value(id)?.name);
        let range = loaded.config.input.get(name)?.range?;
        Some((id, range.0.map(|limit| limit as f32)))
    };
    graph.inputs().iter().filter_map(range).collect()
}

/// The consequence that a word of the configuration means.
fn unfit(word: types::Unfit) -> Unfit {
    match word {
        types::Unfit::Coarser => Unfit::Coarser,
        types::Unfit::Float => Unfit::Float,
        types::Unfit::Error => Unfit::Error,
    }
}

/// A warning for each layer that is in float because a bias or a scale does not fit.
pub(super) fn left_in_float(annotated: &Module, spec: &TargetSpec) -> Vec<Diagnostic> {
    let moved = annotated.main().nodes().filter_map(|(_, node)| match &node.place {
        Placement::Host(reason) if is_unfit(reason) => Some((annotated.name(node.name), reason)),
        _ => None,
    });
    let warning = |(name, reason): (&str, &Reason)| {
        let message = format!("`{name}` stays in float on the target `{}`: {}", spec.id, reason.text);
        Diagnostic::warning(codes::UNSUPPORTED, message)
            .help("weights.unfit = \"coarser\" raises the scale of its weights until it fits")
    };
    moved.map(|(name, reason)| warning((name, reason))).collect()
}

/// The layers that the configuration wants in integers and that cannot be, each with the rule that asks for it.
pub(super) fn denied(job: &Job<'_>, settings: &Settings, denied: &[Denied]) -> Diagnostics {
    let id = &job.target.spec().id;
    let finding = |denied: &Denied| {
        let (name, why) = (&denied.name, &denied.reason.text);
        let (keys, message, help): (&[&str], _, _) = match denied.is_unfit {
            false => (
                &["run"],
                format!("`{name}` is to run in integers, and the target `{id}` cannot: {why}"),
                "run = \"auto\" leaves it to the host instead",
            ),
            true => (
                &["weights", "unfit"],
                format!("`{name}` cannot have codes on the target `{id}`: {why}"),
                "unfit = \"coarser\" raises the scale of its weights instead, unfit = \"float\" leaves the layer in float",
            ),
        };
        let rules = settings.layers.get(&denied.node).map(|layer| layer.rules.as_slice());
        let path = job.loaded.asks(rules.unwrap_or_default(), keys);
        let finding = job.loaded.error(codes::UNSUPPORTED, &path, message, "asked for here");
        finding.help(help)
    };
    Diagnostics(denied.iter().map(finding).collect())
}
