//! Operands and results of layers that a rule chooses by their position.

use std::collections::BTreeSet;

use strait_core::{Elem, Module, Node, NodeId, Port, ValueId};

use crate::{
    config::{KeyPath, Loaded, types::Rule},
    diagnostic::Diagnostic,
    failure::codes,
};

use super::selection::weighs;

/// Choice of one rule.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) operands: Vec<(NodeId, usize)>,
    pub(super) results: Vec<ValueId>,
    /// The positions that no layer has, or that hold nothing a rule could set.
    pub(super) findings: Vec<Diagnostic>,
}

/// The operands and results that the rule at this index chooses of layers: operands of the first ones, results of the others.
/// Of several layers only some need to have a position.
pub(super) fn ports(
    module: &Module,
    loaded: &Loaded,
    (index, rule): (usize, &Rule),
    [reading, making]: [&BTreeSet<NodeId>; 2],
) -> Ports {
    let graph = module.main();
    let [reading, making] = [reading, making].map(|ids| ids.iter().filter_map(|&id| Some((id, graph.node(id)?))));
    let table = KeyPath::of(&["quantize", "rule"]).index(index);
    let mut found = Ports::default();
    for (at, &position) in rule.operands.iter().enumerate() {
        let nodes = reading.clone();
        let tried = nodes.map(|(id, node)| operand(module, node, position as usize).map(|index| (id, index)));
        match any(tried) {
            Ok(operands) => found.operands.extend(operands),
            Err(unfit) => {
                let path = table.clone().key("operands").index(at);
                found.findings.push(unfit.finding(loaded, &path));
            }
        }
    }
    for (at, &position) in rule.results.iter().enumerate() {
        let nodes = making.clone();
        match any(nodes.map(|(_, node)| result(module, node, position as usize))) {
            Ok(results) => found.results.extend(results),
            Err(unfit) => {
                let path = table.clone().key("results").index(at);
                found.findings.push(unfit.finding(loaded, &path));
            }
        }
    }
    found
}

/// Those that fit, or the first reason why none does.
fn any<T>(tried: impl Iterator<Item = Result<T, Unfit>>) -> Result<Vec<T>, Unfit> {
    let (mut fit, mut unfit) = (Vec::new(), None);
    for one in tried {
        match one {
            Ok(one) => fit.push(one),
            Err(why) => unfit = unfit.or(Some(why)),
        }
    }
    match unfit {
        Some(unfit) if fit.is_empty() => Err(unfit),
        _ => Ok(fit),
    }
}

/// Reason why a rule cannot be for an operand or a result.
struct Unfit {
    message: String,
    help: String,
}

impl Unfit {
    fn finding(self, loaded: &Loaded, path: &KeyPath) -> Diagnostic {
        loaded.error(codes::RULE, path, self.message, "").help(self.help)
    }

    fn absent(name: &str, port: Port, count: usize) -> Unfit {
        let help = match count {
            0 => "it has none".to_owned(),
            1 => "it has one, 0".to_owned(),
            count => format!("it has {count}, 0 to {}", count - 1),
        };
        let message = format!("`{name}` has no {port}");
        Unfit { message, help }
    }
}

fn operand(module: &Module, node: &Node, index: usize) -> Result<usize, Unfit> {
    let (graph, name, port) = (module.main(), module.name(node.name), Port::Operand(index));
    let Some(value) = node.inputs.get(index).copied().flatten() else {
        return Err(Unfit::absent(name, port, node.inputs.len()));
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
        return Err(Unfit {
            message: format!("{port} of `{name}` {what}"),
            help: help.to_owned(),
        });
    }
    codes(module, value, name, port)?;
    Ok(index)
}

fn result(module: &Module, node: &Node, index: usize) -> Result<ValueId, Unfit> {
    let (name, port) = (module.name(node.name), Port::Result(index));
    let Some(&value) = node.outputs.get(index) else {
        return Err(Unfit::absent(name, port, node.outputs.len()));
    };
    codes(module, value, name, port)?;
    Ok(value)
}

/// Refuses what is never quantized: indices and the like.
fn codes(module: &Module, value: ValueId, name: &str, port: Port) -> Result<(), Unfit> {
    let elem = module.main().value(value).map_or(Elem::F32, |value| value.ty.elem);
    match elem {
        Elem::F32 => Ok(()),
        elem => Err(Unfit {
            message: format!("{port} of `{name}` is not quantized: its elements are {elem}"),
            help: "leave it out".to_owned(),
        }),
    }
}
