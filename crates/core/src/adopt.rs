//! Copies graphs of one module into another.

use crate::graph::{Def, Graph};
use crate::ids::{DataId, GraphId, Symbol};
use crate::module::Module;
use crate::shape::Dim;
use std::collections::BTreeMap;

impl Module {
    /// Copies the graphs of `other`, from position `from` on, into this module, together with their names and the
    /// tensors that they read. Returns the difference between a graph's position in this module and its position in
    /// `other`. A graph whose name is already taken gets another name.
    pub fn adopt(&mut self, other: &Module, from: usize) -> usize {
        let offset = self.graphs.len().saturating_sub(from);
        let mut symbols: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        let mut tensors: BTreeMap<DataId, DataId> = BTreeMap::new();
        for graph in other.graphs.iter().skip(from) {
            let mut copy = graph.clone();
            copy.name = self.names.fresh(other.name(graph.name));
            self.rename_all(other, &mut copy, &mut symbols);
            for value in copy.values.iter_mut().flatten() {
                if let Def::Data(data) = value.def {
                    let own = tensors.get(&data).copied().or_else(|| {
                        let own = self.add_data(other.data(data)?.clone());
                        tensors.insert(data, own);
                        Some(own)
                    });
                    value.def = Def::Data(own.unwrap_or(data));
                }
            }
            copy.rename_graphs(|id| GraphId::new(offset + id.index()));
            self.graphs.push(copy);
        }
        offset
    }

    /// Replaces the symbols that a graph of the module `other` uses for names by symbols of this module's table.
    fn rename_all(&mut self, other: &Module, graph: &mut Graph, symbols: &mut BTreeMap<Symbol, Symbol>) {
        let names = &mut self.names;
        let mut own = |symbol: Symbol| {
            *symbols
                .entry(symbol)
                .or_insert_with(|| names.intern(other.name(symbol)))
        };
        for value in graph.values.iter_mut().flatten() {
            value.name = own(value.name);
            for dim in &mut value.ty.shape {
                if let Dim::Named(symbol) = dim {
                    *symbol = own(*symbol);
                }
            }
        }
        for node in graph.nodes.iter_mut().flatten() {
            node.name = own(node.name);
            node.sources.iter_mut().for_each(|source| *source = own(*source));
        }
    }
}
