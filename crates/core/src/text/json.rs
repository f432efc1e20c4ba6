//! Writes a module as JSON, for programs that analyse it. Strait cannot read this JSON back.

use super::labels::{GraphLabels, Labels};
use super::number::f32_text;
use super::print::dim_text;
use crate::attribute::Attribute;
use crate::form_list::form_list;
use crate::graph::{Graph, Node, Placement};
use crate::ids::ValueId;
use crate::module::Module;
use crate::quant::QuantParams;
use crate::shape::{Dim, TensorType};
use serde_json::{Map, Value, json};
use strait_requantize::{Per, Requantization};

/// Returns the graphs, nodes and types of a module as JSON, and its constants without their elements. Values have the
/// same names as in the text form (`%x`, `@w`). A float that JSON cannot represent becomes a string with the float's
/// spelling in the text form.
pub fn to_json(module: &Module) -> Value {
    let labels = Labels::new(module);
    let graphs = module.graphs.iter().zip(&labels.graphs);
    let data = labels.constants.iter().map(|constant| {
        let mut entry = typed(module, &constant.label, &constant.ty, constant.quant.as_deref());
        entry.insert("blob".into(), constant.data.index().into());
        let size = module.data(constant.data).map(|t| t.bytes().len());
        entry.insert("bytes".into(), size.into());
        Value::Object(entry)
    });
    json!({
        "strait": 1,
        "main": labels.graphs[module.main.index()].label,
        "graphs": graphs.map(|(graph, names)| graph_json(module, &labels, graph, names)).collect::<Vec<_>>(),
        "data": data.collect::<Vec<_>>(),
    })
}

fn graph_json(module: &Module, labels: &Labels, graph: &Graph, names: &GraphLabels) -> Value {
    let value = |id: ValueId| {
        let value = graph.value(id)?;
        Some(Value::Object(typed(
            module,
            names.value(id),
            &value.ty,
            value.quant.as_deref(),
        )))
    };
    let values = |ids: &[ValueId]| ids.iter().filter_map(|&id| value(id)).collect::<Vec<_>>();
    let nodes = names.order.iter().filter_map(|&id| graph.node(id)).map(|node| {
        let mut entry = node_json(module, labels, names, node);
        entry.insert("results".into(), values(&node.outputs).into());
        Value::Object(entry)
    });
    json!({
        "name": names.label,
        "stage": graph.stage().name(),
        "inputs": values(graph.inputs()),
        "nodes": nodes.collect::<Vec<_>>(),
        "outputs": graph.outputs().iter().map(|&id| names.value(id)).collect::<Vec<_>>(),
    })
}

fn node_json(module: &Module, labels: &Labels, names: &GraphLabels, node: &Node) -> Map<String, Value> {
    let attributes = node.op.attribute_list().into_iter();
    let attributes: Map<String, Value> = attributes
        .map(|(k, v)| (k.into_owned(), attribute_json(labels, &v)))
        .collect();
    let sources: Vec<&str> = node.sources.iter().map(|&s| module.name(s)).collect();
    let operands: Vec<Option<&str>> = node.inputs.iter().map(|i| i.map(|id| names.value(id))).collect();
    let mut entry = Map::new();
    entry.insert("name".into(), module.name(node.name).into());
    entry.insert("op".into(), node.op.name().into());
    entry.insert("term".into(), node.op.term().name().into());
    entry.insert("sources".into(), sources.into());
    entry.insert("operands".into(), operands.into());
    entry.insert("attributes".into(), attributes.into());
    if let Some(fused) = &node.fused {
        entry.insert("fused".into(), form_json(labels, &fused.requant));
        if let Some(clamp) = fused.clamp {
            entry.insert("clamp".into(), json!(clamp));
        }
        if let Some(addend) = &fused.addend {
            let form = form_json(labels, &addend.form);
            entry.insert("addend".into(), json!({"zero": addend.zero, "form": form}));
        }
    }
    if let Placement::Host(reason) = &node.place {
        entry.insert("host".into(), json!({"code": reason.code, "text": reason.text}));
    }
    entry
}

fn typed(module: &Module, label: &str, ty: &TensorType, quant: Option<&QuantParams>) -> Map<String, Value> {
    let dims = ty.shape.iter().map(|&dim| match dim {
        Dim::Fixed(extent) => Value::from(extent),
        Dim::Named(_) => dim_text(module, dim).into(),
    });
    let mut entry = Map::new();
    entry.insert("name".into(), label.into());
    entry.insert("elem".into(), ty.elem.name().into());
    entry.insert("shape".into(), dims.collect::<Vec<_>>().into());
    if let Some(quant) = quant {
        entry.insert("scale".into(), per(&quant.scale, |s| float_json(*s)));
        entry.insert("zero".into(), per(&quant.zero_point, |z| (*z).into()));
        entry.insert("axis".into(), quant.axis.into());
        if let Some(block) = quant.block {
            entry.insert("block".into(), block.get().into());
        }
        if let Some(codes) = quant.codes {
            entry.insert("codes".into(), codes.name().into());
        }
    }
    entry
}

fn per<T>(values: &Per<T>, one: impl Fn(&T) -> Value) -> Value {
    match values {
        Per::Tensor(value) => one(value),
        Per::Channel(values) => values.iter().map(one).collect::<Vec<_>>().into(),
    }
}

/// Converts an f32 to the JSON number with the fewest digits that reads back as the same f32.
fn float_json(v: f32) -> Value {
    let text = f32_text(v);
    text.parse::<f64>()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map_or(Value::String(text), Value::Number)
}

fn form_json(labels: &Labels, form: &Requantization) -> Value {
    let fields = form_list(form).into_iter();
    let fields: Map<String, Value> = fields.map(|(k, v)| (k.into(), attribute_json(labels, &v))).collect();
    json!({ form.kind().name(): fields })
}

fn attribute_json(labels: &Labels, attribute: &Attribute) -> Value {
    match attribute {
        Attribute::Int(v) => (*v).into(),
        Attribute::Ints(v) => v.clone().into(),
        Attribute::Float(v) => float_json(*v),
        Attribute::Floats(v) => v.iter().map(|v| float_json(*v)).collect::<Vec<_>>().into(),
        Attribute::Text(text) => text.clone().into(),
        Attribute::Data(data) => labels.data(*data).into(),
        Attribute::Form(form) => form_json(labels, form),
    }
}
