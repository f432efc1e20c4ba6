//! A module has graphs, one pool of constants, and one table of names.

use crate::elem::Elem;
use crate::graph::{Def, Graph, Node};
use crate::ids::{DataId, GraphId, Symbol};
use crate::names::Names;
use crate::quant::IllegalMove;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::tensor::TensorData;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Graphs that call each other, and the constants and names that they share.
#[derive(Clone, Debug)]
pub struct Module {
    /// The graphs. One of them is the graph `main`.
    pub graphs: Vec<Graph>,
    /// The graph that a run starts with.
    pub main: GraphId,
    /// The names of all graphs, nodes and values.
    pub names: Names,
    data: Vec<TensorData>,
    unrounded: BTreeMap<DataId, Arc<[f64]>>,
}

impl Module {
    /// Makes a module with `main` as its only graph. The names in `main` have to be in `names` already.
    pub fn new(main: Graph, names: Names) -> Module {
        Module {
            graphs: vec![main],
            main: GraphId::new(0),
            names,
            data: Vec::new(),
            unrounded: BTreeMap::new(),
        }
    }

    /// Returns the main graph.
    ///
    /// The main graph always exists: `main` is set when the module is made, and the main graph is never removed.
    pub fn main(&self) -> &Graph {
        &self.graphs[self.main.index()]
    }

    /// Returns the main graph, for passes to change.
    pub fn main_mut(&mut self) -> &mut Graph {
        &mut self.graphs[self.main.index()]
    }

    /// Returns a graph of this module.
    pub fn graph(&self, id: GraphId) -> Option<&Graph> {
        self.graphs.get(id.index())
    }

    /// Returns the text of a name.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.text(symbol)
    }

    /// Returns the names of the source model's layers that a node was made from.
    pub fn sources(&self, node: &Node) -> Vec<String> {
        node.sources
            .iter()
            .map(|&source| self.name(source).to_owned())
            .collect()
    }

    /// Adds a constant to the pool. The bytes are shared with `tensor`, not copied.
    pub fn add_data(&mut self, tensor: TensorData) -> DataId {
        self.data.push(tensor);
        DataId::new(self.data.len() - 1)
    }

    /// Gives a constant of the pool other numbers. Everything that reads the constant then reads these numbers. Returns false,
    /// and changes nothing, if the type or the shape would be another one.
    pub fn replace_data(&mut self, id: DataId, tensor: TensorData) -> bool {
        let Some(old) = self.data.get_mut(id.index()) else {
            return false;
        };
        let fits = old.tensor_type() == tensor.tensor_type();
        if fits {
            *old = tensor;
            self.unrounded.remove(&id);
        }
        fits
    }

    /// Returns a constant of the pool.
    pub fn data(&self, id: DataId) -> Option<&TensorData> {
        self.data.get(id.index())
    }

    /// Frees the bytes of a constant that nothing reads any more. The ids of the other constants do not change.
    pub fn drop_data(&mut self, id: DataId) {
        if let (Some(tensor), Ok(nothing)) = (
            self.data.get_mut(id.index()),
            TensorData::from_integers(Elem::U8, &[0], &[]),
        ) {
            *tensor = nothing;
        }
    }

    /// Returns the whole pool, in the order of ids.
    pub fn pool(&self) -> &[TensorData] {
        &self.data
    }

    /// Returns the exact numbers of a constant that a rule computed and rounded. The next rule that computes with the
    /// constant uses the exact numbers, so that several rules together round only once. The numbers are kept while
    /// rules run and something reads the constant.
    pub fn unrounded(&self, id: DataId) -> Option<&[f64]> {
        self.unrounded.get(&id).map(AsRef::as_ref)
    }

    /// Stores the exact numbers of a constant that a rule rounded.
    pub(crate) fn remember(&mut self, id: DataId, numbers: Vec<f64>) {
        self.unrounded.insert(id, numbers.into());
    }

    /// Deletes the exact numbers of the constant `id`, or those of all constants if `id` is `None`.
    pub(crate) fn forget(&mut self, id: Option<DataId>) {
        match id {
            Some(id) => _ = self.unrounded.remove(&id),
            None => self.unrounded.clear(),
        }
    }

    /// Keeps the graphs in `roots`, the graphs that they run, and the constants that these graphs read, and removes
    /// everything else. One of `roots` has to be the main graph. Ids change, but the order of graphs and constants does
    /// not.
    pub(crate) fn keep(&mut self, roots: &[GraphId]) {
        self.forget(None);
        let kept = self.reached(roots.iter().copied());
        let mut new = BTreeMap::new();
        let graphs = std::mem::take(&mut self.graphs).into_iter().enumerate();
        for (index, graph) in graphs.filter(|(index, _)| kept.contains(&GraphId::new(*index))) {
            new.insert(GraphId::new(index), GraphId::new(self.graphs.len()));
            self.graphs.push(graph);
        }
        let of = |id: GraphId| new.get(&id).copied().unwrap_or(id);
        self.main = new.get(&self.main).copied().unwrap_or(self.main);
        let mut read: BTreeMap<DataId, DataId> = BTreeMap::new();
        for value in self.graphs.iter().flat_map(|graph| graph.values.iter().flatten()) {
            if let Def::Data(data) = value.def {
                read.insert(data, data);
            }
        }
        let pool = std::mem::take(&mut self.data).into_iter().enumerate();
        for (index, tensor) in pool {
            if let Some(data) = read.get_mut(&DataId::new(index)) {
                *data = DataId::new(self.data.len());
                self.data.push(tensor);
            }
        }
        for graph in &mut self.graphs {
            graph.rename_graphs(of);
            for value in graph.values.iter_mut().flatten() {
                if let Def::Data(data) = &mut value.def {
                    *data = read.get(data).copied().unwrap_or(*data);
                }
            }
        }
    }

    /// Returns the constant that a value of `graph` stands for; `None` if the value is not a constant.
    pub fn constant(&self, graph: &Graph, value: crate::ids::ValueId) -> Option<&TensorData> {
        self.data(graph.data_of(value)?)
    }
}

impl IllegalMove {
    /// Returns a reason that says which config could not be changed, at which node, and why.
    pub fn told(&self, module: &Module, graph: &Graph) -> Reason {
        let name = graph.node(self.node).map(|node| module.name(node.name));
        let of = name.map(|name| format!(" of {name}")).unwrap_or_default();
        let why = self.why.map(|why| format!(": {why}")).unwrap_or_default();
        let text = format!(
            "{}{of} in the state {} cannot become {}{why}",
            self.port, self.from, self.to
        );
        Reason::new(ReasonCode::QuantizationState, text)
    }
}
