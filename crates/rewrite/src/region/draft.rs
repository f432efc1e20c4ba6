//! Builds the patch that computes a region on permuted operands.

use super::{Cost, Region, add};
use crate::permute::{self, Permutation, between, identity, is_identity};
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_core::op::{Transpose, Unsqueeze};
use strait_core::{Dim, NewNode, NodeId, Op, Patch, QuantParams, Source, ValueId};

/// The patch for a region, while it is being built.
pub(super) struct Draft<'r, 'a> {
    pub(super) region: &'r Region<'a>,
    pub(super) patch: Patch,
    /// For each result of the region's nodes, the new result and its permutation.
    pub(super) made: BTreeMap<ValueId, (Source, Permutation)>,
    pub(super) supplied: BTreeMap<(ValueId, Permutation), Source>,
    pub(super) added: Cost,
    /// The node from which new transposes take their names.
    pub(super) origin: NodeId,
}

impl Draft<'_, '_> {
    pub(super) fn add(&mut self, node: NewNode) -> Option<u16> {
        let position = u16::try_from(self.patch.add.len()).ok()?;
        self.patch.add.push(node);
        Some(position)
    }

    /// The value, permuted by `p`. If `p` has more axes than the value, axes of extent 1 are first inserted before the
    /// value's axes.
    pub(super) fn supply(&mut self, value: ValueId, p: &Permutation) -> Option<Source> {
        let key = (value, p.clone());
        if let Some(&source) = self.supplied.get(&key) {
            return Some(source);
        }
        let source = self.make(value, p)?;
        self.supplied.insert(key, source);
        Some(source)
    }

    fn make(&mut self, value: ValueId, p: &Permutation) -> Option<Source> {
        let region = self.region;
        let graph = region.site.graph;
        let shape = region.shape(value);
        let missing = p.len().saturating_sub(shape.len());
        if missing > 0 {
            let plain = self.supply(value, &identity(shape.len()))?;
            if shape.iter().all(|&dim| dim == Dim::Fixed(1)) {
                return Some(plain);
            }
            let axes = (0..missing as i64).collect();
            let node = self.add(NewNode::new(Unsqueeze { axes }, &[Some(plain)], &[self.origin]))?;
            let grid = self.grid(value).filter(|grid| grid.axis.is_none());
            let long: Vec<Dim> = std::iter::repeat_n(Dim::Fixed(1), missing)
                .chain(shape.iter().copied())
                .collect();
            return self.transposed(Source::New(node, 0), &long, p, (region.is_constant(value), grid));
        }
        if let Some((source, own)) = self.made.get(&value).cloned() {
            let dims: Vec<Dim> = permute::permuted(shape, &own).collect();
            let grid = self.grid(value).filter(|grid| grid.axis.is_none());
            return self.transposed(source, &dims, &between(&own, p), (false, grid));
        }
        if is_identity(p) {
            return Some(Source::Old(value));
        }
        if let Some((_, node)) = graph.producer(value)
            && let (Op::Transpose(transpose), Some(Some(x))) = (&node.op, node.inputs.first())
        {
            return self.supply(*x, &permute::behind(&transpose.permutation, p));
        }
        // Such a transpose may already exist.
        for at in graph.uses(value) {
            if let Some(node) = graph.node(at.node)
                && let Op::Transpose(transpose) = &node.op
                && transpose.permutation == *p
            {
                return node.outputs.first().map(|&there| Source::Old(there));
            }
        }
        self.transposed(
            Source::Old(value),
            shape,
            p,
            (region.is_constant(value), self.grid(value)),
        )
    }

    /// The grid that the model gives for a value.
    fn grid(&self, value: ValueId) -> Option<Arc<QuantParams>> {
        self.region.site.graph.value(value)?.quant.clone()
    }

    fn transposed(
        &mut self,
        x: Source,
        shape: &[Dim],
        p: &[u32],
        (is_constant, grid): (bool, Option<Arc<QuantParams>>),
    ) -> Option<Source> {
        if is_identity(p) {
            return Some(x);
        }
        if !is_constant {
            add(&mut self.added, shape, p);
        }
        let permutation = p.into();
        let mut node = NewNode::new(Transpose { permutation }, &[Some(x)], &[self.origin]);
        node.quant.push(grid.and_then(|grid| grid.permuted(p)).map(Arc::new));
        let node = self.add(node)?;
        Some(Source::New(node, 0))
    }

    /// Lets the readers of the value `old` read `new` instead. `None` if two outputs of the graph would become the same
    /// value.
    pub(super) fn replace(&mut self, old: ValueId, new: Source, outputs: &mut Vec<Source>) -> Option<()> {
        if self.region.site.graph.is_output(old) {
            let is_new = matches!(new, Source::New(..)) && !outputs.contains(&new);
            is_new.then_some(())?;
            outputs.push(new);
        }
        self.patch.replace.push((old, new));
        Some(())
    }
}
