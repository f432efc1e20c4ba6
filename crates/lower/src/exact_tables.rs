//! The lowered graph with exact tables, to measure what the target's own tables cost.
//!
//! Each table of a function is replaced by one whose entries are the function of the real number that a code stands for,
//! rounded once to the grid of the result. These are the numbers that the simulation computes. A table with entries only
//! for evenly spaced codes is replaced by one with an entry for each code.

use crate::error::LowerError;
use crate::lowering::{Grid, integers};
use std::collections::BTreeMap;
use strait_core::op::Lookup;
use strait_core::{Elem, Failure, Module, NewNode, Node, NodeId, Op, Patch, Port, Source, TensorData};
use strait_execute::evaluate;
use strait_requantize::quantize::dequantize;

/// The module with exact tables. Its main graph is the lowered graph that was made from `annotated`. `None` if all tables
/// are exact already, or if there are none. Tables of functions of several operands stay as they are.
///
/// # Errors
/// A defect of the compiler.
pub fn with_exact_tables(lowered: &Module, annotated: &Module) -> Result<Option<Module>, LowerError> {
    let ours = |failure: String| LowerError::Ours(failure);
    let float = annotated.main().nodes();
    let by_name: BTreeMap<&str, NodeId> = float.map(|(id, node)| (annotated.name(node.name), id)).collect();
    let mut module = None;
    for (id, node) in lowered.main().nodes() {
        let name = lowered.name(node.name);
        let origin = name.rsplit_once(':').and_then(|(origin, _)| by_name.get(origin));
        let table = match (&node.op, origin) {
            (Op::Lookup(_) | Op::Interpolate(_), Some(&origin)) => exact(lowered, node, annotated, origin),
            _ => Ok(None),
        };
        let Some(table) = table.map_err(|failure| ours(failure.to_string()))? else {
            continue;
        };
        let (Some(&result), Some(x)) = (node.outputs.first(), node.input(0)) else {
            continue;
        };
        let grid = lowered.main().value(result).and_then(|value| value.quant.clone());
        let look_up = NewNode {
            quant: [grid].into_iter().collect(),
            ..NewNode::new(Lookup {}, &[Some(Source::Old(x)), Some(Source::Data(0))], &[id])
        };
        let patch = Patch {
            data: vec![("exact_table".to_owned(), table)],
            add: vec![look_up],
            replace: vec![(result, Source::New(0, 0))],
            remove: vec![id],
            ..Patch::default()
        };
        let module = module.get_or_insert_with(|| lowered.clone());
        module
            .apply(module.main, patch)
            .map_err(|error| ours(error.to_string()))?;
    }
    Ok(module)
}

/// The exact table of a node. `None` if its table is exact, or if the node is not a function of one number.
fn exact(lowered: &Module, node: &Node, annotated: &Module, origin: NodeId) -> Result<Option<TensorData>, Failure> {
    let (graph, table) = (lowered.main(), &annotated.main().quant);
    let Some(float) = annotated.main().node(origin).filter(|float| float.inputs.len() == 1) else {
        return Ok(None);
    };
    let of = |value| {
        let value = graph.value(value)?;
        Some((value.ty.elem.int_type()?, value.quant.as_ref()?.as_tensor()?))
    };
    let x = node.input(0).and_then(of);
    let y = node.outputs.first().copied().and_then(of);
    let scheme = table.scheme_of(origin, Port::Result(0));
    let (Some((x, (x_scale, x_zero))), Some((ty, (scale, zero))), Some(scheme)) = (x, y, scheme) else {
        return Ok(None);
    };
    let y = Grid {
        ty,
        range: ty.range(),
        rounding: scheme.rounding(),
        scale,
        zero,
    };
    let reals: Vec<f32> = x.range().map(|code| dequantize(code, x_scale, x_zero)).collect();
    let reals = TensorData::from_values(&[reals.len() as u64], &reals)?;
    let made = evaluate(&float.op, &[Some(&reals)]).map_err(|error| Failure::Defect(error.to_string()))?;
    let Some(made) = made.first() else { return Ok(None) };
    let codes: Vec<i32> = made.to_f32()?.iter().map(|&real| y.code(real)).collect();
    let entries = integers(&[codes.len() as u64], &codes, Elem::from(ty))?;
    let own = node.input(1).and_then(|value| lowered.constant(graph, value));
    let is_own = matches!(node.op, Op::Lookup(_)) && own == Some(&entries);
    Ok((!is_own).then_some(entries))
}
