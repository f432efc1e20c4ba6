//! Converts a table of configs to plain data and back, for text, bytes and reports.

use super::config::{Derivation, Grid, Move, ParameterCodes, QuantConfig, State};
use super::port::Port;
use super::scheme::Scheme;
use super::table::{IllegalMove, QuantTable};
use crate::ids::{ConfigId, DataId, NodeId};

/// A config as plain data. Ids of other configs are positions in the list of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The node, or [`NodeId::OUTSIDE`] for an input or output of the graph.
    pub node: NodeId,
    /// Which operand, result, input or output it is.
    pub port: Port,
    /// Policy, type, range and rounding.
    pub scheme: Scheme,
    /// Where its grid comes from. For a float config, this is what would be restored.
    pub standing: Standing,
    /// The codes of the parameter. For a float config, these are the codes that it would have after it is restored.
    pub parameter: Parameter,
    /// True if it is excluded from quantization.
    pub float: bool,
}

/// Where the grid of a config comes from. A derived grid is not stored, because it is computed again.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// The config has no grid yet.
    Initial,
    /// The config has a grid of its own.
    Own(Grid),
    /// The config reads the grid of this one, which is the root of its set.
    Overlapped(ConfigId),
    /// The config's grid is derived from other grids.
    Passive(Derivation),
}

/// The codes of a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// There are no codes: the config is not of a parameter, or the parameter is still real numbers.
    Real,
    /// Codes were given, but nothing reads them yet.
    Given(DataId),
    /// The parameter was turned into these codes.
    Baked(ParameterCodes),
}

/// Why entries do not make a table. The fault is in the file that they come from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// An operand or result has a second config.
    #[error("{} has a config already", .port.of(*.node))]
    Twice {
        /// The node of the config.
        node: NodeId,
        /// The operand or result of the config.
        port: Port,
    },
    /// A config reads one that itself reads another, or that does not exist.
    #[error("{0} is not the config whose grid is read here")]
    NotRoot(ConfigId),
    /// Grids are derived from each other in a circle.
    #[error("its grid would rest on itself")]
    Cycle,
    /// The config cannot have this state.
    #[error(transparent)]
    Move(#[from] IllegalMove),
}

impl QuantTable {
    /// All configs as plain data: those of the inputs, then those of the nodes in the order of `nodes` (operands before
    /// results), then those of the outputs.
    ///
    /// # Errors
    /// A node has a config, but is not in the list.
    pub fn entries(&self, nodes: &[NodeId]) -> Result<Vec<Entry>, NodeId> {
        let bound = nodes.iter().map(|node| node.index() + 1).max().unwrap_or(0);
        let mut ranks = vec![usize::MAX; bound];
        for (rank, node) in nodes.iter().enumerate() {
            ranks[node.index()] = rank;
        }
        let mut order = Vec::with_capacity(self.len());
        for (id, config) in self.iter() {
            let rank = match config.port {
                Port::Input(_) => (0, 0),
                Port::Output(_) => (2, 0),
                Port::Operand(_) | Port::Result(_) => {
                    let rank = ranks.get(config.node.index()).filter(|rank| **rank != usize::MAX);
                    (1, *rank.ok_or(config.node)?)
                }
            };
            order.push((rank, config.port, id));
        }
        order.sort_unstable();
        let mut positions = vec![ConfigId::new(0); self.bound()];
        for (position, &(_, _, id)) in order.iter().enumerate() {
            positions[id.index()] = ConfigId::new(position);
        }
        let place = |id: ConfigId| positions.get(id.index()).copied().unwrap_or(id);
        let configs = order.into_iter().filter_map(|(_, _, id)| Some((id, self.config(id)?)));
        let entry = |(id, config): (ConfigId, &QuantConfig)| Entry {
            node: config.node,
            port: config.port,
            scheme: config.scheme,
            standing: self.standing(id, config, &place),
            parameter: parameter(config),
            float: config.state == State::Float,
        };
        Ok(configs.map(entry).collect())
    }

    fn standing(&self, id: ConfigId, config: &QuantConfig, place: &dyn Fn(ConfigId) -> ConfigId) -> Standing {
        let root = self.root(id);
        if root != id {
            return Standing::Overlapped(place(root));
        }
        match (&config.own, config.derivation) {
            (Some(grid), _) => Standing::Own(grid.clone()),
            (None, Some(Derivation::Same(of))) => Standing::Passive(Derivation::Same(place(of))),
            (None, Some(Derivation::Shifted(of, bits))) => Standing::Passive(Derivation::Shifted(place(of), bits)),
            (None, Some(Derivation::Product(first, second))) => {
                Standing::Passive(Derivation::Product(place(first), place(second)))
            }
            (None, None) => Standing::Initial,
        }
    }

    /// The table of these entries, built only with [`QuantTable::transition`]. The caller has to check nodes and ports.
    ///
    /// # Errors
    /// The position of the entry that is not legal.
    pub fn from_entries(entries: &[Entry]) -> Result<QuantTable, (usize, EntryError)> {
        let mut table = QuantTable::default();
        for (at, &Entry { node, port, scheme, .. }) in entries.iter().enumerate() {
            if table.id(node, port).is_some() {
                return Err((at, EntryError::Twice { node, port }));
            }
            table.add(node, port, scheme);
        }
        let standing = |at: usize| &entries[at].standing;
        let step = |table: &mut QuantTable, at: usize, request: Move| {
            table
                .transition(ConfigId::new(at), request)
                .map_err(|error| (at, error.into()))
        };
        // Configs join the sets of their roots first. Before anything is derived, each of these steps is cheap.
        for at in 0..entries.len() {
            if let Standing::Overlapped(root) = *standing(at) {
                step(&mut table, at, Move::DominatedBy(root))?;
            }
        }
        for at in 0..entries.len() {
            if let Standing::Overlapped(root) = *standing(at)
                && table.root(ConfigId::new(at)) != root
            {
                return Err((at, EntryError::NotRoot(root)));
            }
            if let Standing::Own(grid) = standing(at) {
                step(&mut table, at, Move::Activate(grid.clone()))?;
            }
        }
        for at in dependents_first(&table, entries)? {
            if let Standing::Passive(derivation) = *standing(at) {
                step(&mut table, at, Move::MasteredBy(derivation))?;
            }
        }
        for (at, entry) in entries.iter().enumerate() {
            let (given, baked) = match entry.parameter {
                Parameter::Real => (None, None),
                Parameter::Given(data) => (Some(data), None),
                Parameter::Baked(codes) => (Some(codes.data).filter(|_| codes.given), Some(codes.data)),
            };
            let moves = [given.map(Move::Give), baked.map(Move::Bake)];
            for request in moves.into_iter().flatten() {
                step(&mut table, at, request)?;
            }
        }
        for (at, _) in entries.iter().enumerate().filter(|(_, entry)| entry.float) {
            step(&mut table, at, Move::Dequantize)?;
        }
        Ok(table)
    }
}

fn parameter(config: &QuantConfig) -> Parameter {
    let state = match config.state {
        State::Float => config.stored,
        state => state,
    };
    match config.codes {
        None => Parameter::Real,
        Some(codes) if matches!(state, State::Baked | State::PassiveBaked) => Parameter::Baked(codes),
        // No other config has codes before it is baked.
        Some(codes) => Parameter::Given(codes.data),
    }
}

/// The passive entries, each before the ones that it is derived from. In this order a master has no derivation yet when
/// another config is derived from it, so the search for a cycle ends at once.
fn dependents_first(table: &QuantTable, entries: &[Entry]) -> Result<Vec<usize>, (usize, EntryError)> {
    let masters = |at: usize| {
        let derivation = match entries[at].standing {
            Standing::Passive(derivation) => Some(derivation),
            _ => None,
        };
        let masters = derivation.into_iter().flat_map(Derivation::masters);
        masters.map(|master| table.root(master).index())
    };
    let mut dependents = vec![0usize; entries.len()];
    for master in (0..entries.len()).flat_map(masters) {
        // A master that does not exist is refused by the transition.
        if let Some(count) = dependents.get_mut(master) {
            *count += 1;
        }
    }
    let mut order: Vec<usize> = (0..entries.len()).filter(|&at| dependents[at] == 0).collect();
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for master in masters(at) {
            if let Some(count) = dependents.get_mut(master) {
                *count -= 1;
                if *count == 0 {
                    order.push(master);
                }
            }
        }
    }
    match dependents.iter().position(|&count| count > 0) {
        Some(at) => Err((at, EntryError::Cycle)),
        None => Ok(order),
    }
}

#[cfg(test)]
mod tests;
