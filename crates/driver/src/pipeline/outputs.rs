//! Counts the output channels of the source model's layers with weights, because the records of vendors' tools have an
//! entry for each output channel.
//!
//! Rewriting changes these numbers. A rewrite rule may join several convolutions into one, whose outputs lie side by
//! side. Another rule may turn a transposed convolution into an ordinary convolution. Each output of the transposed
//! convolution then becomes several neighbouring channels of the ordinary one, one for each phase of the strides.

use std::{collections::BTreeMap, num::NonZeroU32};

use strait_core::{Module, Node, NodeId, Op};
use strait_target::Joined;

/// The number of outputs of each convolution, by its name in the source model.
#[derive(Clone, Debug, Default)]
pub(super) struct Outputs(BTreeMap<String, u64>);

impl Outputs {
    /// Counts the outputs in a module that no rule has rewritten yet.
    pub(super) fn of(module: &Module) -> Outputs {
        let graph = module.main();
        let outputs = graph.nodes().filter_map(|(_, node)| {
            let weight = &graph.value(node.inputs.get(1).copied().flatten()?)?.ty.shape;
            let extent = |axis: usize| weight.get(axis)?.fixed();
            let outputs = match &node.op {
                Op::Conv(_) => extent(0)?,
                Op::ConvTranspose(op) => extent(1)?.checked_mul(op.groups.into())?,
                _ => return None,
            };
            Some((module.name(*node.sources.first()?).to_owned(), outputs))
        });
        Outputs(outputs.collect())
    }

    /// Returns the layers of the source model from which a convolution of the canonical graph was made. Returns `None`
    /// if these layers do not account for all channels of the convolution.
    pub(super) fn parts(&self, module: &Module, node: &Node) -> Option<Joined> {
        let graph = module.main();
        let weight = graph.value(
            node.inputs
                .get(1)
                .copied()
                .flatten()
                .filter(|_| matches!(node.op, Op::Conv(_)))?,
        )?;
        let channels = weight.ty.shape.first()?.fixed()?;
        let names = node.sources.iter().map(|&source| module.name(source));
        let layers = names.filter_map(|name| Some((name.to_owned(), *self.0.get(name)?)));
        let layers: Vec<(String, u64)> = layers.collect();
        let outputs = layers
            .iter()
            .fold(0u64, |sum, (_, outputs)| sum.saturating_add(*outputs));
        let each = channels
            .checked_div(outputs)
            .filter(|each| each * outputs == channels)?;
        let each = NonZeroU32::new(u32::try_from(each).ok()?)?;
        Some(Joined { layers, each })
    }

    /// Returns each convolution in which one output of the source model has become several neighbouring channels, with
    /// the number of channels per output.
    pub(super) fn ties(&self, module: &Module) -> BTreeMap<NodeId, NonZeroU32> {
        let parts = |(id, node)| Some((id, self.parts(module, node)?.each));
        let ties = module.main().nodes().filter_map(parts);
        ties.filter(|(_, each)| each.get() > 1).collect()
    }

    /// Returns the convolutions that were made from several layers, or that have more channels than their layers have
    /// outputs. Each convolution comes with its name and its layers.
    pub(super) fn joined(&self, module: &Module) -> Vec<(String, Joined)> {
        let nodes = module.main().nodes();
        let parts = nodes.filter_map(|(_, node)| {
            let parts = self.parts(module, node)?;
            let name = match node.sources.contains(&node.name) {
                true => node.name,
                false => *node.sources.first()?,
            };
            Some((module.name(name).to_owned(), parts))
        });
        let mut parts: Vec<_> = parts
            .filter(|(_, parts)| parts.layers.len() > 1 || parts.each.get() > 1)
            .collect();
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        parts
    }
}
