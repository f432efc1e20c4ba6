//! Converts a table of configs to plain data and back, for the text form, IR bytes and reports.

use super::config::{CodesOrigin, Derivation, Grid, Move, ParameterCodes, QuantConfig, State};
use super::port::Port;
use super::scheme::Scheme;
use super::table::{IllegalMove, QuantTable};
use crate::ids::{ConfigId, DataId, NodeId};

/// A config as plain data. Other configs are referred to by their positions in the list of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The node, or [`NodeId::OUTSIDE`] for an input or output of the graph.
    pub node: NodeId,
    /// The operand or result of the node, or the input or output of the graph.
    pub port: Port,
    /// Policy, type, range and rounding.
    pub scheme: Scheme,
    /// Where the config's grid comes from. If the config is excluded from quantization, this says where its grid would
    /// come from after `Restore`.
    pub standing: Standing,
    /// The codes of the parameter. If the config is excluded from quantization, its codes after `Restore`.
    pub parameter: Parameter,
    /// True if the config is excluded from quantization.
    pub float: bool,
}

/// Where the grid of a config comes from. A derived grid is not stored, because it can be computed again.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// The config has no grid yet.
    Initial,
    /// The config has a grid of its own.
    Own(Grid),
    /// The config reads the grid of another config, which is the root of its set.
    Overlapped(ConfigId),
    /// The config's grid is derived from other grids.
    Passive(Derivation),
}

/// The codes of a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// There are no codes: the config does not belong to a parameter, or the parameter still has real numbers.
    Real,
    /// The model or a calibration record gives codes, but the parameter has not been converted to them yet.
    Given(DataId),
    /// The parameter was converted to these codes.
    Baked(ParameterCodes),
}

/// Why no table can be made from entries. The text or the IR bytes with these entries are wrong.
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
    /// A config reads the grid of another config, but this other config does not exist, or is not the root of its set.
    #[error("{0} is not the config whose grid is read here")]
    NotRoot(ConfigId),
    /// Grids are derived from each other in a circle.
    #[error("its grid would rest on itself")]
    Cycle,
    /// The transitions that lead to the entry's state are not allowed.
    #[error(transparent)]
    Move(#[from] IllegalMove),
}

impl QuantTable {
    /// Returns all configs as plain data: first the configs of the graph's inputs, then those of the nodes in the order
    /// of `nodes` (operands before results), then those of the graph's outputs.
    ///
    /// # Errors
    /// A node that is not in `nodes` has a config. The error is the node's id.
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

    /// Makes the table with these entries. The table is built with [`QuantTable::transition`], which checks every step.
    /// The caller has to check that the nodes and ports exist.
    ///
    /// # Errors
    /// An entry is not allowed. The error has its position and the reason.
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
        // First, configs join the sets of their roots. These transitions are fast as long as no grid is derived from
        // another grid.
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
                Parameter::Baked(codes) => match codes.origin {
                    CodesOrigin::Rounded => (None, Some(Move::Bake(codes.data))),
                    CodesOrigin::Optimised => (None, Some(Move::Choose(codes.data))),
                    CodesOrigin::Given => (Some(codes.data), Some(Move::Bake(codes.data))),
                },
            };
            let moves = [given.map(Move::Give), baked];
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
        // If a config has codes but is not baked, the codes were given.
        Some(codes) => Parameter::Given(codes.data),
    }
}

/// Returns the positions of the entries in an order in which each entry comes before its masters. The masters of an
/// entry are the entries from which its grid is derived. If derivations are added in this order, the grids of masters
/// are not derived yet, and each search for a cycle ends at once.
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
        // A master that does not exist is refused later, by the transition.
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
