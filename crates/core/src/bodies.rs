//! Control-flow nodes run graphs. This file inlines these graphs into the main graph, and extracts them again.
//!
//! Passes work on a single graph. A body is a graph that an `if` or `loop` node runs. If all extents of a body are
//! fixed, the body is inlined: its nodes are copied into the main graph, and its inputs and outputs are added after the
//! main graph's own. The inlined bodies share only constants with each other and with the main graph, so a pass treats
//! each of them like a separate model. A node belongs to the body whose outputs depend on the node. The control-flow
//! node and the original body stay unchanged until [`Bodies::take_out`] makes new bodies from the inlined ones.

use crate::failure::Failure;
use crate::graph::{Def, Graph, Node, Value};
use crate::ids::{GraphId, NodeId, Symbol, ValueId};
use crate::module::Module;
use crate::names::Names;
use crate::op::Op;
use crate::quant::QuantParams;
use crate::shape::TensorType;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// The largest number of nodes that may be inlined into a graph. The limit is needed because bodies can run other
/// graphs: if each body runs the next one twice, the number of nodes grows exponentially with the depth.
const MOST_NODES: usize = 1 << 20;

/// The bodies that were inlined into a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bodies {
    /// The number of inputs and the number of outputs of the graph without its inlined bodies.
    own: [usize; 2],
    bodies: Vec<Body>,
}

/// A body that was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Body {
    /// The name of the control-flow node that runs the body.
    node: String,
    /// The position of the body among the graphs of that node.
    position: usize,
    /// The name of the body.
    name: String,
    /// The graph from which the body was copied.
    graph: GraphId,
    /// The positions of the body's inputs among the inputs of the graph.
    inputs: Range<usize>,
    /// The positions of the body's outputs among the outputs of the graph.
    outputs: Range<usize>,
}

impl Module {
    /// Inlines the bodies of control-flow nodes in a graph, and the bodies inside of these bodies. A body is inlined if
    /// all its extents are fixed and its stage is that of the graph. If the graph already has a name that the body
    /// uses, a number is appended to the name from the body.
    pub fn lay_open(&mut self, graph: GraphId) -> Bodies {
        let Some(root) = self.graph(graph) else {
            return Bodies::default();
        };
        let mut laid = Bodies {
            own: [root.inputs().len(), root.outputs().len()],
            bodies: Vec::new(),
        };
        let mut open: VecDeque<NodeId> = control(root).collect();
        if open.is_empty() {
            return laid;
        }
        let mut taken = Taken {
            values: root.values().map(|(_, value)| value.name).collect(),
            nodes: root.nodes().map(|(_, node)| node.name).collect(),
        };
        let mut room = MOST_NODES;
        while let Some(id) = open.pop_front() {
            let named = self.graph(graph).and_then(|root| root.node(id));
            let Some((node, op)) = named.map(|node| (node.name, node.op.clone())) else {
                continue;
            };
            for (position, body) in op.graphs().into_iter().enumerate() {
                let Some(source) = self.graph(body) else { continue };
                let size = source.node_bound() + source.value_bound();
                let fits = self.graph(graph).is_some_and(|root| root.stage() == source.stage()) && is_fixed(source);
                if body == graph || !fits || size > room {
                    continue;
                }
                room -= size;
                let source = source.clone();
                let [inputs, outputs] = self.lay(graph, &source, &mut taken, &mut open);
                laid.bodies.push(Body {
                    node: self.name(node).to_owned(),
                    position,
                    name: self.name(source.name).to_owned(),
                    graph: body,
                    inputs,
                    outputs,
                });
            }
        }
        laid
    }

    /// Does the same as [`Module::lay_open`]. `like` has the bodies that were inlined into another graph, which has the
    /// same control-flow nodes as this graph. Afterwards, the control-flow nodes of both graphs run the same bodies.
    pub fn lay_open_like(&mut self, graph: GraphId, like: &Bodies) -> Bodies {
        let laid = self.lay_open(graph);
        let pairs = laid.bodies.iter().zip(&like.bodies);
        let theirs: BTreeMap<GraphId, GraphId> = pairs.map(|(own, other)| (own.graph, other.graph)).collect();
        if let Some(graph) = self.graphs.get_mut(graph.index()) {
            for node in graph.nodes.iter_mut().flatten().filter(|node| is_control(&node.op)) {
                node.op = node.op.with_graphs(|id| theirs.get(&id).copied().unwrap_or(id));
            }
        }
        laid
    }

    /// Copies a body into a graph. Returns the copies of the body's inputs and outputs.
    fn lay(
        &mut self,
        into: GraphId,
        body: &Graph,
        taken: &mut Taken,
        open: &mut VecDeque<NodeId>,
    ) -> [Range<usize>; 2] {
        let Module { graphs, names, .. } = self;
        let Some(root) = graphs.get_mut(into.index()) else {
            return [0..0, 0..0];
        };
        let before = [root.inputs.len(), root.outputs.len()];
        let mut made: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        for (id, value) in body.values() {
            if let Def::Data(data) = value.def {
                let name = unique(&mut taken.values, names, value.name);
                made.insert(id, root.add_data(name, value.ty.clone(), value.quant.clone(), data));
            }
        }
        for &input in body.inputs() {
            if let Some(value) = body.value(input) {
                let name = unique(&mut taken.values, names, value.name);
                made.insert(input, root.add_input(name, value.ty.clone(), value.quant.clone()));
            }
        }
        // A graph of a valid module has no cycle.
        for node in body.topological_order().unwrap_or_default() {
            let Some(node) = body.node(node) else { continue };
            let named = |value: &Value| unique(&mut taken.values, names, value.name);
            let results = results(body, node, named);
            let name = unique(&mut taken.nodes, names, node.name);
            let id = copy_node(root, node, name, node.op.clone(), &made, results);
            made.extend(node.outputs.iter().copied().zip(outputs(root, id)));
            if is_control(&node.op) {
                open.push_back(id);
            }
        }
        for output in body.outputs().iter().filter_map(|output| made.get(output)) {
            root.add_output(*output);
        }
        [before[0]..root.inputs.len(), before[1]..root.outputs.len()]
    }
}

impl Bodies {
    /// True if no body was inlined.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Returns the inputs that belong to the graph itself and not to a body.
    pub fn own_inputs<'g>(&self, graph: &'g Graph) -> &'g [ValueId] {
        self.own(graph.inputs(), self.own[0])
    }

    /// Returns the outputs that belong to the graph itself and not to a body.
    pub fn own_outputs<'g>(&self, graph: &'g Graph) -> &'g [ValueId] {
        self.own(graph.outputs(), self.own[1])
    }

    fn own<'g>(&self, all: &'g [ValueId], own: usize) -> &'g [ValueId] {
        all.get(..own).filter(|_| !self.is_empty()).unwrap_or(all)
    }

    /// Returns a copy of the module. In the copy, the inlined bodies of the main graph are separate graphs again.
    ///
    /// # Errors
    /// The same as for [`Bodies::take_out`].
    pub fn closed<'m>(&self, module: &'m Module) -> Result<Cow<'m, Module>, Failure> {
        if self.is_empty() {
            return Ok(Cow::Borrowed(module));
        }
        let mut closed = module.clone();
        self.take_out(&mut closed, &[module.main])?;
        Ok(Cow::Owned(closed))
    }

    /// Does the same as [`Bodies::closed`]. In the copy, values are also rounded to the grids that the model gives for
    /// them, so that the copy computes what the quantized model computes.
    ///
    /// # Errors
    /// The same as for [`Bodies::take_out`].
    pub fn whole<'m>(&self, module: &'m Module) -> Result<Cow<'m, Module>, Failure> {
        let mut whole = self.closed(module)?;
        if whole.has_roundings() {
            whole.to_mut().round_to_grids()?;
        }
        Ok(whole)
    }

    /// Turns the inlined bodies of each graph in `roots` into separate graphs again. All graphs in `roots` must have
    /// the same inputs and outputs as the graph into which the bodies were inlined. Graphs and tensors that are no
    /// longer used are removed from the module.
    ///
    /// # Errors
    /// A node connects two bodies, or a body and the rest of the graph. The pass that added the node has a bug.
    pub fn take_out(&self, module: &mut Module, roots: &[GraphId]) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        for &root in roots {
            self.take_out_of(module, root)?;
        }
        module.keep(roots);
        Ok(())
    }

    /// Returns the main graph of a module, and the graphs that were made from its inlined bodies.
    pub fn graphs(&self, module: &Module) -> Vec<GraphId> {
        let mut found = vec![module.main];
        let mut next = 0;
        while let Some(graph) = found.get(next).and_then(|&id| module.graph(id)) {
            next += 1;
            for node in control(graph).filter_map(|id| graph.node(id)) {
                let name = module.name(node.name);
                let own = self.bodies.iter().filter(|body| body.node == name);
                let graphs = node.op.graphs();
                found.extend(own.filter_map(|body| graphs.get(body.position)));
            }
        }
        found
    }

    fn take_out_of(&self, module: &mut Module, root: GraphId) -> Result<(), Failure> {
        let missing = || Failure::defect("the graph whose bodies lie open is missing");
        let graph = module.graph(root).ok_or_else(missing)?.clone();
        let (main, prefix) = (module.main == root, module.name(graph.name).to_owned());
        let order = graph.topological_order();
        let order = order.map_err(|_| Failure::defect("a graph whose bodies lie open has a cycle"))?;
        let mut rank = vec![0; graph.node_bound()];
        for (position, id) in order.iter().enumerate() {
            rank[id.index()] = position;
        }
        // A pass may have removed a control-flow node, for example an `if` that always takes the same branch. The
        // bodies of removed nodes are left out.
        let there: BTreeSet<&str> = control(&graph)
            .filter_map(|id| Some(module.name(graph.node(id)?.name)))
            .collect();
        let mut made: BTreeMap<(&str, usize), GraphId> = BTreeMap::new();
        for body in self.bodies.iter().filter(|body| there.contains(body.node.as_str())) {
            let id = GraphId::new(module.graphs.len() + made.len());
            made.insert((body.node.as_str(), body.position), id);
        }
        let own = [0..self.own[0], 0..self.own[1]];
        let whole = self.part(module, &graph, &rank, own, graph.name, &made)?;
        let mut parts = Vec::with_capacity(made.len());
        for body in &self.bodies {
            if !made.contains_key(&(body.node.as_str(), body.position)) {
                continue;
            }
            // Bodies of the main graph keep their names.
            let name = match main {
                true => module.names.intern(&body.name),
                false => module.names.fresh(&format!("{prefix}.{}", body.name)),
            };
            let range = [body.inputs.clone(), body.outputs.clone()];
            parts.push(self.part(module, &graph, &rank, range, name, &made)?);
        }
        module.graphs[root.index()] = whole;
        module.graphs.extend(parts);
        Ok(())
    }

    /// Extracts the part of a graph between `inputs` and `outputs`. `rank` has the position of each node in topological
    /// order.
    fn part(
        &self,
        module: &Module,
        graph: &Graph,
        rank: &[usize],
        [inputs, ends]: [Range<usize>; 2],
        name: Symbol,
        bodies: &BTreeMap<(&str, usize), GraphId>,
    ) -> Result<Graph, Failure> {
        let crossed = || Failure::defect("a body of control flow reads what another graph has");
        let inputs = graph.inputs().get(inputs).ok_or_else(crossed)?;
        let ends = graph.outputs().get(ends).ok_or_else(crossed)?;
        let mut part = Graph::new(name, graph.stage());
        let mut made: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        for &input in inputs {
            let value = graph.value(input).ok_or_else(crossed)?;
            made.insert(input, part.add_input(value.name, value.ty.clone(), value.quant.clone()));
        }
        let mut nodes: BTreeSet<(usize, NodeId)> = BTreeSet::new();
        let mut open: Vec<ValueId> = ends.to_vec();
        while let Some(id) = open.pop() {
            let value = graph.value(id).ok_or_else(crossed)?;
            match value.def {
                Def::Input(_) if made.contains_key(&id) => {}
                Def::Input(_) => return Err(crossed()),
                Def::Data(data) => {
                    let add = || part.add_data(value.name, value.ty.clone(), value.quant.clone(), data);
                    made.entry(id).or_insert_with(add);
                }
                Def::Node(node, _) => {
                    if nodes.insert((rank[node.index()], node)) {
                        let node = graph.node(node).ok_or_else(crossed)?;
                        open.extend(node.inputs.iter().flatten());
                    }
                }
            }
        }
        for node in nodes.into_iter().filter_map(|(_, node)| graph.node(node)) {
            let own = node.op.graphs();
            let theirs = |id: GraphId| {
                let position = own.iter().position(|&named| named == id);
                let taken = position.and_then(|position| bodies.get(&(module.name(node.name), position)));
                taken.copied().unwrap_or(id)
            };
            let op = node.op.with_graphs(theirs);
            let id = copy_node(
                &mut part,
                node,
                node.name,
                op,
                &made,
                results(graph, node, |value| value.name),
            );
            made.extend(node.outputs.iter().copied().zip(outputs(&part, id)));
        }
        for end in ends {
            part.add_output(*made.get(end).ok_or_else(crossed)?);
        }
        Ok(part)
    }
}

/// The names of values and nodes that are already taken in a graph.
struct Taken {
    values: BTreeSet<Symbol>,
    nodes: BTreeSet<Symbol>,
}

fn unique(taken: &mut BTreeSet<Symbol>, names: &mut Names, name: Symbol) -> Symbol {
    if taken.insert(name) {
        return name;
    }
    let base = names.text(name).to_owned();
    let fresh = names.fresh(&base);
    taken.insert(fresh);
    fresh
}

/// A result of a node, as its name, type and grid.
type Named = (Symbol, TensorType, Option<Arc<QuantParams>>);

fn results(graph: &Graph, node: &Node, mut name: impl FnMut(&Value) -> Symbol) -> Vec<Named> {
    let results = node.outputs.iter().filter_map(|&value| graph.value(value));
    results
        .map(|value| (name(value), value.ty.clone(), value.quant.clone()))
        .collect()
}

fn outputs(graph: &Graph, node: NodeId) -> impl Iterator<Item = ValueId> + use<> {
    let outputs = graph.node(node).map(|node| node.outputs.clone());
    outputs.into_iter().flatten()
}

/// Appends a copy of a node to a graph.
fn copy_node(
    graph: &mut Graph,
    node: &Node,
    name: Symbol,
    op: Op,
    made: &BTreeMap<ValueId, ValueId>,
    results: Vec<Named>,
) -> NodeId {
    let operands: Vec<Option<ValueId>> = node
        .inputs
        .iter()
        .map(|input| input.and_then(|id| made.get(&id).copied()))
        .collect();
    let id = graph.add_node(name, op, &operands, results);
    graph.set_sources(id, &node.sources);
    graph.set_fused(id, node.fused.as_deref().cloned(), node.place.clone());
    id
}

fn is_control(op: &Op) -> bool {
    matches!(op, Op::If(_) | Op::Loop(_))
}

fn control(graph: &Graph) -> impl Iterator<Item = NodeId> + '_ {
    graph.nodes().filter(|(_, node)| is_control(&node.op)).map(|(id, _)| id)
}

fn is_fixed(graph: &Graph) -> bool {
    graph.values().all(|(_, value)| value.ty.dims().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{PrintOptions, parse, print};

    const NESTED: &str = "strait 1 float main=@main
graph @main(%c: bool[], %x: f32[2,3]) stage=float {
  %a: f32[2,3] = relu(%x)
  %y: f32[2,3] = if @then, @else(%c, %a)
  %z: f32[2,3] = relu(%y)
  return %z
}
graph @then(%t: f32[2,3]) stage=float {
  %u: f32[2,3] = add(%t, @w)
  %v: f32[2,3] = loop @body(_, _, %u, %t) {carried=1, trips=3}
  return %v
}
graph @else(%e: f32[2,3]) stage=float {
  return %e
}
graph @body(%n: i64[], %more: bool[], %s: f32[2,3], %l: f32[2,3]) stage=float {
  %m: f32[2,3] = sub(%s, %l)
  return %more, %m
}
data @w: f32[3] = splat 1.0
";

    #[test]
    fn what_was_laid_open_is_taken_out_as_it_was() {
        let before = parse(NESTED).unwrap_or_else(|error| panic!("{error}"));
        let mut module = before.clone();
        let main = module.main;
        let laid = module.lay_open(main);
        crate::verifier::verify(&module).expect("a sound module");
        assert_eq!((laid.own_inputs(module.main()).len(), laid.bodies.len()), (2, 3));
        let graph = module.main();
        assert_eq!(
            (graph.inputs().len(), graph.outputs().len()),
            (2 + 1 + 1 + 4, 1 + 1 + 1 + 2)
        );
        assert_eq!(graph.nodes().count(), 3 + 2 + 1);
        laid.take_out(&mut module, &[main]).expect("parts that nothing crosses");
        crate::verifier::verify(&module).expect("a sound module");
        let printed = |module: &Module| print(module, &PrintOptions::default());
        assert_eq!(printed(&module), printed(&before));
    }

    #[test]
    fn names_that_are_taken_get_a_number_and_a_tensor_that_nothing_reads_leaves() {
        let mut module =
            parse(&NESTED.replace("%m", "%a").replace("%u", "%y")).unwrap_or_else(|error| panic!("{error}"));
        let main = module.main;
        let laid = module.lay_open(main);
        crate::verifier::verify(&module).expect("names are unique");
        module.add_data(crate::tensor::TensorData::scalar(1.0f32));
        laid.take_out(&mut module, &[main]).expect("parts that nothing crosses");
        assert_eq!((module.graphs.len(), module.pool().len()), (4, 1));
    }

    #[test]
    fn graphs_of_other_stages_and_of_open_extents_stay() {
        let text = NESTED.replace("%e: f32[2,3]) stage=float", "%e: f32[a,3]) stage=float");
        let mut module = parse(
            &text
                .replace("%y: f32[2,3]", "%y: f32[b,3]")
                .replace("%z: f32[2,3]", "%z: f32[b,3]"),
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let main = module.main;
        let laid = module.lay_open(main);
        assert_eq!(
            laid.bodies.iter().map(|body| &*body.name).collect::<Vec<_>>(),
            ["then", "body"]
        );
        laid.take_out(&mut module, &[main]).expect("parts that nothing crosses");
        crate::verifier::verify(&module).expect("a sound module");
        assert_eq!(module.graphs.len(), 4);
    }

    #[test]
    fn what_leads_from_one_part_to_another_is_a_defect() {
        let mut module = parse(NESTED).unwrap_or_else(|error| panic!("{error}"));
        let main = module.main;
        let laid = module.lay_open(main);
        let crossed = module.main().outputs()[0];
        let position = module.main().outputs().len() - 1;
        module.main_mut().outputs[position] = crossed;
        assert!(matches!(laid.take_out(&mut module, &[main]), Err(Failure::Defect(_))));
    }
}
