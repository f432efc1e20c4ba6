//! The names that patterns of rules are matched against, and those that are near where nothing matches.
//!
//! Layers are chosen by source names: a layer that was folded into another one is found as that one. Patterns over
//! operators are held against the terms of the canonical graph; they ignore letter case and underscores, so that
//! `GlobalAveragePool` is `global_average_pool`.

use std::collections::BTreeSet;

use strait_core::{Graph, Module, Node, NodeId, Op, ValueId};
use strait_document::{Glob, KeyPath, nearest};

use super::{Between, Pattern, Rule, RuleError, keys::rule_place};

/// Number of names that an error lists.
const MOST_NAMES: usize = 3;

/// An error for each of these patterns over layers, in a list at `key`, that matches none: with the names that are near. `what` is
/// what a layer does that has a name, as in `layer is called`.
pub fn unmatched_layers(module: &Module, key: &KeyPath, patterns: &[Pattern], what: &str) -> Vec<RuleError> {
    let names = Names::of(module);
    let unknown = names.unmatched(key.clone(), patterns, || names.layer_names(), what);
    unknown.into_iter().map(|(_, error)| error).collect()
}

/// True if one of the patterns matches one of the source names of a node.
pub fn matches_layer(module: &Module, node: &Node, patterns: &[Glob]) -> bool {
    node.sources
        .iter()
        .any(|&source| patterns.iter().any(|pattern| pattern.matches(module.name(source))))
}

/// The words by which rules choose a node by its operator. Of convolutions there are two kinds: depthwise ones, in which each
/// channel of several is by itself, and dense ones.
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
    module: &'a Module,
    graph: &'a Graph,
}

impl<'a> Names<'a> {
    pub(super) fn of(module: &'a Module) -> Names<'a> {
        let graph = module.main();
        Names { module, graph }
    }

    /// The layers that all selectors of the rule choose.
    pub(super) fn layers(&self, rule: &Rule) -> BTreeSet<NodeId> {
        if !rule.selects_layers() {
            return BTreeSet::new();
        }
        let between = rule.between.as_ref().map(|between| self.between(between));
        let layers = globs(&rule.layers);
        let ops: Vec<Glob> = rule.op.iter().map(|op| Glob::new(&plain(op.as_str()))).collect();
        let chosen = self.graph.nodes().filter(|(id, node)| {
            (layers.is_empty() || matches_layer(self.module, node, &layers))
                && (ops.is_empty() || words(self.graph, node).any(|word| ops.iter().any(|op| op.matches(&plain(word)))))
                && between.as_ref().is_none_or(|between| between.contains(id))
        });
        chosen.map(|(id, _)| id).collect()
    }

    /// The tensors that one of the patterns matches.
    pub(super) fn tensors(&self, patterns: &[Pattern]) -> BTreeSet<ValueId> {
        let patterns = globs(patterns);
        let named = self.variables();
        let matched = named.filter(|(_, name)| patterns.iter().any(|pattern| pattern.matches(name)));
        matched.map(|(id, _)| id).collect()
    }

    /// All tensors but constants, with their names.
    fn variables(&self) -> impl Iterator<Item = (ValueId, &'a str)> {
        let variables = self.graph.values().filter(|&(id, _)| self.graph.data_of(id).is_none());
        variables.map(|(id, value)| (id, self.module.name(value.name)))
    }

    /// Every node on a way from one that `from` names to one that `to` names, both included.
    fn between(&self, between: &Between) -> BTreeSet<NodeId> {
        let graph = self.graph;
        let start = |patterns: &[Pattern]| {
            let patterns = globs(patterns);
            let nodes = graph
                .nodes()
                .filter(|(_, node)| matches_layer(self.module, node, &patterns));
            nodes.map(|(id, _)| id).collect::<Vec<_>>()
        };
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

    /// The rule's patterns that match nothing by themselves, with the names that are most like them.
    pub(super) fn unknown<'r>(&self, index: usize, rule: &'r Rule) -> Vec<(&'r Pattern, RuleError)> {
        let place = |name: &str| rule_place(index).key(name);
        let layers = || self.layer_names();
        let tensors = || self.variables().map(|(_, name)| name).collect();
        let ends = rule.between.as_ref();
        let (from, to) = ends.map_or((&[][..], &[][..]), |between| (&between.from, &between.to));
        let left = "layer that is left is called";
        let mut unknown = self.unmatched(place("layers"), &rule.layers, layers, left);
        unknown.extend(self.unmatched(place("between").key("from"), from, layers, left));
        unknown.extend(self.unmatched(place("between").key("to"), to, layers, left));
        unknown.extend(self.unmatched(
            place("tensors"),
            &rule.tensors,
            tensors,
            "tensor between layers is called",
        ));
        if !rule.op.is_empty() {
            let ops = self.graph.nodes().flat_map(|(_, node)| words(self.graph, node));
            let listed: BTreeSet<&str> = ops.collect();
            let matches = |word: &str| listed.iter().any(|op| Glob::new(&plain(word)).matches(&plain(op)));
            unknown.extend(without_match(place("op"), &rule.op, matches, |word| {
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

    /// Those of the patterns that match none of the names, with the names that are most like them.
    fn unmatched<'r>(
        &self,
        key: KeyPath,
        patterns: &'r [Pattern],
        names: impl Fn() -> BTreeSet<&'a str>,
        what: &str,
    ) -> Vec<(&'r Pattern, RuleError)> {
        if patterns.is_empty() {
            return Vec::new();
        }
        let names = names();
        let matches = |word: &str| {
            let glob = Glob::new(word);
            names.iter().any(|name| glob.matches(name))
        };
        without_match(key, patterns, matches, |word| {
            let deep = word.replace("**", "*").replace('*', "**");
            if deep != word && matches(&deep) {
                return format!("no {what} `{word}`: `*` does not match `/`, `**` does: `{deep}`");
            }
            let near = nearest::closest(word, names.iter().copied(), MOST_NAMES).join("`, `");
            format!("no {what} `{word}`; near it are `{near}`")
        })
    }

    fn layer_names(&self) -> BTreeSet<&'a str> {
        let sources = self.graph.nodes().flat_map(|(_, node)| &node.sources);
        sources.map(|&source| self.module.name(source)).collect()
    }
}

/// An error for each of the patterns, in a list at `key`, that does not match, with its help.
fn without_match<'r>(
    key: KeyPath,
    patterns: &'r [Pattern],
    matches: impl Fn(&str) -> bool,
    help: impl Fn(&str) -> String,
) -> Vec<(&'r Pattern, RuleError)> {
    let unknown = patterns
        .iter()
        .enumerate()
        .filter(|(_, pattern)| !matches(pattern.as_str()));
    let error = |(at, pattern): (usize, &'r Pattern)| {
        let message = format!("`{}` matches nothing", pattern.as_str());
        let error = RuleError::wrong(key.clone().index(at), message);
        (pattern, error.help(help(pattern.as_str())))
    };
    unknown.map(error).collect()
}

fn globs(patterns: &[Pattern]) -> Vec<Glob> {
    patterns.iter().map(Pattern::glob).collect()
}

/// Lower case, without underscores.
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
