//! Copies the layers that match a pattern into a module of their own.

use std::collections::BTreeMap;

use strait_core::{Def, Graph, Module, NodeId, ValueId};
use strait_document::Glob;

use strait_compile::rules::matches_layer;

/// Makes a module with the layers of the main graph that match the pattern. A value that these layers read from other
/// layers becomes an input. A value that these layers compute becomes an output if another layer reads it, or if no
/// layer does.
pub(super) fn extract(module: &Module, pattern: &Glob) -> Module {
    let graph = module.main();
    let chosen = |id: &NodeId| {
        graph
            .node(*id)
            .is_some_and(|node| matches_layer(module, node, std::slice::from_ref(pattern)))
    };
    // The order exists, because the graph was checked for cycles when it was read.
    let order = graph.topological_order().unwrap_or_default();
    let order: Vec<NodeId> = order.into_iter().filter(chosen).collect();
    let mut out = Module::new(Graph::new(graph.name, graph.stage()), module.names.clone());
    let mut made: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for &id in &order {
        let Some(node) = graph.node(id) else { continue };
        let operands: Vec<Option<ValueId>> = node
            .inputs
            .iter()
            .map(|input| input.and_then(|value| operand(module, &mut out, &mut made, value)))
            .collect();
        let results = node.outputs.iter().filter_map(|&value| graph.value(value));
        let results = results
            .map(|value| (value.name, value.ty.clone(), value.quant.clone()))
            .collect();
        let new = out.main_mut().add_node(node.name, node.op.clone(), &operands, results);
        out.main_mut().add_sources(new, &node.sources);
        out.main_mut()
            .set_fused(new, node.fused.as_deref().cloned(), node.place.clone());
        let results = out
            .main()
            .node(new)
            .map(|node| node.outputs.clone())
            .unwrap_or_default();
        made.extend(node.outputs.iter().copied().zip(results));
    }
    for &id in &order {
        for &value in graph.node(id).map_or(&[][..], |node| &node.outputs) {
            let read_inside = |at: strait_core::Use| chosen(&at.node);
            let inside = graph.uses(value).next().is_some() && graph.uses(value).all(read_inside);
            if let Some(&new) = made.get(&value).filter(|_| !inside || graph.is_output(value)) {
                out.main_mut().add_output(new);
            }
        }
    }
    out
}

/// The value in the new module that corresponds to a value in the old module.
fn operand(
    module: &Module,
    out: &mut Module,
    made: &mut BTreeMap<ValueId, ValueId>,
    value: ValueId,
) -> Option<ValueId> {
    if let Some(&known) = made.get(&value) {
        return Some(known);
    }
    let old = module.main().value(value)?;
    let new = match old.def {
        Def::Data(data) => {
            let data = out.add_data(module.data(data)?.clone());
            out.main_mut()
                .add_data(old.name, old.ty.clone(), old.quant.clone(), data)
        }
        Def::Input(_) | Def::Node(..) => out.main_mut().add_input(old.name, old.ty.clone(), old.quant.clone()),
    };
    made.insert(value, new);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_left_over_becomes_inputs_and_outputs() {
        let text = "
            strait 1 float
            graph @main(%x: f32[1,4]) {
              %a: f32[1,4] = relu(%x)
              %b: f32[1,4] = add(%a, @w)
              %c: f32[1,4] = relu(%b)
              %d: f32[1,4] = add(%c, %a)
              return %d
            }
            data @w: f32[4] = splat 1.0";
        let module = strait_core::text::parse(text).unwrap();
        let part = extract(&module, &Glob::new("?"));
        assert_eq!(part.main().nodes().count(), 4);
        let part = extract(&module, &Glob::new("b"));
        let name = |&id: &ValueId| part.name(part.main().value(id).unwrap().name);
        assert_eq!(part.main().inputs().iter().map(name).collect::<Vec<_>>(), ["a"]);
        assert_eq!(part.main().outputs().iter().map(name).collect::<Vec<_>>(), ["b"]);
        assert!(strait_core::verifier::verify(&part).is_ok());
    }
}
