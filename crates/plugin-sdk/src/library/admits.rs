//! Implements `admits` of the C interface: asks the target's code about a node.

use std::ffi::c_void;
use std::mem::offset_of;

use strait_core::{Elem, Term};
use strait_plugin_interface as c;
use strait_plugin_interface::{Host, Node, Status, received};
use strait_target::{Candidate, Operand, TargetError};

use super::answer::{Failure, answer};
use super::open::{element, items, opened, text};
use crate::graph::Attribute;

/// The function that the library exports as [`Plugin::admits`](strait_plugin_interface::Plugin).
pub(super) unsafe extern "C" fn admits(host: *const Host, target: *mut c_void, node: *const Node) -> Status {
    answer(host, || {
        // SAFETY: `target` is null, or `open` made it.
        let opened = unsafe { opened(target) }?;
        // SAFETY: `node` is null, or it points to a struct of the host.
        let node = unsafe { received(node) };
        let whole = |node: &Node| node.struct_size as usize > offset_of!(Node, refuse);
        let node = node.filter(whole).ok_or_else(|| Failure::argument("no node"))?;
        let refuse = node.refuse.ok_or_else(|| Failure::argument("no way to refuse"))?;
        // SAFETY: everything that the node points to lives until the call returns.
        let candidate = unsafe { candidate(&node) }?;
        match opened.target.admits(&candidate) {
            Ok(()) => {}
            Err(TargetError::Refused(reason)) => {
                let (code, text) = (reason.code.to_string(), &reason.text);
                // SAFETY: the function and the sink are the host's, and the call to which the host has given them has
                // not returned yet.
                unsafe {
                    refuse(
                        node.sink,
                        code.as_ptr(),
                        code.len() as u64,
                        text.as_ptr(),
                        text.len() as u64,
                    );
                }
            }
            Err(error) => return Err(Failure::internal(error)),
        }
        Ok(())
    })
}

/// Reads the node that the host asks about.
///
/// # Safety
/// The node must come from the host.
unsafe fn candidate(node: &Node) -> Result<Candidate<'_>, Failure> {
    // SAFETY: the texts of the node live until the call returns.
    let (name, word) = unsafe { (text(node.name, node.name_size)?, text(node.term, node.term_size)?) };
    // A later host may know more ops. The target cannot judge nodes with such ops.
    let term = Term::parse(word).ok_or_else(|| Failure::unsupported(format!("the op `{word}`")))?;
    let mut attributes = Vec::new();
    for index in 0..node.attribute_count {
        // SAFETY: the host promises that the node has this many attributes.
        let attribute = unsafe { element(node.attributes, index, node.attribute_stride, "an attribute") }?;
        // SAFETY: the name and the values of the attribute live until the call returns.
        let (key, value) = unsafe { (text(attribute.key, attribute.key_size)?, value(&attribute)?) };
        attributes.push((key.to_owned().into(), value));
    }
    let mut operands = Vec::new();
    for index in 0..u64::from(node.operand_count) {
        // SAFETY: the host promises that the node has this many operands.
        operands.push(unsafe { operand(element(node.operands, index, node.operand_stride, "an operand")?) }?);
    }
    // SAFETY: the result is null, or it points to a struct of the host.
    let result = unsafe { received(node.result) }.ok_or_else(|| Failure::argument("an operand without a size"))?;
    // SAFETY: the result is a struct of the host.
    let result = unsafe { operand(result) }?.ok_or_else(|| Failure::argument("a node without a result"))?;
    Ok(Candidate::of(name.into(), term, attributes, operands, result))
}

/// Reads an attribute's value.
///
/// # Safety
/// The attribute must come from the host.
unsafe fn value(attribute: &c::Attribute) -> Result<Attribute, Failure> {
    let one = || Failure::argument("an attribute without its value");
    // SAFETY: the host promises that there are `count` values, of the type that belongs to the attribute's kind.
    unsafe {
        let ints = || items(attribute.values.cast::<i64>(), attribute.count);
        let floats = || items(attribute.values.cast::<f32>(), attribute.count);
        Ok(match attribute.kind {
            c::ATTRIBUTE_INT => Attribute::Int(*ints()?.first().ok_or_else(one)?),
            c::ATTRIBUTE_INTS => Attribute::Ints(ints()?.to_vec()),
            c::ATTRIBUTE_FLOAT => Attribute::Float(*floats()?.first().ok_or_else(one)?),
            c::ATTRIBUTE_FLOATS => Attribute::Floats(floats()?.to_vec()),
            c::ATTRIBUTE_TEXT => Attribute::Text(text(attribute.values.cast(), attribute.count)?.to_owned()),
            _ => return Err(Failure::unsupported("an attribute of a kind that is new")),
        })
    }
}

/// Reads an operand; `None` if the operand is optional and the node does not have it.
///
/// # Safety
/// The operand must come from the host.
unsafe fn operand(operand: c::Operand) -> Result<Option<Operand>, Failure> {
    if operand.flags & c::OPERAND_ABSENT != 0 {
        return Ok(None);
    }
    let mut types = Elem::ALL.iter().copied();
    let element = types.find(|known| u32::from(known.tag()) == operand.element);
    let element = element.ok_or_else(|| Failure::unsupported("an operand of a type that is new"))?;
    let extents = match operand.extents.is_null() {
        true => None,
        // SAFETY: the host promises that there are `rank` extents.
        false => Some(unsafe { items(operand.extents, operand.rank.into()) }?.to_vec()),
    };
    Ok(Some(Operand {
        element,
        extents,
        constant: operand.flags & c::OPERAND_CONSTANT != 0,
    }))
}
