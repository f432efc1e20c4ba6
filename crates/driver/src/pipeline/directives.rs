//! Directives of the configuration for single layers and values, as placing and annotating take them for one target.

use strait_core::{Module, ValueId};
use strait_quantize::{
    ObserverChoice,
    annotate::{Directives, Placing, Wish, denied},
};
use strait_target::{
    TargetSpec,
    spec::{Codes, Observed, Observer, Per, WeightGrid},
};

use crate::{
    config::{
        KeyPath, Loaded,
        rule::Settings,
        types::{IntegerType, Run},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::select::Selection;

/// See the module.
pub(super) struct Wishes {
    pub(super) placing: Placing,
    pub(super) directives: Directives,
    pub(super) observer: ObserverChoice,
    pub(super) weight_per: Option<Per>,
}

/// Collects what the rules that match, `[quantize]`, `[calibration]` and `[input]` say.
///
/// # Errors
/// Types that the target does not have.
pub(super) fn wishes(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
) -> Result<Wishes, Diagnostics> {
    let quantize = &loaded.config.quantize;
    check_types(loaded, selection, spec)?;
    check_weight_observers(loaded, spec)?;
    let mut placing = Placing::new();
    let mut directives = Directives {
        weight_observer: quantize.weights.observer.unwrap_or_default().into(),
        ..Directives::default()
    };
    for (&node, rules) in &selection.nodes {
        let settings = quantize.settings(rules.iter().copied());
        if let Some(wish) = wish(loaded, &settings, rules) {
            placing.insert(node, wish);
        }
        if let Some(per) = settings.weight_per {
            directives.weight_per.insert(node, per);
        }
        if let Some(observer) = settings.weight_observer {
            directives.weight_observers.insert(node, observer.into());
        }
    }
    for (&value, rules) in &selection.values {
        let settings = quantize.settings(rules.iter().copied());
        if let Some(range) = settings.range {
            directives.ranges.insert(value, range.0.map(|limit| limit as f32));
        }
        if settings.observer.is_some() || settings.observer_options != Default::default() {
            directives.observers.insert(value, observer(loaded, spec, &settings));
        }
    }
    for (value, range) in input_ranges(module, loaded) {
        directives.ranges.entry(value).or_insert(range);
    }
    Ok(Wishes {
        placing,
        directives,
        observer: observer(loaded, spec, &Settings::default()),
        weight_per: quantize.weights.per,
    })
}

fn wish(loaded: &Loaded, settings: &Settings, rules: &[usize]) -> Option<Wish> {
    match settings.run? {
        Run::Integer => Some(Wish::Integer),
        Run::Auto => None,
        Run::Float => {
            let deciding = deciding(loaded, rules).and_then(|index| loaded.config.quantize.rule.get(index));
            let reason = deciding.and_then(|rule| rule.reason.clone());
            Some(Wish::Float(
                reason.unwrap_or_else(|| "the configuration says so".to_owned()),
            ))
        }
    }
}

/// Of the rules that match a layer the one that decides where it runs: the last that says so.
fn deciding(loaded: &Loaded, rules: &[usize]) -> Option<usize> {
    let all = &loaded.config.quantize.rule;
    let says = |&index: &usize| all.get(index).is_some_and(|rule| rule.run.is_some());
    rules.iter().rev().copied().find(says)
}

/// The observer where `settings` say no other: that of `[calibration]`, or the target's.
fn observer(loaded: &Loaded, spec: &TargetSpec, settings: &Settings) -> ObserverChoice {
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

/// Refuses observers that make no ranges of integers for weights, and all but the extremes where scales of weights follow
/// from those of activations.
fn check_weight_observers(loaded: &Loaded, spec: &TargetSpec) -> Result<(), Diagnostics> {
    let quantize = &loaded.config.quantize;
    let table = KeyPath::of(&["quantize"]);
    let rules = quantize.rule.iter().enumerate();
    let rules = rules.map(|(index, rule)| (table.clone().key("rule").index(index), rule.weights.observer));
    let shifts = (spec.op.values()).any(|row| row.weight_grid.is_some_and(WeightGrid::leaves_a_shift));
    let findings = rules
        .chain([(table.clone(), quantize.weights.observer)])
        .filter_map(|(table, observer)| {
            let observer = observer?;
            let text = observer.refusal(Observed::Weights, Codes::Integers).or_else(|| {
                let text = "makes the scales of weights from those of activations: a shift holds every weight";
                (shifts && observer != Observer::MinMax).then(|| format!("the target `{}` {text}", spec.id))
            })?;
            let finding = loaded.error(codes::UNSUPPORTED, &table.key("weights").key("observer"), text, "");
            Some(if shifts {
                finding.help("leave it out, or write \"minmax\"")
            } else {
                finding
            })
        });
    let findings: Vec<Diagnostic> = findings.collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Diagnostics(findings))
    }
}

/// Refuses types other than the target's: a table's first pair is what its recipes are for.
fn check_types(loaded: &Loaded, selection: &Selection, spec: &TargetSpec) -> Result<(), Diagnostics> {
    let quantize = &loaded.config.quantize;
    let mut findings = Vec::new();
    let mut check = |asked: Option<IntegerType>, position: usize, path: KeyPath| {
        let has = spec.types.pairs.first().map_or("", |pair| pair[position].name());
        if let Some(asked) = asked.map(type_name).filter(|&asked| asked != has) {
            let what = ["activations", "weights"][position];
            let message = format!("the target `{}` has no {asked} {what}", spec.id);
            let finding = loaded.error(codes::UNSUPPORTED, &path, message, "");
            findings.push(finding.help(format!("its {what} are {has}")));
        }
    };
    let table = KeyPath::of(&["quantize"]);
    check(
        quantize.activations.integer,
        0,
        table.clone().key("activations").key("type"),
    );
    check(quantize.weights.integer, 1, table.clone().key("weights").key("type"));
    let matched = |index: &usize| {
        selection
            .values
            .values()
            .chain(selection.nodes.values())
            .any(|rules| rules.contains(index))
    };
    for (index, rule) in quantize.rule.iter().enumerate().filter(|(index, _)| matched(index)) {
        let path = table.clone().key("rule").index(index);
        check(rule.activations.integer, 0, path.clone().key("activations").key("type"));
        check(rule.weights.integer, 1, path.key("weights").key("type"));
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Diagnostics(findings))
    }
}

fn type_name(integer: IntegerType) -> &'static str {
    match integer {
        IntegerType::Int4 => "int4",
        IntegerType::Uint4 => "uint4",
        IntegerType::Int8 => "int8",
        IntegerType::Uint8 => "uint8",
        IntegerType::Int16 => "int16",
        IntegerType::Uint16 => "uint16",
    }
}

/// Holds the layers that the configuration wants in integers to that: wherever one moves to the host, and for whatever
/// reason, the rule that asks for it is told.
pub(super) fn keep(
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
    module: &Module,
    placing: &Placing,
) -> Result<(), Diagnostics> {
    let findings = denied(module.main(), placing).into_iter().map(|(id, reason)| {
        let name = module.main().node(id).map_or("", |node| module.name(node.name));
        let message = format!(
            "`{name}` is to run in integers, and the target `{}` cannot: {}",
            spec.id, reason.text
        );
        let rules = selection.nodes.get(&id).map(Vec::as_slice).unwrap_or_default();
        let mut path = KeyPath::of(&["quantize"]).key("rule");
        if let Some(index) = deciding(loaded, rules) {
            path = path.index(index).key("run");
        }
        let finding = loaded.error(codes::UNSUPPORTED, &path, message, "asked for here");
        finding.help("run = \"auto\" leaves it to the host instead")
    });
    let findings: Vec<Diagnostic> = findings.collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Diagnostics(findings))
    }
}
