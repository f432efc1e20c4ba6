//! Invariants 17 to 23: the table of quantization configs.

use super::findings::{Findings, Verified, View, ensure};
use crate::elem::Elem;
use crate::graph::{Def, Value};
use crate::ids::{ConfigId, DataId, NodeId};
use crate::quant::{Derivation, Port, QuantConfig};
use crate::shape::TensorType;
use crate::stage::Stage;
use std::collections::BTreeMap;

pub(super) fn verify<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let graph = view.graph;
    if graph.stage() != Stage::Annotated {
        findings.take(ensure(graph.quant.is_empty(), 18, || {
            let name = view.module.name(graph.name);
            format!("{name} has configs in the {} stage", graph.stage())
        }));
        return;
    }
    for (_, value) in graph.values() {
        let grid = value.quant.as_ref().filter(|grid| grid.codes.is_none());
        findings.take(ensure(grid.is_none() || !value.ty.elem.is_float(), 17, || {
            format!("{} has a grid beside the configs", view.value(value))
        }));
    }
    let mut extremes = BTreeMap::new();
    for (id, config) in graph.quant.iter() {
        let found = graph.value_at(config.node, config.port);
        // If the operand or result now has another config, the table does not find this config at its node and port.
        let listed = graph.quant.id(config.node, config.port) == Some(id);
        let Some(value) = found.filter(|_| listed).and_then(|id| graph.value(id)) else {
            findings.take(ensure_of(view, config, false, 18, || {
                format!("a config is of {}, which is not there", config.port)
            }));
            continue;
        };
        findings.of_node(view, config.node, set(view, id, config));
        findings.of_node(view, config.node, grid(view, id, config, value));
        findings.of_node(view, config.node, codes(view, id, config, value, &mut extremes));
    }
    border(view, findings);
}

/// Checks an invariant of a config. The message begins with the name of the node. For an input or output, it begins
/// with the name of the graph.
fn ensure_of(
    view: View<'_>,
    config: &QuantConfig,
    holds: bool,
    invariant: u8,
    text: impl FnOnce() -> String,
) -> Verified {
    let place = || match view.graph.node(config.node) {
        Some(node) => view.place(node),
        None if config.port.is_border() => view.module.name(view.graph.name).to_owned(),
        None => config.node.to_string(),
    };
    ensure(holds, invariant, || format!("{}: {}", place(), text()))
}

/// Checks the configs of the graph's inputs and outputs. Every float input and output must have a config, and the
/// config of an output must have the grid of its value.
fn border<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let (graph, table) = (view.graph, &view.graph.quant);
    let inputs = graph.inputs().iter().enumerate();
    let inputs = inputs.map(|(index, &value)| (Port::Input(index), value));
    let outputs = graph.outputs().iter().enumerate();
    for (port, value) in inputs.chain(outputs.map(|(index, &value)| (Port::Output(index), value))) {
        if graph.value(value).is_none_or(|value| value.ty.elem != Elem::F32) {
            continue;
        }
        let config = table.id(NodeId::OUTSIDE, port);
        let name = view.module.name(graph.name);
        findings.take(ensure(config.is_some(), 23, || format!("{name}: {port} has no config")));
        let params = |id| table.kept(id).map(|grid| grid.params);
        let own = config.and_then(params);
        let same = own.is_none() || own == graph.left(value).and_then(params);
        findings.take(ensure(matches!(port, Port::Input(_)) || same, 23, || {
            format!("{name}: {port} has another grid than what it is")
        }));
    }
}

fn set(view: View<'_>, id: ConfigId, config: &QuantConfig) -> Verified {
    let table = &view.graph.quant;
    let mut masters = table.derivation(id).into_iter().flat_map(Derivation::masters);
    let Some(root) = table
        .config(table.root(id))
        .filter(|_| masters.all(|id| table.config(id).is_some()))
    else {
        return ensure_of(view, config, false, 22, || {
            format!("{} rests on a config that is not there", config.port)
        });
    };
    ensure_of(view, config, root.scheme == config.scheme, 19, || {
        let (port, scheme) = (config.port, config.scheme);
        format!("{port} is {scheme}, but reads a grid of {}", root.scheme)
    })
}

/// Checks the grid that a config has or reads. If the config is excluded from quantization, checks the grid that it
/// would have after it is restored.
fn grid(view: View<'_>, id: ConfigId, config: &QuantConfig, value: &Value) -> Verified {
    let table = &view.graph.quant;
    let wrong = table
        .kept(id)
        .and_then(|grid| config.scheme.misfit(&grid.params, &value.ty.shape));
    ensure_of(view, config, wrong.is_none(), 20, || {
        let wrong = wrong.unwrap_or_default();
        format!("the grid of {}, {}, {wrong}", config.port, config.scheme)
    })
}

/// Checks the codes of a parameter. Several configs may share one constant, so its smallest and largest element are
/// computed only once.
fn codes(
    view: View<'_>,
    id: ConfigId,
    config: &QuantConfig,
    value: &Value,
    extremes: &mut BTreeMap<DataId, Option<(i64, i64)>>,
) -> Verified {
    let Some(codes) = view.graph.quant.codes(id) else {
        return Ok(());
    };
    let wrong = match view.module.data(codes.data) {
        None => Some("are not there"),
        Some(_) if !matches!(value.def, Def::Data(_)) => Some("are of what is no constant"),
        Some(tensor) => {
            let ty = TensorType {
                elem: config.scheme.elem().unwrap_or(Elem::F32),
                shape: value.ty.shape.clone(),
            };
            let ends = extremes.entry(codes.data).or_insert_with(|| tensor.extremes());
            let [low, high] = config.scheme.range().unwrap_or([0, 0]);
            let outside = ends.is_some_and(|(least, most)| least < low || most > high);
            let of_type = tensor.tensor_type() == ty && config.scheme.elem().is_some();
            match of_type {
                false => Some("have another type or shape"),
                true => outside.then_some("leave the range"),
            }
        }
    };
    ensure_of(view, config, wrong.is_none(), 21, || {
        let wrong = wrong.unwrap_or_default();
        format!("the codes of {}, {}, {wrong}", config.port, config.scheme)
    })
}
