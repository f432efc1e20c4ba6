//! **Pattern**: the result of a batch normalization is multiplied by a constant, or a constant is added to it. The constant
//! is one number for each channel, or a single number. Nodes that only move elements may be in between.
//! **Why**: to include a multiplication by m, the normalization gets γ' = m·γ and β' = m·β. To include an addition of a, it
//! gets β' = β + a. In models from Caffe, a batch normalization is followed by such a multiplication and addition, which
//! Caffe calls a `Scale` layer. The rule is for normalizations that cannot be folded into the layer before them.
//! **Preconditions**: only the multiplication or addition reads the result of the normalization. All parameters are
//! constants, and the new parameters are finite. If the normalization can be folded into the layer before it, this rule does
//! not apply, because the constant can then be folded into that layer, too.
//! **Exactness**: exact in real numbers. Each parameter is computed in f64 and rounded to f32 once.

use crate::matching::GraphNode;
use crate::product::{DEPTH, InFront, MOST_MAPS, is_taken, numbers};
use crate::rounding::rounded;
use strait_core::{
    GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term,
};

/// The rule that folds a constant factor or summand into the batch normalization in front of it.
pub struct ConstantsIntoBatchNormalization;

impl Rule for ConstantsIntoBatchNormalization {
    fn name(&self) -> &'static str {
        "constants-into-batch-normalization"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Mul, Term::Add]
    }

    fn depth(&self) -> usize {
        DEPTH + MOST_MAPS
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        let mut orders = site.both_orders().into_iter();
        let found = orders.find_map(|(x, constant)| {
            let normalization = InFront::normalization(&site, x)?;
            numbers(&site, constant)?;
            Some((normalization, x, constant))
        });
        let Some((front, x, constant)) = found else {
            return Ok(Outcome::NoMatch);
        };
        let normalization = &front.node;
        if normalization.input(0).is_some_and(|x| is_taken(&site, x)) {
            return Ok(Outcome::NoMatch);
        }
        let refused = |code, text: &str| Ok(Outcome::Refused(Reason::new(code, text)));
        if front.is_shared {
            return refused(ReasonCode::SeveralUses, "the normalization is used elsewhere too");
        }
        let own = [1, 2].map(|index| normalization.input(index).and_then(|value| site.exact(value)));
        let [Some((_, scale)), Some((_, bias))] = own else {
            return refused(
                ReasonCode::NotConstant,
                "the parameters of the normalization are not constants",
            );
        };
        let constant = front
            .constant(&site, x, constant)
            .filter(|constant| constant.len() == scale.len());
        let Some(constant) = constant else {
            return refused(
                ReasonCode::NotPerChannel,
                "the constant varies along other axes than the channels",
            );
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
        let origins = [normalization.id, at];
        patch
            .add
            .push(NewNode::new(normalization.node.op.clone(), &operands, &origins));
        front.moved(&mut patch, &[at], y);
        patch.remove.push(normalization.id);
        Ok(Outcome::Apply(patch))
    }
}
