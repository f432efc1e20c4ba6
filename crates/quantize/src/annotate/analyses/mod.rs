//! Analyses of a graph: what follows for its nodes and values from the graph itself, the settings and the constraints.

mod binding;
mod borders;
mod order;
mod reach;
mod roles;
mod scope;
pub(crate) mod types;

pub(crate) use binding::{Binding, binding};
pub(crate) use borders::borders;
pub(crate) use order::Order;
pub(crate) use reach::{Reach, extent};
pub(crate) use roles::{Role, Roles, computed, keeps_grid, leaves_sums, readers_narrow, role};
pub(crate) use scope::{Regions, Scope};
