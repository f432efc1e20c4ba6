//! **Pattern**: the result of a batch normalization is multiplied by a constant, or a constant is added to it. The constant
//! is one number for each channel, or a single number. Nodes that only move elements may be in between.
//! **Why**: to include a multiplication by m, the normalization gets γ' = m·γ and β' = m·β. To include an addition of a, it
//! gets β' = β + a. In models from Caffe, a batch normalization is followed by such a multiplication and addition, which
//! Caffe calls a `Scale` layer. The rule is for normalizations that cannot be folded into the layer before them.
//! **Preconditions**: only the multiplication or addition reads the result of the normalization. All parameters are
//! constants, and the new parameters are finite. If the normalization can be folded into the layer before it, this rule does
//! not apply, because the constant can then be folded into that layer, too.
//! **Exactness**: exact in real numbers. Each parameter is computed in f64 and rounded to f32 once.

use crate::matching::{GraphNode, push};
use crate::miss::{Miss, NoMatch};
use crate::product::{DEPTH, InFront, MOST_MAPS, is_taken, numbers};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::{NewNode, Patch, ReasonCode, Source, Term, refused};

/// The rule that folds a constant factor or summand into the batch normalization before it.
pub const RULE: NodeRule = NodeRule {
    name: "constants-into-batch-normalization",
    anchors: || vec![Term::Mul, Term::Add],
    depth: || DEPTH + MOST_MAPS,
    is_fusion: true,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let y = site.result()?;
    let mut orders = site.both_orders().into_iter();
    let found = orders.find_map(|(x, constant)| {
        let normalization = InFront::normalization(site, x)?;
        numbers(site, constant)?;
        Some((normalization, x, constant))
    });
    let (front, x, constant) = found.ok_or(NoMatch)?;
    let normalization = &front.node;
    if normalization.input(0).is_some_and(|x| is_taken(site, x)) {
        return Err(NoMatch);
    }
    if front.is_shared {
        return refused(ReasonCode::SeveralUses, "the normalization is used elsewhere too");
    }
    let own = [1, 2].map(|index| normalization.input(index).and_then(|value| site.exact(value)));
    let [Some((_, scale)), Some((_, bias))] = own else {
        let text = "the parameters of the normalization are not constants";
        return refused(ReasonCode::NotConstant, text);
    };
    let constant = front
        .constant(site, x, constant)
        .filter(|constant| constant.len() == scale.len());
    let Some(constant) = constant else {
        let text = "the constant varies along other axes than the channels";
        return refused(ReasonCode::NotPerChannel, text);
    };
    let is_product = site.node.op.term() == Term::Mul;
    let map = |own: &[f64], with: fn(f64, f64) -> f64| -> Vec<f64> {
        let pairs = own.iter().zip(&constant);
        pairs.map(|(&own, &constant)| with(own, constant)).collect()
    };
    let (scale, bias) = match is_product {
        true => (map(&scale, |own, m| own * m), map(&bias, |own, m| own * m)),
        false => (scale.into_owned(), map(&bias, |own, a| own + a)),
    };
    let shape = [scale.len() as u64];
    let mut patch = Patch::default();
    let scale = rounded(&mut patch, "scale", &shape, scale)?;
    let bias = rounded(&mut patch, "bias", &shape, bias)?;
    if scale.is_none() || bias.is_none() {
        return refused(ReasonCode::NotFinite, "a parameter that comes out is not finite");
    }
    let old = |index| normalization.input(index).map(Source::Old);
    let operands = [old(0), scale, bias, old(3), old(4)];
    let origins = [normalization.id, site.id];
    push(
        &mut patch,
        NewNode::new(normalization.node.op.clone(), &operands, &origins),
    );
    front.moved(&mut patch, &[site.id], y);
    patch.remove.push(normalization.id);
    Ok(patch)
}
