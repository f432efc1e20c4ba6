//! Invariants 17 to 21: the table of quantization configs.

use super::{Findings, Verified, View, ensure};
use crate::elem::Elem;
use crate::graph::{Def, Node, Value};
use crate::ids::{ConfigId, DataId};
use crate::quant::{Granularity, Port, QuantConfig, QuantParams, Scheme};
use crate::shape::TensorType;
use crate::stage::Stage;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

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
        findings.take(ensure(value.quant.is_none(), 17, || {
            format!("{} has a grid beside the configs", view.value(value))
        }));
    }
    let mut extremes = BTreeMap::new();
    for (id, config) in graph.quant.iter() {
        let node = graph.node(config.node);
        let found = node.and_then(|node| Some((node, port_value(view, node, config.port)?)));
        // One that another took the place of is found by nobody.
        let listed = graph.quant.id(config.node, config.port) == Some(id);
        let Some((node, value)) = found.filter(|_| listed) else {
            findings.take(ensure(false, 18, || {
                let name = node.map_or(config.node.to_string(), |node| view.place(node));
                format!("{name}: a config is of {}, which is not there", config.port)
            }));
            continue;
        };
        findings.of_node(view, config.node, set(view, id, config, node));
        findings.of_node(view, config.node, grid(view, id, config, (node, value)));
        findings.of_node(view, config.node, codes(view, id, config, (node, value), &mut extremes));
    }
}

fn port_value<'m>(view: View<'m>, node: &'m Node, port: Port) -> Option<&'m Value> {
    match port {
        Port::Operand(index) => view.operand(node, index),
        Port::Result(index) => view.graph.value(*node.outputs.get(index)?),
    }
}

fn set(view: View<'_>, id: ConfigId, config: &QuantConfig, node: &Node) -> Verified {
    let table = &view.graph.quant;
    let root = table.config(table.root(id)).map(|root| root.scheme);
    ensure(root == Some(config.scheme), 19, || {
        let place = view.place(node);
        let root = root.map(|root| root.to_string()).unwrap_or_default();
        format!(
            "{place}: {} is {}, but reads a grid of {root}",
            config.port, config.scheme
        )
    })
}

/// The grid that a config has or reads, also one that only waits to be restored.
fn grid(view: View<'_>, id: ConfigId, config: &QuantConfig, (node, value): (&Node, &Value)) -> Verified {
    let table = &view.graph.quant;
    let wrong = table.kept(id).and_then(|grid| {
        let own = table.root(id) == id;
        let numbers = own.then(|| illegal_numbers(&config.scheme, &grid.params)).flatten();
        numbers.or_else(|| illegal_parts(&config.scheme, &grid.params, value))
    });
    ensure(wrong.is_none(), 20, || {
        let (place, wrong) = (view.place(node), wrong.unwrap_or_default());
        format!("{place}: the grid of {}, {}, {wrong}", config.port, config.scheme)
    })
}

/// The integers of a parameter: many configs may share one tensor, of which the extremes are found once.
fn codes(
    view: View<'_>,
    id: ConfigId,
    config: &QuantConfig,
    (node, value): (&Node, &Value),
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
    ensure(wrong.is_none(), 21, || {
        let (place, wrong) = (view.place(node), wrong.unwrap_or_default());
        format!("{place}: the codes of {}, {}, {wrong}", config.port, config.scheme)
    })
}

fn illegal_numbers(scheme: &Scheme, params: &QuantParams) -> Option<&'static str> {
    let policy = scheme.policy();
    let (first, last) = scheme.elem().and_then(Elem::integers).unwrap_or((0, 0));
    let rules = [
        (
            params.scale.all(|s| s.is_finite() && *s > 0.0),
            "has a scale that is not finite and positive",
        ),
        (
            !policy.has_powers_of_two() || params.scale.all(|s| is_power_of_two(*s)),
            "has a scale that is no power of two",
        ),
        (
            !policy.is_symmetric() || params.zero_point.all(|z| *z == 0),
            "has a zero point, but is symmetric",
        ),
        (
            params.zero_point.all(|z| (first..=last).contains(&i64::from(*z))),
            "has a zero point outside of the type",
        ),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, wrong)| wrong)
}

/// True of a positive one: nothing but the exponent is set, or one bit of a number below the smallest exponent.
fn is_power_of_two(scale: f32) -> bool {
    let mantissa = scale.to_bits() & 0x007f_ffff;
    mantissa.count_ones() == u32::from(!scale.is_normal())
}

/// A grid may be coarser than its scheme allows, one scale for all. The other way around it is not.
fn illegal_parts(scheme: &Scheme, params: &QuantParams, value: &Value) -> Option<&'static str> {
    let counts = [params.scale.channels(), params.zero_point.channels()];
    if counts == [None, None] {
        let inside = params.axis.is_none_or(|axis| usize::from(axis) < value.ty.shape.len());
        return (!inside).then_some("has an axis that its value lacks");
    }
    let (axis, size) = match scheme.policy().per() {
        Granularity::Tensor => (None, None),
        Granularity::Channel { axis } => (Some(axis), None),
        Granularity::Block { axis, size } => (Some(axis), Some(size)),
    };
    if params.axis != axis || params.block.map(NonZeroU32::get) != size {
        return Some("is along another axis, or in other blocks");
    }
    let parts = params.parts(&value.ty.shape);
    let fits = counts.into_iter().flatten().all(|count| parts == Some(count as u64));
    (!fits).then_some("has not as many scales as its value has parts")
}
