//! Which layers, operands and tensors the rules of the configuration choose in the canonical graph.
//!
//! Layers are chosen by source names: a layer that was folded into another one is found as that one. Patterns over
//! operators are held against the terms of the canonical graph; they ignore letter case and underscores, so that
//! `GlobalAveragePool` is `global_average_pool`.

use std::collections::BTreeSet;

use strait_core::{Graph, Module, Node, NodeId, Op, ValueId};
use strait_document::nearest;

use crate::{
    config::{
        Glob, KeyPath, Loaded,
        leaf::Pattern,
        types::{Between, Gate, Rule},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::{
    folded::{Layers, Part},
    ports::ports,
    selection::Selection,
};

/// Number of names that an error lists.
const MOST_NAMES: usize = 3;

/// Resolves all rules. `layers` are those of the module before it was rewritten.
///
/// # Errors
/// Each rule that matches nothing and is not optional, and each name in one, with the nearest names; positions that no
/// matched layer has, or that no rule can set; ranges of results that have gone with a layer's folding.
pub(super) fn select(module: &Module, layers: &Layers, loaded: &Loaded) -> Result<Selection, Diagnostics> {
    let graph = module.main();
    let names = Names { module, graph };
    let mut selection = Selection::default();
    let mut findings = Vec::new();
    let used = |rule: &Rule| loaded.config.target.ids.iter().any(|id| rule.is_for(id));
    for (index, rule) in loaded
        .config
        .quantize
        .rule
        .iter()
        .enumerate()
        .filter(|(_, rule)| used(rule))
    {
        let mut nodes = names.layers(rule);
        let mut values = names.tensors(&rule.tensors);
        if nodes.is_empty() && values.is_empty() && !rule.optional {
            let path = KeyPath::of(&["quantize", "rule"]).index(index);
            let mut finding = loaded.error(codes::RULE, &path, "the rule matches nothing", "");
            finding.help = names.help(rule);
            findings.push(finding);
        } else if !rule.optional {
            let unknown = names.unknown(rule).into_iter().filter(Unknown::is_name);
            findings.extend(unknown.map(|unknown| unknown.finding(loaded, index)));
        }
        let mut left = |part| {
            let (left, finding) = layers.left(part, module, loaded, (index, rule), &nodes);
            findings.extend(finding.filter(|_| !rule.optional));
            left
        };
        let reading = match rule.operands[..] {
            [] => BTreeSet::new(),
            _ => left(Part::Operands),
        };
        // A type is that of what a layer became; a range is that of its result alone.
        let ranges = rule.ranges() && !rule.selects_ports();
        let making = match ranges || !rule.results.is_empty() {
            true => left(Part::Results),
            false => nodes.clone(),
        };
        if rule.selects_ports() {
            let ports = ports(module, loaded, (index, rule), [&reading, &making]);
            if !rule.optional {
                findings.extend(ports.findings);
            }
            for at in ports.operands {
                selection.operands.entry(at).or_default().push(index);
            }
            values.extend(ports.results);
            nodes.clear();
        }
        for &id in &nodes {
            selection.nodes.entry(id).or_default().push(index);
        }
        let made = if rule.selects_ports() { &nodes } else { &making };
        let results = made
            .iter()
            .filter_map(|&id| graph.node(id))
            .flat_map(|node| node.outputs.iter().copied());
        for value in results.chain(values).collect::<BTreeSet<_>>() {
            selection.values.entry(value).or_default().push(index);
        }
    }
    let unknown = names.unknown_on_host(&loaded.config.gate);
    findings.extend(
        unknown
            .into_iter()
            .map(|unknown| unknown.told(loaded, KeyPath::of(&["gate"]))),
    );
    if findings.is_empty() {
        Ok(selection)
    } else {
        Err(Diagnostics(findings))
    }
}

impl Selection {
    /// Chooses a rule at a position for the layers and the tensors that it names.
    pub(super) fn extend(&mut self, module: &Module, rule: &Rule, index: usize) {
        let graph = module.main();
        let names = Names { module, graph };
        let mut values = names.tensors(&rule.tensors);
        for id in names.layers(rule) {
            self.nodes.entry(id).or_default().push(index);
            values.extend(graph.node(id).into_iter().flat_map(|node| &node.outputs));
        }
        for value in values {
            self.values.entry(value).or_default().push(index);
        }
    }
}

/// A finding for each of these patterns over layers, in a list of the configuration, that matches none.
pub(super) fn unmatched_layers(
    module: &Module,
    loaded: &Loaded,
    keys: &'static [&'static str],
    patterns: &[Pattern],
) -> Vec<Diagnostic> {
    let graph = module.main();
    let sources = || graph.nodes().flat_map(|(_, node)| &node.sources);
    let layers = || sources().map(|&source| module.name(source)).collect();
    let unknown = near(keys, patterns, layers, "layer is called");
    unknown
        .into_iter()
        .map(|unknown| unknown.told(loaded, KeyPath::of(&[])))
        .collect()
}

/// True if one of the patterns matches one of the source names of a node.
pub(crate) fn matches_layer(module: &Module, node: &Node, patterns: &[Glob]) -> bool {
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

/// The names that patterns are matched against.
struct Names<'a> {
    module: &'a Module,
    graph: &'a Graph,
}

impl<'a> Names<'a> {
    /// The layers that all selectors of the rule choose.
    fn layers(&self, rule: &Rule) -> BTreeSet<NodeId> {
        if !rule.selects_layers() {
            return BTreeSet::new();
        }
        let between = rule.between.as_ref().map(|between| self.between(between));
        let (layers, ops) = (globs(&rule.layers), op_globs(&rule.op));
        let chosen = self.graph.nodes().filter(|(id, node)| {
            (layers.is_empty() || matches_layer(self.module, node, &layers))
                && (ops.is_empty() || words(self.graph, node).any(|word| ops.iter().any(|op| op.matches(&plain(word)))))
                && between.as_ref().is_none_or(|between| between.contains(id))
        });
        chosen.map(|(id, _)| id).collect()
    }

    fn tensors(&self, patterns: &[Pattern]) -> BTreeSet<ValueId> {
        let patterns = globs(patterns);
        let named = |id: ValueId| self.graph.value(id).map_or("", |value| self.module.name(value.name));
        let matched = self.graph.values().map(|(id, _)| id);
        matched
            .filter(|&id| self.graph.data_of(id).is_none() && patterns.iter().any(|pattern| pattern.matches(named(id))))
            .collect()
    }

    /// Every node on a way from one that `from` names to one that `to` names, both included.
    fn between(&self, between: &Between) -> BTreeSet<NodeId> {
        let start = |patterns: &[Pattern]| {
            let patterns = globs(patterns);
            let nodes = self
                .graph
                .nodes()
                .filter(|(_, node)| matches_layer(self.module, node, &patterns));
            nodes.map(|(id, _)| id).collect::<Vec<_>>()
        };
        let below = reach(start(&between.from), |id| {
            let outputs = self
                .graph
                .node(id)
                .into_iter()
                .flat_map(|node| node.outputs.iter().copied());
            outputs
                .flat_map(|value| self.graph.uses(value))
                .map(|at| at.node)
                .collect()
        });
        let above = reach(start(&between.to), |id| {
            let inputs = self
                .graph
                .node(id)
                .into_iter()
                .flat_map(|node| node.inputs.iter().copied().flatten());
            inputs
                .filter_map(|value| self.graph.producer(value))
                .map(|(id, _)| id)
                .collect()
        });
        below.intersection(&above).copied().collect()
    }

    /// Help for a rule that matches nothing.
    fn help(&self, rule: &Rule) -> Vec<String> {
        let mut help: Vec<String> = self.unknown(rule).into_iter().map(|unknown| unknown.help).collect();
        if help.is_empty() {
            help.push("each selector matches something, but nothing is matched by all of them".to_owned());
        }
        help.push("`optional = true` allows a rule to match nothing".to_owned());
        help
    }

    /// The layers that may run on the host and are none.
    fn unknown_on_host<'r>(&self, gate: &'r Gate) -> Vec<Unknown<'r>> {
        let layers = || self.graph.nodes().flat_map(|(_, node)| self.sources(node)).collect();
        let allowed = gate.host_layers.as_deref().unwrap_or_default();
        near(&["host_layers"], allowed, layers, "layer that is left is called")
    }

    /// The rule's patterns that match nothing by themselves, with the names that are most like them.
    fn unknown<'r>(&self, rule: &'r Rule) -> Vec<Unknown<'r>> {
        let layers = || self.graph.nodes().flat_map(|(_, node)| self.sources(node)).collect();
        let ops = || {
            (self.graph.nodes())
                .flat_map(|(_, node)| words(self.graph, node))
                .collect()
        };
        let values = || self.graph.values().filter(|&(id, _)| self.graph.data_of(id).is_none());
        let tensors = || values().map(|(_, value)| self.module.name(value.name)).collect();
        let ends = rule.between.as_ref();
        let (from, to) = ends.map_or((&[][..], &[][..]), |between| (&between.from, &between.to));
        let mut unknown = near(&["layers"], &rule.layers, layers, "layer that is left is called");
        unknown.extend(near(&["between", "from"], from, layers, "layer that is left is called"));
        unknown.extend(near(&["between", "to"], to, layers, "layer that is left is called"));
        unknown.extend(near(
            &["tensors"],
            &rule.tensors,
            tensors,
            "tensor between layers is called",
        ));
        let listed: BTreeSet<&str> = if rule.op.is_empty() { BTreeSet::new() } else { ops() };
        for (at, pattern) in rule.op.iter().enumerate() {
            let (glob, word) = (Glob::new(&plain(pattern.as_str())), pattern.as_str());
            if listed.iter().any(|op| glob.matches(&plain(op))) {
                continue;
            }
            let near = nearest::did_you_mean(&plain(word), listed.iter().copied());
            let near = near
                .first()
                .map(|near| format!("; near it is `{near}`"))
                .unwrap_or_default();
            let has: Vec<&str> = listed.iter().copied().collect();
            let help = format!(
                "no layer has an operator `{word}`{near}; the model has {}",
                has.join(", ")
            );
            unknown.push(Unknown {
                keys: &["op"],
                at,
                pattern,
                help,
            });
        }
        unknown
    }

    fn sources(&self, node: &'a Node) -> impl Iterator<Item = &'a str> {
        node.sources.iter().map(|&source| self.module.name(source))
    }
}

/// A pattern that matches nothing.
struct Unknown<'r> {
    /// The list in the rule, or in another table, that it stands in, and its place there.
    keys: &'static [&'static str],
    at: usize,
    pattern: &'r Pattern,
    help: String,
}

impl Unknown<'_> {
    /// True if nothing but one name could match.
    fn is_name(&self) -> bool {
        !self.pattern.as_str().contains(['*', '?'])
    }

    fn finding(self, loaded: &Loaded, rule: usize) -> Diagnostic {
        let table = KeyPath::of(&["quantize", "rule"]).index(rule);
        self.told(loaded, table).help("`optional = true` allows it")
    }

    /// The finding, in a table.
    fn told(self, loaded: &Loaded, table: KeyPath) -> Diagnostic {
        let path = self.keys.iter().fold(table, |path, key| path.key(key)).index(self.at);
        let message = format!("`{}` matches nothing", self.pattern.as_str());
        let finding = loaded.error(codes::RULE, &path, message, "");
        finding.help(self.help)
    }
}

/// Those of the patterns that match none of the names, with the names that are most like them.
fn near<'n, 'r>(
    keys: &'static [&'static str],
    patterns: &'r [Pattern],
    names: impl Fn() -> BTreeSet<&'n str>,
    what: &str,
) -> Vec<Unknown<'r>> {
    if patterns.is_empty() {
        return Vec::new();
    }
    let names = names();
    let matches = |glob: Glob| names.iter().any(|name| glob.matches(name));
    let unknown = patterns
        .iter()
        .enumerate()
        .filter(|(_, pattern)| !matches(pattern.glob()));
    let unknown = unknown.map(|(at, pattern)| {
        let word = pattern.as_str();
        let deep = word.replace("**", "*").replace('*', "**");
        let help = match deep != word && matches(Glob::new(&deep)) {
            true => format!("no {what} `{word}`: `*` does not match `/`, `**` does: `{deep}`"),
            false => {
                let near = nearest::closest(word, names.iter().copied(), MOST_NAMES).join("`, `");
                format!("no {what} `{word}`; near it are `{near}`")
            }
        };
        Unknown {
            keys,
            at,
            pattern,
            help,
        }
    });
    unknown.collect()
}

fn globs(patterns: &[Pattern]) -> Vec<Glob> {
    patterns.iter().map(Pattern::glob).collect()
}

fn op_globs(patterns: &[Pattern]) -> Vec<Glob> {
    patterns
        .iter()
        .map(|pattern| Glob::new(&plain(pattern.as_str())))
        .collect()
}

/// Lower case, without underscores.
fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

fn reach(start: Vec<NodeId>, next: impl Fn(NodeId) -> Vec<NodeId>) -> BTreeSet<NodeId> {
    let mut seen: BTreeSet<NodeId> = start.iter().copied().collect();
    let mut open = start;
    while let Some(id) = open.pop() {
        for neighbour in next(id) {
            if seen.insert(neighbour) {
                open.push(neighbour);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use std::path::Path;

    /// a ─▶ b ─▶ d, a ─▶ c ─▶ d; b answers for a folded layer, too.
    const GRAPH: &str = "
        strait 1 float
        graph @main(%x: f32[1,4]) {
          %a_out: f32[1,4] = relu(%x) name=\"/m/a\" sources=[\"/m/a\"]
          %b_out: f32[1,4] = sigmoid(%a_out) name=\"/m/b\" sources=[\"/m/b\", \"/m/folded\"]
          %c_out: f32[1,4] = relu(%a_out) name=\"/n/c\" sources=[\"/n/c\"]
          %d_out: f32[1,4] = add(%b_out, %c_out) name=\"/n/d\" sources=[\"/n/d\"]
          return %d_out
        }";

    fn parsed(rule: &str) -> Loaded {
        let text = format!(
            "schema = 1\nmodel.file = \"m.onnx\"\ntarget.use = [\"t\"]\ncalibration.data = \"x.npy\"\noutput.dir = \"out\"\n\
             [[quantize.rule]]\n{rule}\n"
        );
        config::parse("deploy.toml", text, Path::new(""), &[]).unwrap()
    }

    fn loaded(rule: &str) -> Loaded {
        parsed(&format!("{rule}\nrun = \"float\""))
    }

    fn module() -> Module {
        strait_core::text::parse(&GRAPH.replace("sigmoid(%a_out)", "unary(%a_out) {function=sigmoid}")).unwrap()
    }

    fn selected(module: &Module, loaded: &Loaded) -> Result<Selection, Diagnostics> {
        select(module, &Layers::of(module), loaded)
    }

    fn chosen(rule: &str) -> Result<Vec<String>, String> {
        let module = module();
        let selection = selected(&module, &loaded(rule)).map_err(|error| error.to_string())?;
        let name = |id: &NodeId| module.name(module.main().node(*id).unwrap().name).to_owned();
        Ok(selection.nodes.keys().map(name).collect())
    }

    #[test]
    fn selectors_choose_layers_together() {
        for (rule, expected) in [
            ("layers = [\"/m/*\"]", &["/m/a", "/m/b"][..]),
            ("layers = [\"/m/folded\"]", &["/m/b"]),
            ("op = [\"Relu\"]", &["/m/a", "/n/c"]),
            ("op = [\"Sig*\"]", &["/m/b"]),
            ("op = [\"Relu\"]\nlayers = [\"/n/**\"]", &["/n/c"]),
            ("between = { from = [\"/m/b\"], to = [\"/n/d\"] }", &["/m/b", "/n/d"]),
            (
                "between = { from = [\"/m/a\"], to = [\"/n/d\"] }\nop = [\"relu\"]",
                &["/m/a", "/n/c"],
            ),
            ("layers = [\"none\"]\noptional = true", &[]),
            ("layers = [\"none\", \"/m/a\"]\noptional = true", &["/m/a"]),
            ("layers = [\"none*\", \"/m/a\"]", &["/m/a"]),
        ] {
            assert_eq!(chosen(rule).unwrap_or_else(|e| panic!("{e}")), expected, "{rule}");
        }
    }

    #[test]
    fn a_rule_without_a_match_names_what_is_near() {
        for (rule, expected) in [
            ("layers = [\"/m/bb\"]", "near it are `/m/b`"),
            (
                "op = [\"Conv\"]",
                "no layer has an operator `Conv`; the model has add, relu, sigmoid",
            ),
            ("op = [\"Sigmoidd\"]", "near it is `sigmoid`"),
            ("op = [\"Relu\", \"Nope\"]", "`Nope` matches nothing"),
            ("layers = [\"/nope\", \"/m/a\"]", "`/nope` matches nothing"),
            (
                "layers = [\"/m/a\"]\ntensors = [\"a_out\", \"bb_out\"]",
                "`bb_out` matches nothing",
            ),
            (
                "between = { from = [\"/m/a\", \"/nope\"], to = [\"/n/d\"] }",
                "`/nope` matches nothing",
            ),
            ("layers = [\"*a\"]", "`*` does not match `/`, `**` does: `**a`"),
            (
                "between = { from = [\"/n/d\"], to = [\"/m/a\"] }",
                "nothing is matched by all",
            ),
        ] {
            let message = chosen(rule).unwrap_err();
            assert!(
                message.contains(expected) && message.contains("deploy.toml:"),
                "{message}"
            );
        }
    }

    #[test]
    fn layers_that_may_run_on_the_host_are_layers_of_the_model() {
        let file = |pattern: &str| {
            parsed(&format!(
                "optional = true\nlayers = [\"x\"]\nrun = \"float\"\n[gate]\nhost_layers = [\"/m/a\", \"{pattern}\"]"
            ))
        };
        for pattern in ["/m/folded", "/n/*"] {
            assert!(selected(&module(), &file(pattern)).is_ok(), "{pattern}");
        }
        let message = selected(&module(), &file("/m/bb")).unwrap_err().to_string();
        for part in ["`/m/bb` matches nothing", "near it are `/m/b`", "host_layers = "] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains("optional"), "{message}");
    }

    #[test]
    fn operands_and_results_are_chosen_by_position() {
        let module = module();
        let selected = |rule: &str| selected(&module, &parsed(&format!("{rule}\nrange = [0, 1]")));
        let node = |id: NodeId| module.name(module.main().node(id).unwrap().name);
        let value = |id: ValueId| module.name(module.main().value(id).unwrap().name);
        for (rule, operands, results) in [
            ("layers = [\"/n/d\"]\noperands = [1]", &[("/n/d", 1)][..], &[][..]),
            // Of these the sum alone has a second operand.
            (
                "layers = [\"/n/*\"]\noperands = [1, 0]",
                &[("/n/c", 0), ("/n/d", 0), ("/n/d", 1)],
                &[],
            ),
            ("op = [\"sigmoid\"]\nresults = [0]", &[], &["b_out"]),
            (
                "op = [\"add\"]\noperands = [0]\nresults = [0]",
                &[("/n/d", 0)],
                &["d_out"],
            ),
        ] {
            let found = selected(rule).unwrap_or_else(|e| panic!("{e}"));
            let chosen: Vec<_> = found.operands.keys().map(|&(id, index)| (node(id), index)).collect();
            assert_eq!(chosen, operands, "{rule}");
            assert_eq!(
                found.values.keys().map(|&id| value(id)).collect::<Vec<_>>(),
                results,
                "{rule}"
            );
            assert!(found.nodes.is_empty(), "{rule}");
        }
        for (rule, expected) in [
            (
                "layers = [\"/n/d\"]\noperands = [2]",
                ["`/n/d` has no operand 2", "it has 2, 0 to 1"],
            ),
            (
                "layers = [\"/m/*\"]\nresults = [0, 7]",
                ["`/m/a` has no result 7", "it has one, 0"],
            ),
            (
                "layers = [\"/n/cc\"]\noperands = [0]",
                ["matches nothing", "near it are `/n/c`"],
            ),
        ] {
            let message = selected(rule).unwrap_err().to_string();
            assert!(expected.iter().all(|words| message.contains(words)), "{message}");
        }
        assert!(selected("layers = [\"/n/d\"]\noperands = [2]\noptional = true").is_ok());
    }

    #[test]
    fn tensors_and_results_of_layers_are_values() {
        let module = module();
        let name = |id: &ValueId| module.name(module.main().value(*id).unwrap().name).to_owned();
        for (rule, expected) in [
            ("layers = [\"/m/b\"]", &["b_out"][..]),
            ("op = [\"relu\"]", &["a_out", "c_out"]),
        ] {
            let selection = selected(&module, &loaded(rule)).unwrap();
            assert_eq!(selection.values.keys().map(name).collect::<Vec<_>>(), expected);
        }
        let rule = loaded("tensors = [\"?_out\"]\nlayers = [\"/m/b\"]");
        assert_eq!(selected(&module, &rule).unwrap().values.len(), 4);
    }
}
