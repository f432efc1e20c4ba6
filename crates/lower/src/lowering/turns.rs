//! Lowers a graph in turns, that is, again after each refusal. After a refusal, only the affected nodes are tried
//! again. The whole graph is made once, when no node is refused any more.
//!
//! Whether a node is refused depends on its configs and on how the producers store its operands: as real numbers, as
//! codes within some bounds, or as accumulators. For each value, the way in which it is stored is recorded. A node is
//! tried again if one of its configs or its neighbours' configs has changed, or if one of its operands is now stored in
//! another way. If a node's result stays an accumulator, the node is tried again together with each reader of the
//! result.

use super::{Grid, Lowered, Lowering};
use crate::bake::{Baked, Chosen, bake, bake_nodes};
use crate::error::LowerError;
use crate::interval::{Interval, around_all};
use crate::part::Part;
use crate::recipes::Product;
use crate::walk::{Build, Walk};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use strait_core::{DataId, Def, Elem, Failure, Graph, Module, NodeId, QuantParams, Stage, TensorType, ValueId};
use strait_requantize::Per;
use strait_target::TargetSpec;

/// Bakes and lowers one graph for one target, again after each refusal. Each such run is a turn. Nodes, values and
/// their order stay the same. Between turns, configs may change, and nodes may move to the host or back.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    baked: Baked,
    cache: Option<TurnCache>,
    touched: BTreeSet<NodeId>,
    /// The number of nodes that were tried in the last run.
    visited: usize,
    /// The number of threads that compute how near requantizations are to the ideal function. `None` for one thread.
    threads: Option<NonZeroUsize>,
}

#[derive(Clone, Debug)]
struct TurnCache {
    order: Vec<NodeId>,
    /// For each node, its position in the order of the graph.
    positions: Vec<u32>,
    /// For each value, how its producer stores it: as real numbers, codes or sums. `None` if no node makes the value.
    left: Vec<Option<Left>>,
}

/// How a producer stores a value. The lowering of its readers depends only on this and on the configs.
#[derive(Clone, Debug, PartialEq)]
enum Left {
    Real,
    Codes(Interval),
    Sum {
        bounds: Option<Per<Interval>>,
        zero: i32,
        product: Product,
    },
}

impl Turns {
    /// Creates the state before the first turn, for a module in which some tensors have grids in the model.
    pub fn with_scales(own: BTreeMap<DataId, QuantParams>) -> Turns {
        Turns {
            baked: Baked::with_scales(own),
            ..Turns::default()
        }
    }

    /// Sets the number of threads that compute how near requantizations are to the ideal function.
    #[must_use]
    pub fn on_threads(self, threads: NonZeroUsize) -> Turns {
        Turns {
            threads: Some(threads),
            ..self
        }
    }

    /// Uses the parameters that an optimisation has chosen for a node.
    pub fn choose(&mut self, node: NodeId, chosen: Chosen) {
        self.baked.choose(node, Some(chosen));
    }

    /// Starts new turns for a copy of the module in its present state. Codes that the copy uses are kept, and all other
    /// codes are removed from the copy's pool of tensors. The first of the new turns lowers the whole graph.
    pub fn of_copy(&self, module: &mut Module) -> Turns {
        let mut baked = self.baked.clone();
        baked.prune(module);
        Turns {
            baked,
            threads: self.threads,
            ..Turns::default()
        }
    }

    /// Marks nodes that have to be tried again, because their operands or results have other configs than in the last
    /// turn, or because they moved between accelerator and host.
    pub fn touch(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.touched.extend(nodes);
    }

    /// The number of nodes that the last turn tried before it made the graph. The first turn tries all nodes. Later
    /// turns try only the nodes that a change affects.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// Bakes the main graph of an annotated module, and lowers it into a new module.
    ///
    /// # Errors
    /// [`LowerError::Nodes`] with all nodes that have a parameter which does not fit its type. If there are none, with
    /// all nodes that were refused by their recipes.
    pub fn lower(&mut self, module: &mut Module, spec: &TargetSpec) -> Result<Lowered, LowerError> {
        match self.cache {
            Some(_) => bake_nodes(module, spec, &mut self.baked, self.touched.iter().copied())?,
            None => bake(module, spec, &mut self.baked)?,
        }
        self.lower_baked(module, spec)
    }

    /// Lowers the main graph of a baked module.
    pub(super) fn lower_baked(&mut self, source: &Module, spec: &TargetSpec) -> Result<Lowered, LowerError> {
        let touched = std::mem::take(&mut self.touched);
        self.visited = 0;
        if let Some(cache) = &mut self.cache {
            cache.attempt(source, spec, touched, &mut self.visited)?;
        }
        let mut lowering = Lowering::new(source, spec);
        let part = Part::whole(source.main())?;
        lowering.run(&part).map_err(ours)?;
        if self.cache.is_none() {
            self.visited = part.nodes.len();
        }
        if !lowering.refused.is_empty() {
            self.cache = Some(TurnCache::new(&mut lowering, part.nodes));
        }
        lowering.finished(self.threads.unwrap_or(NonZeroUsize::MIN))
    }
}

impl TurnCache {
    /// Collects what later runs need from a walk over the whole graph.
    fn new(lowering: &mut Lowering<'_>, order: Vec<NodeId>) -> TurnCache {
        let graph = lowering.graph();
        let mut positions = vec![u32::MAX; graph.node_bound()];
        for (position, id) in order.iter().enumerate() {
            positions[id.index()] = position as u32;
        }
        let mut left = vec![None; graph.value_bound()];
        for value in graph.nodes().flat_map(|(_, node)| &node.outputs) {
            left[value.index()] = Some(lowering.left_as(*value));
        }
        TurnCache { order, positions, left }
    }

    /// Tries the marked nodes. If a node then stores a result in another way than before, its readers are tried too.
    fn attempt(
        &mut self,
        source: &Module,
        spec: &TargetSpec,
        touched: BTreeSet<NodeId>,
        visited: &mut usize,
    ) -> Result<(), LowerError> {
        let mut lowering = Lowering::on(Walk::scratch(source, "lowered", Stage::Integer), spec);
        let graph = source.main();
        let (mut open, mut done) = (BTreeSet::new(), BTreeSet::new());
        touched.into_iter().for_each(|id| self.open(graph, id, &mut open));
        while let Some(position) = open.pop_first() {
            let id = self.order[position as usize];
            let Some(node) = graph.node(id).filter(|_| done.insert(position)) else {
                continue;
            };
            for &operand in node.inputs.iter().flatten() {
                self.provide(&mut lowering, operand).map_err(ours)?;
            }
            lowering.node(id, node).map_err(ours)?;
            *visited += 1;
            for &value in &node.outputs {
                let left = Some(lowering.left_as(value));
                if self.left[value.index()] != left {
                    self.left[value.index()] = left;
                    graph.uses(value).for_each(|at| self.open(graph, at.node, &mut open));
                }
            }
        }
        // This graph is thrown away.
        lowering.nearness.clear();
        lowering.finished(NonZeroUsize::MIN).map(drop)
    }

    /// Adds a node to the nodes that have to be tried. If it reads sums, the nodes that make these sums are added too.
    fn open(&self, graph: &Graph, id: NodeId, open: &mut BTreeSet<u32>) {
        let mut nodes = vec![id];
        while let Some(id) = nodes.pop() {
            let position = self.positions.get(id.index()).copied().unwrap_or(u32::MAX);
            if (position as usize) < self.order.len() && open.insert(position) {
                let operands = graph.node(id).into_iter().flat_map(|node| node.inputs.iter().flatten());
                let sums = operands.filter(|value| matches!(self.left[value.index()], Some(Left::Sum { .. })));
                nodes.extend(sums.filter_map(|&value| Some(graph.producer(value)?.0)));
            }
        }
    }

    /// Makes a value an input of the graph in which nodes are tried, unless this graph already has the value.
    fn provide(&self, lowering: &mut Lowering<'_>, value: ValueId) -> Result<(), Failure> {
        let missing = || Failure::defect("an operand is missing");
        let source = lowering.graph().value(value).ok_or_else(missing)?;
        let is_made = lowering.walk.is_made(value);
        match (source.def, &self.left[value.index()]) {
            (Def::Data(_), _) => Ok(()),
            _ if is_made || lowering.sums.contains_key(&value) => Ok(()),
            (_, None | Some(Left::Real)) => lowering.walk.input(value),
            (_, Some(Left::Codes(bounds))) => {
                let grid: Grid = lowering.left(value).ok_or_else(missing)?;
                let ty = TensorType {
                    elem: Elem::from(grid.ty),
                    ..source.ty.clone()
                };
                let name = lowering.walk.intern(source.name);
                let main = lowering.walk.out.main_mut();
                let made = main.add_input(name, ty, Some(grid.params()));
                lowering.known.set(made, *bounds);
                lowering.walk.set(value, grid, None, made)
            }
            // The producer of a sum is always tried before the readers of the sum.
            (_, Some(Left::Sum { .. })) => Err(missing()),
        }
    }
}

impl Lowering<'_> {
    /// How the producer has stored a value: as real numbers, codes or sums.
    fn left_as(&mut self, value: ValueId) -> Left {
        if let Some(sum) = self.sum(value) {
            return Left::Sum {
                bounds: self.bounds(sum.acc),
                zero: sum.zero,
                product: sum.product,
            };
        }
        let left = self.left(value);
        let codes = left.and_then(|grid| self.walk.found(value, &grid, None));
        codes
            .and_then(|codes| around_all(&self.bounds(codes)?))
            .map_or(Left::Real, Left::Codes)
    }
}

fn ours(failure: Failure) -> LowerError {
    LowerError::Ours(failure.to_string())
}
