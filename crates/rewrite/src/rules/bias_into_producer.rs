//! **Pattern**: sum of the result of a conv, a transposed conv or a gemm and a constant, which is one number for each output
//! channel or one for all. Nodes that only move elements may be in between.
//! **Why**: a bias inside the accumulator costs nothing and saves a rounding. TensorFlow computes a convolution over one
//! axis as one over two, and a product with a matrix on the rows of all samples. It adds the bias after moving the result
//! back.
//! **Preconditions**: only the add uses the results. The constant is one number, or varies along the channel axis only (axis
//! 1 of a conv, the last of a gemm). If there is a bias already, it is a constant.
//! **Exactness**: a new bias is exact. Adding to an existing one rounds the sum once in f32.

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
