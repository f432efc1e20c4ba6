//! Remarks on inputs of 8-bit numbers: which of their steps could not be folded into the first layer, and why.

use strait_core::{Def, Elem, Module, Node, NodeId, Op, Rewritten, Term};

use crate::{diagnostic::Diagnostic, failure::codes};

/// The rules that fold the steps into the first layer, and what each of them folds.
const RULES: [(Term, &str, &str); 2] = [
    (
        Term::BatchNormalization,
        "batch-normalization-into-reader",
        "scale and mean",
    ),
    (Term::Slice, "reversed-channels-into-conv", "the order of colours"),
];

/// A remark for each step between an input of 8-bit numbers and the first layer that stays an operation of its own.
pub(super) fn left(canonical: &Module, rewritten: &Rewritten) -> Vec<Diagnostic> {
    let graph = canonical.main();
    let mut remarks = Vec::new();
    for &input in graph.inputs() {
        let Some(value) = graph.value(input) else { continue };
        if !matches!(value.def, Def::Input(_)) || value.ty.elem.bits() != 8 || value.quant.is_none() {
            continue;
        }
        let mut next = input;
        while let Some((_, node)) = only_reader(canonical, next) {
            let Some(result) = node.result() else { break };
            if let Some((_, rule, what)) = RULES.iter().find(|(term, ..)| *term == node.op.term()) {
                let why = why(canonical, node, rule, rewritten);
                let message = format!(
                    "{what} of the input `{}` stay an operation of their own, `{}`: {why}",
                    canonical.name(value.name),
                    canonical.name(node.name)
                );
                let finding = Diagnostic::remark(codes::MODEL, message);
                remarks.push(match node.op {
                    Op::BatchNormalization(_) => finding.help(format!(
                        "in front of a convolution that pads, they are folded if the number that becomes 0 is an integer \
                         {}, the same for all channels",
                        match value.ty.elem {
                            Elem::I8 => "from -128 to 127",
                            _ => "from 0 to 255",
                        }
                    )),
                    _ => finding,
                });
            } else if !matches!(node.op, Op::Dequantize(_) | Op::Transpose(_)) {
                break;
            }
            next = result;
        }
    }
    remarks
}

fn only_reader(module: &Module, value: strait_core::ValueId) -> Option<(NodeId, &Node)> {
    let id = module.main().only_use(value)?.node;
    Some((id, module.main().node(id)?))
}

/// Why the rule did not fold a node into the node that reads its result.
fn why(module: &Module, node: &Node, rule: &str, rewritten: &Rewritten) -> String {
    let reader = node.result().and_then(|result| only_reader(module, result));
    let Some((_, reader)) = reader else {
        return "several layers read it".to_owned();
    };
    let name = module.name(reader.name);
    let refused = rewritten.refused.iter().find(|(own, at, _)| *own == rule && at == name);
    match refused {
        Some((_, _, reason)) => reason.text.to_string(),
        None => format!(
            "`{name}`, which reads it, is no convolution and no matrix product ({})",
            reader.op.name()
        ),
    }
}
