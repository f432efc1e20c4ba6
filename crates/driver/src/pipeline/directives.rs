//! Directives of the configuration for single layers and values, as placing and annotating take them for one target.

use std::collections::BTreeSet;

use strait_core::{Module, ValueId};
use strait_quantize::{
    ObserverChoice,
    annotate::{Directives, Placing, TypeWishes, Wish, denied},
};
use strait_target::{
    TargetSpec,
    spec::{Alignments, Codes, Integer, Observed, Observer, Per, WeightGrid},
};

use crate::{
    config::{
        KeyPath, Loaded,
        rule::Settings,
        types::{Alignment, IntegerType, Run},
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
    pub(super) types: TypeWishes,
    pub(super) alignments: Alignments,
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
    check_types(module, loaded, selection, spec)?;
    check_weight_observers(loaded, spec)?;
    let mut placing = Placing::new();
    let mut directives = Directives {
        weight_observer: quantize.weights.observer.unwrap_or_default().into(),
        ..Directives::default()
    };
    let mut types = TypeWishes {
        activation: quantize.activations.integer.map(Integer::from),
        weight: quantize.weights.integer.map(Integer::from),
        ..TypeWishes::default()
    };
    for (&node, rules) in &selection.nodes {
        let settings = quantize.settings(rules.iter().copied());
        if let Some(wish) = wish(loaded, &settings, rules) {
            placing.insert(node, wish);
        }
        if let Some(per) = settings.weight_per {
            directives.weight_per.insert(node, per);
        }
        if let Some(alignment) = settings.alignment {
            directives.alignments.insert(node, alignment);
        }
        if let Some(observer) = settings.weight_observer {
            directives.weight_observers.insert(node, observer.into());
        }
        // What `[quantize]` says holds as far as the table has it; a rule is held to its word.
        let own = rules.iter().filter_map(|&index| quantize.rule.get(index));
        let asked = own.fold([None; 2], |asked, rule| {
            [rule.activations.integer.or(asked[0]), rule.weights.integer.or(asked[1])]
        });
        let [activation, weight] = asked.map(|asked| asked.map(Integer::from));
        types.activations.extend(activation.map(|t| (node, t)));
        types.weights.extend(weight.map(|t| (node, t)));
    }
    for (&value, rules) in &selection.values {
        let settings = quantize.settings(rules.iter().copied());
        if let Some(range) = settings.range {
            directives.ranges.insert(value, range.0.map(|limit| limit as f32));
        }
        let own = rules.iter().filter_map(|&index| quantize.rule.get(index));
        let asked = own.rev().find_map(|rule| rule.activations.integer);
        let made_here = module
            .main()
            .producer(value)
            .is_some_and(|(id, _)| selection.nodes.contains_key(&id));
        if let Some(asked) = asked.filter(|_| !made_here) {
            types.values.insert(value, asked.into());
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
        types,
        alignments: alignments(&quantize.alignment, spec.passes.alignment),
    })
}

/// As the configuration says, else as the target's table does.
fn alignments(config: &Alignment, table: Alignments) -> Alignments {
    Alignments {
        elementwise: config.elementwise.unwrap_or(table.elementwise),
        concat: config.concat.unwrap_or(table.concat),
        pooling: config.pooling.unwrap_or(table.pooling),
        resize: config.resize.unwrap_or(table.resize),
        force_overlap: config.force_overlap.unwrap_or(table.force_overlap),
    }
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

/// Refuses types that the target's table does not have: of all layers, those that no pair of it has; of the layers that a
/// rule matches, those that no pair of the op's row has.
fn check_types(module: &Module, loaded: &Loaded, selection: &Selection, spec: &TargetSpec) -> Result<(), Diagnostics> {
    let quantize = &loaded.config.quantize;
    let mut findings = Vec::new();
    let table = KeyPath::of(&["quantize"]);
    let everywhere = [quantize.activations.integer, quantize.weights.integer];
    for (position, asked) in everywhere.into_iter().enumerate() {
        if let Some(asked) = asked.filter(|&asked| !has(&spec.types.pairs, position, asked)) {
            let path = table.clone().key(SIDES[position]).key("type");
            findings.push(without(loaded, &path, spec, position, asked, "", &spec.types.pairs));
        }
    }
    let mut told = BTreeSet::new();
    for (&id, rules) in &selection.nodes {
        let Some(node) = module.main().node(id) else { continue };
        let term = node.op.term();
        if spec.op_row(term).is_none_or(|(_, row)| row.is_host()) {
            continue;
        }
        let pairs = spec.pairs_of(term);
        for &index in rules {
            let Some(rule) = quantize.rule.get(index) else { continue };
            let asked = [rule.activations.integer, rule.weights.integer];
            for (position, asked) in asked.into_iter().enumerate() {
                let Some(asked) = asked.filter(|&asked| !has(&pairs, position, asked)) else {
                    continue;
                };
                if told.insert((index, position)) {
                    let path = table.clone().key("rule").index(index).key(SIDES[position]).key("type");
                    let of = format!(" for `{}`", module.name(node.name));
                    findings.push(without(loaded, &path, spec, position, asked, &of, &pairs));
                }
            }
        }
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Diagnostics(findings))
    }
}

/// The tables of the configuration that name a type, by their position in a pair.
const SIDES: [&str; 2] = ["activations", "weights"];

fn has(pairs: &[[Integer; 2]], position: usize, asked: IntegerType) -> bool {
    pairs.iter().any(|pair| pair[position] == Integer::from(asked))
}

/// The finding for a type that a table, or a row of it, does not have; with the pairs that there are.
fn without(
    loaded: &Loaded,
    path: &KeyPath,
    spec: &TargetSpec,
    position: usize,
    asked: IntegerType,
    of: &str,
    pairs: &[[Integer; 2]],
) -> Diagnostic {
    let message = format!(
        "the target `{}` has no {} {}{of}",
        spec.id,
        Integer::from(asked),
        SIDES[position]
    );
    let pairs: Vec<String> = pairs.iter().map(|[a, w]| format!("{a} with {w}")).collect();
    let help = format!("activations with weights that it has: {}", pairs.join(", "));
    loaded.error(codes::UNSUPPORTED, path, message, "").help(help)
}

impl From<IntegerType> for Integer {
    fn from(word: IntegerType) -> Integer {
        match word {
            IntegerType::Int4 => Integer::Int4,
            IntegerType::Uint4 => Integer::Uint4,
            IntegerType::Int8 => Integer::Int8,
            IntegerType::Uint8 => Integer::Uint8,
            IntegerType::Int16 => Integer::Int16,
            IntegerType::Uint16 => Integer::Uint16,
        }
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
