//! Finds keys of rules that have no effect on anything that the rule chooses, such as weights for layers without
//! weights. A key is accepted if it has an effect on at least one of the chosen things.

use strait_core::{Elem, Node, NodeId, ValueId};
use strait_document::KeyPath;
use strait_target::spec::Observer;

use super::{
    super::{
        KEYS, Rule, RuleError,
        consistent::named,
        keys::{Need, place},
        selection::weighs,
    },
    Check,
};

impl Need {
    fn lack(self) -> &'static str {
        match self {
            Need::Weights => "has weights",
            Need::Sharing => "has grids that it could share",
            Need::Types => "is computed by the target",
            Need::Codes => "is computed on codes by the target",
            Need::Grid => "has codes on the target",
        }
    }
}

impl Check<'_> {
    /// Refuses keys of rules and settings of observers that have no effect.
    pub(super) fn unused(&mut self) {
        let quantize = self.quantize;
        let required = quantize.rule.iter().enumerate();
        for (index, rule) in required.filter(|(_, rule)| !rule.optional) {
            let (mut nodes, operands, values) = self.selection.of_rule(index);
            nodes.extend(operands.into_iter().map(|(id, _)| id));
            if nodes.is_empty() && values.is_empty() {
                continue;
            }
            let needs = KEYS.iter().filter_map(|key| Some((key, key.need?)));
            for (key, need) in needs.filter(|(key, _)| key.is_given(rule)) {
                if !self.has_use(need, &nodes, &values) {
                    let message = format!("nothing that the rule chooses {}", need.lack());
                    let error = RuleError::wrong(place(Some(index), key.name), message);
                    self.found
                        .tell(error.help("leave it out, or choose others; `optional = true` allows it"));
                }
            }
            let table = place(Some(index), "observer_options");
            for (key, readers) in rule.observer_options.given() {
                // If the rule itself names an observer that uses the setting, the setting is accepted, even if a later
                // rule overrides the observer and the setting.
                let own = rule.observer.is_some_and(|observer| readers.contains(&observer));
                if !own && !self.reads(Some(index), readers) {
                    self.unread(table.clone().key(key), readers);
                }
            }
        }
        for (key, readers) in self.rules.observer_options.given() {
            let default = self.rules.observer_of(&Rule::default(), self.spec);
            if !readers.contains(&default.observer) && !self.reads(None, readers) {
                self.unread(KeyPath::of(&["calibration", "observer_options", key]), readers);
            }
        }
    }

    fn unread(&mut self, key: KeyPath, readers: &[Observer]) {
        let message = format!("`{key}` needs the observer {}, and another one is used", named(readers));
        let error = RuleError::wrong(key, message);
        self.found.tell(error.help("set the observer, or leave it out"));
    }

    /// True if one of the observers in `readers` finds the range of something that the rule chooses. If `rule` is
    /// `None`, true if one of these observers finds any range.
    fn reads(&self, rule: Option<usize>, readers: &[Observer]) -> bool {
        let (selection, graph) = (self.selection, self.module.main());
        let values = selection.values.values().cloned();
        let operands = selection.operands.keys();
        let operands = operands.filter_map(|&at| Some(selection.read(graph, at)?.1));
        let mut all = values.chain(operands);
        all.any(|rules| {
            let said = self.quantize.together(&rules);
            let chosen = self.rules.observer_of(&said, self.spec);
            let meant = rule.is_none_or(|rule| rules.contains(&rule)) && said.range.is_none();
            meant && readers.contains(&chosen.observer)
        })
    }

    fn has_use(&self, need: Need, nodes: &[NodeId], values: &[ValueId]) -> bool {
        let graph = self.module.main();
        if need == Need::Grid {
            return nodes.iter().any(|&id| self.stands_beside_codes(id))
                || values.iter().any(|&value| self.has_codes(value));
        }
        let of_node = |&id: &NodeId| graph.node(id).is_some_and(|node| self.meets(need, id, node));
        let of_value = |&value: &ValueId| {
            let real = graph.value(value).is_some_and(|value| value.ty.elem == Elem::F32);
            // If no layer makes the tensor, the host makes the codes.
            let maker = graph.producer(value);
            let made = maker.is_none_or(|(id, node)| self.meets(need, id, node));
            matches!(need, Need::Types | Need::Codes) && real && made
        };
        nodes.iter().any(of_node) || values.iter().any(of_value)
    }

    /// True if the layer computes on codes, or if a neighbour does: a layer that makes one of its operands or reads one
    /// of its results.
    fn stands_beside_codes(&self, id: NodeId) -> bool {
        let graph = self.module.main();
        graph.node(id).is_some_and(|node| {
            let mut producers = node.inputs.iter().flatten().filter_map(|&value| graph.producer(value));
            self.meets(Need::Codes, id, node)
                || producers.any(|(id, node)| self.meets(Need::Codes, id, node))
                || node.outputs.iter().any(|&value| self.has_codes(value))
        })
    }

    /// True if a value can have codes. This is possible for an input of the model, and for a value that is made or read
    /// by a layer that computes on codes.
    fn has_codes(&self, value: ValueId) -> bool {
        let graph = self.module.main();
        let mut readers = graph.uses(value).filter_map(|of| Some((of.node, graph.node(of.node)?)));
        let producer = graph.producer(value);
        producer.is_none_or(|(id, node)| self.meets(Need::Codes, id, node))
            || readers.any(|(id, node)| self.meets(Need::Codes, id, node))
    }

    fn meets(&self, need: Need, id: NodeId, node: &Node) -> bool {
        let (graph, spec, term) = (self.module.main(), self.spec, node.op.term());
        let runs = spec.op_row(term).is_some_and(|(_, row)| !row.is_host());
        match need {
            Need::Weights => weighs(node),
            Need::Sharing => {
                let variable = |value: &&ValueId| graph.data_of(**value).is_none();
                let several = node.inputs.iter().flatten().filter(variable).count() > 1;
                several || spec.passes.alignment.of(term).is_some() || spec.passes.is_activation(term)
            }
            Need::Types => runs || weighs(node),
            Need::Codes | Need::Grid => {
                let types = self.settings.types(id);
                let pair = types.pair(spec, term);
                runs && !types.is_plain && pair.is_some_and(|pair| !pair.is_weight_only())
            }
        }
    }
}
