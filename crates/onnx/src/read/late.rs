//! Shapes and bounds that a run finds, and what is known of them while a model is read.

use super::site::{Arg, NodeReader, Refusal};
use strait_core::{Elem, ReasonCode, ValueId};

impl NodeReader<'_, '_> {
    /// The elements of a list of integers that is an operand, −1 for each that a run finds; `None` where all are known.
    pub(crate) fn late_list(&mut self, position: usize) -> Result<Option<Vec<i64>>, Refusal> {
        if !self.has(position) || self.constant(position)?.is_some() {
            return Ok(None);
        }
        let ty = self.ty(position)?;
        let [length] = ty.shape[..] else {
            return Err(Refusal::invalid(
                ReasonCode::OperandType,
                format!("operand {position} is {ty}, and no list"),
            ));
        };
        let length = length.fixed().and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|&length| length <= strait_core::shape::MAX_RANK);
        let length = length
            .ok_or_else(|| Refusal::unsupported(format!("operand {position} is {ty}, a list of unknown length")))?;
        let known = self
            .value_of(position)?
            .and_then(|value| self.builder.partial.get(&value).cloned());
        let known = known
            .filter(|known| known.len() == length)
            .unwrap_or_else(|| vec![None; length]);
        // Numbers below 0 mean something else in a list that a run finds.
        let known = known
            .into_iter()
            .map(|known| known.filter(|&known| known >= 0).unwrap_or(-1));
        Ok(Some(known.collect()))
    }

    /// Notes what is known of a list of integers that is joined of these operands, and that the node has made.
    pub(crate) fn note_joined(&mut self, operands: usize) -> Result<(), Refusal> {
        let Some(result) = self.result_value() else {
            return Ok(());
        };
        let mut all = Vec::new();
        for position in 0..operands {
            let ty = self.ty(position)?;
            let [length] = ty.shape[..] else { return Ok(()) };
            let is_list = matches!(ty.elem, Elem::I64 | Elem::I32);
            let Some(length) = length.fixed().filter(|&length| is_list && length <= 16) else {
                return Ok(());
            };
            match self.constant(position)? {
                Some(tensor) => match tensor.to_i64() {
                    Ok(values) => all.extend(values.into_iter().map(Some)),
                    Err(_) => return Ok(()),
                },
                None => all.extend(std::iter::repeat_n(None, length as usize)),
            }
        }
        self.builder.partial.insert(result, all);
        Ok(())
    }

    /// The operand from a position on as operands that stand in the place of attributes.
    pub(crate) fn late_operands(&mut self, positions: &[usize]) -> Result<Vec<Arg>, Refusal> {
        let mut args = vec![Arg::Operand(0)];
        for &position in positions {
            args.push(self.indices(position)?);
        }
        Ok(args)
    }

    fn value_of(&mut self, position: usize) -> Result<Option<ValueId>, Refusal> {
        Ok(match self.entry(position)? {
            super::build::Entry::Value(value) => Some(value),
            _ => None,
        })
    }

    /// True if an extent of an operand is one that a run finds: a named one, but not of an input that is to be bound.
    pub(crate) fn has_open_extent(&mut self, position: usize) -> Result<bool, Refusal> {
        let shape = self.ty(position)?.shape;
        let free = &self.builder.free;
        let mut names = shape.iter().filter(|dim| dim.fixed().is_none());
        let first = names.next();
        Ok(first.is_some_and(|dim| !free.contains(dim)) && names.all(|dim| !free.contains(dim)))
    }

    /// The node's first result, where it is a value.
    fn result_value(&self) -> Option<ValueId> {
        let id = self.first_result()?;
        self.builder.value_at(id)
    }
}
