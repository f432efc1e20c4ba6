//! Sequences of tensors. While a model is read, it must be known how many tensors a sequence has, and which.

use super::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::ReasonCode;
use strait_import::{Entry, no_tensor};

/// The largest number of tensors in one sequence.
const LONGEST: usize = 1 << 12;

impl OperatorReader<'_, '_> {
    /// The tensors of an operand that is a sequence.
    pub(crate) fn sequence(&mut self, position: usize) -> Result<Vec<Arg>, Refusal> {
        match self.entry(position)? {
            Entry::Sequence(elements) => elements.iter().map(tensor).collect(),
            _ => {
                let text = format!("operand {position} is a tensor, and no sequence");
                Err(Refusal::invalid(ReasonCode::OperandType, text))
            }
        }
    }

    /// Makes a sequence of these tensors the node's first result.
    pub(crate) fn finish_sequence(&mut self, tensors: Vec<Arg>) -> Result<(), Refusal> {
        if tensors.len() > LONGEST {
            let text = format!("a sequence of {} tensors is longer than {LONGEST}", tensors.len());
            return Err(Refusal::Unsupported(text));
        }
        let mut elements = Vec::with_capacity(tensors.len());
        for arg in tensors {
            elements.push(match arg {
                Arg::Value(value) => Entry::Value(value),
                Arg::Constant(tensor) => Entry::Constant(tensor),
                Arg::Operand(position) => match self.entry(position)? {
                    Entry::Sequence(_) => return Err(no_tensor(&self.node.input[position])),
                    entry => entry,
                },
                Arg::Absent => return Err(Refusal::invalid(ReasonCode::MissingOperand, "an operand is missing")),
            });
        }
        if let Some(id) = self.first_result() {
            self.builder.define(id, Entry::Sequence(elements.into()));
        }
        Ok(())
    }

    /// Returns the position in a sequence that an operand gives, or `None` if the operand is omitted. A negative
    /// position counts from the end. The position has to be below `length`.
    pub(crate) fn place_in_sequence(&mut self, position: usize, length: usize) -> Result<Option<usize>, Refusal> {
        let Some(places) = self.known_ints(position, "position")? else {
            return Ok(None);
        };
        let place = match places[..] {
            [place] if place >= 0 => usize::try_from(place).ok(),
            [place] => usize::try_from(place.unsigned_abs())
                .ok()
                .and_then(|back| length.checked_sub(back)),
            _ => None,
        };
        match place.filter(|&place| place < length) {
            Some(place) => Ok(Some(place)),
            None => {
                let text = format!("position {places:?} is none of the {length} that the sequence has");
                Err(Refusal::invalid(ReasonCode::Axis, text))
            }
        }
    }
}

fn tensor(element: &Entry) -> Result<Arg, Refusal> {
    match element {
        Entry::Value(value) => Ok(Arg::Value(*value)),
        Entry::Constant(tensor) => Ok(Arg::Constant(tensor.clone())),
        Entry::Sequence(_) | Entry::NotComputed(..) | Entry::Unknown => Err(Refusal::Unknown),
    }
}
