//! **Pattern**: add of a constant per output channel, or of one number, to the result of a conv, a transposed conv or a gemm, at once
//! or behind nodes that only move elements.
//! **Why**: the sum is free inside the accumulator, and one rounding goes away. TensorFlow computes a convolution over one axis as
//! one over two, and a product with a matrix on the rows of all samples, and adds the bias to what it makes of that.
//! **Preconditions**: the results are used by the add alone; the constant is one number, or varies along the channel axis
//! only (axis 1 of a conv, the last of a gemm); a present bias is a constant too.
//! **Exactness**: a new bias is exact; joining two rounds their sum once in f32.

use crate::matching::GraphNode;
use crate::product::{DEPTH, InFront, numbers};
use strait_core::{GraphId, Module, NodeId, Outcome, PassError, Reason, ReasonCode, Rule, Term};

/// The rule that folds the addition of a constant into the bias of the product in front of it.
pub struct BiasIntoProducer;

impl Rule for BiasIntoProducer {
    fn name(&self) -> &'static str {
        "bias-into-producer"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Add]
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        for (x, constant) in site.both_orders() {
            let Some(product) = InFront::product(&site, x) else {
                continue;
            };
            let Some((shape, _)) = numbers(&site, constant) else {
                continue;
            };
            let Some(summands) = product.constant(&site, x, constant) else {
                let text = format!("the constant of shape {shape:?} varies along other axes than the channels");
                return Ok(Outcome::Refused(Reason::new(ReasonCode::NotPerChannel, text)));
            };
            let affine = summands.into_iter().map(|summand| (1.0, summand)).collect();
            return product.folded(&affine, &[at], y);
        }
        Ok(Outcome::NoMatch)
    }
}
