//! Counts the layers whose requantizations are covered by the target's own model of its arithmetic, and the layers
//! whose requantizations are not covered. Strait's own kernels compute the requantizations that are not covered. Not
//! every target has a model of its own.

use std::fmt;

use serde::{Deserialize, Serialize};
use strait_core::{Attribute, Elem, Module, Node, Op, Placement};
use strait_requantize::Requantization;
use strait_target::Target;

use crate::LayerError;

/// How many layers with a requantization the target's own model covers, and how many it does not cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Layers whose requantizations the target's own model computes.
    pub own: usize,
    /// Layers with a requantization that the target's own model does not cover.
    pub host: usize,
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shares { own, host } = self;
        write!(f, "{own} of {} layers, {host} left to the host", own + host)
    }
}

/// Counts the layers of the main graph. Returns `None` if the target has no model of its own.
///
/// # Errors
/// An error of the target's model, with the layer in which it happened.
pub fn shares(target: &dyn Target, module: &Module) -> Result<Option<Shares>, LayerError> {
    let mut shares = None;
    // Layers without weights often have the same requantization, so each answer of the target's model is stored. Most
    // targets have no model of their own, and answer `None` at once. This answer is not stored: in a large network
    // there would be an entry for each layer, and every search would go through all of them.
    let mut known = Vec::new();
    for node in layers(module) {
        let mut own = None;
        for one in requantizations(module, node) {
            let answer = match known.iter().find(|(before, _)| *before == one) {
                Some(&(_, answer)) => answer,
                None => {
                    let (form, clamp, wide) = one;
                    let answer = target.models(form, clamp, wide);
                    let answer = answer.map_err(|error| of_layer(module, node, &error.to_string()))?;
                    if answer.is_some() {
                        known.push((one, answer));
                    }
                    answer
                }
            };
            own = answer.map(|answer| answer && own.unwrap_or(true));
        }
        let Some(own) = own else { continue };
        let shares = shares.get_or_insert_with(Shares::default);
        if own { shares.own += 1 } else { shares.host += 1 }
    }
    Ok(shares)
}

/// An error of the target's own model of its arithmetic, for one layer.
pub(crate) fn of_layer(module: &Module, node: &Node, text: &str) -> LayerError {
    LayerError {
        layer: module.name(node.name).to_owned(),
        text: text.to_owned(),
    }
}

/// The nodes of the main graph that run on the accelerator.
pub(crate) fn layers(module: &Module) -> impl Iterator<Item = &Node> {
    let nodes = module.main().nodes().map(|(_, node)| node);
    nodes.filter(|node| node.place == Placement::Accelerator)
}

/// A requantization form, the clamp after it, and true if its accumulators have 64 bits.
pub(crate) type Form<'a> = (&'a Requantization, Option<[i32; 2]>, bool);

/// The requantization forms that a node computes, either as an op of its own or fused into another op.
pub(crate) fn requantizations<'a>(module: &Module, node: &'a Node) -> impl Iterator<Item = Form<'a>> {
    let own = match &node.op {
        Op::Requantize(own) => Some(&own.form),
        _ => None,
    };
    let fused = node.fused.as_ref();
    let addend = fused.and_then(|fused| fused.addend.as_ref());
    let wide = is_wide(module, node);
    let last = fused.map(|fused| (&fused.requant, fused.clamp, wide));
    let last = last.or_else(|| own.map(|form| (form, None, wide)));
    addend.map(|addend| (&addend.form, None, false)).into_iter().chain(last)
}

/// True if the accumulators of a node have 64 bits.
fn is_wide(module: &Module, node: &Node) -> bool {
    let operand = node.inputs.first().copied().flatten();
    let operand = operand.and_then(|value| module.main().value(value));
    let carried = operand.is_some_and(|value| value.ty.elem == Elem::I64);
    carried || matches!(node.op.attribute("accumulator"), Some(Attribute::Text(word)) if word == "i64")
}
