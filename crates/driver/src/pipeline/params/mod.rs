//! The file of `quantize.params`: gives scale and zero point to the tensors that the file names, and checks afterwards that
//! they have got exactly these.

mod held;
mod moved;

use std::{collections::BTreeMap, sync::Arc};

use strait_compile::{GivenGrid, rules::weighs};
use strait_core::{Elem, Module, Node, NodeId, Port, QuantParams, Use, ValueId};
use strait_document::nearest;
use strait_quantize::{
    Settings,
    annotate::{Exact, RangeFrom},
};
use strait_target::spec::WeightPer;

use crate::{
    config::{GivenParams, Loaded, Params, Says},
    diagnostic::Diagnostics,
    failure::codes,
};

pub(super) use held::held;
pub(super) use moved::Moved;

/// Only this many findings suggest similar names, to keep the output short.
const MOST_NEAR: usize = 20;

/// Reads the file, if the configuration names one.
///
/// # Errors
/// The file has errors.
pub(super) fn read(loaded: &Loaded) -> Result<Option<Params>, Diagnostics> {
    let path = loaded.config.quantize.params.as_ref();
    path.map(|path| Params::load(path.as_ref())).transpose()
}

/// Checks the names in the file. A module keeps the names of what rules have folded away.
///
/// # Errors
/// There is no such tensor or layer.
fn known(params: &Params, module: &Module, names: &Names<'_>) -> Result<(), Diagnostics> {
    let mut findings = Vec::new();
    for given in &params.tensors {
        let (key, name) = match &given.reader {
            // Constants have other names after they were folded, so the layer alone counts.
            Some((layer, _)) => ("layer", layer.as_str()),
            None => ("name", given.name.as_str()),
        };
        if module.names.find(name).is_some() {
            continue;
        }
        let what = if key == "name" { "tensor" } else { "layer" };
        let message = format!("the model has no {what} `{name}`");
        let finding = params.error(codes::PARAMS, given, key, message);
        findings.push(match findings.len() < MOST_NEAR {
            true => {
                let known: Vec<&str> = match key {
                    "name" => names.values.keys().copied().collect(),
                    _ => names.nodes.keys().copied().collect(),
                };
                let near = nearest::closest(name, known, 3);
                finding.help(format!("near it are {}", nearest::list(near)))
            }
            false => finding,
        });
    }
    Diagnostics(findings).or(())
}

/// The tensors and layers of a graph by their names.
struct Names<'a> {
    values: BTreeMap<&'a str, ValueId>,
    nodes: BTreeMap<&'a str, NodeId>,
}

impl<'a> Names<'a> {
    fn of(module: &'a Module) -> Names<'a> {
        let graph = module.main();
        Names {
            values: graph
                .values()
                .map(|(id, value)| (module.name(value.name), id))
                .collect(),
            nodes: graph.nodes().map(|(id, node)| (module.name(node.name), id)).collect(),
        }
    }

    /// The node with this name, or else the node that was made from the layer of this name.
    fn node(&self, module: &Module, layer: &str) -> Option<NodeId> {
        self.nodes
            .get(layer)
            .copied()
            .or_else(|| super::given::find(module, layer))
    }

    /// The value that an entry is about, and the operands that read it.
    fn place(&self, module: &Module, given: &GivenParams) -> Option<(ValueId, Vec<Use>)> {
        let graph = module.main();
        let Some((layer, operand)) = &given.reader else {
            let value = *self.values.get(given.name.as_str())?;
            return Some((value, graph.uses(value).collect()));
        };
        let node = self.node(module, layer)?;
        let value = graph.node(node)?.input(*operand)?;
        let is_it = graph.data_of(value).is_some() || module.name(graph.value(value)?.name) == given.name;
        let operand = u16::try_from(*operand).ok()?;
        is_it.then(|| (value, vec![Use { node, operand }]))
    }
}

/// True if a node multiplies by this operand, which is a constant: its grid is that of weights.
fn is_weights(module: &Module, value: ValueId, at: Use) -> bool {
    let graph = module.main();
    let node = graph.node(at.node);
    let is_theirs = |node: &Node| usize::from(at.operand) == node.op.weights_operand() && weighs(node);
    graph.data_of(value).is_some() && node.is_some_and(is_theirs)
}

/// Puts the parameters into the settings of a target's float graph. Weights get their grids as given ones, all other tensors
/// in place of those that the statistics lead to. Tensors with a range or an observer by a rule are left alone.
///
/// # Errors
/// The file names tensors or layers that the model does not have.
pub(super) fn give(
    params: &Params,
    module: &Module,
    settings: &mut Settings,
    grids: &mut Vec<GivenGrid>,
) -> Result<(), Diagnostics> {
    let names = Names::of(module);
    known(params, module, &names)?;
    for given in &params.tensors {
        let Some((value, uses)) = names.place(module, given) else {
            continue;
        };
        let is_constant = module.main().data_of(value).is_some();
        let mut others = Vec::new();
        for at in uses {
            match &given.says {
                Says::Grid(elem, params) if is_weights(module, value, at) => {
                    let own = &mut settings.layers.entry(at.node).or_default().weights;
                    if own.observer.is_some() {
                        continue;
                    }
                    own.per.get_or_insert(match (params.axis, params.block) {
                        (_, Some(_)) => WeightPer::Block,
                        (Some(_), None) => WeightPer::Channel,
                        (None, None) => WeightPer::Tensor,
                    });
                    grids.push(GivenGrid {
                        node: at.node,
                        port: Port::Operand(at.operand.into()),
                        elem: *elem,
                        params: params.clone(),
                        codes: None,
                    });
                }
                _ => others.push((at.node, usize::from(at.operand))),
            }
        }
        if given.reader.is_some() || is_constant {
            others.into_iter().for_each(|at| of_operand(given, at, settings));
        } else {
            of_value(given, value, settings);
        }
    }
    Ok(())
}

/// Puts the parameters of a value into the settings.
fn of_value(given: &GivenParams, value: ValueId, settings: &mut Settings) {
    let own = settings.values.entry(value).or_default();
    match &given.says {
        Says::Range(range) => {
            own.range.get_or_insert(RangeFrom::Rule(*range));
        }
        Says::Grid(elem, params) => own.exact = Some(exact(*elem, params)).filter(|_| own.range.is_none()),
    }
}

/// Puts the parameters of one operand into the settings.
fn of_operand(given: &GivenParams, at: (NodeId, usize), settings: &mut Settings) {
    let own = settings.operands.entry(at).or_default();
    match &given.says {
        Says::Range(range) => {
            own.range.get_or_insert(RangeFrom::Rule(*range));
        }
        Says::Grid(elem, params) => own.exact = Some(exact(*elem, params)).filter(|_| own.range.is_none()),
    }
}

fn exact(elem: Elem, params: &QuantParams) -> Arc<Exact> {
    Arc::new(Exact {
        elem,
        params: params.clone(),
    })
}
