//! **Pattern**: the result of a layer (a conv, a transposed conv or a gemm) is multiplied by a constant, which has one
//! number for each channel. It can also be a single number, if the rule `scalar-into-producer` does not apply. Nodes that
//! only move elements may be between the layer and the multiplication.
//! **Why**: with the factors g, output channel o of the layer gets the weights w'\[o\] = w\[o\]·g\[o\] and the bias b'\[o\]
//! = b\[o\]·g\[o\]. The multiplication then costs nothing at inference.
//! **Preconditions**: only the multiplication reads the result of the layer. The weights and the bias of the layer are
//! constants, and the folded ones are finite. The constant varies only along the channels. If the multiplication and an
//! addition after it form a batch normalization, this rule leaves both to the rule `batch-normalization-spelled-out`.
//! **Exactness**: exact in real numbers. Each folded parameter is computed in f64 and rounded to f32 once.

use super::{batch_normalization_spelled_out, scalar_into_producer};
use crate::matching::GraphNode;
use crate::product::DEPTH;
use strait_core::{GraphId, Module, NodeId, Outcome, PassError, Rule, Term};

/// The rule that folds constant factors into the weights of the product in front of them.
pub struct FactorsIntoProducer;

impl Rule for FactorsIntoProducer {
    fn name(&self) -> &'static str {
        "factors-into-producer"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Mul, Term::Add]
    }

    fn depth(&self) -> usize {
        2 * DEPTH + 1
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        // If a sum reads the product, the sum decides what happens, because both together may be a normalization. A
        // reader whose result is not used does not count.
        match site.node.op.term() {
            Term::Add if batch_normalization_spelled_out::found(&site).is_some() => return Ok(Outcome::NoMatch),
            Term::Add => {}
            _ if is_added(&site) => return Ok(Outcome::NoMatch),
            _ => return folded(&site),
        }
        let operands = site
            .node
            .inputs
            .iter()
            .flatten()
            .filter(|&&value| site.used_once(value));
        let products = operands.filter_map(|&value| site.producer(value, Term::Mul));
        let mut outcomes = products.map(|product| folded(&product));
        let found = outcomes.find(|outcome| !matches!(outcome, Ok(Outcome::NoMatch)));
        found.unwrap_or(Ok(Outcome::NoMatch))
    }
}

/// True if a sum reads the result of a product, perhaps behind identities. After the identities were removed, the rule
/// looks at the product again.
fn is_added(product: &GraphNode<'_>) -> bool {
    let graph = product.graph;
    let mut value = product.output();
    while let Some(read) = value {
        let mut readers = graph.uses(read).filter_map(|reader| graph.node(reader.node));
        if readers.any(|reader| reader.op.term() == Term::Add) {
            return true;
        }
        let only = graph.only_use(read).and_then(|reader| graph.node(reader.node));
        let identity = only.filter(|reader| reader.op.term() == Term::Identity);
        value = identity.and_then(|identity| identity.outputs.first().copied());
    }
    false
}

fn folded(product: &GraphNode<'_>) -> Result<Outcome, PassError> {
    scalar_into_producer::look(product, |front, factor| {
        !scalar_into_producer::takes(product, front, factor)
    })
}
