//! Matches the patterns of rules with the names in a model, and suggests similar names if a pattern matches nothing. A
//! pattern for layers is compared with their source names. If a layer was folded into another layer, its name chooses
//! that other layer. A pattern for operators is compared with the terms of the canonical graph, without letter case and
//! underscores, so that `GlobalAveragePool` matches `global_average_pool`.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Graph, Module, Node, NodeId, Op, ValueId};
use strait_document::{Glob, KeyPath, nearest};

use super::{Between, Pattern, Rule, RuleError, keys::rule_place};

/// An error lists at most this many names.
const MOST_NAMES: usize = 3;

/// At most this many errors suggest similar names. Finding such names takes long in a large model, and nobody reads
/// more errors than this.
pub(super) const MOST_NEAR: usize = 20;

/// Returns an error, with similar names, for each pattern in `patterns` that matches no layer. The patterns are a list
/// at `key`. `what` is a phrase for the message, such as `layer is called`.
pub fn unmatched_layers(module: &Module, key: &KeyPath, patterns: &[Pattern], what: &str) -> Vec<RuleError> {
    // Finding all names takes time in a large model.
    if patterns.is_empty() {
        return Vec::new();
    }
    let names = Names::of(module);
    let unknown = unmatched(key.clone(), patterns, &names.layers, what, true);
    unknown.into_iter().map(|(_, error)| error).collect()
}

/// True if one of the patterns matches one of the source names of a node.
pub fn matches_layer(module: &Module, node: &Node, patterns: &[Glob]) -> bool {
    node.sources
        .iter()
        .any(|&source| patterns.iter().any(|pattern| pattern.matches(module.name(source))))
}

/// Returns the words by which rules can choose a node by its operator. A convolution has two words: `conv`, and
/// `depthwise_conv` if it has several channels and computes each by itself, otherwise `dense_conv`.
fn words(graph: &Graph, node: &Node) -> impl Iterator<Item = &'static str> {
    let weight = || graph.value(node.inputs.get(1).copied().flatten()?);
    let kind = match &node.op {
        Op::Conv(conv) => {
            let each = weight().and_then(|weight| weight.ty.shape.get(1)?.fixed());
            let depthwise = conv.groups > 1 && each == Some(1);
            Some(if depthwise { "depthwise_conv" } else { "dense_conv" })
        }
        _ => None,
    };
    std::iter::once(node.op.term().name()).chain(kind)
}

/// The names in a graph.
pub(super) struct Names<'a> {
    graph: &'a Graph,
    /// The names of layers, with the nodes that stand for them.
    layers: ByName<'a, NodeId>,
    /// The names of tensors. Constants are not included.
    tensors: ByName<'a, ValueId>,
}

/// Layers or tensors by their names.
type ByName<'a, T> = BTreeMap<&'a str, Vec<T>>;

impl<'a> Names<'a> {
    pub(super) fn of(module: &'a Module) -> Names<'a> {
        let graph = module.main();
        let mut layers = ByName::new();
        for (id, node) in graph.nodes() {
            for &source in &node.sources {
                layers.entry(module.name(source)).or_default().push(id);
            }
        }
        let mut tensors = ByName::new();
        for (id, value) in graph.values().filter(|&(id, _)| graph.data_of(id).is_none()) {
            tensors.entry(module.name(value.name)).or_default().push(id);
        }
        Names { graph, layers, tensors }
    }

    /// The layers that all selectors of the rule choose.
    pub(super) fn layers(&self, rule: &Rule) -> BTreeSet<NodeId> {
        if !rule.selects_layers() {
            return BTreeSet::new();
        }
        let between = rule.between.as_ref().map(|between| self.between(between));
        let named = (!rule.layers.is_empty()).then(|| matching(&self.layers, &rule.layers));
        if named.as_ref().is_some_and(BTreeSet::is_empty) {
            return BTreeSet::new();
        }
        let ops: Vec<Glob> = rule.op.iter().map(|op| Glob::new(&plain(op.as_str()))).collect();
        let chosen = self.graph.nodes().filter(|(id, node)| {
            named.as_ref().is_none_or(|named| named.contains(id))
                && (ops.is_empty() || words(self.graph, node).any(|word| ops.iter().any(|op| op.matches(&plain(word)))))
                && between.as_ref().is_none_or(|between| between.contains(id))
        });
        chosen.map(|(id, _)| id).collect()
    }

    /// The tensors whose names match at least one of the patterns.
    pub(super) fn tensors(&self, patterns: &[Pattern]) -> BTreeSet<ValueId> {
        matching(&self.tensors, patterns)
    }

    /// Returns every node on a path from a node that `from` matches to a node that `to` matches, including the first
    /// and the last node of the path.
    fn between(&self, between: &Between) -> BTreeSet<NodeId> {
        let graph = self.graph;
        let start = |patterns: &[Pattern]| matching(&self.layers, patterns).into_iter().collect();
        let below = reach(start(&between.from), |id| {
            let outputs = graph.node(id).into_iter().flat_map(|node| node.outputs.iter().copied());
            outputs.flat_map(|value| graph.uses(value)).map(|at| at.node).collect()
        });
        let above = reach(start(&between.to), |id| {
            let inputs = graph
                .node(id)
                .into_iter()
                .flat_map(|node| node.inputs.iter().copied().flatten());
            inputs
                .filter_map(|value| graph.producer(value))
                .map(|(id, _)| id)
                .collect()
        });
        below.intersection(&above).copied().collect()
    }

    /// Errors for the patterns of the rule that match nothing. If `near` is set, the errors suggest similar names.
    pub(super) fn unknown<'r>(&self, index: usize, rule: &'r Rule, near: bool) -> Vec<(&'r Pattern, RuleError)> {
        let place = |name: &str| rule_place(index).key(name);
        let (layers, tensors) = (&self.layers, &self.tensors);
        let ends = rule.between.as_ref();
        let (from, to) = ends.map_or((&[][..], &[][..]), |between| (&between.from, &between.to));
        let left = "layer that is left is called";
        let mut unknown = unmatched(place("layers"), &rule.layers, layers, left, near);
        unknown.extend(unmatched(place("between").key("from"), from, layers, left, near));
        unknown.extend(unmatched(place("between").key("to"), to, layers, left, near));
        unknown.extend(unmatched(
            place("tensors"),
            &rule.tensors,
            tensors,
            "tensor between layers is called",
            near,
        ));
        if !rule.op.is_empty() {
            let ops = self.graph.nodes().flat_map(|(_, node)| words(self.graph, node));
            let listed: BTreeSet<&str> = ops.collect();
            let matches = |word: &str| listed.iter().any(|op| Glob::new(&plain(word)).matches(&plain(op)));
            unknown.extend(without_match(place("op"), &rule.op, near, matches, |word| {
                let near = nearest::did_you_mean(&plain(word), listed.iter().copied());
                let near = near
                    .first()
                    .map(|near| format!("; near it is `{near}`"))
                    .unwrap_or_default();
                let has: Vec<&str> = listed.iter().copied().collect();
                format!(
                    "no layer has an operator `{word}`{near}; the model has {}",
                    has.join(", ")
                )
            }));
        }
        unknown
    }
}

/// The layers or tensors whose names match at least one of the patterns.
fn matching<T: Copy + Ord>(names: &ByName<'_, T>, patterns: &[Pattern]) -> BTreeSet<T> {
    patterns
        .iter()
        .flat_map(|pattern| found(names, pattern.as_str()))
        .collect()
}

/// The layers or tensors whose names match a pattern. A name without wildcards is looked up directly.
fn found<T: Copy>(names: &ByName<'_, T>, word: &str) -> Vec<T> {
    if !word.contains(['*', '?']) {
        return names.get(word).cloned().unwrap_or_default();
    }
    let glob = Glob::new(word);
    let matched = names.iter().filter(|(name, _)| glob.matches(name));
    matched.flat_map(|(_, found)| found.iter().copied()).collect()
}

/// The patterns that match none of the names, each with an error. If `near` is set, the errors suggest similar names.
fn unmatched<'r, T: Copy>(
    key: KeyPath,
    patterns: &'r [Pattern],
    names: &ByName<'_, T>,
    what: &str,
    near: bool,
) -> Vec<(&'r Pattern, RuleError)> {
    let matches = |word: &str| !found(names, word).is_empty();
    without_match(key, patterns, near, matches, |word| {
        let deep = word.replace("**", "*").replace('*', "**");
        if deep != word && matches(&deep) {
            return format!("no {what} `{word}`: `*` does not match `/`, `**` does: `{deep}`");
        }
        let near = nearest::closest(word, names.keys().copied(), MOST_NAMES).join("`, `");
        format!("no {what} `{word}`; near it are `{near}`")
    })
}

/// Makes an error for each of the patterns in the list at `key` that match nothing. If `near` is set, the errors
/// suggest similar names.
fn without_match<'r>(
    key: KeyPath,
    patterns: &'r [Pattern],
    near: bool,
    matches: impl Fn(&str) -> bool,
    help: impl Fn(&str) -> String,
) -> Vec<(&'r Pattern, RuleError)> {
    let unknown = patterns
        .iter()
        .enumerate()
        .filter(|(_, pattern)| !matches(pattern.as_str()));
    let error = |(at, pattern): (usize, &'r Pattern)| {
        let message = format!("`{}` matches nothing", pattern.as_str());
        let mut error = RuleError::wrong(key.clone().index(at), message);
        error.help.extend(near.then(|| help(pattern.as_str())));
        (pattern, error)
    };
    unknown.map(error).collect()
}

/// The name in lower case, without underscores.
fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

fn reach(start: Vec<NodeId>, next: impl Fn(NodeId) -> Vec<NodeId>) -> BTreeSet<NodeId> {
    let mut seen: BTreeSet<NodeId> = start.iter().copied().collect();
    let mut open = start;
    while let Some(id) = open.pop() {
        open.extend(next(id).into_iter().filter(|&neighbour| seen.insert(neighbour)));
    }
    seen
}
