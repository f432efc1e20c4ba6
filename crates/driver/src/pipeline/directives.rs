//! Directives of the configuration for single layers and values, as placing and annotating take them for one target.

use strait_compile::{Denied, Settings, fusion_policy, is_unfit};
use strait_core::{Module, Placement, Reason, ValueId};
use strait_quantize::{
    ObserverChoice,
    annotate::{Directives, GridWish, GridWishes, Placing, RangeFrom, TypeWishes, Unfit, Wish},
};
use strait_target::{
    TargetSpec,
    spec::{Activation, Alignments, ScaleSet},
};

use crate::{
    config::{
        Loaded, rule,
        types::{self, Alignment, GivenGrids, Quantize, Run},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::{
    asked,
    lowered::Job,
    selection::{Selection, moves_codes, united, weighs},
};

/// Collects what the rules that match, `[quantize]`, `[calibration]` and `[input]` say.
///
/// # Errors
/// Types that the target does not have.
pub(super) fn settings(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
) -> Result<Settings, Diagnostics> {
    let quantize = &loaded.config.quantize;
    let graph = module.main();
    let mut placing = Placing::new();
    let mut directives = Directives {
        weight_observer: quantize.weights.observer.unwrap_or_default().into(),
        weight_unfit: quantize.weights.unfit.map(unfit).unwrap_or_default(),
        ..Directives::default()
    };
    let mut types = TypeWishes {
        activation: quantize.activations.ty,
        weight: quantize.weights.codes,
        grids: GridWishes {
            activation: grid(quantize.activations.symmetric, quantize.activations.scale),
            weight: grid(quantize.weights.symmetric, quantize.weights.scale),
            ..GridWishes::default()
        },
        ..TypeWishes::default()
    };
    for (&id, rules) in &selection.nodes {
        let settings = quantize.settings(rules);
        if let Some(wish) = wish(quantize, &settings, rules) {
            placing.insert(id, wish);
        }
        if let Some(alignment) = settings.alignment {
            directives.alignments.insert(id, alignment);
        }
        directives
            .simplify
            .extend(settings.simplify.map(|simplify| (id, simplify)));
        let weighs = graph.node(id).is_some_and(weighs);
        let (float, weight) = (settings.run == Some(Run::Float), quantize.weight_type(rules));
        let weight = weight.filter(|_| weighs).map(|(_, t)| t);
        if float {
            types.activations.insert(id, Activation::Float32);
        }
        if float && weight.is_none() {
            types.plain.insert(id);
        }
        types.grids.activations.insert(id, of_activations(&settings));
        if !weighs {
            continue;
        }
        let weights = settings.weights;
        types.weights.extend(weight.map(|t| (id, t)));
        types.grids.weights.insert(id, grid(weights.symmetric, weights.scale));
        directives.weight_per.extend(weights.per.map(|per| (id, per)));
        directives.weight_block.extend(weights.block.map(|block| (id, block)));
        let observer = weights.observer.map(|observer| (id, observer.into()));
        directives.weight_observers.extend(observer);
        directives
            .weights_unfit
            .extend(weights.unfit.map(|word| (id, unfit(word))));
    }
    for (id, rules) in selection.computing(graph, spec) {
        let settings = quantize.settings(&rules);
        if let Some(activation) = settings.activations.ty {
            types.activations.entry(id).or_insert(activation);
        }
        if graph.node(id).is_some_and(|node| moves_codes(spec, node)) {
            types.grids.activations.insert(id, of_activations(&settings));
        }
    }
    for (&value, rules) in &selection.values {
        let settings = quantize.settings(rules);
        directives
            .ranges
            .extend(range(loaded, spec, &settings).map(|from| (value, from)));
        // What a rule for the layer that makes it says is for what that computes on.
        let maker = graph.producer(value).and_then(|(id, _)| selection.nodes.get(&id));
        let named = rules
            .iter()
            .filter(|&index| !maker.is_some_and(|of_layer| of_layer.contains(index)));
        let asked = quantize.settings(named).activations.ty.and_then(Activation::codes);
        types.values.extend(asked.map(|t| (value, t)));
        types.grids.values.insert(value, of_activations(&settings));
    }
    asked::check(module, loaded, selection, spec, &types)?;
    for (value, range) in input_ranges(module, loaded) {
        directives.ranges.entry(value).or_insert(RangeFrom::Stated(range));
    }
    let default = observer(loaded, spec, &rule::Settings::default());
    for (&(id, index), rules) in &selection.operands {
        let of_layer = united(selection.nodes.get(&id), Some(rules));
        let own = of_activations(&quantize.settings(&of_layer));
        types.grids.operands.insert((id, index), own);
        let Some((value, rules)) = selection.read(graph, (id, index)) else {
            continue;
        };
        let Some(from) = range(loaded, spec, &quantize.settings(&rules)) else {
            continue;
        };
        // Where it would be the same, the operand is on the grid of the value.
        let same = match directives.ranges.get(&value) {
            Some(of_value) => *of_value == from,
            None => from == RangeFrom::Observer(default.clone()),
        };
        if !same {
            directives.operands.insert((id, index), from);
        }
    }
    let fusion = &loaded.config.fusion;
    Ok(Settings {
        placing,
        directives,
        observer: default,
        weight_per: quantize.weights.per,
        weight_block: quantize.weights.block,
        types,
        alignments: alignments(&quantize.alignment, spec.passes.alignment),
        given: Vec::new(),
        requantizes: quantize.given == Some(GivenGrids::Requantize),
        fusion: fusion_policy(spec, fusion.accept, fusion.max_lsb),
    })
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

fn grid(symmetric: Option<bool>, scale: Option<ScaleSet>) -> GridWish {
    GridWish {
        symmetric,
        power_of_two: scale.map(|scale| scale == ScaleSet::PowerOfTwo),
    }
}

/// Wish for the grids of activations.
fn of_activations(settings: &rule::Settings) -> GridWish {
    grid(settings.activations.symmetric, settings.activations.scale)
}

/// The source of a range that settings name; none where they leave it to the default.
fn range(loaded: &Loaded, spec: &TargetSpec, settings: &rule::Settings) -> Option<RangeFrom> {
    if let Some(range) = settings.range {
        return Some(RangeFrom::Stated(range.0.map(|limit| limit as f32)));
    }
    let says = settings.observer.is_some() || settings.observer_options != Default::default();
    says.then(|| RangeFrom::Observer(observer(loaded, spec, settings)))
}

fn wish(quantize: &Quantize, settings: &rule::Settings, rules: &[usize]) -> Option<Wish> {
    match settings.run? {
        Run::Integer => Some(Wish::Integer),
        Run::Auto => None,
        Run::Float => {
            let (decides, _) = quantize.last(rules, |rule| rule.run)?;
            let reason = quantize.rule.get(decides)?.reason.clone();
            Some(Wish::Float(
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
pub(super) fn denied(job: &Job<'_>, denied: &[Denied]) -> Diagnostics {
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
        let rules = job.selection.nodes.get(&denied.node).map(Vec::as_slice);
        let path = job.loaded.asks(rules.unwrap_or_default(), keys);
        let finding = job.loaded.error(codes::UNSUPPORTED, &path, message, "asked for here");
        finding.help(help)
    };
    Diagnostics(denied.iter().map(finding).collect())
}
