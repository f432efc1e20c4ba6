//! **Pattern**: a split divides the channels into parts. Each part is read by one convolution. A concat joins the results
//! of the convolutions in the same order.
//! **Why**: TensorFlow had no grouped convolution for a long time, so models of that time have a split, several convolutions
//! and a concat instead. A grouped convolution is a single op whose result has a single grid. Ops that follow the concat can
//! be folded into the grouped convolution.
//! **Preconditions**: the split has as many parts as there are convolutions. All parts have the same size, and only the
//! convolutions read them. The convolutions have the same attributes and have constant weights of the same shape, and only
//! the concat reads their results.
//! **Exactness**: exact, because the same products are added in the same order.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::MOST_BRANCHES;
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::op::Conv;
use strait_core::{NewNode, NodeId, Op, Patch, Reason, ReasonCode, Source, Term, ValueId, refused};

/// The rule that turns parallel convolutions between a split and a concat into one grouped convolution.
pub const RULE: NodeRule = NodeRule {
    name: "branches-to-grouped-conv",
    anchors: || vec![Term::Concat],
    depth: || 3,
    is_fusion: true,
    look,
};

/// The convolutions, and the value that is split before them.
struct Branches<'a> {
    convs: Vec<GraphNode<'a>>,
    split: GraphNode<'a>,
    x: ValueId,
}

/// The convolutions whose results a concat joins, and the split before them. `None` if the concat has other operands.
fn branches<'a>(concat: &GraphNode<'a>) -> Option<Branches<'a>> {
    let conv = |operand: &Option<ValueId>| concat.producer((*operand)?, Term::Conv);
    let count = concat.node.inputs.len();
    (2..=MOST_BRANCHES).contains(&count).then_some(())?;
    let convs: Vec<GraphNode<'a>> = concat.node.inputs.iter().map(conv).collect::<Option<_>>()?;
    let split = concat.producer(convs.first()?.input(0)?, Term::Split)?;
    let is_part = |(conv, &part): (&GraphNode<'a>, &ValueId)| conv.input(0) == Some(part);
    let fits = split.node.outputs.len() == count && convs.iter().zip(&split.node.outputs).all(is_part);
    let x = split.input(0).filter(|_| fits)?;
    Some(Branches { convs, split, x })
}

/// The attributes of the grouped convolution. If the convolutions cannot be joined, the error says in what they differ.
fn joined(site: &GraphNode<'_>, branches: &Branches<'_>) -> Result<Conv, &'static str> {
    let shape = |conv: &GraphNode<'_>| conv.input(1).and_then(|weight| site.dims(weight));
    let first = branches.convs.first().ok_or("there are none")?;
    let Op::Conv(op) = &first.node.op else {
        return Err("there are none");
    };
    let alike = |conv: &GraphNode<'_>| conv.node.op == first.node.op && shape(conv) == shape(first);
    if !branches.convs.iter().all(alike) {
        return Err("the convolutions between split and concat have different kernels, strides or paddings");
    }
    let sizes = match &branches.split.node.op {
        Op::Split(split) if split.axis == 1 => &split.sizes,
        _ => return Err("what is split are not the channels"),
    };
    if sizes.iter().any(|size| Some(size) != sizes.first()) {
        return Err("the parts of the split have different sizes");
    }
    let groups = u32::try_from(branches.convs.len())
        .ok()
        .and_then(|count| op.groups.checked_mul(count));
    let groups = groups.ok_or("there are too many groups")?;
    Ok(Conv { groups, ..*op.clone() })
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let is_of_channels = matches!(&site.node.op, Op::Concat(concat) if concat.axis == 1);
    let branches = branches(site).filter(|_| is_of_channels).ok_or(NoMatch)?;
    let conv = joined(site, &branches).map_err(|text| Reason::new(ReasonCode::Branches, text))?;
    let results = site.node.inputs.iter().flatten();
    let mut between = results.chain(&branches.split.node.outputs);
    if !between.all(|&value| site.used_once(value)) {
        return refused(ReasonCode::SeveralUses, "a branch is used elsewhere too");
    }
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    let has_bias = branches.convs.iter().any(|conv| conv.input(2).is_some());
    let mut shape = Vec::new();
    for conv in &branches.convs {
        let Some((weight, values)) = conv.input(1).and_then(|weight| site.exact(weight)) else {
            return refused(ReasonCode::NotConstant, "the weights of a branch are not constants");
        };
        shape = weight.shape().to_vec();
        weights.extend_from_slice(&values);
        let outputs = shape.first().map_or(0, |&outputs| outputs as usize);
        match conv.input(2).map(|bias| site.per_last_axis(bias, outputs)) {
            None => biases.resize(biases.len() + outputs, 0.0),
            Some(Some(bias)) => biases.extend_from_slice(&bias),
            Some(None) => {
                return refused(ReasonCode::Bias, "the bias of a branch is no constant per channel");
            }
        }
    }
    let outputs = biases.len() as u64;
    if let Some(first) = shape.first_mut() {
        *first = outputs;
    }
    let mut patch = Patch::default();
    let mut operands = vec![Some(Source::Old(branches.x))];
    operands.push(rounded(&mut patch, "weight", &shape, weights)?);
    if has_bias {
        operands.push(rounded(&mut patch, "bias", &[outputs], biases)?);
    }
    if operands.contains(&None) {
        return refused(ReasonCode::NotFinite, "a weight or bias of a branch is not finite");
    }
    let convs = branches.convs.iter().map(|conv| conv.id);
    patch.remove = convs.chain([branches.split.id]).collect();
    let origins: Vec<NodeId> = [site.id].iter().chain(&patch.remove).copied().collect();
    patch.add.push(NewNode::new(conv, &operands, &origins));
    site.completed(patch)
}
