//! Effect of the configuration on the annotated graph: what each key is for, and who has something else in the end.

use serde_json::Value;
use strait_core::{
    ConfigId, Def, Granularity, Graph, Module, Node, NodeId, Origin, Placement, Policy, Port, QuantTable, ValueId,
};

use strait_target::spec::Integer;

use crate::{
    config::types::Run,
    report::{KeyReport, Otherwise, RuleReport},
};

use super::{
    lowered::Job,
    selection::{united, weighs},
};

/// A key of rules, its way through the tables of a rule, and what it is for.
struct Key {
    path: &'static [&'static str],
    of: Of,
    has: Has,
}

/// The things that a key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Layers,
    Weights,
    Activations,
    /// Results of layers, tensors and operands.
    Ranges,
}

/// Where an effect is to be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    Nowhere,
    Place,
    Type,
    Symmetric,
    Scale,
    Per,
    Origin,
}

const fn key(path: &'static [&'static str], of: Of, has: Has) -> Key {
    Key { path, of, has }
}

const KEYS: &[Key] = &[
    key(&["run"], Of::Layers, Has::Place),
    key(&["range"], Of::Ranges, Has::Origin),
    key(&["observer"], Of::Ranges, Has::Origin),
    key(&["observer_options"], Of::Ranges, Has::Nowhere),
    key(&["alignment"], Of::Layers, Has::Nowhere),
    key(&["simplify"], Of::Layers, Has::Nowhere),
    key(&["activations", "type"], Of::Activations, Has::Type),
    key(&["activations", "symmetric"], Of::Activations, Has::Symmetric),
    key(&["activations", "scale"], Of::Activations, Has::Scale),
    key(&["weights", "type"], Of::Weights, Has::Type),
    key(&["weights", "symmetric"], Of::Weights, Has::Symmetric),
    key(&["weights", "scale"], Of::Weights, Has::Scale),
    key(&["weights", "per"], Of::Weights, Has::Per),
    key(&["weights", "block"], Of::Weights, Has::Nowhere),
    key(&["weights", "observer"], Of::Weights, Has::Nowhere),
    key(&["weights", "unfit"], Of::Weights, Has::Nowhere),
];

/// Anything that a key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Layer(NodeId),
    Operand(NodeId, usize),
    Value(ValueId),
}

/// The effect of each rule, and that of `[quantize]`, on a graph annotated for one target.
pub(super) fn effects(job: &Job<'_>, annotated: &Module) -> (Vec<RuleReport>, Vec<KeyReport>) {
    let rules = &job.loaded.config.quantize.rule;
    let effects = Effects {
        job,
        module: annotated,
        graph: annotated.main(),
        set: rules
            .iter()
            .map(|rule| serde_json::to_value(rule).unwrap_or_default())
            .collect(),
    };
    let of_rules = (0..rules.len()).map(|index| effects.rule(index));
    (of_rules.collect(), effects.everywhere())
}

struct Effects<'a> {
    job: &'a Job<'a>,
    module: &'a Module,
    graph: &'a Graph,
    /// The keys of each rule.
    set: Vec<Value>,
}

impl Effects<'_> {
    fn rule(&self, index: usize) -> RuleReport {
        let (rule, selection) = (&self.job.loaded.config.quantize.rule[index], self.job.selection);
        let holds = |rules: &Vec<usize>| rules.contains(&index);
        let layers: Vec<Subject> = (selection.nodes.iter())
            .filter(|(_, rules)| holds(rules))
            .map(|(&id, _)| Subject::Layer(id))
            .collect();
        let operands: Vec<Subject> = (selection.operands.iter())
            .filter(|(_, rules)| holds(rules))
            .map(|(&(id, operand), _)| Subject::Operand(id, operand))
            .collect();
        let values: Vec<Subject> = (selection.values.iter())
            .filter(|(_, rules)| holds(rules))
            .map(|(&id, _)| Subject::Value(id))
            .collect();
        // What is said of a layer is not said of its results besides.
        let named = values.iter().copied().filter(|&value| !self.is_of_layer(value, index));
        let named: Vec<Subject> = named.collect();
        let keys = KEYS.iter().filter_map(|key| {
            let value = given(&self.set[index], key.path)?;
            let subjects: Vec<Subject> = match key.of {
                Of::Layers => layers.clone(),
                Of::Weights => layers.iter().copied().filter(|&layer| self.weighs(layer)).collect(),
                Of::Activations => [&layers[..], &operands, &named].concat(),
                Of::Ranges => [&operands[..], &values].concat(),
            };
            Some(self.effect(key, value, &subjects, Some(index)))
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

    /// The keys of `[quantize]` for all layers of the accelerator that have codes.
    fn everywhere(&self) -> Vec<KeyReport> {
        let set = serde_json::to_value(&self.job.loaded.config.quantize).unwrap_or_default();
        let on_target = |node: &Node| node.place == Placement::Accelerator;
        let nodes = self.graph.nodes().filter(|(_, node)| on_target(node));
        let layers: Vec<Subject> = nodes.map(|(id, _)| Subject::Layer(id)).collect();
        let seen = KEYS
            .iter()
            .filter(|key| !matches!(key.has, Has::Nowhere | Has::Place | Has::Origin));
        let effects = seen.filter_map(|key| {
            let value = given(&set, key.path)?;
            let with_codes = |&layer: &Subject| self.config(key, layer).is_some();
            let subjects: Vec<Subject> = layers.iter().copied().filter(with_codes).collect();
            Some(self.effect(key, value, &subjects, None))
        });
        effects.collect()
    }

    /// The effect of a key, of a rule or of `[quantize]`.
    fn effect(&self, key: &Key, value: &Value, subjects: &[Subject], rule: Option<usize>) -> KeyReport {
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
            key: key.path.join("."),
            value: value.clone(),
            of: subjects.len(),
            otherwise: otherwise.collect(),
        }
    }

    /// The rules for a subject.
    fn rules(&self, key: &Key, subject: Subject) -> Vec<usize> {
        let selection = self.job.selection;
        match subject {
            Subject::Layer(id) => selection.nodes.get(&id).cloned().unwrap_or_default(),
            Subject::Value(id) => selection.values.get(&id).cloned().unwrap_or_default(),
            Subject::Operand(id, index) if key.of == Of::Ranges => selection
                .read(self.graph, (id, index))
                .map(|(_, rules)| rules)
                .unwrap_or_default(),
            Subject::Operand(id, index) => united(selection.nodes.get(&id), selection.operands.get(&(id, index))),
        }
    }

    /// The last rule that gives a key. A range and an observer are two answers to one question.
    fn last(&self, key: &Key, subject: Subject) -> Option<usize> {
        let table: &[&[&str]] = match key.has {
            Has::Origin => &[&["range"], &["observer"]],
            _ => &[key.path],
        };
        let mut rules = self.rules(key, subject).into_iter().rev();
        rules.find(|&index| {
            let rule = self.set.get(index);
            rule.is_some_and(|rule| table.iter().any(|path| given(rule, path).is_some()))
        })
    }

    /// The rule by which a layer runs in float.
    fn in_float(&self, subject: Subject) -> Option<usize> {
        let Subject::Layer(id) = subject else { return None };
        let quantize = &self.job.loaded.config.quantize;
        let (rule, run) = quantize.last(self.job.selection.nodes.get(&id)?, |rule| rule.run)?;
        (run == Run::Float).then_some(rule)
    }

    /// The config in which an effect is to be seen.
    fn config(&self, key: &Key, subject: Subject) -> Option<ConfigId> {
        let (graph, table) = (self.graph, &self.graph.quant);
        match subject {
            Subject::Layer(id) if key.of == Of::Weights => {
                self.weighs(subject).then(|| table.id(id, Port::Operand(1)))?
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

    /// The word of the configuration for that which a subject has; none where that is not to be seen.
    fn has(&self, key: &Key, subject: Subject) -> Option<String> {
        if key.has == Has::Nowhere {
            return None;
        }
        if let (Has::Place, Subject::Layer(id)) = (key.has, subject) {
            let on_host = self.graph.node(id)?.place != Placement::Accelerator;
            return Some(if on_host { "float" } else { "integer" }.to_owned());
        }
        let table: &QuantTable = &self.graph.quant;
        let Some(config) = self.config(key, subject) else {
            return Some("float32".to_owned());
        };
        let scheme = table.config(config)?.scheme;
        let policy: Policy = scheme.policy();
        Some(match key.has {
            Has::Nowhere | Has::Place => return None,
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

    /// True if a rule chooses the layer that makes a value.
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

/// True if what a subject has is what the key asks for. Any scale may be a power of two, a zero point that is not asked to be
/// 0 may be, and a grid that was given or coarsened began as the range that a rule states.
fn holds(key: &Key, value: &Value, has: &str) -> bool {
    match (key.has, value) {
        (Has::Symmetric, Value::Bool(false)) | (Has::Scale, Value::String(_))
            if has != "float32" && *value != "power_of_two" =>
        {
            true
        }
        (Has::Origin, _) => has == Origin::Rule.name() || has == Origin::Coarsened.name(),
        (Has::Place, _) if *value == "auto" => true,
        (_, Value::String(value)) => has == value,
        (_, Value::Bool(value)) => has == if *value { "true" } else { "false" },
        _ => false,
    }
}

/// A key of a table, if it is given.
fn given<'v>(table: &'v Value, path: &[&str]) -> Option<&'v Value> {
    let found = path.iter().try_fold(table, |table, key| table.get(key))?;
    let empty = found.as_object().is_some_and(|keys| keys.values().all(Value::is_null));
    (!found.is_null() && !empty).then_some(found)
}
