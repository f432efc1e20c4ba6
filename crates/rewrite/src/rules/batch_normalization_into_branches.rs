//! **Pattern**: a batch normalization of a concat along the channels. Each operand of the concat is the result of a layer (a
//! conv, a transposed conv, or a gemm of rank 2). Nodes that only move elements may be between a layer and the concat.
//! **Why**: each layer takes over the normalization of its own channels. The rule also folds a normalization that follows a
//! group of convolutions that cannot be merged into one convolution because their kernels differ.
//! **Preconditions**: each operand of the concat comes from a layer that can take over the normalization of its own
//! channels. Only the concat reads the results of these layers, and only the normalization reads the concat. The parameters
//! of the normalization are constants.
//! **Exactness**: exact, because each channel keeps its factor and its summand.

use crate::matching::GraphNode;
use crate::product::{DEPTH, InFront, MOST_BRANCHES};
use crate::rounding::rounded;
use strait_core::{
    GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Reason, ReasonCode, Rule, Source, Term, ValueId,
};

/// The rule that folds a batch normalization behind a concat into the products that the concat joins.
pub struct BatchNormalizationIntoBranches;

/// The parts that a concat joins along axis 1, with their numbers of channels. `None` unless each part is made by a
/// product and has as many channels as this product.
pub(super) fn branches(concat: &GraphNode<'_>) -> Option<Vec<(ValueId, usize)>> {
    let branch = |&operand: &Option<ValueId>| {
        let value = operand?;
        let product = InFront::product(concat, value).filter(|product| !product.is_shared)?;
        let channels = usize::try_from(*concat.dims(value)?.get(1)?).ok()?;
        product.spread(1, &vec![(); channels])?;
        Some((value, channels))
    };
    (concat.node.inputs.len() <= MOST_BRANCHES).then_some(())?;
    concat.node.inputs.iter().map(branch).collect()
}

impl Rule for BatchNormalizationIntoBranches {
    fn name(&self) -> &'static str {
        "batch-normalization-into-branches"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::BatchNormalization]
    }

    fn depth(&self) -> usize {
        2 * DEPTH
    }

    fn is_fusion(&self) -> bool {
        true
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let concat = site.input(0).and_then(|x| InFront::concat(&site, x));
        let (Some(concat), Some(y)) = (concat.filter(|concat| concat.axis == 1), site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let refused = |code, text: &str| Ok(Outcome::Refused(Reason::new(code, text)));
        let Some(branches) = branches(&concat.node) else {
            let text = "not every part of the concat is a product that takes its part of the normalization";
            return refused(ReasonCode::Branches, text);
        };
        if concat.is_shared {
            return refused(ReasonCode::SeveralUses, "its operand is used elsewhere too");
        }
        let parameters = [1, 2, 3, 4].map(|index| site.input(index).and_then(|value| site.exact(value)));
        let [Some(scale), Some(bias), Some(mean), Some(variance)] = parameters else {
            return refused(ReasonCode::NotConstant, "its parameters are not constants");
        };
        let mut patch = Patch::default();
        let mut first = 0;
        for (value, channels) in &branches {
            let mut operands = vec![Some(Source::Old(*value))];
            for (name, (_, values)) in [
                ("scale", &scale),
                ("bias", &bias),
                ("mean", &mean),
                ("variance", &variance),
            ] {
                let Some(values) = values.get(first..first + channels) else {
                    return Ok(Outcome::NoMatch);
                };
                operands.push(rounded(&mut patch, name, &[*channels as u64], values.to_vec())?);
            }
            first += channels;
            patch.add.push(NewNode::new(site.node.op.clone(), &operands, &[at]));
        }
        let parts: Vec<Option<Source>> = (0..branches.len())
            .map(|part| Some(Source::New(part as u16, 0)))
            .collect();
        patch
            .add
            .push(NewNode::new(concat.node.node.op.clone(), &parts, &[concat.node.id]));
        concat.moved(&mut patch, &[at], y);
        patch.remove.push(concat.node.id);
        Ok(Outcome::Apply(patch))
    }
}
