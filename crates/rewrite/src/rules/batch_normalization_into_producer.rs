//! **Pattern**: a batch normalization of the result of a layer (a conv, a transposed conv or a gemm). Nodes that only move
//! elements (reshapes, transposes, slices) may be between the layer and the normalization.
//! **Why**: with g = scale / √(variance + ε), output channel o of the layer gets the weights w'\[o\] = w\[o\]·g\[o\] and the
//! bias b'\[o\] = (b\[o\] − mean\[o\])·g\[o\] + bias\[o\]. The normalization then costs nothing at inference. TensorFlow
//! writes moving nodes between a layer and its normalization in two cases. It normalizes the result of a matrix product as
//! an image, between two reshapes. If a convolution is computed on blocks, TensorFlow normalizes its result after the nodes
//! that put the blocks back together (BatchToSpaceND). These nodes stay after the convolution.
//! **Preconditions**: only the normalization reads the result of the layer. All parameters of the layer and of the
//! normalization are constants, and the folded parameters are finite. The normalization has the channels of the layer, or
//! some of them in the same order.
//! **Exactness**: exact in real numbers. Each folded parameter is computed in f64 and rounded to f32 once.

use crate::matching::GraphNode;
use crate::product::{Affine, DEPTH, InFront};
use strait_core::{GraphId, Module, NodeId, Op, Outcome, PassError, Reason, ReasonCode, Rule, Term};

/// The rule that folds a batch normalization into the product in front of it.
pub struct BatchNormalizationIntoProducer;

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

impl Rule for BatchNormalizationIntoProducer {
    fn name(&self) -> &'static str {
        "batch-normalization-into-producer"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::BatchNormalization]
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let (Some(x), Some(y)) = (site.input(0), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let Some(product) = InFront::product(&site, x) else {
            return Ok(Outcome::NoMatch);
        };
        let refused = |code, text: &str| Ok(Outcome::Refused(Reason::new(code, text)));
        let Some(affine) = affine(&site) else {
            return refused(ReasonCode::NotConstant, "its parameters are not constants");
        };
        let Some(affine) = product.spread(1, &affine) else {
            let text = "its channels are not those of the product in front";
            return refused(ReasonCode::NotPerChannel, text);
        };
        product.folded(&affine, &[at], y)
    }
}
