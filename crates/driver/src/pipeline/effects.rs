//! Reports the effect of the configuration on the annotated graph: to which layers and tensors each key applies, and
//! which of these layers and tensors ended up with another value than the key's.

use serde_json::Value;
use strait_compile::rules::{KEYS, Of, Rule, RuleKey, weighs};
use strait_core::{
    ConfigId, Def, Granularity, Graph, Module, Node, NodeId, Origin, Placement, Policy, Port, QuantTable, ValueId,
};

use strait_target::spec::Integer;

use crate::report::{KeyReport, Otherwise, RuleReport};

use crate::pipeline::job::Job;

/// The property of a layer or tensor in which the effect of a key can be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    Place,
    Type,
    Symmetric,
    Scale,
    Per,
    Origin,
}

impl Has {
    /// The property in which the effect of `key` can be seen. `None` if there is no such property.
    fn of(key: &RuleKey) -> Option<Has> {
        Some(match key.name {
            "run" => Has::Place,
            "range" | "observer" => Has::Origin,
            "activations.type" | "weights.type" => Has::Type,
            "activations.symmetric" | "weights.symmetric" => Has::Symmetric,
            "activations.scale" | "weights.scale" => Has::Scale,
            "weights.per" => Has::Per,
            _ => return None,
        })
    }
}

/// A layer, operand or tensor, to which a key can apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Layer(NodeId),
    Operand(NodeId, usize),
    Value(ValueId),
}

/// The effect of each rule, and of `[quantize]`, on a graph that was annotated for one target.
pub(super) fn effects(job: &Job<'_>, annotated: &Module) -> (Vec<RuleReport>, Vec<KeyReport>) {
    let effects = Effects {
        job,
        module: annotated,
        graph: annotated.main(),
    };
    let of_rules = (0..job.rules.quantize.rule.len()).map(|index| effects.rule(index));
    (of_rules.collect(), effects.everywhere())
}

struct Effects<'a> {
    job: &'a Job<'a>,
    module: &'a Module,
    graph: &'a Graph,
}

impl Effects<'_> {
    fn rule(&self, index: usize) -> RuleReport {
        let rule = &self.job.rules.quantize.rule[index];
        let (layers, operands, values) = self.job.selection.of_rule(index);
        let layers: Vec<Subject> = layers.into_iter().map(Subject::Layer).collect();
        let operands: Vec<Subject> = operands.into_iter().map(|(id, at)| Subject::Operand(id, at)).collect();
        let values: Vec<Subject> = values.into_iter().map(Subject::Value).collect();
        // If a rule chooses a layer, the layer's results are not listed as tensors, too.
        let named = values.iter().copied().filter(|&value| !self.is_of_layer(value, index));
        let named: Vec<Subject> = named.collect();
        let set = serde_json::to_value(rule).unwrap_or_default();
        let keys = KEYS.iter().filter(|key| key.is_given(rule)).map(|key| {
            let subjects: Vec<Subject> = match key.of {
                Of::Layers => layers.clone(),
                Of::Weights => layers.iter().copied().filter(|&layer| self.weighs(layer)).collect(),
                Of::Activations => [&layers[..], &operands, &named].concat(),
                Of::Ranges => [&operands[..], &values].concat(),
            };
            self.effect(key, &set, &subjects, Some(index))
        });
        let names = |subjects: &[Subject]| subjects.iter().map(|&subject| self.name(subject)).collect();
        RuleReport {
            reason: rule.reason.clone(),
            layers: names(&layers),
            operands: names(&operands),
            tensors: names(&values),
            keys: keys.collect(),
        }
    }

    /// The effect of the keys of `[quantize]`, which apply to all quantized layers on the accelerator.
    fn everywhere(&self) -> Vec<KeyReport> {
        let quantize = &self.job.rules.quantize;
        let of_all = Rule {
            activations: quantize.activations.clone(),
            weights: quantize.weights.clone(),
            ..Rule::default()
        };
        let set = serde_json::to_value(&of_all).unwrap_or_default();
        let on_target = |node: &Node| node.place == Placement::Accelerator;
        let nodes = self.graph.nodes().filter(|(_, node)| on_target(node));
        let layers: Vec<Subject> = nodes.map(|(id, _)| Subject::Layer(id)).collect();
        let seen = KEYS
            .iter()
            .filter(|key| key.is_given(&of_all) && Has::of(key).is_some());
        let effects = seen.map(|key| {
            let with_codes = |&layer: &Subject| self.config(key, layer).is_some();
            let subjects: Vec<Subject> = layers.iter().copied().filter(with_codes).collect();
            self.effect(key, &set, &subjects, None)
        });
        effects.collect()
    }

    /// The effect of a key that is set by a rule or in `[quantize]`.
    fn effect(&self, key: &RuleKey, set: &Value, subjects: &[Subject], rule: Option<usize>) -> KeyReport {
        let value = key.name.split('.').fold(set, |table, name| &table[name]);
        let otherwise = subjects.iter().filter_map(|&subject| {
            let last = self.last(key, subject);
            let overruled = last.filter(|&last| rule.is_none_or(|rule| last > rule));
            let has = self.has(key, subject);
            let taken = match &has {
                Some(has) => holds(key, value, has),
                None => overruled.is_none(),
            };
            let by = || match overruled.or_else(|| self.in_float(subject)) {
                Some(rule) => format!("rule {}", rule + 1),
                None => "target".to_owned(),
            };
            (!taken).then(|| Otherwise {
                name: self.name(subject),
                by: by(),
                has,
            })
        });
        KeyReport {
            key: key.name.to_owned(),
            value: value.clone(),
            of: subjects.len(),
            otherwise: otherwise.collect(),
        }
    }

    /// The indices of the rules that apply to `subject`.
    fn rules(&self, key: &RuleKey, subject: Subject) -> Vec<usize> {
        let selection = self.job.selection;
        match subject {
            Subject::Layer(id) => selection.nodes.get(&id).cloned().unwrap_or_default(),
            Subject::Value(id) => selection.values.get(&id).cloned().unwrap_or_default(),
            Subject::Operand(id, index) if key.of == Of::Ranges => selection
                .read(self.graph, (id, index))
                .map(|(_, rules)| rules)
                .unwrap_or_default(),
            Subject::Operand(id, index) => selection.of_operand((id, index)),
        }
    }

    /// Returns the index of the last rule that sets `key` for `subject`. The keys `range` and `observer` both decide
    /// the range. If one rule sets `range` and another sets `observer`, the later rule decides.
    fn last(&self, key: &RuleKey, subject: Subject) -> Option<usize> {
        let (rules, quantize) = (self.rules(key, subject), &self.job.rules.quantize);
        let same = |other: &&RuleKey| {
            other.name == key.name || Has::of(key) == Some(Has::Origin) && Has::of(other) == Has::of(key)
        };
        KEYS.iter()
            .filter(same)
            .filter_map(|key| quantize.last(&rules, key))
            .max()
    }

    /// The index of the rule that makes a layer run in float, if there is one.
    fn in_float(&self, subject: Subject) -> Option<usize> {
        let Subject::Layer(id) = subject else { return None };
        self.job.rules.quantize.in_float(self.job.selection.nodes.get(&id)?)
    }

    /// The quantization config in which the effect of `key` on `subject` can be seen.
    fn config(&self, key: &RuleKey, subject: Subject) -> Option<ConfigId> {
        let (graph, table) = (self.graph, &self.graph.quant);
        match subject {
            Subject::Layer(id) if key.of == Of::Weights => {
                let weights = graph.node(id)?.op.weights_operand();
                self.weighs(subject).then(|| table.id(id, Port::Operand(weights)))?
            }
            Subject::Layer(id) => {
                let operands = 0..graph.node(id)?.inputs.len();
                operands.into_iter().find_map(|index| {
                    table
                        .id(id, Port::Operand(index))
                        .filter(|_| index != 1 || !self.weighs(subject))
                })
            }
            Subject::Operand(id, index) => table.id(id, Port::Operand(index)),
            Subject::Value(id) => match graph.value(id)?.def {
                Def::Node(node, index) => table.id(node, Port::Result(index.into())),
                _ => {
                    let index = graph.inputs().iter().position(|&input| input == id)?;
                    table.id(NodeId::OUTSIDE, Port::Input(index))
                }
            },
        }
    }

    /// Returns the value that `subject` ended up with for `key`, in the words of the configuration. Returns `None` if
    /// the graph does not show the value.
    fn has(&self, key: &RuleKey, subject: Subject) -> Option<String> {
        let seen = Has::of(key)?;
        if let (Has::Place, Subject::Layer(id)) = (seen, subject) {
            let on_host = self.graph.node(id)?.place != Placement::Accelerator;
            return Some(if on_host { "float" } else { "integer" }.to_owned());
        }
        let table: &QuantTable = &self.graph.quant;
        let Some(config) = self.config(key, subject) else {
            return Some("float32".to_owned());
        };
        let scheme = table.config(config)?.scheme;
        let policy: Policy = scheme.policy();
        Some(match seen {
            Has::Place => return None,
            Has::Type => Integer::from(scheme.elem()?.int_type()?).name().to_owned(),
            Has::Symmetric => policy.is_symmetric().to_string(),
            Has::Scale if policy.has_powers_of_two() => "power_of_two".to_owned(),
            Has::Scale => "any".to_owned(),
            Has::Per => match policy.per() {
                Granularity::Tensor => "tensor",
                Granularity::Channel { .. } => "channel",
                Granularity::Block { .. } => "block",
            }
            .to_owned(),
            Has::Origin => table.grid(config)?.origin.name().to_owned(),
        })
    }

    fn weighs(&self, subject: Subject) -> bool {
        let Subject::Layer(id) = subject else { return false };
        self.graph.node(id).is_some_and(weighs)
    }

    /// True if a rule chooses the layer that computes a value.
    fn is_of_layer(&self, value: Subject, rule: usize) -> bool {
        let Subject::Value(value) = value else { return false };
        let maker = self.graph.producer(value);
        let rules = maker.and_then(|(id, _)| self.job.selection.nodes.get(&id));
        rules.is_some_and(|rules| rules.contains(&rule))
    }

    fn name(&self, subject: Subject) -> String {
        let layer = |id| self.graph.node(id).map_or("", |node| self.module.name(node.name));
        match subject {
            Subject::Layer(id) => layer(id).to_owned(),
            Subject::Operand(id, index) => format!("{} of {}", Port::Operand(index), layer(id)),
            Subject::Value(id) => {
                let value = self.graph.value(id);
                value.map_or_else(String::new, |value| self.module.name(value.name).to_owned())
            }
        }
    }
}

/// True if the value that a subject ended up with satisfies the key. With `scale = "any"`, a scale may still be a power
/// of two. With `symmetric = false`, a zero point may still be 0. The key `range` is satisfied if the scale was
/// computed from a rule's range, even if the scale was then made coarser than the range requires.
fn holds(key: &RuleKey, value: &Value, has: &str) -> bool {
    match (Has::of(key), value) {
        (Some(Has::Symmetric), Value::Bool(false)) | (Some(Has::Scale), Value::String(_))
            if has != "float32" && *value != "power_of_two" =>
        {
            true
        }
        (Some(Has::Origin), _) => has == Origin::Rule.name() || has == Origin::Coarsened.name(),
        (Some(Has::Place), _) if *value == "auto" => true,
        (_, Value::String(value)) => has == value,
        (_, Value::Bool(value)) => has == if *value { "true" } else { "false" },
        _ => false,
    }
}
