//! The syntax tree of a text, before names are looked up.

use super::error::{Position, TextError, TextFault};
use crate::addend::Addend;
use crate::attribute::Attribute;
use crate::elem::Elem;
use crate::quant::{CodesOrigin, Grid, Port, QuantParams, Scheme};
use crate::reason::Reason;
use crate::stage::Stage;
use strait_requantize::Requantization;

/// The version of the text form, which is stated in the first line.
pub(super) const VERSION: &str = "1";

/// The largest length of a text in bytes: 2^30. Longer texts are refused.
pub const MAX_TEXT: usize = 1 << 30;

/// The largest number of bytes that all `splat` and `random` tensors of a text may have together. Without a limit, a
/// short text could make very large tensors.
pub const MAX_GENERATED: u64 = 1 << 28;

/// A name, `name` or `name~ordinal`, and its position in the text.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) at: Position,
    pub(super) text: String,
    pub(super) ordinal: u32,
}

impl Name {
    /// Returns the name as it is written in the text, for error messages.
    pub(super) fn spelled(&self) -> String {
        match self.ordinal {
            0 => self.text.clone(),
            ordinal => format!("{}~{ordinal}", self.text),
        }
    }

    /// Returns the error that nothing has this name. In the message, `sigil` stands in front of the name, and
    /// `where_not` behind it.
    pub(super) fn unknown(&self, sigil: char, where_not: &'static str) -> TextError {
        let name = format!("{sigil}{}", self.spelled());
        self.at.fault(TextFault::Unknown(name, where_not))
    }

    pub(super) fn key(&self) -> (String, u32) {
        (self.text.clone(), self.ordinal)
    }
}

pub(super) struct File {
    pub(super) stage: Stage,
    pub(super) main: Option<Name>,
    pub(super) graphs: Vec<Graph>,
    pub(super) quants: Vec<Quant>,
    pub(super) data: Vec<Data>,
    pub(super) end: Position,
}

pub(super) struct Graph {
    pub(super) name: Name,
    pub(super) stage: Option<Stage>,
    pub(super) inputs: Vec<Value>,
    pub(super) nodes: Vec<Node>,
    pub(super) outputs: Vec<Operand>,
}

pub(super) enum Dim {
    Fixed(u64),
    Named(String),
}

pub(super) struct Value {
    pub(super) name: Name,
    pub(super) elem: Elem,
    pub(super) dims: Vec<Dim>,
    pub(super) quant: Option<QuantParams>,
}

pub(super) enum Operand {
    Value(Name),
    Constant(Name),
}

pub(super) enum AttributeValue {
    Plain(Attribute),
    Constant(Name),
}

pub(super) struct Node {
    pub(super) at: Position,
    pub(super) results: Vec<Value>,
    pub(super) op: String,
    /// The graphs that the op runs, in the order of its attributes.
    pub(super) graphs: Vec<Name>,
    pub(super) operands: Vec<Option<Operand>>,
    pub(super) attributes: Vec<(String, AttributeValue)>,
    pub(super) clauses: Clauses,
}

/// What follows the attributes on a node's line.
#[derive(Default)]
pub(super) struct Clauses {
    pub(super) name: Option<String>,
    pub(super) sources: Option<Vec<String>>,
    pub(super) fused: Option<Requantization>,
    pub(super) clamp: Option<[i32; 2]>,
    pub(super) addend: Option<Addend>,
    pub(super) host: Option<Reason>,
}

pub(super) struct Data {
    pub(super) value: Value,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// All elements as bytes.
    Inline(Vec<u8>),
    /// One element as bytes, to which all elements of the tensor are equal.
    Splat(Vec<u8>),
    Random(u64),
    Blob(u64, Option<String>),
    Same(Name),
}

/// A block `quant @graph { … }`.
pub(super) struct Quant {
    pub(super) graph: Name,
    pub(super) configs: Vec<Config>,
}

/// An operand or result of a node, or an input or output of the graph. For an input or output, the name is the word
/// `input` or `output`.
pub(super) struct NamedPort {
    pub(super) node: Name,
    pub(super) port: Port,
}

/// An [`Entry`](crate::quant::Entry) before names are looked up.
pub(super) struct Config {
    pub(super) place: NamedPort,
    pub(super) scheme: Scheme,
    pub(super) float: bool,
    pub(super) standing: Written,
    pub(super) baked: bool,
    /// The name of the constant with the codes of the parameter, and whether the model or a calibration record gives
    /// the codes.
    pub(super) codes: Option<(Name, CodesOrigin)>,
}

/// A [`Standing`](crate::quant::Standing) before names are looked up.
pub(super) enum Written {
    Initial,
    Own(Grid),
    Overlapped(NamedPort),
    Same(NamedPort),
    Product([NamedPort; 2]),
    Shifted(NamedPort, u8),
}
