//! Finds the layers, operands and tensors that each rule chooses in the canonical graph.

use std::collections::BTreeSet;

use strait_core::{Module, NodeId, ValueId};

use super::{
    Layers, Quantize, Rule, RuleError, RuleErrors, Selection,
    folded::Part,
    keys::rule_place,
    names::{MOST_NEAR, Names},
    ports::ports,
};

/// Finds what each rule applies to. Only rules for at least one of the `targets` are considered. `layers` are the
/// layers of the module before rewriting.
///
/// # Errors
/// Rules that match nothing and are not optional. Names that match nothing, with similar names. Positions of operands
/// or results that no matched layer has, or that no rule can set. A range for the result of a layer that was folded
/// into another layer.
pub fn select(
    module: &Module,
    layers: &Layers,
    quantize: &Quantize,
    targets: &[impl AsRef<str>],
) -> Result<Selection, RuleErrors> {
    let names = Names::of(module);
    let mut selection = Selection::default();
    let mut found = Vec::new();
    for (index, rule) in quantize.rule.iter().enumerate() {
        if !targets.iter().any(|id| rule.is_for(id.as_ref())) {
            continue;
        }
        // An optional rule may choose nothing, and its patterns may match nothing.
        let mut errors = Vec::new();
        let mut nodes = names.layers(rule);
        let mut values = names.tensors(&rule.tensors);
        let unknown = match rule.optional {
            true => Vec::new(),
            false => names.unknown(index, rule, found.len() < MOST_NEAR),
        };
        if nodes.is_empty() && values.is_empty() {
            let mut error = RuleError::wrong(rule_place(index), "the rule matches nothing");
            error.help = unknown.into_iter().flat_map(|(_, error)| error.help).collect();
            if error.help.is_empty() {
                error = error.help("each selector matches something, but nothing is matched by all of them");
            }
            errors.push(error.help("`optional = true` allows a rule to match nothing"));
        } else {
            // If a rule has several patterns with wildcards, it is enough that one of them matches. A name without
            // wildcards has to match.
            let named = unknown
                .into_iter()
                .filter(|(pattern, _)| !pattern.as_str().contains(['*', '?']));
            errors.extend(named.map(|(_, error)| error.help("`optional = true` allows it")));
        }
        let mut left = |part| {
            let (left, gone) = layers.left(part, module, (index, rule), &nodes);
            errors.extend(gone);
            left
        };
        let reading = match rule.operands[..] {
            [] => BTreeSet::new(),
            _ => left(Part::Operands),
        };
        // A rule for a type also applies to a layer that the named layer was folded into. A range applies only to the
        // named layer's own result.
        let ranges = rule.ranges() && !rule.selects_ports();
        let making = match ranges || !rule.results.is_empty() {
            true => left(Part::Results),
            false => nodes.clone(),
        };
        if rule.selects_ports() {
            let ports = ports(module, (index, rule), [&reading, &making]);
            errors.extend(ports.errors);
            for at in ports.operands {
                selection.operands.entry(at).or_default().push(index);
            }
            values.extend(ports.results);
            nodes.clear();
        } else {
            values.extend(results(module, &making));
        }
        selection.add(index, &nodes, values.into_iter());
        found.extend(errors.into_iter().filter(|_| !rule.optional));
    }
    RuleErrors(found).or(selection)
}

impl Selection {
    /// Adds the rule with index `index` to the selection, for the layers and tensors that the rule names.
    pub fn extend(&mut self, module: &Module, rule: &Rule, index: usize) {
        let names = Names::of(module);
        let nodes = names.layers(rule);
        self.add(
            index,
            &nodes,
            names.tensors(&rule.tensors).into_iter().chain(results(module, &nodes)),
        );
    }

    fn add(&mut self, index: usize, nodes: &BTreeSet<NodeId>, values: impl Iterator<Item = ValueId>) {
        for &id in nodes {
            self.nodes.entry(id).or_default().push(index);
        }
        for value in values.collect::<BTreeSet<ValueId>>() {
            self.values.entry(value).or_default().push(index);
        }
    }
}

fn results(module: &Module, nodes: &BTreeSet<NodeId>) -> impl Iterator<Item = ValueId> {
    let made = nodes.iter().filter_map(|&id| module.main().node(id));
    made.flat_map(|node| node.outputs.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The graph a ─▶ b ─▶ d, a ─▶ c ─▶ d. The node b also has the name of a layer that was folded into it.
    const GRAPH: &str = "
        strait 1 float
        graph @main(%x: f32[1,4]) {
          %a_out: f32[1,4] = relu(%x) name=\"/m/a\" sources=[\"/m/a\"]
          %b_out: f32[1,4] = sigmoid(%a_out) name=\"/m/b\" sources=[\"/m/b\", \"/m/folded\"]
          %c_out: f32[1,4] = relu(%a_out) name=\"/n/c\" sources=[\"/n/c\"]
          %d_out: f32[1,4] = add(%b_out, %c_out) name=\"/n/d\" sources=[\"/n/d\"]
          return %d_out
        }";

    fn rule(text: &str) -> Quantize {
        let rule = toml::from_str(text).unwrap();
        Quantize {
            rule: vec![rule],
            ..Quantize::default()
        }
    }

    fn in_float(text: &str) -> Quantize {
        rule(&format!("{text}\nrun = \"float\""))
    }

    fn module() -> Module {
        strait_core::text::parse(&GRAPH.replace("sigmoid(%a_out)", "unary(%a_out) {function=sigmoid}")).unwrap()
    }

    fn selected(module: &Module, quantize: &Quantize) -> Result<Selection, RuleErrors> {
        select(module, &Layers::of(module), quantize, &["t"])
    }

    /// The text of all errors, with their help.
    fn told(errors: RuleErrors) -> String {
        let help: Vec<String> = errors.0.iter().flat_map(|error| error.help.clone()).collect();
        format!("{errors} {}", help.join(" "))
    }

    fn chosen(rule: &str) -> Result<Vec<String>, String> {
        let module = module();
        let selection = selected(&module, &in_float(rule)).map_err(told)?;
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
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn operands_and_results_are_chosen_by_position() {
        let module = module();
        let selected = |text: &str| selected(&module, &rule(&format!("{text}\nrange = [0, 1]")));
        let node = |id: NodeId| module.name(module.main().node(id).unwrap().name);
        let value = |id: ValueId| module.name(module.main().value(id).unwrap().name);
        for (rule, operands, results) in [
            ("layers = [\"/n/d\"]\noperands = [1]", &[("/n/d", 1)][..], &[][..]),
            // Of the layers that match, only the addition has a second operand.
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
            let message = told(selected(rule).unwrap_err());
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
            let selection = selected(&module, &in_float(rule)).unwrap();
            assert_eq!(selection.values.keys().map(name).collect::<Vec<_>>(), expected);
        }
        let rule = in_float("tensors = [\"?_out\"]\nlayers = [\"/m/b\"]");
        assert_eq!(selected(&module, &rule).unwrap().values.len(), 4);
    }
}
