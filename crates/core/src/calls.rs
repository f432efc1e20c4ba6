//! Graphs that call each other.

use crate::graph::Graph;
use crate::ids::GraphId;
use crate::module::Module;
use std::collections::{BTreeMap, BTreeSet};

impl Module {
    /// Gives a graph its own copies of those graphs that it calls, directly or indirectly, and that other graphs call,
    /// too. After that, changes of the copies affect only this graph. Tensors stay shared.
    ///
    /// Returns the called graphs in the order of the module, and then the graph itself.
    pub fn unshare(&mut self, root: GraphId) -> Vec<GraphId> {
        let mut called = self.reached([root]);
        let others = (0..self.graphs.len()).map(GraphId::new);
        let others = others.filter(|id| !called.contains(id)).collect::<Vec<_>>();
        let others = self.reached(others);
        called.remove(&root);
        let (shared, mut own): (Vec<GraphId>, Vec<GraphId>) = called.into_iter().partition(|id| others.contains(id));
        let mut copies: BTreeMap<GraphId, GraphId> = BTreeMap::new();
        for id in shared {
            let Some(mut copy) = self.graph(id).cloned() else {
                continue;
            };
            let base = self.name(copy.name).to_owned();
            copy.name = self.names.fresh(&base);
            let made = GraphId::new(self.graphs.len());
            self.graphs.push(copy);
            copies.insert(id, made);
            own.push(made);
        }
        own.push(root);
        // A copy has the same inputs and outputs as the original, so the result types of the nodes that call it do not
        // change.
        for id in own.iter().filter(|_| !copies.is_empty()) {
            if let Some(graph) = self.graphs.get_mut(id.index()) {
                graph.rename_graphs(|id| copies.get(&id).copied().unwrap_or(id));
            }
        }
        own
    }

    /// Returns the graphs in `from`, and all graphs that they call, directly or indirectly.
    pub(crate) fn reached(&self, from: impl IntoIterator<Item = GraphId>) -> BTreeSet<GraphId> {
        let mut open: Vec<GraphId> = from.into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(self.graph(id).into_iter().flat_map(calls));
            }
        }
        seen
    }
}

fn calls(graph: &Graph) -> impl Iterator<Item = GraphId> {
    graph.nodes().flat_map(|(_, node)| node.op.graphs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    #[test]
    fn what_is_shared_is_copied_with_all_that_it_calls_and_what_is_not_stays() {
        let text = "strait 1 float main=@main\n\
            graph @deep(%x: f32[2]) stage=float {\n  %y: f32[2] = relu(%x)\n  return %y\n}\n\
            graph @shared(%x: f32[2]) stage=float {\n  %y: f32[2] = call @deep(%x)\n  return %y\n}\n\
            graph @own(%x: f32[2]) stage=float {\n  %y: f32[2] = relu(%x)\n  return %y\n}\n\
            graph @other(%x: f32[2]) stage=float {\n  %y: f32[2] = call @shared(%x)\n  return %y\n}\n\
            graph @main(%x: f32[2]) stage=float {\n  %y: f32[2] = call @own(%x)\n\
            \x20 %z: f32[2] = call @shared(%y)\n  return %z\n}\n";
        let mut module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let main = module.main;
        let own: Vec<usize> = module.unshare(main).into_iter().map(GraphId::index).collect();
        assert_eq!(own, [2, 5, 6, 4]);
        let called = |id: usize| calls(&module.graphs[id]).map(GraphId::index).collect::<Vec<_>>();
        assert_eq!([1, 3, 4, 6].map(called), [vec![0], vec![1], vec![2, 6], vec![5]]);
        let names: Vec<&str> = module.graphs.iter().map(|graph| module.name(graph.name)).collect();
        assert_eq!(names, ["deep", "shared", "own", "other", "main", "deep_1", "shared_1"]);
        crate::verifier::verify(&module).expect("a sound module");
        assert_eq!(module.unshare(main).len(), 4, "nothing is shared any more");
    }
}
