//! Prints the table of configs of a graph.

use super::labels::{GraphLabels, Labels};
use super::spell::{grid, word_or_string};
use crate::graph::Graph;
use crate::ids::{ConfigId, DataId, NodeId};
use crate::module::Module;
use crate::quant::{
    CodesOrigin, Derivation, Entry, Granularity, Parameter, ParameterCodes, Policy, Scheme, Standing, State,
};
use std::collections::BTreeMap;

/// The key before the codes to which a parameter was converted.
pub(super) const CODES: &str = "codes";
/// The key before codes that an optimisation chose.
pub(super) const OPTIMISED_CODES: &str = "optimised_codes";
/// The key before codes that the model or a calibration record gives, if the parameter has not been converted to them
/// yet.
pub(super) const GIVEN_CODES: &str = "given_codes";

/// Prints the block with the configs of a graph, if it has any.
pub(super) fn block(module: &Module, graph: &Graph, labels: &Labels, names: &GraphLabels, out: &mut String) {
    if graph.quant.is_empty() {
        return;
    }
    out.push_str(&format!("quant {} {{\n", names.label));
    match graph.quant.entries(&names.order) {
        Ok(entries) => lines(&entries, labels, &node_labels(module, graph, &names.order), out),
        // The node of this config was removed. Only a broken module has such a config, and it must be printable, too.
        Err(node) => out.push_str(&format!("  ; {node}, which was removed, has a config\n")),
    }
    out.push_str("}\n");
}

/// Returns a unique name for each node. If several nodes have the same name, a number is appended.
fn node_labels(module: &Module, graph: &Graph, order: &[NodeId]) -> BTreeMap<NodeId, String> {
    let mut next: BTreeMap<&str, u32> = BTreeMap::new();
    let mut labels = BTreeMap::new();
    for &id in order {
        let name = graph.node(id).map_or("", |node| module.name(node.name));
        let ordinal = next.entry(name).or_default();
        let mut label = word_or_string(name);
        if *ordinal > 0 {
            label.push_str(&format!("~{ordinal}"));
        }
        *ordinal += 1;
        labels.insert(id, label);
    }
    labels
}

fn lines(entries: &[Entry], labels: &Labels, nodes: &BTreeMap<NodeId, String>, out: &mut String) {
    let place = |entry: &Entry| {
        if entry.port.is_border() {
            return entry.port.to_string();
        }
        let node = nodes.get(&entry.node).map_or("\"\"", |label| label);
        format!("{node} {}", entry.port)
    };
    let other = |id: ConfigId| entries.get(id.index()).map(place).unwrap_or_default();
    for entry in entries {
        let float = if entry.float { " float" } else { "" };
        let baked = matches!(entry.parameter, Parameter::Baked(_));
        let standing = match &entry.standing {
            Standing::Initial => State::Initial.to_string(),
            Standing::Own(own) => {
                let state = if baked { State::Baked } else { State::Activated };
                format!("{state}{} {}", grid(&own.params), own.origin)
            }
            Standing::Overlapped(root) => format!("{} {}", State::Overlapped, other(*root)),
            Standing::Passive(derivation) => {
                let state = if baked { State::PassiveBaked } else { State::Passive };
                let masters = match *derivation {
                    Derivation::Same(of) => format!("same {}", other(of)),
                    Derivation::Shifted(of, bits) => format!("shifted {bits}, {}", other(of)),
                    Derivation::Product(one, another) => format!("product {}, {}", other(one), other(another)),
                };
                format!("{state} {masters}")
            }
        };
        out.push_str(&format!(
            "  {}: {}{float} {standing}{}\n",
            place(entry),
            scheme_text(&entry.scheme),
            parameter(&entry.parameter, labels)
        ));
    }
}

/// Writes the codes of a parameter: ` codes=@w`.
fn parameter(parameter: &Parameter, labels: &Labels) -> String {
    let label = |data: DataId| labels.data(data).map_or_else(|| data.to_string(), str::to_owned);
    match *parameter {
        Parameter::Real => String::new(),
        Parameter::Given(data) => format!(" {GIVEN_CODES}={}", label(data)),
        Parameter::Baked(ParameterCodes { data, origin }) => {
            let key = match origin {
                CodesOrigin::Rounded => CODES,
                CodesOrigin::Optimised => OPTIMISED_CODES,
                CodesOrigin::Given => GIVEN_CODES,
            };
            format!(" {key}={}", label(data))
        }
    }
}

/// Writes a scheme as in the text form: `i8[-128,127] asymmetric half_even`.
pub fn scheme_text(scheme: &Scheme) -> String {
    let per = match scheme.policy().per() {
        Granularity::Tensor => String::new(),
        Granularity::Channel { axis } => format!(" channel={axis}"),
        Granularity::Block { axis, size } => format!(" axis={axis} block={size}"),
    };
    let codes = match (scheme.policy(), scheme.elem(), scheme.range()) {
        (policy @ Policy::Linear { .. }, Some(elem), Some([low, high])) => {
            format!("{elem}[{low},{high}] {}", policy.words().join(" "))
        }
        (Policy::Floating { format, .. }, ..) => format.to_string(),
        // `Scheme` always gives a linear policy a type and a range, so this case does not occur.
        (Policy::Linear { .. }, ..) => String::new(),
    };
    format!("{codes}{per} {}", scheme.rounding().name())
}
