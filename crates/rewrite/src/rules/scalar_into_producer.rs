//! **Pattern**: the result of a layer (a conv, a transposed conv or a gemm) is multiplied by a constant scalar, which has no
//! axes. Nodes that only move elements may be between the layer and the multiplication.
//! **Why**: with the factor s, the layer gets the weights w' = s·w and the bias b' = s·b. The multiplication then costs
//! nothing at inference.
//! **Preconditions**: only the multiplication reads the result of the layer. The weights and the bias of the layer are
//! constants, and they stay finite when they are multiplied. A convolution over three axes must not have a bias. AMCT
//! folds a scalar under the same conditions. The rule `factors-into-producer` has fewer conditions.
//! **Exactness**: exact in real numbers. Each folded parameter is computed in f64 and rounded to f32 once.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::{DEPTH, InFront, numbers};
use crate::rule::NodeRule;
use strait_core::{Patch, Term, ValueId};

/// The rule that folds a single constant factor into the layer (conv, transposed conv or gemm) before it.
pub const RULE: NodeRule = NodeRule {
    name: "scalar-into-producer",
    anchors: || vec![Term::Mul],
    depth: || DEPTH,
    is_fusion: true,
    look,
};

/// True if the rule for single factors folds `factor` into the layer.
pub(super) fn takes(site: &GraphNode<'_>, product: &InFront<'_>, factor: ValueId) -> bool {
    let has_no_axes = site.dims(factor).is_some_and(|dims| dims.is_empty());
    let rank = product.node.output().and_then(|result| site.dims(result));
    let is_volume = product.node.node.op.term() != Term::Gemm && rank.is_some_and(|dims| dims.len() == 5);
    has_no_axes && !(is_volume && product.node.input(2).is_some())
}

/// Folds a constant factor that `takes` accepts into the layer that computes the other operand. The rules
/// `scalar-into-producer` and `factors-into-producer` use this function.
pub(super) fn folded(site: &GraphNode<'_>, takes: impl Fn(&InFront<'_>, ValueId) -> bool) -> Result<Patch, Miss> {
    let found = site.both_orders().into_iter().find_map(|(x, factor)| {
        let product = InFront::product(site, x)?;
        numbers(site, factor).filter(|_| takes(&product, factor))?;
        Some((product, x, factor))
    });
    let (product, x, factor) = found.ok_or(NoMatch)?;
    let factors = product.constant(site, x, factor).ok_or(NoMatch)?;
    let affine = factors.into_iter().map(|factor| (factor, 0.0)).collect();
    product.folded(&affine, &[site.id], site.result()?)
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    folded(site, |product, factor| takes(site, product, factor))
}
