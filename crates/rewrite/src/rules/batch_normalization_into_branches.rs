//! **Pattern**: a batch normalization of a concat along the channels. Each operand of the concat is the result of a layer (a
//! conv, a transposed conv, or a gemm of rank 2). Nodes that only move elements may be between a layer and the concat.
//! **Why**: each layer takes over the normalization of its own channels. The rule also folds a normalization that follows a
//! group of convolutions that cannot be merged into one convolution because their kernels differ.
//! **Preconditions**: each operand of the concat comes from a layer that can take over the normalization of its own
//! channels. Only the concat reads the results of these layers, and only the normalization reads the concat. The parameters
//! of the normalization are constants.
//! **Exactness**: exact, because each channel keeps its factor and its summand.

use crate::matching::{GraphNode, push};
use crate::miss::{Miss, NoMatch};
use crate::product::{DEPTH, InFront, MOST_BRANCHES};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::{NewNode, Patch, Reason, ReasonCode, Source, Term, ValueId, refused};

/// The rule that folds a batch normalization after a concat into the layers whose results the concat joins.
pub const RULE: NodeRule = NodeRule {
    name: "batch-normalization-into-branches",
    anchors: || vec![Term::BatchNormalization],
    depth: || 2 * DEPTH,
    is_fusion: true,
    look,
};

/// Returns the operands that a concat joins along axis 1, with their numbers of channels. Returns `None` unless each
/// operand comes from a layer (a conv, a transposed conv or a gemm) and has as many channels as this layer.
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

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let concat = InFront::concat(site, site.operand(0)?).filter(|concat| concat.axis == 1);
    let concat = concat.ok_or(NoMatch)?;
    let Some(branches) = branches(&concat.node) else {
        let text = "not every part of the concat is a product that takes its part of the normalization";
        return refused(ReasonCode::Branches, text);
    };
    if concat.is_shared {
        return refused(ReasonCode::SeveralUses, "its operand is used elsewhere too");
    }
    let parameter = |index: usize| Some(site.exact(site.input(index)?)?.1);
    let parameters: Option<Vec<_>> = (1..5).map(parameter).collect();
    let parameters =
        parameters.ok_or_else(|| Reason::new(ReasonCode::NotConstant, "its parameters are not constants"))?;
    let mut patch = Patch::default();
    let mut first = 0;
    for (value, channels) in &branches {
        let mut operands = vec![Some(Source::Old(*value))];
        for (name, values) in ["scale", "bias", "mean", "variance"].iter().zip(&parameters) {
            let values = values.get(first..first + channels).ok_or(NoMatch)?;
            operands.push(rounded(&mut patch, name, &[*channels as u64], values.to_vec())?);
        }
        first += channels;
        push(&mut patch, NewNode::new(site.node.op.clone(), &operands, &[site.id]));
    }
    let parts: Vec<Option<Source>> = (0..branches.len())
        .map(|part| Some(Source::New(part as u16, 0)))
        .collect();
    let joined = NewNode::new(concat.node.node.op.clone(), &parts, &[concat.node.id]);
    patch.add.push(joined);
    concat.moved(&mut patch, &[site.id], site.result()?);
    patch.remove.push(concat.node.id);
    Ok(patch)
}
