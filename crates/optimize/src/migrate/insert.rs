//! Puts nodes that divide or multiply by factors into a graph.

use super::label::Label;
use super::walk::{Cut, Walk};
use crate::error::Error;
use strait_core::{Module, NewNode, NodeId, Patch, Source, TensorData, Use, ValueId, op::Mul};

/// Puts in the node of a cut, with the factor at each position of its label. Returns the node and its result.
pub(crate) fn insert(
    module: &mut Module,
    walk: &Walk,
    (cut, label): (Cut, &Label),
    factors: &[f64],
) -> Result<(NodeId, ValueId), Error> {
    let defect = |text: &str| Error::Defect(text.to_owned());
    let (main, value) = (module.main, cut.value());
    let graph = module.main();
    let missing = || defect("a value with factors is missing");
    let rank = graph.value(value).ok_or_else(missing)?.ty.shape.len();
    // Only layers read a value that is divided in front of them. Everything reads what is multiplied behind a layer.
    let reads = |at: &Use| walk.layers.get(&at.node) == Some(&value) && at.operand == 0;
    let uses: Vec<Use> = match cut {
        Cut::Behind(_) => graph.uses(value).collect(),
        Cut::Before(_) | Cut::Beside(_) => graph.uses(value).filter(reads).collect(),
    };
    let producer = graph.producer(value).map(|(id, _)| id);
    let origin = match cut {
        Cut::Beside(_) | Cut::Behind(_) => producer,
        Cut::Before(_) => uses.iter().map(|at| at.node).min(),
    };
    let origin = origin.ok_or_else(missing)?;
    let axis = label.axes.first().copied().unwrap_or(0);
    let mut shape = vec![factors.len() as u64];
    shape.resize(rank.saturating_sub(axis).max(1), 1);
    let constant = |numbers: Vec<f32>, shape: &[u64]| {
        let tensor = TensorData::from_values(shape, &numbers).map_err(|error| Error::Defect(error.to_string()))?;
        Ok::<_, Error>(("balance".to_owned(), tensor))
    };
    let (node, data) = match cut {
        Cut::Before(_) | Cut::Behind(_) => {
            let of = |&factor: &f64| match cut {
                Cut::Before(_) => (1.0 / factor) as f32,
                _ => factor as f32,
            };
            let numbers = factors.iter().map(of).collect();
            let operands = [Some(Source::Old(value)), Some(Source::Data(0))];
            let node = NewNode::new(Mul::float(), &operands, &[origin]);
            (node, vec![constant(numbers, &shape)?])
        }
        Cut::Beside(_) => {
            let made = graph.node(origin).ok_or_else(missing)?;
            let (mut operands, mut data) = (vec![made.input(0).map(Source::Old)], Vec::new());
            for &operand in made.inputs.iter().skip(1) {
                let tensor = match operand {
                    None => None,
                    Some(operand) => Some(module.constant(graph, operand).ok_or_else(missing)?),
                };
                operands.push(tensor.map(|_| Source::Data(data.len() as u16)));
                if let Some(tensor) = tensor {
                    let numbers = tensor.to_f32().map_err(|error| Error::Defect(error.to_string()))?;
                    let divided = numbers.iter().zip(factors);
                    let divided = divided.map(|(&x, factor)| (f64::from(x) / factor) as f32).collect();
                    data.push(constant(divided, tensor.shape())?);
                }
            }
            (NewNode::new(made.op.clone(), &operands, &[origin]), data)
        }
    };
    let patch = Patch {
        data,
        add: vec![node],
        redirect: uses.into_iter().map(|at| (at, Source::New(0, 0))).collect(),
        ..Patch::default()
    };
    let applied = module.apply(main, patch);
    let added = applied.map_err(|error| Error::Defect(error.to_string()))?.added;
    let id = added.first().copied().ok_or_else(missing)?;
    let result = module.main().node(id).and_then(strait_core::Node::result);
    Ok((id, result.ok_or_else(missing)?))
}
