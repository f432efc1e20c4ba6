//! Grids and codes that a program states beside a configuration: no key of the file has them.

use strait_compile::GivenGrid;
use strait_container::sha256;
use strait_core::{Elem, Module, Node, NodeId, Port, QuantParams, TensorData};
use strait_document::nearest;

use crate::{
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

/// The grid of an operand or a result that is known before the model is quantized, as from a record of another compilation.
/// Where its layer runs in integers, it is kept as it is, or the layer moves to the host and says why (`given-grid`).
#[derive(Clone, Debug)]
pub struct Given {
    /// The source name of the layer.
    pub layer: String,
    /// Which of its operands or results, as the layer stands behind the rules that know no target.
    pub port: Port,
    /// The type of the codes.
    pub elem: Elem,
    /// Scale and zero point.
    pub params: QuantParams,
    /// Of a parameter: its codes, which are taken instead of rounding.
    pub codes: Option<TensorData>,
}

impl Given {
    /// The node that is meant.
    ///
    /// # Errors
    /// A name that no node of the main graph answers for, or a port that the node lacks.
    pub(crate) fn node(&self, module: &Module) -> Result<NodeId, Diagnostics> {
        let graph = module.main();
        let id = layer(module, &self.layer)?;
        if !self.port.is_border() && graph.value_at(id, self.port).is_some() {
            return Ok(id);
        }
        let message = format!("a grid is given for {} of `{}`, which it lacks", self.port, self.layer);
        Err(Diagnostic::error(codes::RULE, message).into())
    }

    /// The same for the node that is meant.
    ///
    /// # Errors
    /// As for [`Given::node`].
    pub(crate) fn on(self, module: &Module) -> Result<GivenGrid, Diagnostics> {
        Ok(GivenGrid {
            node: self.node(module)?,
            port: self.port,
            elem: self.elem,
            params: self.params,
            codes: self.codes,
        })
    }

    /// All that it says, for the digest of the settings.
    pub(super) fn settings(&self) -> serde_json::Value {
        let QuantParams {
            scale,
            zero_point,
            axis,
            block,
            codes: _,
        } = &self.params;
        serde_json::json!({
            "layer": self.layer,
            "port": self.port.to_string(),
            "type": self.elem.name(),
            "scale": scale.values(),
            "zero_point": zero_point.values(),
            "axis": axis,
            "block": block,
            "codes": self.codes.as_ref().map(|codes| sha256(codes.bytes()).to_string()),
        })
    }
}

/// The node that computes a layer of the model.
///
/// # Errors
/// A name that no node of the main graph answers for.
pub(crate) fn layer(module: &Module, name: &str) -> Result<NodeId, Diagnostics> {
    let graph = module.main();
    // A name that no layer of the model has means nothing, though a node may be called so here. Of several nodes that answer for a
    // layer it is the one with its name, and none that moves elements for it.
    let answers = |node: &Node| node.sources.iter().any(|&source| module.name(source) == name);
    let unlikeness = |(_, node): &(NodeId, &Node)| match module.name(node.name) == name {
        true => 0,
        false => 1 + u8::from(node.op.term().is_form()),
    };
    let found = graph.nodes().filter(|(_, node)| answers(node)).min_by_key(unlikeness);
    found.map(|(id, _)| id).ok_or_else(|| {
        let names = graph.nodes().flat_map(|(_, node)| &node.sources);
        let near = nearest::closest(name, names.map(|&name| module.name(name)), 3);
        let message = format!("a grid is given for `{name}`, and the model has no such layer");
        let finding = Diagnostic::error(codes::RULE, message);
        finding.help(format!("near it are {}", near.join(", "))).into()
    })
}
