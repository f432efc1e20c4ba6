//! Resolves the operands and results that a rule chooses by their position.

use std::collections::BTreeSet;

use strait_core::{Elem, Module, Node, NodeId, Port, ValueId};
use strait_document::KeyPath;

use super::{Rule, RuleError, keys::rule_place, selection::weighs};

/// The operands and results that one rule chooses.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) operands: Vec<(NodeId, usize)>,
    pub(super) results: Vec<ValueId>,
    /// Errors for positions that no layer has, or whose operand or result cannot be set by a rule.
    pub(super) errors: Vec<RuleError>,
}

/// Finds the operands and results that a rule chooses. Operands are searched for in the first list of layers, and
/// results in the second list. If there are several layers, it is enough that one of them has an operand or a result at
/// a position that the rule names.
pub(super) fn ports(
    module: &Module,
    (index, rule): (usize, &Rule),
    [reading, making]: [&BTreeSet<NodeId>; 2],
) -> Ports {
    let graph = module.main();
    let [reading, making] = [reading, making].map(|ids| ids.iter().filter_map(|&id| Some((id, graph.node(id)?))));
    let mut found = Ports::default();
    for (at, &position) in rule.operands.iter().enumerate() {
        let key = rule_place(index).key("operands").index(at);
        let tried = reading
            .clone()
            .map(|(id, node)| Ok((id, operand(module, node, position as usize, &key)?)));
        any(tried, &mut found.operands, &mut found.errors);
    }
    for (at, &position) in rule.results.iter().enumerate() {
        let key = rule_place(index).key("results").index(at);
        let tried = making
            .clone()
            .map(|(_, node)| result(module, node, position as usize, &key));
        any(tried, &mut found.results, &mut found.errors);
    }
    found
}

/// Adds everything in `tried` that is not an error to `found`. If everything is an error, adds the first one to
/// `errors`.
fn any<T>(tried: impl Iterator<Item = Result<T, RuleError>>, found: &mut Vec<T>, errors: &mut Vec<RuleError>) {
    let (fit, unfit): (Vec<_>, Vec<_>) = tried.partition(Result::is_ok);
    if fit.is_empty() {
        errors.extend(unfit.into_iter().take(1).filter_map(Result::err));
    }
    found.extend(fit.into_iter().flatten());
}

fn absent(key: &KeyPath, name: &str, port: Port, count: usize) -> RuleError {
    let help = match count {
        0 => "it has none".to_owned(),
        1 => "it has one, 0".to_owned(),
        count => format!("it has {count}, 0 to {}", count - 1),
    };
    RuleError::wrong(key.clone(), format!("`{name}` has no {port}")).help(help)
}

fn operand(module: &Module, node: &Node, index: usize, key: &KeyPath) -> Result<usize, RuleError> {
    let (graph, name, port) = (module.main(), module.name(node.name), Port::Operand(index));
    let Some(value) = node.inputs.get(index).copied().flatten() else {
        return Err(absent(key, name, port, node.inputs.len()));
    };
    if graph.data_of(value).is_some() {
        let (what, help) = match index {
            1 if weighs(node) => (
                "holds its weights",
                "`weights` in a rule without `operands` says their type, scheme and observer",
            ),
            2 if weighs(node) => (
                "is its bias",
                "its grid is that of the sums, and follows from operand and weights; leave it out",
            ),
            _ => (
                "is a constant",
                "its range is that of its elements, its type that of the layer's other operands; leave it out",
            ),
        };
        return Err(RuleError::wrong(key.clone(), format!("{port} of `{name}` {what}")).help(help));
    }
    codes(module, value, name, port, key)?;
    Ok(index)
}

fn result(module: &Module, node: &Node, index: usize, key: &KeyPath) -> Result<ValueId, RuleError> {
    let (name, port) = (module.name(node.name), Port::Result(index));
    let value = node.outputs.get(index).copied();
    let value = value.ok_or_else(|| absent(key, name, port, node.outputs.len()))?;
    codes(module, value, name, port, key)?;
    Ok(value)
}

/// Refuses a value that is never quantized, such as indices.
fn codes(module: &Module, value: ValueId, name: &str, port: Port, key: &KeyPath) -> Result<(), RuleError> {
    let elem = module.main().value(value).map_or(Elem::F32, |value| value.ty.elem);
    match elem {
        Elem::F32 => Ok(()),
        elem => {
            let message = format!("{port} of `{name}` is not quantized: its elements are {elem}");
            Err(RuleError::wrong(key.clone(), message).help("leave it out"))
        }
    }
}
