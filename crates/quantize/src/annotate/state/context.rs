//! The information on which the passes base their decisions.

use crate::annotate::analyses::{Order, Reach, Regions, Scope};
use crate::annotate::settings::Annotation;
use strait_core::{Graph, Module, NodeId};

/// The inputs of one run of the passes.
pub(crate) struct PassContext<'a> {
    pub(crate) module: &'a Module,
    pub(crate) graph: &'a Graph,
    pub(crate) how: &'a Annotation<'a>,
    /// The part of the graph that is annotated.
    pub(crate) scope: &'a Scope,
    pub(crate) regions: &'a Regions,
    pub(crate) reach: &'a Reach,
    pub(crate) order: &'a Order,
}

impl PassContext<'_> {
    pub(crate) fn position(&self, node: NodeId) -> u32 {
        self.order.position(node).unwrap_or(u32::MAX)
    }
}
