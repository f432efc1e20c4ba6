//! Types, zero points and observers that rules ask for, held against those that a target's table has.

use std::collections::BTreeSet;

use strait_core::{Module, Term};
use strait_quantize::annotate::TypeWishes;
use strait_requantize::IntType;
use strait_target::{
    TargetSpec,
    spec::{Activation, Codes, Integer, Observed, Observer, Pair, RecipeName, WeightGrid},
};

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Activations, Rule, Run, Weights},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::select::Selection;
use freedom::freedoms;

mod edges;
mod freedom;

/// Refuses types, zero points and observers that the target does not have.
///
/// # Errors
/// Each of them, with what there is.
pub(super) fn check(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
) -> Result<(), Diagnostics> {
    types(module, loaded, selection, spec)?;
    whole(edges::operands(module, loaded, selection))?;
    weight_observers(loaded, spec)
}

/// Refuses types in which results are to leave, and which the layers that make them do not have.
///
/// # Errors
/// Each of them, with what there is.
pub(super) fn leaving(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
    types: &TypeWishes,
) -> Result<(), Diagnostics> {
    whole(edges::results(module, loaded, selection, spec, types))
}

fn whole(findings: Vec<Diagnostic>) -> Result<(), Diagnostics> {
    match findings.is_empty() {
        true => Ok(()),
        false => Err(Diagnostics(findings)),
    }
}

/// Refuses observers that make no ranges of integers for weights, and all but the extremes where scales of weights follow
/// from those of activations.
fn weight_observers(loaded: &Loaded, spec: &TargetSpec) -> Result<(), Diagnostics> {
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
    whole(findings)
}

/// Refuses types that the target's table does not have: of all layers, those that no pair of it has; of the layers that a
/// rule matches, those that no pair of the op's row has.
fn types(module: &Module, loaded: &Loaded, selection: &Selection, spec: &TargetSpec) -> Result<(), Diagnostics> {
    let quantize = &loaded.config.quantize;
    let mut findings = Vec::new();
    let table = KeyPath::of(&["quantize"]);
    let everywhere = Asked::new(&quantize.activations, &quantize.weights);
    for side in everywhere.lacking(&spec.types.pairs) {
        let path = table.clone().key(SIDES[side]).key("type");
        findings.push(everywhere.without(loaded, &path, spec, side, "", &spec.types.pairs));
    }
    for (freedom, position) in freedoms(&quantize.activations, &quantize.weights) {
        let t = chosen(&spec.types.pairs, position, everywhere.codes(position));
        if let Some(t) = t.filter(|&t| !freedom.is_left(spec, position, t)) {
            let path = table.clone().key(SIDES[position]).key(freedom.key());
            findings.push(freedom.denied(loaded, &path, spec, position, t, &spec.types.pairs));
        }
    }
    if quantize.weights.symmetric == Some(true)
        && let Some(unsigned) = unsigned(&spec.types.pairs, everywhere.weight)
    {
        let path = table.clone().key(SIDES[1]).key("symmetric");
        findings.push(without_negatives(loaded, &path, unsigned));
    }
    for (index, rule) in quantize.rule.iter().enumerate() {
        let is_float = rule.activations.ty == Some(Activation::Float32);
        if is_float && (rule.selects_ports() || !rule.tensors.is_empty()) {
            let path = table.clone().key("rule").index(index).key("activations").key("type");
            let what = if rule.tensors.is_empty() {
                "an operand"
            } else {
                "a tensor"
            };
            let message = format!("{what} has codes of some type, or the layers that read it run in float");
            findings.push(
                loaded
                    .error(codes::UNSUPPORTED, &path, message, "")
                    .help("float32 is for `layers` and `op`"),
            );
        }
    }
    let mut told = BTreeSet::new();
    let whole_layer = |id, index| selection.nodes.get(&id).is_some_and(|rules| rules.contains(&index));
    for (id, rules) in selection.computing(module.main(), spec) {
        let Some(node) = module.main().node(id) else { continue };
        let term = node.op.term();
        let runs = spec.op_row(term).is_some_and(|(_, row)| !row.is_host());
        let mut pairs: Vec<Pair> = spec.pairs_of(term).collect();
        // The host computes these, whether a row takes them or not.
        let on_host = spec.weight_only_pairs(term).filter(|pair| !pairs.contains(pair));
        pairs.extend(on_host.collect::<Vec<Pair>>());
        // The last rules that ask for types of the layer.
        let mut last: [Option<usize>; 2] = [None; 2];
        let mut merged = Asked::default();
        for index in rules {
            let Some(rule) = quantize.rule.get(index) else { continue };
            let of_layer = whole_layer(id, index);
            let none = Weights::default();
            let weights = if of_layer { &rule.weights } else { &none };
            let asked = match of_layer {
                true => Asked::by_rule(rule, term),
                false => Asked::new(&rule.activations, weights),
            };
            let alone = asked.activation == Some(Activation::Float32) && asked.weight.is_some();
            if !runs && !alone {
                continue;
            }
            if of_layer {
                merged.take(&asked, index, &mut last);
            }
            let lacking = asked.lacking(&pairs);
            for &side in &lacking {
                if told.insert((index, side)) {
                    let path = table.clone().key("rule").index(index).key(SIDES[side]).key("type");
                    let of = format!(" for `{}`", module.name(node.name));
                    findings.push(asked.without(loaded, &path, spec, side, &of, &pairs));
                }
            }
            if let (Some(activation), Some(weight)) = (asked.activation, asked.weight)
                && lacking.is_empty()
                && !pairs.contains(&Pair { activation, weight })
                && told.insert((index, SIDES.len()))
            {
                let path = table.clone().key("rule").index(index);
                let message = format!(
                    "the target `{}` has no {activation} activations with {weight} weights for `{}`",
                    spec.id,
                    module.name(node.name)
                );
                findings.push(loaded.error(codes::UNSUPPORTED, &path, message, "").help(those(&pairs)));
            }
            if weights.symmetric == Some(true)
                && let Some(unsigned) = unsigned(&pairs, asked.weight.or(everywhere.weight))
                && told.insert((index, SIDES.len() + 1))
            {
                let path = table.clone().key("rule").index(index).key(SIDES[1]).key("symmetric");
                findings.push(without_negatives(loaded, &path, unsigned));
            }
            for (freedom, position) in freedoms(&rule.activations, weights) {
                let t = chosen(&pairs, position, asked.codes(position).or(everywhere.codes(position)));
                if let Some(t) = t.filter(|&t| !freedom.is_left(spec, position, t))
                    && told.insert((index, TOLD + 2 * freedom as usize + position))
                {
                    let path = table.clone().key("rule").index(index).key(SIDES[position]);
                    findings.push(freedom.denied(loaded, &path.key(freedom.key()), spec, position, t, &pairs));
                }
            }
        }
        let layer = module.name(node.name);
        if let Some((rule, finding)) = together(loaded, spec, layer, (&merged, last), &pairs)
            && told.insert((rule, SIDES.len()))
        {
            findings.push(finding);
        }
    }
    whole(findings)
}

/// A finding where two rules together ask for a pair that there is not, each of its types being in another one.
fn together(
    loaded: &Loaded,
    spec: &TargetSpec,
    layer: &str,
    (asked, last): (&Asked, [Option<usize>; 2]),
    pairs: &[Pair],
) -> Option<(usize, Diagnostic)> {
    let (activation, weight) = (asked.activation?, asked.weight?);
    let (first, second) = (last[0]?, last[1]?);
    let known = pairs.contains(&Pair { activation, weight }) || !asked.lacking(pairs).is_empty();
    if first == second || known {
        return None;
    }
    let (later, side, earlier) = match first > second {
        true => (first, 0, second),
        false => (second, 1, first),
    };
    let path = KeyPath::of(&["quantize", "rule"]);
    let path = path.index(later).key(SIDES[side]).key("type");
    let message = format!(
        "the target `{}` has no {activation} activations with {weight} weights for `{layer}`",
        spec.id
    );
    let finding = loaded.error(codes::UNSUPPORTED, &path, message, "");
    let note = format!("the {} are those of `quantize.rule[{earlier}]`", SIDES[1 - side]);
    Some((later, finding.note(note).help(those(pairs))))
}

/// The tables of the configuration that name a type, by their position in a pair.
const SIDES: [&str; 2] = ["activations", "weights"];

/// Number of things that are told once of each rule besides: a pair that there is not, weights that have no sign.
const TOLD: usize = SIDES.len() + 2;

/// The types that `[quantize]` or a rule asks for.
#[derive(Default)]
struct Asked {
    activation: Option<Activation>,
    weight: Option<Integer>,
}

impl Asked {
    /// Takes the types that a later rule asks for, and notes the rule for each.
    fn take(&mut self, rule: &Asked, index: usize, last: &mut [Option<usize>; 2]) {
        if rule.activation.is_some() {
            (self.activation, last[0]) = (rule.activation, Some(index));
        }
        if rule.weight.is_some() {
            (self.weight, last[1]) = (rule.weight, Some(index));
        }
    }

    fn new(activations: &Activations, weights: &Weights) -> Asked {
        Asked {
            activation: activations.ty,
            weight: weights.codes,
        }
    }

    /// As a rule asks it of an op: weights of a product that runs in float are read by real numbers.
    fn by_rule(rule: &Rule, term: Term) -> Asked {
        let asked = Asked::new(&rule.activations, &rule.weights);
        let weighs = RecipeName::DequantizeWeights.lowers().contains(&term);
        match rule.run {
            Some(Run::Float) if weighs && asked.weight.is_some() => Asked {
                activation: Some(Activation::Float32),
                ..asked
            },
            _ => asked,
        }
    }

    /// The type of codes that is asked for in a position.
    fn codes(&self, position: usize) -> Option<Integer> {
        match position {
            0 => self.activation?.codes(),
            _ => self.weight,
        }
    }

    /// The sides whose type none of these pairs has. A type of weights that are to be read by codes is that of a pair with
    /// codes, if there are any.
    fn lacking(&self, pairs: &[Pair]) -> Vec<usize> {
        let reals = self.activation == Some(Activation::Float32) || pairs.iter().all(Pair::is_weight_only);
        let activation = self
            .activation
            .is_none_or(|t| pairs.iter().any(|pair| pair.activation == t));
        let weight = self.weight.is_none_or(|t| {
            let mut having = pairs.iter().filter(|pair| pair.weight == t);
            having.any(|pair| reals || !pair.is_weight_only())
        });
        let sides = [activation, weight].into_iter().enumerate();
        sides.filter(|(_, has)| !has).map(|(side, _)| side).collect()
    }

    /// The finding for a type that a table, or a row of it, does not have; with the pairs that there are.
    fn without(
        &self,
        loaded: &Loaded,
        path: &KeyPath,
        spec: &TargetSpec,
        side: usize,
        of: &str,
        pairs: &[Pair],
    ) -> Diagnostic {
        let activation = self.activation.map(Activation::name);
        let asked = [activation, self.weight.map(Integer::name)][side].unwrap_or_default();
        let message = format!("the target `{}` has no {asked} {}{of}", spec.id, SIDES[side]);
        loaded.error(codes::UNSUPPORTED, path, message, "").help(those(pairs))
    }
}

/// The type in a position of a pair; none for real numbers.
fn side(pair: &Pair, position: usize) -> Option<Integer> {
    match position {
        0 => pair.codes(),
        _ => Some(pair.weight),
    }
}

/// The type in a position that is asked for, or the preferred one.
fn chosen(pairs: &[Pair], position: usize, asked: Option<Integer>) -> Option<Integer> {
    let preferred = || pairs.iter().find_map(|pair| side(pair, position));
    asked.or_else(preferred)
}

/// The chosen type of weights, if it has no sign.
fn unsigned(pairs: &[Pair], asked: Option<Integer>) -> Option<Integer> {
    chosen(pairs, 1, asked).filter(|&t| IntType::from(t).min() == 0)
}

fn without_negatives(loaded: &Loaded, path: &KeyPath, unsigned: Integer) -> Diagnostic {
    let message = format!("weights of {unsigned} with the zero point 0 hold no negative numbers");
    let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
    finding.help("leave it out, or write false")
}

/// The pairs that there are, as a help.
fn those(pairs: &[Pair]) -> String {
    let pairs: Vec<String> = pairs.iter().map(Pair::to_string).collect();
    format!("activations with weights that it has: {}", pairs.join(", "))
}
