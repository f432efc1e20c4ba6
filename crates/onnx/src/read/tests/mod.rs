//! Tests with small models that are made here: what each operator becomes in each of its versions, and what is refused.

mod composed;
mod constants;
mod dimensions;
mod files;
mod functions;
mod given;
mod graphs;
mod make;
mod operators;
mod runtime;
mod sequences;
mod transformers;

use super::*;
use strait_core::Attribute;
use strait_core::Dim;
use strait_core::op::Op;
use strait_core::verifier::verify;
use strait_import::free_dimensions;

/// One op with its attributes, as `name key=value …`.
fn op_text(op: &Op) -> String {
    let mut text = op.name().to_string();
    op.attributes(&mut |key, value| {
        let value = match value {
            Attribute::Int(v) => v.to_string(),
            Attribute::Ints(v) => format!("{v:?}").replace(' ', ""),
            Attribute::Float(v) => v.to_string(),
            Attribute::Floats(v) => format!("{v:?}").replace(' ', ""),
            Attribute::Text(v) => v,
            other => format!("{other:?}"),
        };
        text += &format!(" {key}={value}");
    });
    text
}

/// The ops of the graph and the shapes of its outputs.
fn summary(module: &Module) -> String {
    let graph = module.main();
    let ops: Vec<String> = graph.nodes().map(|(_, node)| op_text(&node.op)).collect();
    let shape = |dim: &Dim| match dim {
        Dim::Fixed(extent) => extent.to_string(),
        Dim::Named(name) => module.name(*name).into(),
    };
    let shapes = graph.outputs().iter().map(|&id| {
        let ty = &graph.value(id).unwrap().ty;
        let dims: Vec<String> = ty.shape.iter().map(shape).collect();
        format!("{}[{}]", ty.elem, dims.join(","))
    });
    format!("{} -> {}", ops.join("; "), shapes.collect::<Vec<_>>().join(" "))
}

fn read_with(model: &ModelProto, options: &ReadOptions) -> Result<Module, ReadError> {
    let module = Model::decode(model.encode_to_vec().into(), Path::new(""))?.read(options)?;
    verify(&module).unwrap();
    Ok(module)
}

fn decoded(model: &ModelProto) -> Model {
    Model::decode(model.encode_to_vec().into(), Path::new("")).unwrap()
}

fn read(model: &ModelProto) -> Result<Module, ReadError> {
    read_with(model, &ReadOptions::default())
}

fn options(bind: &[(&str, u64)], inputs: &[&str], outputs: &[&str]) -> ReadOptions {
    ReadOptions {
        bind: bind.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
        inputs: inputs.iter().map(ToString::to_string).collect(),
        outputs: outputs.iter().map(ToString::to_string).collect(),
        ..ReadOptions::default()
    }
}
