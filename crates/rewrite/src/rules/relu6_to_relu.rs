//! **Pattern**: a clip from 0 to 6, if all readers quantize its result, on grids that have no codes for numbers above 6.
//! **Why**: if the grids of all readers end at 6, their quantization saturates at 6 even without the clip. In this case AMCT
//! writes a ReLU before its op AscendQuant. A ReLU becomes part of a requantization, whereas a ReLU6 stays an op of its own.
//! **Preconditions**: the grids are final, so the rule runs after the step *annotate*, on the graph that is exported. Every
//! reader quantizes 6 to the largest code of its type. Nothing else reads the result of the clip, and this result is not an
//! output of the graph.
//! **Exactness**: exact. All numbers from 6 on have the same code as 6, and the clip does not change smaller positive
//! numbers. AMCT documents the condition (127 − offset)·scale < 6. Wherever this condition holds, the rule applies. The rule
//! also applies to grids that AMCT's condition misses: those whose largest code stands for 6, or for a number that is less
//! than half a step above 6.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::{self, Relu};
use strait_core::rule::EVERYWHERE;
use strait_core::{Graph, Module, NewNode, Op, Patch, QuantParams, ReasonCode, Source, Term, refused};
use strait_requantize::quantize::{Quantization, Scaling};
use strait_requantize::{IntType, Per};

/// The rule that replaces a ReLU6 by a ReLU if the quantization after it saturates at 6 anyway.
pub const RULE: NodeRule = NodeRule {
    name: "relu6-to-relu",
    anchors: || vec![Term::Clip],
    // The rule depends on the grids of the node's readers, so a change at any distance matters.
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

/// Says for a ReLU6 whether the grids of its readers already saturate at 6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// The name of the clip, which is a ReLU6.
    pub node: String,
    /// True if, on the grid of every reader, the number 6 has the largest code.
    pub is_exact: bool,
    /// True if (the largest code − zero point)·scale < 6 on the grid of every reader. AMCT requires this.
    pub is_documented: bool,
}

/// The scale and the zero point of each channel.
fn grids(params: &QuantParams) -> impl Iterator<Item = (f32, i32)> + '_ {
    let count = match &params.scale {
        Per::Tensor(_) => 1,
        Per::Channel(scales) => scales.len(),
    };
    let at = |channel: usize| Some((*params.scale.get(channel)?, *params.zero_point.get(channel)?));
    (0..count).filter_map(at)
}

/// True for a grid on which 6 has the largest code.
fn saturates(op: &op::Quantize, (scale, zero): (f32, i32), to: IntType) -> bool {
    let scaling = match op.reciprocal {
        true => Scaling::Times(1.0 / scale),
        false => Scaling::DividedBy(scale),
    };
    let quantization = Quantization::new(scaling, (zero, op.zero_point), op.rounding, to);
    quantization.eval(6.0) == *to.range().end()
}

/// Returns whether the quantization behind a ReLU6 already clips at 6. Returns `None` unless the node is a ReLU6 and all
/// its readers quantize its result.
fn saturation(module: &Module, graph: &Graph, node: &strait_core::Node) -> Option<Saturation> {
    let result = *node.outputs.first()?;
    let is_relu6 = matches!(&node.op, Op::Clip(clip) if clip.min == 0.0 && clip.max == 6.0);
    let is_read = is_relu6 && !graph.is_output(result) && graph.uses(result).next().is_some();
    is_read.then_some(())?;
    let mut found = Saturation {
        node: module.name(node.name).to_owned(),
        is_exact: true,
        is_documented: true,
    };
    for reader in graph.uses(result) {
        let reader = graph.node(reader.node)?;
        let Op::Quantize(op) = &reader.op else { return None };
        let to = op.to.int_type()?;
        let codes = graph.value(*reader.outputs.first()?)?;
        for (scale, zero) in grids(codes.quant.as_ref()?.as_ref()) {
            found.is_exact &= saturates(op, (scale, zero), to);
            let reach = (f64::from(*to.range().end()) - f64::from(zero)) * f64::from(scale);
            found.is_documented &= reach < 6.0;
        }
    }
    Some(found)
}

/// The saturation of every ReLU6 in the main graph whose readers all quantize its result, in the order of the nodes.
pub fn saturations(module: &Module) -> Vec<Saturation> {
    let graph = module.main();
    graph
        .nodes()
        .filter_map(|(_, node)| saturation(module, graph, node))
        .collect()
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = site.operand(0)?;
    let found = saturation(site.module, site.graph, site.node).ok_or(NoMatch)?;
    if !found.is_exact {
        let text = "a grid behind it has codes above that of 6";
        return refused(ReasonCode::GivenGrid, text);
    }
    site.replaced_by(vec![NewNode::new(Relu {}, &[Some(Source::Old(x))], &[site.id])])
}
