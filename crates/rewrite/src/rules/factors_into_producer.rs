//! **Pattern**: the result of a layer (a conv, a transposed conv or a gemm) is multiplied by a constant, which has one
//! number for each channel. It can also be a single number, if the rule `scalar-into-producer` does not apply. Nodes that
//! only move elements may be between the layer and the multiplication.
//! **Why**: with the factors g, output channel o of the layer gets the weights w'\[o\] = w\[o\]·g\[o\] and the bias b'\[o\]
//! = b\[o\]·g\[o\]. The multiplication then costs nothing at inference.
//! **Preconditions**: only the multiplication reads the result of the layer. The weights and the bias of the layer are
//! constants, and they stay finite when they are multiplied. The constant varies only along the channels. If the
//! multiplication and an addition after it form a batch normalization, this rule leaves these two ops to the rule
//! `batch-normalization-spelled-out`.
//! **Exactness**: exact in real numbers. Each folded parameter is computed in f64 and rounded to f32 once.

use super::{batch_normalization_spelled_out, scalar_into_producer};
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::DEPTH;
use crate::rule::NodeRule;
use strait_core::{Patch, Term};

/// The rule that folds constant factors into the weights of the layer (conv, transposed conv or gemm) before them.
pub const RULE: NodeRule = NodeRule {
    name: "factors-into-producer",
    anchors: || vec![Term::Mul, Term::Add],
    depth: || 2 * DEPTH + 1,
    is_fusion: true,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    // If an addition reads the result of the multiplication, the two ops may together be a normalization. Then the
    // rules that start at the addition decide what is folded. An addition whose result is not used does not count.
    match site.node.op.term() {
        Term::Add if batch_normalization_spelled_out::found(site).is_some() => return Err(NoMatch),
        Term::Add => {}
        _ if is_added(site) => return Err(NoMatch),
        _ => return folded(site),
    }
    let operands = site.node.inputs.iter().flatten();
    let alone = operands.filter(|&&value| site.used_once(value));
    let products = alone.filter_map(|&value| site.producer(value, Term::Mul));
    let mut outcomes = products.map(|product| folded(&product));
    let found = outcomes.find(|outcome| !matches!(outcome, Err(NoMatch)));
    found.unwrap_or(Err(NoMatch))
}

/// True if an addition reads the result of a multiplication, directly or through identities. Another rule removes such
/// identities, and this rule then looks at the multiplication again.
fn is_added(product: &GraphNode<'_>) -> bool {
    let graph = product.graph;
    let mut value = product.output();
    while let Some(read) = value {
        let mut readers = graph.uses(read).filter_map(|reader| graph.node(reader.node));
        if readers.any(|reader| reader.op.term() == Term::Add) {
            return true;
        }
        let only = product.only_reader(read);
        let identity = only.filter(|reader| reader.node.op.term() == Term::Identity);
        value = identity.and_then(|identity| identity.output());
    }
    false
}

fn folded(product: &GraphNode<'_>) -> Result<Patch, Miss> {
    scalar_into_producer::folded(product, |front, factor| {
        !scalar_into_producer::takes(product, front, factor)
    })
}
