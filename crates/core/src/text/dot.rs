//! Draws a module for Graphviz.

use super::labels::{GraphLabels, Labels};
use super::print::{attribute_text, type_text};
use crate::graph::{Def, Graph, Node, Placement};
use crate::ids::ValueId;
use crate::module::Module;

/// Returns the module in DOT. It has one cluster per graph, one box per node with its attributes (dashed if the node
/// runs on the host), and one edge per operand with its type. Constants have no boxes; their names are in the boxes of
/// the nodes that read them.
pub fn to_dot(module: &Module) -> String {
    let labels = Labels::new(module);
    let mut out = String::from("digraph strait {\n  node [shape=box, fontname=monospace];\n");
    for (position, (graph, names)) in module.graphs.iter().zip(&labels.graphs).enumerate() {
        let label = dot_string(&names.label);
        out.push_str(&format!("  subgraph cluster_{position} {{\n    label={label};\n"));
        Drawing {
            module,
            labels: &labels,
            graph,
            names,
            position,
        }
        .draw(&mut out);
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// Writes a string in DOT: quotes and backslashes are escaped, and each line of the text is left-aligned.
fn dot_string(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l");
    format!("\"{escaped}\"")
}

struct Drawing<'a> {
    module: &'a Module,
    labels: &'a Labels,
    graph: &'a Graph,
    names: &'a GraphLabels,
    position: usize,
}

impl Drawing<'_> {
    fn draw(&self, out: &mut String) {
        for &id in self.graph.inputs() {
            let (port, label) = (self.port(id), dot_string(self.names.value(id)));
            self.line(out, &format!("{port} [shape=oval, label={label}]"));
        }
        for &id in &self.names.order {
            let Some(node) = self.graph.node(id) else { continue };
            let style = match &node.place {
                Placement::Accelerator => "",
                Placement::Host(_) => ", style=dashed",
            };
            let target = format!("g{}n{}", self.position, id.index());
            let label = dot_string(&self.box_text(node));
            self.line(out, &format!("{target} [label={label}{style}]"));
            for &operand in node.inputs.iter().flatten() {
                self.edge(out, operand, &target);
            }
        }
        for (index, &id) in self.graph.outputs().iter().enumerate() {
            let target = format!("g{}o{index}", self.position);
            let label = dot_string(self.names.value(id));
            self.line(out, &format!("{target} [shape=oval, label={label}]"));
            self.edge(out, id, &target);
        }
    }

    fn line(&self, out: &mut String, text: &str) {
        out.push_str(&format!("    {text};\n"));
    }

    /// Returns the identifier in DOT of the shape that stands for the producer of a value: a node's box, or a graph
    /// input's oval.
    fn port(&self, id: ValueId) -> String {
        match self.graph.value(id).map(|v| v.def) {
            Some(Def::Node(node, _)) => format!("g{}n{}", self.position, node.index()),
            _ => format!("g{}v{}", self.position, id.index()),
        }
    }

    fn edge(&self, out: &mut String, from: ValueId, to: &str) {
        let Some(value) = self.graph.value(from) else { return };
        if matches!(value.def, Def::Data(_)) {
            return;
        }
        let (port, label) = (self.port(from), dot_string(&type_text(self.module, &value.ty)));
        self.line(out, &format!("{port} -> {to} [label={label}]"));
    }

    /// Returns the text in the box of a node: its name, the op with its constants, and one attribute per line.
    fn box_text(&self, node: &Node) -> String {
        let constants: Vec<&str> = node
            .inputs
            .iter()
            .flatten()
            .filter(|&&id| self.graph.data_of(id).is_some())
            .map(|&id| self.names.value(id))
            .collect();
        let (name, op) = (self.module.name(node.name), node.op.name());
        let mut text = format!("{name}\n{op}({})\n", constants.join(", "));
        for (key, value) in node.op.attribute_list() {
            text.push_str(&format!("{key}={}\n", attribute_text(self.labels, &value)));
        }
        if let Some(fused) = &node.fused {
            text.push_str(&format!("fused {}\n", fused.requant.kind()));
            if let Some(addend) = &fused.addend {
                text.push_str(&format!("addend {}\n", addend.form.kind()));
            }
        }
        if let Placement::Host(reason) = &node.place {
            text.push_str(&format!("host: {reason}\n"));
        }
        text
    }
}
