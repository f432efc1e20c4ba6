//! Knowledge of nodes and values that follows from the graph, its settings and its constraints.

pub(crate) mod binding;
pub(crate) mod borders;
pub(crate) mod order;
pub(crate) mod reach;
pub(crate) mod roles;
pub(crate) mod scope;
pub(crate) mod types;
