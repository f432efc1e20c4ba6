//! Analyses of a graph. Each computes facts about nodes and values from the graph, the settings and the constraints.

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
