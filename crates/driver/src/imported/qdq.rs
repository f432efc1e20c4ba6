//! ONNX models with pairs of QuantizeLinear and DequantizeLinear. An activation has the name of the tensor that
//! QuantizeLinear reads. Weights, which are stored as codes, are named by the layer that reads them.

use std::path::Path;

use strait_container::TensorParams;
use strait_core::{Graph, Module, Op, QuantParams, ValueId};
use strait_import::ReadOptions;

use super::Found;

/// The endings that quantizers put behind the name of a constant.
const ENDINGS: [&str; 4] = ["_quantized", "_dequantized", "_DequantizeLinear_Output", "_q"];

/// Reads the grids of a model.
///
/// # Errors
/// The model cannot be read.
pub(super) fn read(file: &Path) -> Result<Found, String> {
    let module = strait_onnx::read(file, &ReadOptions::default()).map_err(|error| error.to_string())?;
    let (graph, mut found) = (module.main(), Found::default());
    for (id, value) in graph.values() {
        let Some(grid) = value.quant.as_deref().filter(|grid| grid.codes.is_some()) else {
            continue;
        };
        match graph.data_of(id) {
            None => take(&mut found, &module, named(graph, id), grid, None),
            Some(_) => of_constant(&mut found, &module, (id, id), grid),
        }
    }
    for (_, node) in graph.nodes() {
        let constant = node.input(0).filter(|&from| graph.data_of(from).is_some());
        let (Op::Dequantize(_), Some(from), Some(&result)) = (&node.op, constant, node.outputs.first()) else {
            continue;
        };
        let Some(codes) = graph.value(from) else { continue };
        let Some(grid) = codes.quant.as_deref() else { continue };
        let grid = grid.clone().of_codes(codes.ty.elem);
        of_constant(&mut found, &module, (from, result), &grid);
    }
    let mut known = std::collections::BTreeSet::new();
    found
        .tensors
        .retain(|tensor| known.insert((tensor.name.clone(), tensor.reader.clone())));
    Ok(found)
}

/// The tensor whose name the model has, for a value with a grid: QuantizeLinear and DequantizeLinear make a copy of it. An
/// output of the model is such a copy itself, and what it is made of has a name that the quantizer made up.
fn named(graph: &Graph, value: ValueId) -> ValueId {
    let from = graph.producer(value).and_then(|(_, node)| match node.op {
        Op::Identity(_) => node.input(0),
        _ => None,
    });
    let from = from.unwrap_or(value);
    let copies = graph.uses(from).filter_map(|at| graph.node(at.node));
    let mut copies = copies.filter(|node| matches!(node.op, Op::Identity(_)));
    let output = copies.find_map(|node| node.outputs.iter().copied().find(|&copy| graph.is_output(copy)));
    output.filter(|_| !graph.is_output(from)).unwrap_or(from)
}

/// Takes the grid of a constant for each layer that reads its real numbers.
fn of_constant(found: &mut Found, module: &Module, (codes, reals): (ValueId, ValueId), grid: &QuantParams) {
    let graph = module.main();
    for at in graph.uses(reals) {
        let Some(reader) = graph.node(at.node) else { continue };
        let reader = (module.name(reader.name).to_owned(), usize::from(at.operand));
        take(found, module, codes, grid, Some(reader));
    }
}

fn take(found: &mut Found, module: &Module, value: ValueId, grid: &QuantParams, reader: Option<(String, usize)>) {
    let Some(name) = module.main().value(value).map(|value| module.name(value.name)) else {
        return;
    };
    let mut bare = name;
    if reader.is_some() {
        bare = ENDINGS
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(name);
    }
    let elem = grid
        .codes
        .filter(|elem| elem.int_type().is_some_and(|codes| codes.bits() <= 16));
    let Some((elem, codes)) = elem.and_then(|elem| Some((elem, elem.integers()?))) else {
        // Biases have the product of two scales, which is not set by itself.
        return found.leave(
            bare,
            "its codes are no integers of up to 16 bits: the grid of a bias follows from others",
        );
    };
    if !grid.has_legal_scales() {
        return found.leave(bare, "a scale is not above 0 and finite");
    }
    found.tensors.push(TensorParams {
        name: bare.to_owned(),
        reader,
        elem,
        codes: codes.into(),
        params: grid.bare(),
        origin: "imported".to_owned(),
        of: None,
    });
}
