//! **Pattern**: sum of the result of a conv, a transposed conv or a gemm and a constant, which is one number for each output
//! channel or one for all. Nodes that only move elements may be in between.
//! **Why**: a bias inside the accumulator costs nothing and saves a rounding. TensorFlow computes a convolution over one
//! axis as one over two, and a product with a matrix on the rows of all samples. It adds the bias after moving the result
//! back.
//! **Preconditions**: only the add uses the results. The constant is one number, or varies along the channel axis only (axis
//! 1 of a conv, the last of a gemm). If there is a bias already, it is a constant.
//! **Exactness**: a new bias is exact. Adding to an existing one rounds the sum once in f32.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::{DEPTH, InFront, numbers};
use crate::rule::NodeRule;
use strait_core::{Patch, ReasonCode, Term, refused};

/// The rule that folds the addition of a constant into the bias of the product in front of it.
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
