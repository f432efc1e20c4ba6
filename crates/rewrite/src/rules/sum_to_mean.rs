//! **Pattern**: a sum over one or more axes that is multiplied by 1/n, where n is the number of terms of the sum.
//! **Why**: JAX writes means in this way. The op for a mean has an integer recipe with one rounding, and other rules
//! recognise normalizations by their means.
//! **Preconditions**: only the multiplication reads the sum. The extents of the axes are known.
//! **Exactness**: exact in real numbers. A mean divides the sum by n instead of multiplying it by 1/n. Either way there is
//! one rounding.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::{Reduce, Reduction};
use strait_core::{Carrier, NewNode, Op, Patch, Source, Term};

/// The rule that recognises a mean written as a sum and a multiplication.
pub const RULE: NodeRule = NodeRule {
    name: "sum-to-mean",
    anchors: || vec![Term::Mul],
    depth: || 2,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = site.both_orders().into_iter().find_map(|(total, factor)| {
        let sum = site.producer(total, Term::ReduceSum)?;
        let (Op::Reduce(reduce), x) = (&sum.node.op, sum.input(0)?) else {
            return None;
        };
        let shape = &site.graph.value(x)?.ty.shape;
        let axes = reduce.reduced(shape.len()).ok()?;
        let count = axes
            .iter()
            .try_fold(1u64, |count, &axis| count.checked_mul(shape.get(axis)?.fixed()?))?;
        let is_mean = count > 0 && site.is_scalar(factor, (1.0 / count as f64) as f32);
        let is_alone = site.used_once(total) && site.keeps_type(total);
        let mean = Reduce {
            reduction: Reduction::Mean,
            accumulator: Carrier::I32,
            ..(**reduce).clone()
        };
        (is_mean && is_alone).then_some((mean, x, sum.id))
    });
    let (mean, x, sum) = found.ok_or(NoMatch)?;
    site.completed(Patch {
        add: vec![NewNode::new(mean, &[Some(Source::Old(x))], &[site.id, sum])],
        remove: vec![sum],
        ..Patch::default()
    })
}
