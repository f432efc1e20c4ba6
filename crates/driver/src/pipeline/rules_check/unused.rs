//! Keys of which nothing that a rule chooses has any use: weights of layers that have none, and the like. Of all that is
//! chosen, one is enough.

use strait_core::{Elem, Node, NodeId, ValueId};
use strait_target::spec::Observer;

use crate::{
    config::KeyPath,
    failure::codes,
    pipeline::{selection::weighs, settings::observer},
};

use super::Check;

/// Need of a key, of a layer or a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    Weights,
    /// Operands or results that may share a grid.
    Sharing,
    /// An op that the target computes, or weights that are read by real numbers.
    Types,
    /// Activations with codes.
    Codes,
    /// Values that have a grid: those of layers with codes, and what stands beside such a layer.
    Grid,
}

const KEYS: &[(&[&str], Need)] = &[
    (&["range"], Need::Grid),
    (&["observer"], Need::Grid),
    (&["alignment"], Need::Sharing),
    (&["simplify"], Need::Codes),
    (&["weights", "type"], Need::Weights),
    (&["weights", "symmetric"], Need::Weights),
    (&["weights", "scale"], Need::Weights),
    (&["weights", "per"], Need::Weights),
    (&["weights", "block"], Need::Weights),
    (&["weights", "observer"], Need::Weights),
    (&["weights", "unfit"], Need::Weights),
    (&["activations", "type"], Need::Types),
    (&["activations", "symmetric"], Need::Codes),
    (&["activations", "scale"], Need::Codes),
];

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

fn within(table: KeyPath, keys: &[&str]) -> KeyPath {
    keys.iter().fold(table, |path, key| path.key(key))
}

impl Check<'_> {
    /// Findings where a key of a rule is of no use, or the option of an observer.
    pub(super) fn unused(&mut self) {
        let (loaded, selection) = (self.loaded, self.selection);
        let required = loaded.config.quantize.rule.iter().enumerate();
        for (index, rule) in required.filter(|(_, rule)| !rule.optional) {
            let table = KeyPath::of(&["quantize", "rule"]).index(index);
            let nodes = selection.nodes.iter().filter(|(_, rules)| rules.contains(&index));
            let operands = selection.operands.iter().filter(|(_, rules)| rules.contains(&index));
            let values = selection.values.iter().filter(|(_, rules)| rules.contains(&index));
            let ids = nodes.map(|(&id, _)| id).chain(operands.map(|(&(id, _), _)| id));
            let nodes: Vec<NodeId> = ids.collect();
            let values: Vec<ValueId> = values.map(|(&value, _)| value).collect();
            if nodes.is_empty() && values.is_empty() {
                continue;
            }
            for &(keys, need) in KEYS {
                let path = within(table.clone(), keys);
                if loaded.has(&path) && !self.has_use(need, &nodes, &values) {
                    let message = format!("nothing that the rule chooses {}", need.lack());
                    self.useless(path, message);
                }
            }
            let table = table.key("observer_options");
            for (key, readers) in rule.observer_options.given() {
                // A rule that names the observer and its settings is overruled as a whole.
                let own = rule.observer.is_some_and(|observer| readers.contains(&observer));
                if !own && !self.reads(Some(index), readers) {
                    self.unread(table.clone().key(key), readers);
                }
            }
        }
        for (key, readers) in loaded.config.calibration.observer_options.given() {
            let default = observer(loaded, self.spec, &Default::default());
            if !readers.contains(&default.observer) && !self.reads(None, readers) {
                self.unread(KeyPath::of(&["calibration", "observer_options", key]), readers);
            }
        }
    }

    fn useless(&mut self, path: KeyPath, message: String) {
        let loaded = self.loaded;
        self.findings.tell(path, |path| {
            let finding = loaded.error(codes::RULE, path, message, "");
            finding.help("leave it out, or choose others; `optional = true` allows it")
        });
    }

    fn unread(&mut self, path: KeyPath, readers: &[Observer]) {
        let readers: Vec<String> = readers.iter().map(|reader| format!("{:?}", reader.name())).collect();
        let message = format!(
            "`{path}` needs the observer {}, and another one is used",
            readers.join(" or ")
        );
        let loaded = self.loaded;
        self.findings.tell(path, |path| {
            let finding = loaded.error(codes::RULE, path, message, "");
            finding.help("set the observer, or leave it out")
        });
    }

    /// True if one of these observers makes the range of something that a rule chooses, or any rule.
    fn reads(&self, rule: Option<usize>, readers: &[Observer]) -> bool {
        let (selection, graph) = (self.selection, self.module.main());
        let values = selection.values.values().cloned();
        let operands = selection.operands.keys();
        let operands = operands.filter_map(|&at| Some(selection.read(graph, at)?.1));
        let mut all = values.chain(operands);
        all.any(|rules| {
            let settings = self.loaded.config.quantize.settings(&rules);
            let chosen = observer(self.loaded, self.spec, &settings);
            let meant = rule.is_none_or(|rule| rules.contains(&rule)) && settings.range.is_none();
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
            // Of a tensor that no layer makes, the host makes the codes.
            let maker = graph.producer(value);
            let made = maker.is_none_or(|(id, node)| self.meets(need, id, node));
            matches!(need, Need::Types | Need::Codes) && real && made
        };
        nodes.iter().any(of_node) || values.iter().any(of_value)
    }

    /// True for a layer with codes, one that reads what such a layer makes, and one whose result such a layer reads.
    fn stands_beside_codes(&self, id: NodeId) -> bool {
        let graph = self.module.main();
        graph.node(id).is_some_and(|node| {
            let mut producers = node.inputs.iter().flatten().filter_map(|&value| graph.producer(value));
            self.meets(Need::Codes, id, node)
                || producers.any(|(id, node)| self.meets(Need::Codes, id, node))
                || node.outputs.iter().any(|&value| self.has_codes(value))
        })
    }

    /// True for an input of the model, which may be given codes, and where the layer that makes the value or one that reads
    /// it has codes.
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
