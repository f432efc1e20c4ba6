//! Prints a module as text.

use super::labels::{Constant, GraphLabels, Labels};
use super::lexer::quoted;
use super::number::{element_text, f32_text};
use super::quant_print;
use super::spell::{grid, list, word_or_string};
use super::syntax::VERSION;
use crate::addend::Addend;
use crate::attribute::Attribute;
use crate::form_list::form_list;
use crate::graph::{Graph, Node, Placement, Value};
use crate::ids::{GraphId, NodeId, Symbol};
use crate::module::Module;
use crate::quant::QuantParams;
use crate::shape::{Dim, TensorType};
use crate::tensor::TensorData;
use std::fmt;
use strait_requantize::Requantization;

/// Which constants a text shows in full.
#[derive(Clone, Copy)]
pub struct PrintOptions<'a> {
    /// The largest number of elements that are printed as a list. A constant with more elements becomes a `blob`,
    /// unless all its elements are equal.
    pub inline_limit: usize,
    /// Computes the BLAKE3 digest of a blob's bytes in hexadecimal. The digest is written beside the blob.
    pub digest: Option<&'a dyn Fn(&[u8]) -> String>,
}

impl Default for PrintOptions<'_> {
    fn default() -> Self {
        PrintOptions {
            inline_limit: 64,
            digest: None,
        }
    }
}

impl PrintOptions<'_> {
    /// Returns options for a complete text: every constant has all its elements in the text.
    pub fn whole() -> Self {
        PrintOptions {
            inline_limit: usize::MAX,
            digest: None,
        }
    }
}

/// Returns the text of a module. The same module always gives the same text. A module that is read from this text gives
/// this text again.
pub fn print(module: &Module, options: &PrintOptions<'_>) -> String {
    let labels = Labels::new(module);
    let mut out = format!("strait {} {}", VERSION, module.main().stage());
    if module.main.index() != 0 {
        out.push_str(&format!(" main={}", labels.graphs[module.main.index()].label));
    }
    out.push('\n');
    for (graph, names) in module.graphs.iter().zip(&labels.graphs) {
        Printer {
            module,
            labels: &labels,
            graph,
            names,
        }
        .graph(&mut out);
    }
    for constant in &labels.constants {
        out.push_str(&data_line(module, &labels, constant, options));
    }
    out
}

/// Prints single nodes of a module. The names are the same as in the text of the module.
pub(crate) struct NodePrinter<'m> {
    module: &'m Module,
    labels: Labels,
}

impl<'m> NodePrinter<'m> {
    pub(crate) fn new(module: &'m Module) -> NodePrinter<'m> {
        let labels = Labels::new(module);
        NodePrinter { module, labels }
    }

    /// Returns the line that a node has in the text.
    pub(crate) fn node(&self, graph: &Graph, id: NodeId) -> Option<String> {
        let position = self.module.graphs.iter().position(|other| std::ptr::eq(other, graph))?;
        let printer = Printer {
            module: self.module,
            labels: &self.labels,
            graph,
            names: self.labels.graphs.get(position)?,
        };
        Some(printer.node(graph.node(id)?))
    }
}

fn data_line(module: &Module, labels: &Labels, constant: &Constant, options: &PrintOptions<'_>) -> String {
    let content = match (constant.shares, module.data(constant.data)) {
        (Some(position), _) => format!("same {}", labels.constants[position].label),
        (None, Some(tensor)) => content(tensor, constant.data.index(), options),
        // A constant without bytes occurs only in a broken module, which must be printable, too.
        (None, None) => format!("blob {}", constant.data.index()),
    };
    let ty = typed(module, &constant.ty, constant.quant.as_deref());
    format!("data {}: {ty} = {content}\n", constant.label)
}

fn content(tensor: &TensorData, index: usize, options: &PrintOptions<'_>) -> String {
    let bytes = tensor.unpacked();
    let elements = || bytes.chunks_exact(tensor.elem().size());
    let text = |bytes: &[u8]| element_text(tensor.elem(), bytes);
    if let Some(first) = elements().next()
        && tensor.len() > 1
        && elements().all(|e| e == first)
    {
        return format!("splat {}", text(first));
    }
    if tensor.len() <= options.inline_limit {
        return format!("inline {}", list(elements().map(text)));
    }
    match options.digest {
        Some(digest) => format!("blob {index} blake3={}", quoted(&digest(tensor.bytes()))),
        None => format!("blob {index}"),
    }
}

/// Returns a type as in the text form: `i8[N,3]`.
pub fn type_text(module: &Module, ty: &TensorType) -> String {
    format!("{}{}", ty.elem, list(ty.shape.iter().map(|dim| dim_text(module, *dim))))
}

/// Writes type and grid: `i8[1,3] scale=0.5 zero=0`. For real numbers with a grid from the model, the text is `f32[1,3]
/// scale=0.5 zero=0 codes=i8`.
fn typed(module: &Module, ty: &TensorType, quant: Option<&QuantParams>) -> String {
    type_text(module, ty) + &quant.map(grid).unwrap_or_default()
}

pub(super) fn dim_text(module: &Module, dim: Dim) -> String {
    match dim {
        Dim::Fixed(extent) => extent.to_string(),
        Dim::Named(name) => word_or_string(module.name(name)),
    }
}

/// Writes a form as in the text form: `{gemmlowp multiplier=[…] exponent=[…] zp=3 out=i8}`.
fn form_text(form: &Requantization) -> String {
    let fields = form_list(form)
        .into_iter()
        .map(|(key, value)| format!(" {key}={value}"));
    format!("{{{}{}}}", form.kind(), fields.collect::<String>())
}

/// Formats an attribute as in the text form. A constant is written as its id, because its name is not known here.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Int(v) => v.fmt(f),
            Attribute::Ints(v) => f.write_str(&list(v.iter().map(i64::to_string))),
            Attribute::Float(v) => f.write_str(&f32_text(*v)),
            Attribute::Floats(v) if v.is_empty() => f.write_str("f32[]"),
            Attribute::Floats(v) => f.write_str(&list(v.iter().map(|v| f32_text(*v)))),
            Attribute::Text(text) => f.write_str(&word_or_string(text)),
            Attribute::Data(data) => data.fmt(f),
            Attribute::Form(form) => f.write_str(&form_text(form)),
        }
    }
}

/// Writes the value of an attribute as in the text form.
pub(super) fn attribute_text(labels: &Labels, attribute: &Attribute) -> String {
    match attribute {
        Attribute::Data(data) => labels.data(*data).unwrap_or("@\"missing tensor\"").into(),
        other => other.to_string(),
    }
}

struct Printer<'a> {
    module: &'a Module,
    labels: &'a Labels,
    graph: &'a Graph,
    names: &'a GraphLabels,
}

impl Printer<'_> {
    fn graph(&self, out: &mut String) {
        let inputs: Vec<String> = self.graph.inputs().iter().map(|&id| self.value(id)).collect();
        let stage = self.graph.stage();
        let stage = if stage == self.module.main().stage() {
            String::new()
        } else {
            format!(" stage={stage}")
        };
        out.push_str(&format!(
            "graph {}({}){stage} {{\n",
            self.names.label,
            inputs.join(", ")
        ));
        for node in self.names.order.iter().filter_map(|&id| self.graph.node(id)) {
            out.push_str(&format!("  {}\n", self.node(node)));
        }
        let outputs: Vec<&str> = self.graph.outputs().iter().map(|&id| self.names.value(id)).collect();
        out.push_str(format!("  return {}", outputs.join(", ")).trim_end());
        out.push_str("\n}\n");
        quant_print::block(self.module, self.graph, self.labels, self.names, out);
    }

    /// Writes the declaration of a value: `%name: type grid`.
    fn value(&self, id: crate::ValueId) -> String {
        let label = self.names.value(id);
        let ty = self
            .graph
            .value(id)
            .map(|v: &Value| typed(self.module, &v.ty, v.quant.as_deref()));
        format!("{label}: {}", ty.unwrap_or_default())
    }

    fn node(&self, node: &Node) -> String {
        let results: Vec<String> = node.outputs.iter().map(|&id| self.value(id)).collect();
        let results = if results.is_empty() {
            "()".into()
        } else {
            results.join(", ")
        };
        let operands: Vec<&str> = node
            .inputs
            .iter()
            .map(|i| i.map_or("_", |id| self.names.value(id)))
            .collect();
        let label = |graph: GraphId| {
            let named = self.labels.graphs.get(graph.index());
            named.map_or("@\"missing graph\"", |g| &g.label)
        };
        let graphs: Vec<&str> = node.op.graphs().into_iter().map(label).collect();
        let op = match &graphs[..] {
            [] => node.op.name().into(),
            graphs => format!("{} {}", node.op.name(), graphs.join(", ")),
        };
        let mut text = format!("{results} = {op}({})", operands.join(", "));
        // If an op runs graphs, its first attributes are the positions of these graphs. The names of the graphs are
        // printed before the operands instead.
        let attributes = node.op.attribute_list().into_iter().skip(graphs.len());
        let attributes =
            attributes.map(|(key, value)| format!("{}={}", word_or_string(&key), attribute_text(self.labels, &value)));
        let attributes: Vec<String> = attributes.collect();
        if !attributes.is_empty() {
            text.push_str(&format!(" {{{}}}", attributes.join(", ")));
        }
        text + &self.clauses(node)
    }

    fn clauses(&self, node: &Node) -> String {
        let mut text = String::new();
        let first = node
            .outputs
            .first()
            .and_then(|&id| self.graph.value(id))
            .map(|v| v.name);
        let name = |symbol: &Symbol| quoted(self.module.name(*symbol));
        if first != Some(node.name) {
            text.push_str(&format!(" name={}", name(&node.name)));
        }
        if node.sources.as_slice() != [node.name] {
            text.push_str(&format!(" sources={}", list(node.sources.iter().map(name))));
        }
        if let Some(fused) = &node.fused {
            text.push_str(&format!(" fused={}", form_text(&fused.requant)));
            if let Some([low, high]) = fused.clamp {
                text.push_str(&format!(" clamp=[{low},{high}]"));
            }
            if let Some(Addend { zero, form }) = &fused.addend {
                text.push_str(&format!(" addend=[{zero},{}]", form_text(form)));
            }
        }
        if let Placement::Host(reason) = &node.place {
            text.push_str(&format!(
                " host=[{},{}]",
                quoted(&reason.code.to_string()),
                quoted(&reason.text)
            ));
        }
        text
    }
}
