//! **Pattern**: a constant is added to the result of a layer (a conv, a transposed conv or a gemm). The constant is one
//! number for each output channel, or a single number. Nodes that only move elements may be between the layer and the
//! addition.
//! **Why**: a bias that is added in the accumulator costs nothing and saves a rounding. Models from TensorFlow have moving
//! nodes between the layer and its bias in two cases. TensorFlow computes a convolution over one axis as a convolution over
//! two axes. It also computes a product of a batch with a matrix as one product of this matrix with the rows of all samples.
//! In both cases it moves the result back before it adds the bias.
//! **Preconditions**: only the addition reads the result of the layer. The constant is a single number, or varies only along
//! the channel axis (axis 1 of a conv, the last axis of a gemm). If the layer already has a bias, this bias is a constant.
//! **Exactness**: exact if the layer had no bias. Otherwise the sum of both biases is rounded to f32 once.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::{DEPTH, InFront, numbers};
use crate::rule::NodeRule;
use strait_core::{Patch, ReasonCode, Term, refused};

/// The rule that folds the addition of a constant into the bias of the layer (conv, transposed conv or gemm) before it.
pub const RULE: NodeRule = NodeRule {
    name: "bias-into-producer",
    anchors: || vec![Term::Add],
    depth: || DEPTH,
    is_fusion: true,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = site.both_orders().into_iter().find_map(|(x, constant)| {
        let (shape, _) = numbers(site, constant)?;
        Some((InFront::product(site, x)?, shape, x, constant))
    });
    let (product, shape, x, constant) = found.ok_or(NoMatch)?;
    let Some(summands) = product.constant(site, x, constant) else {
        let text = format!("the constant of shape {shape:?} varies along other axes than the channels");
        return refused(ReasonCode::NotPerChannel, text);
    };
    let affine = summands.into_iter().map(|summand| (1.0, summand)).collect();
    product.folded(&affine, &[site.id], site.result()?)
}
