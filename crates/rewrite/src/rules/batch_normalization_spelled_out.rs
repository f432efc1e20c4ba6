//! **Pattern**: x·factors + summands, where both constants have one number for each channel. x is the result of a layer (a
//! conv, a transposed conv, or a gemm of rank 2), or a concat of the results of several such layers. Nodes that only move
//! elements may be between the layer and the multiplication.
//! **Why**: `tf.nn.batch_normalization`, and Keras without fusion, write a batch normalization in this form. They compute
//! the factor inv = γ / √(σ² + ε) and the summand β − µ·inv from constants, with or without γ and β. When this rule runs,
//! other rules have already folded these computations and removed casts and identities. The rule makes one
//! `batch_normalization` of the multiplication and the addition, which can then be folded into the layer in one step, with
//! one rounding.
//! **Preconditions**: nothing else reads x or the result of the multiplication. The constants vary only along the channels.
//! **Exactness**: exact: the new op has the factors as its scale and the summands as its bias, with mean 0, variance 1 and
//! epsilon 0.

use super::batch_normalization_into_branches::branches;
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::{DEPTH, InFront, numbers};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::BatchNormalization;
use strait_core::{NewNode, NodeId, Patch, Source, Term, ValueId};

/// The rule that recognises a batch normalization written as a multiplication and an addition.
pub const RULE: NodeRule = NodeRule {
    name: "batch-normalization-spelled-out",
    anchors: || vec![Term::Add],
    depth: || 2 * DEPTH + 1,
    is_fusion: true,
    look,
};

/// A batch normalization that is written as a multiplication and an addition. The fields are the layer before these two
/// ops, the factor and the summand for each channel, and the multiplication.
pub(super) struct SpelledOutNormalization<'a> {
    front: InFront<'a>,
    factors: Vec<f64>,
    summands: Vec<f64>,
    product: NodeId,
}

/// True for a constant with more than one number.
fn is_list(site: &GraphNode<'_>, constant: ValueId) -> bool {
    numbers(site, constant).is_some_and(|(_, values)| values.len() > 1)
}

/// The batch normalization whose addition is the node at `site`.
pub(super) fn found<'a>(site: &GraphNode<'a>) -> Option<SpelledOutNormalization<'a>> {
    (site.node.op.term() == Term::Add).then_some(())?;
    site.both_orders().into_iter().find_map(|(scaled, summands)| {
        is_list(site, summands).then_some(())?;
        let product = site.producer(scaled, Term::Mul).filter(|_| site.used_once(scaled))?;
        let mut orders = product.both_orders().into_iter();
        let (x, factors) = orders.find(|&(_, factors)| is_list(site, factors))?;
        let side_by_side = || InFront::concat(&product, x).filter(|concat| branches(&concat.node).is_some());
        let front = InFront::product(&product, x).or_else(side_by_side)?;
        let is_normalized = front.axis == 1 && !front.is_shared;
        Some(SpelledOutNormalization {
            factors: front.constant(&product, x, factors).filter(|_| is_normalized)?,
            summands: front.constant(site, scaled, summands)?,
            product: product.id,
            front,
        })
    })
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = found(site).ok_or(NoMatch)?;
    let x = found.front.node.result()?;
    let channels = found.front.channels;
    let mut patch = Patch::default();
    let mut operands = vec![Some(Source::Old(x))];
    let lists = [
        ("scale", found.factors),
        ("bias", found.summands),
        ("mean", vec![0.0; channels]),
        ("variance", vec![1.0; channels]),
    ];
    for (name, numbers) in lists {
        operands.push(rounded(&mut patch, name, &[channels as u64], numbers)?);
    }
    if operands.contains(&None) {
        return Err(NoMatch);
    }
    let op = BatchNormalization { epsilon: 0.0 };
    patch.add.push(NewNode::new(op, &operands, &[site.id, found.product]));
    found.front.moved(&mut patch, &[site.id, found.product], site.result()?);
    Ok(patch)
}
