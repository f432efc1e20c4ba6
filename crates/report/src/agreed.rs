//! Checks `quantization.json` against the lowered graph in the artifact, from which the types and grids of inputs and
//! results can be derived.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};

use strait_container::Quantization;
use strait_core::{Graph, Module, Op, Value, ValueId};

/// Returns a sentence for each input or result whose type or grid in `quantization.json` differs from its type or grid
/// in the lowered graph.
///
/// Tensors are matched by name. Operands, states and the fields `origin` are not checked. Results that are only real
/// numbers in the lowered graph are not checked either.
pub fn contradictions(said: &Quantization, module: &Module, lowered: &Graph) -> Vec<String> {
    let values = lowered.values();
    let by_name: BTreeMap<&str, (ValueId, &Value)> = values
        .map(|(id, value)| (module.name(value.name), (id, value)))
        .collect();
    let results = said.layers.iter().flat_map(|layer| {
        let of_layer = layer.configs.iter().filter(|config| config.port.starts_with("result "));
        of_layer.map(|config| (format!("{} of layer `{}`", config.port, layer.name), config))
    });
    let inputs = said
        .inputs
        .iter()
        .map(|config| (format!("input `{}`", config.tensor), config));
    // If the readers of an input have different grids, the input itself has no grid.
    let with_grid = inputs.chain(results).filter(|(_, config)| config.origin.is_some());
    let found = with_grid.filter_map(|(what, config)| {
        let Some(scheme) = said.schemes.get(config.scheme) else {
            return Some(format!(
                "{what} has the scheme {}, and there are {}",
                config.scheme,
                said.schemes.len()
            ));
        };
        let there = codes(lowered, by_name.get(&*config.tensor)?);
        let expected = there.first()?;
        let said = TypeAndGrid {
            elem: scheme.codes.clone(),
            scale: &config.scale,
            zero_point: &config.zero_point,
        };
        // `quantization.json` has no scale for an accumulated sum, because that scale is the product of the scales of
        // the factors.
        let same = |there: &TypeAndGrid<'_>| match said.scale.is_empty() {
            true => there.elem == said.elem,
            false => *there == said,
        };
        (!there.iter().any(same)).then(|| format!("it says that {what} is {said}, but it is {expected}"))
    });
    found.collect()
}

/// The element type, the scales and the zero points of a quantized tensor.
#[derive(PartialEq)]
struct TypeAndGrid<'a> {
    elem: String,
    scale: &'a [f32],
    zero_point: &'a [i32],
}

impl Display for TypeAndGrid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypeAndGrid {
            elem,
            scale,
            zero_point,
        } = self;
        match scale.is_empty() {
            true => write!(f, "{elem}"),
            false => write!(
                f,
                "{elem} with scale {} and zero point {}",
                listed(scale),
                listed(zero_point)
            ),
        }
    }
}

fn listed<T: Display>(numbers: &[T]) -> String {
    let numbers: Vec<String> = numbers.iter().map(T::to_string).collect();
    numbers.join(", ")
}

/// Returns the types and grids of the codes that stand for a tensor of the float model in the lowered graph. If the
/// tensor itself has codes there, these codes are meant. If a node computes the tensor from codes by dequantizing them,
/// the node's codes are meant. Otherwise the codes are meant to which the readers of the tensor quantize it.
fn codes<'a>(graph: &'a Graph, (id, value): &(ValueId, &'a Value)) -> Vec<TypeAndGrid<'a>> {
    let of = |value: &'a Value| {
        let grid = value.quant.as_ref().filter(|_| value.is_quantized());
        Some(TypeAndGrid {
            elem: value.ty.elem.to_string(),
            scale: grid?.scale.values(),
            zero_point: grid?.zero_point.values(),
        })
    };
    if value.is_quantized() {
        return of(value).into_iter().collect();
    }
    if let Some((_, node)) = graph.producer(*id) {
        let read = node
            .inputs
            .first()
            .copied()
            .flatten()
            .filter(|_| matches!(node.op, Op::Dequantize(_)));
        return read.and_then(|read| of(graph.value(read)?)).into_iter().collect();
    }
    let readers = graph.uses(*id).filter_map(|at| graph.node(at.node));
    let readers = readers.filter(|node| matches!(node.op, Op::Quantize(_)));
    readers
        .filter_map(|node| of(graph.value(*node.outputs.first()?)?))
        .collect()
}
