//! What a compiled model takes and gives, as the manifest states it.

use strait_container::{PortCodes, PortEntry, Ports};
use strait_core::{Graph, Module, Op, QuantParams, Value, ValueId};

use crate::Deployment;

/// The inputs and outputs of a compiled model. Layouts and orders of colours come from the deployment, which also says which
/// inputs are the model's own.
pub(crate) fn ports<P>(module: &Module, deployment: &Deployment<P>) -> Ports {
    let graph = module.main();
    let entry = |id: ValueId, codes: Option<&Value>| {
        let value = graph.value(id)?;
        let (scale, zero_point) = value.quant.as_deref().and_then(QuantParams::as_tensor).unzip();
        let has_grid = value.ty.elem.int_type().is_some();
        Some(PortEntry {
            name: module.name(value.name).to_owned(),
            elem: value.ty.elem.to_string(),
            shape: value.ty.shape.iter().map(|extent| extent.fixed()).collect(),
            layout: None,
            color: None,
            scale: scale.filter(|_| has_grid),
            zero_point: zero_point.filter(|_| has_grid),
            codes: codes.and_then(of_codes),
        })
    };
    let inputs = deployment.inputs.iter().filter_map(|input| {
        let named = |id: &ValueId| {
            graph
                .value(*id)
                .is_some_and(|value| module.name(value.name) == input.name)
        };
        let id = graph.inputs().iter().copied().find(named)?;
        Some(PortEntry {
            layout: input.layout.clone(),
            color: input.color.clone(),
            ..entry(id, computed(graph, id))?
        })
    });
    let outputs = graph.outputs().iter().filter_map(|&id| {
        let dequantized = graph
            .producer(id)
            .filter(|(_, node)| matches!(node.op, Op::Dequantize(_)));
        let codes = dequantized.and_then(|(_, node)| graph.value(node.input(0)?));
        entry(id, codes)
    });
    Ports {
        inputs: inputs.collect(),
        outputs: outputs.collect(),
    }
}

/// The codes that conversions make of an input, before anything is computed.
fn computed(graph: &Graph, input: ValueId) -> Option<&Value> {
    let mut id = input;
    while let Some(at) = graph.only_use(id)
        && let Some(node) = graph.node(at.node)
        && matches!(
            node.op,
            Op::Dequantize(_) | Op::Transpose(_) | Op::Quantize(_) | Op::ShiftLeft(_) | Op::Requantize(_)
        )
        && let Some(result) = node.result()
    {
        id = result;
    }
    graph.value(id).filter(|_| id != input)
}

fn of_codes(value: &Value) -> Option<PortCodes> {
    value.ty.elem.int_type()?;
    let (scale, zero_point) = value.quant.as_deref()?.as_tensor()?;
    Some(PortCodes {
        elem: value.ty.elem.to_string(),
        scale,
        zero_point,
    })
}
