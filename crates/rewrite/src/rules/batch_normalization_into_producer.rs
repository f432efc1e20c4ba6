//! **Pattern**: a batch normalization of the result of a layer (a conv, a transposed conv or a gemm). Nodes that only move
//! elements (reshapes, transposes, slices) may be between the layer and the normalization.
//! **Why**: with g = scale / √(variance + ε), output channel o of the layer gets the weights w'\[o\] = w\[o\]·g\[o\] and the
//! bias b'\[o\] = (b\[o\] − mean\[o\])·g\[o\] + bias\[o\]. The normalization then costs nothing at inference. TensorFlow
//! writes moving nodes between a layer and its normalization in two cases. It normalizes the result of a matrix product as
//! an image, between two reshapes. If a convolution is computed on blocks, TensorFlow normalizes its result after the nodes
//! that put the blocks back together (BatchToSpaceND). The rule keeps these moving nodes.
//! **Preconditions**: only the normalization reads the result of the layer. All parameters of the layer and of the
//! normalization are constants, and the folded parameters are finite. The normalization has the channels of the layer, or
//! some of them in the same order.
//! **Exactness**: exact in real numbers. Each folded parameter is computed in f64 and rounded to f32 once.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::{Affine, DEPTH, InFront};
use crate::rule::NodeRule;
use strait_core::{Op, Patch, Reason, ReasonCode, Term};

/// The rule that folds a batch normalization into the layer (conv, transposed conv or gemm) before it.
pub const RULE: NodeRule = NodeRule {
    name: "batch-normalization-into-producer",
    anchors: || vec![Term::BatchNormalization],
    depth: || DEPTH,
    is_fusion: true,
    look,
};

/// The factor and the summand of a batch normalization for each channel: x·factor + summand.
pub(super) fn affine(site: &GraphNode<'_>) -> Option<Affine> {
    let Op::BatchNormalization(op) = &site.node.op else {
        return None;
    };
    let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|i| site.input(i).and_then(|v| site.exact(v)));
    let (scale, bias, mean, variance) = (scale?.1, bias?.1, mean?.1, variance?.1);
    let channels = scale.len();
    if [bias.len(), mean.len(), variance.len()] != [channels; 3] {
        return None;
    }
    let channel = |c: usize| {
        let factor = scale[c] / (variance[c] + f64::from(op.epsilon)).sqrt();
        (factor, bias[c] - mean[c] * factor)
    };
    Some((0..channels).map(channel).collect())
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (x, y) = (site.operand(0)?, site.result()?);
    let product = InFront::product(site, x).ok_or(NoMatch)?;
    let not_constant = || Reason::new(ReasonCode::NotConstant, "its parameters are not constants");
    let affine = affine(site).ok_or_else(not_constant)?;
    let text = "its channels are not those of the product in front";
    let affine = product.spread(1, &affine);
    product.folded(
        &affine.ok_or_else(|| Reason::new(ReasonCode::NotPerChannel, text))?,
        &[site.id],
        y,
    )
}
