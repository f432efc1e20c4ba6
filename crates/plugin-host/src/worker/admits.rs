//! Asks the library, through `admits` of the C interface, about nodes.

#![allow(unsafe_code, reason = "the C interface")]

use std::ffi::c_void;
use std::{ptr, slice};

use strait_plugin_interface as c;
use strait_plugin_interface::Layout;

use super::calls::{Fault, Plugin};
use super::trials::bytes;
use crate::node::{MOST_CODE, MOST_SENTENCE, NodeHeader, OperandHeader, Refused, Value};

/// The values of an attribute, in the form that the interface hands over.
enum Values {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Text(String),
}

impl Values {
    /// The values of an attribute, and the code of their kind in the interface.
    fn new(value: Value) -> (u32, Values) {
        let float = f32::from_bits;
        match value {
            Value::Int(number) => (c::ATTRIBUTE_INT, Values::Ints(vec![number])),
            Value::Ints(numbers) => (c::ATTRIBUTE_INTS, Values::Ints(numbers)),
            Value::Float(bits) => (c::ATTRIBUTE_FLOAT, Values::Floats(vec![float(bits)])),
            Value::Floats(bits) => (
                c::ATTRIBUTE_FLOATS,
                Values::Floats(bits.into_iter().map(float).collect()),
            ),
            Value::Text(text) => (c::ATTRIBUTE_TEXT, Values::Text(text)),
        }
    }

    /// A pointer to the first value, and the number of values.
    fn place(&self) -> (*const c_void, u64) {
        match self {
            Values::Ints(numbers) => (numbers.as_ptr().cast(), numbers.len() as u64),
            Values::Floats(numbers) => (numbers.as_ptr().cast(), numbers.len() as u64),
            Values::Text(text) => (text.as_ptr().cast(), text.len() as u64),
        }
    }
}

fn operand(operand: &OperandHeader) -> c::Operand {
    let extents = operand.extents.as_deref();
    c::Operand {
        flags: if operand.constant { c::OPERAND_CONSTANT } else { 0 },
        element: operand.element.into(),
        rank: extents.map_or(0, <[u64]>::len) as u32,
        extents: extents.map_or(ptr::null(), <[u64]>::as_ptr),
        ..c::Operand::EMPTY
    }
}

/// Reads a text of the library. If the text is longer than `most` bytes, only the first `most` bytes are used.
///
/// # Safety
/// `at` is null or points to `size` bytes.
unsafe fn text(at: *const u8, size: u64, most: usize) -> String {
    let size = usize::try_from(size).map_or(most, |size| size.min(most));
    if at.is_null() || size == 0 {
        return String::new();
    }
    // SAFETY: the caller guarantees that `at` points to `size` bytes, and `size` was only made smaller.
    String::from_utf8_lossy(unsafe { slice::from_raw_parts(at, size) }).into_owned()
}

/// The function that the library calls as [`c::Node::refuse`].
unsafe extern "C" fn refuse(sink: *mut c_void, code: *const u8, code_size: u64, sentence: *const u8, size: u64) {
    // SAFETY: `sink` is null, or it points to the answer of this call, which nobody else accesses before the call
    // returns.
    let Some(answer) = (unsafe { sink.cast::<Option<Refused>>().as_mut() }) else {
        return;
    };
    // SAFETY: the plugin promises that both texts have as many bytes as it states.
    let (code, text) = unsafe {
        (
            (!code.is_null()).then(|| text(code, code_size, MOST_CODE + 1)),
            text(sentence, size, MOST_SENTENCE),
        )
    };
    *answer = Some(Refused { code, text });
}

impl Plugin {
    /// Asks the library about a node. Returns the refusal. Returns `None` if the library does not refuse the node, or
    /// does not know the node's op; the table then decides. If the library refuses the node several times in the call,
    /// returns the last refusal.
    pub(super) fn admits(&self, target: u32, node: NodeHeader) -> Result<Option<Refused>, Fault> {
        let Some(admits) = self.plugin.admits else {
            return Ok(None);
        };
        let target = self.target(target)?;
        let absent = c::Operand {
            flags: c::OPERAND_ABSENT,
            ..c::Operand::EMPTY
        };
        let operands = node.operands.iter().map(|known| known.as_ref().map_or(absent, operand));
        let operands: Vec<c::Operand> = operands.collect();
        let result = operand(&node.result);
        let held = node
            .attributes
            .into_iter()
            .map(|(key, value)| (key, Values::new(value)));
        let held: Vec<(String, (u32, Values))> = held.collect();
        let attributes = held.iter().map(|(key, (kind, values))| {
            let (values, count) = values.place();
            c::Attribute {
                kind: *kind,
                key: key.as_ptr(),
                key_size: key.len() as u64,
                values,
                count,
                ..c::Attribute::EMPTY
            }
        });
        let attributes: Vec<c::Attribute> = attributes.collect();
        let mut answer: Option<Refused> = None;
        let node = c::Node {
            operand_count: operands.len() as u32,
            name: node.name.as_ptr(),
            name_size: node.name.len() as u64,
            term: node.term.as_ptr(),
            term_size: node.term.len() as u64,
            operands: operands.as_ptr(),
            operand_stride: size_of::<c::Operand>() as u64,
            result: &raw const result,
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as u64,
            attribute_stride: size_of::<c::Attribute>() as u64,
            sink: (&raw mut answer).cast(),
            refuse: Some(refuse),
            ..c::Node::EMPTY
        };
        let seen = || {
            (
                bytes(&node).to_vec(),
                of_all(&operands),
                bytes(&result).to_vec(),
                of_all(&attributes),
            )
        };
        let before = seen();
        // SAFETY: all arguments live until the call returns, and arrays have the lengths that are stated.
        let answered = match self.reports().of(|host| unsafe { admits(host, target, &node) }) {
            Ok(()) => Ok(answer),
            Err(fault) if fault.status == c::UNSUPPORTED => Ok(None),
            Err(fault) => Err(fault),
        };
        match seen() == before {
            true => answered,
            false => Err(Fault::ours("it writes into the node that it was asked about")),
        }
    }
}

fn of_all<T: Layout>(all: &[T]) -> Vec<u8> {
    all.iter().flat_map(|one| bytes(one).iter().copied()).collect()
}
