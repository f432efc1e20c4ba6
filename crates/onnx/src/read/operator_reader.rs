//! One node, as the functions in [`super::ops`] see it: a [`Layer`] with the node's attributes, which
//! [`super::attributes`] reads.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;
pub(crate) use strait_import::{Arg, Refusal};
use strait_import::{Builder, Layer};

use super::inline::Versions;
use super::nodes::Nodes;
use crate::proto::{AttributeProto, GraphProto, NodeProto};

/// A node while it is being read.
pub(crate) struct OperatorReader<'b, 'a> {
    layer: Layer<'b, 'a>,
    /// The data that the nodes of the graph share.
    pub(super) nodes: &'b mut Nodes<'a>,
    pub(super) node: &'a NodeProto,
    opset: i64,
    /// The attributes that were asked for. If the node has any other attribute, Strait does not know it.
    pub(super) asked: SmallVec<[&'static str; 8]>,
}

impl<'b, 'a> OperatorReader<'b, 'a> {
    /// The node at a position of the graph.
    pub(crate) fn new(builder: &'b mut Builder<'a>, nodes: &'b mut Nodes<'a>, position: usize, opset: i64) -> Self {
        OperatorReader {
            layer: Layer::new(builder, position),
            node: &nodes.index.graph.node[position],
            nodes,
            opset,
            asked: SmallVec::new(),
        }
    }

    /// The version of the standard operator set that the model uses.
    pub(crate) fn opset(&self) -> i64 {
        self.opset
    }

    /// The versions of nodes in a graph that is an attribute of this node. `None` if all have the model's version.
    pub(crate) fn versions_of(&self, graph: &GraphProto) -> Option<&'a Versions> {
        let is_it = |attribute: &AttributeProto| attribute.g.as_deref().is_some_and(|own| std::ptr::eq(own, graph));
        let attribute = self.node.attribute.iter().position(is_it)?;
        self.nodes.own_versions.inside(self.position(), attribute)
    }

    /// Returns a list of integers. Before operator set `since`, the list is an attribute, and from `since` on it is the
    /// operand at `position`.
    pub(crate) fn list(&mut self, key: &'static str, position: usize, since: i64) -> Result<Option<Vec<i64>>, Refusal> {
        if self.opset < since {
            return Ok(self.ints(key)?.map(<[i64]>::to_vec));
        }
        self.known_ints(position, key)
    }
}

impl<'b, 'a> Deref for OperatorReader<'b, 'a> {
    type Target = Layer<'b, 'a>;

    fn deref(&self) -> &Layer<'b, 'a> {
        &self.layer
    }
}

impl<'b, 'a> DerefMut for OperatorReader<'b, 'a> {
    fn deref_mut(&mut self) -> &mut Layer<'b, 'a> {
        &mut self.layer
    }
}
