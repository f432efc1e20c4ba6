//! The messages with which the host asks a library about a node of the float model, and the library's answers.

use serde::{Deserialize, Serialize};
use strait_core::{Attribute, Reason, ReasonCode};
use strait_target::{Candidate, Operand};

/// The longest sentence with which a library may refuse a node, in bytes.
pub(crate) const MOST_SENTENCE: usize = 4 << 10;

/// The longest code with which a library may refuse a node, in bytes.
pub(crate) const MOST_CODE: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NodeHeader {
    pub(crate) name: String,
    pub(crate) term: String,
    pub(crate) attributes: Vec<(String, Value)>,
    pub(crate) operands: Vec<Option<OperandHeader>>,
    pub(crate) result: OperandHeader,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OperandHeader {
    /// Tag of the element type, as in IR bytes.
    pub(crate) element: u8,
    pub(crate) extents: Option<Vec<u64>>,
    pub(crate) constant: bool,
}

/// The value of an attribute. Floats are sent as their bits, since JSON has no infinities.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Value {
    Int(i64),
    Ints(Vec<i64>),
    Float(u32),
    Floats(Vec<u32>),
    Text(String),
}

/// A library's refusal of a node, which then runs on the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) code: Option<String>,
    pub(crate) text: String,
}

impl From<&Candidate<'_>> for NodeHeader {
    fn from(node: &Candidate<'_>) -> NodeHeader {
        let attributes = node.attributes().filter_map(|(key, value)| {
            let value = match value {
                Attribute::Int(number) => Value::Int(*number),
                Attribute::Ints(numbers) => Value::Ints(numbers.clone()),
                Attribute::Float(number) => Value::Float(number.to_bits()),
                Attribute::Floats(numbers) => Value::Floats(numbers.iter().map(|x| x.to_bits()).collect()),
                Attribute::Text(text) => Value::Text(text.clone()),
                // Nodes that a library is asked about never have attributes of these kinds.
                Attribute::Data(_) | Attribute::Form(_) => return None,
            };
            Some((key.to_owned(), value))
        });
        NodeHeader {
            name: node.name().to_owned(),
            term: node.term().to_string(),
            attributes: attributes.collect(),
            operands: (0..node.operands())
                .map(|at| node.operand(at).map(Into::into))
                .collect(),
            result: node.result_type().into(),
        }
    }
}

impl From<&Operand> for OperandHeader {
    fn from(operand: &Operand) -> OperandHeader {
        OperandHeader {
            element: operand.element.tag(),
            extents: operand.extents.clone(),
            constant: operand.constant,
        }
    }
}

impl Refused {
    /// Converts the refusal to the reason that the report states. Returns an error if the library's refusal is not
    /// valid.
    pub(crate) fn reason(self) -> Result<Reason, String> {
        let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let code = match self.code {
            None => ReasonCode::TargetCode,
            Some(code) if !code.is_empty() && code.len() <= MOST_CODE && code.bytes().all(letter) => {
                ReasonCode::from(code)
            }
            Some(_) => return Err("a reason whose code is not words of lower-case letters with hyphens".into()),
        };
        let mut text = crate::plain::plain(&self.text);
        text.truncate(text.floor_char_boundary(MOST_SENTENCE));
        if text.is_empty() {
            return Err("a reason without a sentence".into());
        }
        Ok(Reason::new(code, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(code: Option<&str>, text: &str) -> Result<Reason, String> {
        let code = code.map(str::to_owned);
        let text = text.to_owned();
        Refused { code, text }.reason()
    }

    #[test]
    fn a_reason_is_a_code_and_a_sentence_that_can_be_printed() {
        assert_eq!(
            reason(None, "it is \u{1b}[31mtoo wide"),
            Ok(Reason::new(ReasonCode::TargetCode, r"it is \u{1b}[31mtoo wide"))
        );
        let own = reason(Some("acme-too-wide"), "it is too wide").map(|reason| reason.code.to_string());
        assert_eq!(own, Ok("acme-too-wide".into()));
        let long = reason(None, &"ä".repeat(MOST_SENTENCE)).map(|reason| reason.text.len());
        assert_eq!(long, Ok(MOST_SENTENCE));
    }

    #[test]
    fn what_is_no_reason_is_refused() {
        for (code, text) in [
            (Some(""), "it is too wide"),
            (Some("Too wide"), "it is too wide"),
            (Some(&*"a".repeat(MOST_CODE + 1)), "it is too wide"),
            (None, ""),
        ] {
            assert!(reason(code, text).is_err(), "{code:?}: {text}");
        }
    }
}
