//! Invariants 2 and 3: calls between graphs, and types.

use super::findings::{Findings, Verified, View, ensure};
use crate::graph::{Def, Node, Value};
use crate::module::Module;
use crate::op::Op;
use crate::shape::{MAX_ELEMENTS, MAX_RANK, TensorType, element_count};
use crate::tensor::TensorData;
use crate::text::type_text;
use smallvec::SmallVec;

/// Checks that calls refer to graphs of the module, and that graphs do not call each other in a circle. To find a
/// circle, graphs that call no remaining graph are crossed off a list, again and again. If any graphs are left in the
/// end, some of them form a circle.
pub(super) fn calls(module: &Module) -> Verified {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); module.graphs.len()];
    let mut waiting = vec![0usize; module.graphs.len()];
    for (caller, graph) in module.graphs.iter().enumerate() {
        for (_, node) in graph.nodes() {
            for called in node.op.graphs() {
                let callee = callers.get_mut(called.index());
                ensure(callee.is_some(), 3, || {
                    let number = called.index();
                    format!("{} calls graph {number}, which does not exist", module.name(node.name))
                })?;
                callee.into_iter().for_each(|c| c.push(caller));
                waiting[caller] += 1;
            }
        }
    }
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|&g| waiting[g] == 0).collect();
    while let Some(done) = ready.pop() {
        for &caller in &callers[done] {
            waiting[caller] -= 1;
            if waiting[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    let circle = waiting.iter().position(|&calls| calls > 0);
    ensure(circle.is_none(), 2, || {
        let name = circle.and_then(|g| module.graphs.get(g)).map(|g| module.name(g.name));
        format!(
            "graph {} calls itself, perhaps by way of others",
            name.unwrap_or_default()
        )
    })
}

pub(super) fn verify<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    for (_, value) in view.graph.values() {
        findings.take(of_value(view, value));
    }
    for (id, node) in view.graph.nodes() {
        findings.of_node(view, id, of_node(view, node));
    }
}

fn of_value(view: View<'_>, value: &Value) -> Verified {
    let module = view.module;
    let ty = &value.ty;
    let small = ty.shape.len() <= MAX_RANK && (ty.dims().is_none() || element_count(&ty.shape).is_some());
    ensure(small, 3, || {
        format!(
            "{} is past the limits of rank {MAX_RANK} and {MAX_ELEMENTS} elements",
            view.value(value)
        )
    })?;
    if let Def::Data(data) = value.def {
        let tensor = module.data(data).map(TensorData::tensor_type);
        ensure(tensor.as_ref() == Some(ty), 3, || {
            let found = tensor.as_ref().map_or("nothing".into(), |t| type_text(module, t));
            format!(
                "{} is {}, but the pool has {found}",
                view.value(value),
                type_text(module, ty)
            )
        })?;
    }
    Ok(())
}

fn of_node(view: View<'_>, node: &Node) -> Verified {
    let View { module, graph } = view;
    let operands: SmallVec<[Option<&TensorType>; 4]> = node
        .inputs
        .iter()
        .map(|i| i.and_then(|v| graph.value(v)).map(|v| &v.ty))
        .collect();
    if let Op::Call(call) = &node.op {
        let callee = module.graphs.get(call.graph as usize);
        let wanted = callee.map(|g| {
            let inputs = g.inputs().iter().map(|&v| g.value(v).map(|v| &v.ty));
            inputs.collect::<SmallVec<[_; 4]>>()
        });
        view.ensure(node, wanted.as_ref() == Some(&operands), 3, || {
            "the operands are not the inputs of the called graph".into()
        })?;
    }
    if matches!(node.op, Op::Foreign(_)) {
        return Ok(());
    }
    let inferred = match module.result_types(&node.op, &operands, node.fused.as_deref()) {
        Ok(inferred) => inferred,
        Err(reason) => return view.ensure(node, false, 3, || reason.to_string()),
    };
    let stated = || view.results(node).map(|v| &v.ty);
    let mut pairs = inferred.iter().zip(stated());
    let same = inferred.len() == stated().count() && pairs.all(|(ty, stated)| ty.is_stated_by(stated));
    view.ensure(node, same, 3, || {
        let list = |types: Vec<&TensorType>| {
            let types = types.into_iter().map(|ty| type_text(module, ty));
            types.collect::<Vec<_>>().join(", ")
        };
        format!(
            "inferred {}, found {}",
            list(inferred.iter().collect()),
            list(stated().collect())
        )
    })
}
