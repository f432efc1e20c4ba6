//! A program that uses this crate can give scales, zero points and codes. This module finds the nodes to which they
//! belong.

use serde_json::{Value as Json, json};
use strait_compile::GivenGrid;
use strait_container::sha256;
use strait_core::{Module, Node, NodeId, Port, QuantParams};
use strait_document::nearest;

use crate::{
    config::Given,
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

/// Finds the node that a given quantization is for.
///
/// # Errors
/// As for [`node`].
pub(super) fn on_node(given: &Given, module: &Module) -> Result<GivenGrid, Diagnostics> {
    Ok(GivenGrid {
        node: node(module, &given.layer, given.port)?,
        port: given.port,
        elem: given.elem,
        params: given.params.clone(),
        codes: given.codes.clone(),
    })
}

/// The complete given quantization as JSON, for the digest of the settings.
pub(super) fn settings(given: &Given) -> Json {
    let QuantParams {
        scale,
        zero_point,
        axis,
        block,
        codes: _,
    } = &given.params;
    json!({
        "layer": given.layer,
        "port": given.port.to_string(),
        "type": given.elem.name(),
        "scale": scale.values(),
        "zero_point": zero_point.values(),
        "axis": axis,
        "block": block,
        "codes": given.codes.as_ref().map(|codes| sha256(codes.bytes()).to_string()),
    })
}

/// Finds the node that computes a layer of the model. The node must have the operand or result `port`.
///
/// # Errors
/// If no node of the main graph belongs to the layer, or the node does not have the port.
pub(super) fn node(module: &Module, name: &str, port: Port) -> Result<NodeId, Diagnostics> {
    let id = layer(module, name)?;
    if !port.is_border() && module.main().value_at(id, port).is_some() {
        return Ok(id);
    }
    let message = format!("a grid is given for {port} of `{name}`, which it lacks");
    Err(Diagnostic::error(codes::RULE, message).into())
}

/// Returns the node that computes the model's layer `name`.
///
/// # Errors
/// If no node of the main graph belongs to the layer.
pub(super) fn layer(module: &Module, name: &str) -> Result<NodeId, Diagnostics> {
    find(module, name).ok_or_else(|| {
        let names = module.main().nodes().flat_map(|(_, node)| &node.sources);
        let near = nearest::closest(name, names.map(|&name| module.name(name)), 3);
        no_layer(name).help(format!("near it are {}", near.join(", "))).into()
    })
}

/// The error for a layer that the model does not have.
pub(super) fn no_layer(name: &str) -> Diagnostic {
    let message = format!("a grid is given for `{name}`, and the model has no such layer");
    Diagnostic::error(codes::RULE, message)
}

/// The node that computes the model's layer `name`, if there is one.
pub(super) fn find(module: &Module, name: &str) -> Option<NodeId> {
    let graph = module.main();
    // A node is found by the names of its source layers, which are the layers of the source model from which it was
    // made. The node itself may have another name. If several nodes belong to a layer, the node with the layer's name
    // is preferred, and nodes that only move elements come last.
    let answers = |node: &Node| node.sources.iter().any(|&source| module.name(source) == name);
    let unlikeness = |(_, node): &(NodeId, &Node)| match module.name(node.name) == name {
        true => 0,
        false => 1 + u8::from(node.op.term().is_form()),
    };
    let found = graph.nodes().filter(|(_, node)| answers(node)).min_by_key(unlikeness);
    found.map(|(id, _)| id)
}
