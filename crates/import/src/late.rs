//! Helpers for shapes and bounds that are only computed when the model runs. Some of their elements may already be
//! known when the model is read.

use strait_core::op::{BinaryFunction, Gather, Range, ShapeOf};
use strait_core::{Elem, ReasonCode, ValueId};

use crate::builder::Entry;
use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

impl Layer<'_, '_> {
    /// Returns the elements of an operand that is a list of integers, with −1 in place of each element that is only
    /// computed at run time. Returns `None` if all elements are known.
    pub fn late_list(&mut self, position: usize) -> Result<Option<Vec<i64>>, Refusal> {
        // Negative numbers have special meanings in such a list, so they are treated as unknown.
        let known = |known: Option<i64>| known.filter(|&known| known >= 0).unwrap_or(-1);
        let list = self.late_elements(position)?;
        Ok(list.map(|list| list.into_iter().map(known).collect()))
    }

    /// Returns the elements of an operand that is a list, with `None` in place of each element that is not known. If
    /// all elements are known, the whole result is `None`.
    pub fn late_elements(&mut self, position: usize) -> Result<Option<Vec<Option<i64>>>, Refusal> {
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
        Ok(Some(known))
    }

    /// Returns the extent of an axis of a value, as a list with one element. This list is a constant if the extent is
    /// known, and otherwise a value that is computed at run time.
    pub fn extent_at(&mut self, x: &Arg, axis: usize) -> Result<Arg, Refusal> {
        match self.arg_type(x)?.shape.get(axis).and_then(|dim| dim.fixed()) {
            Some(extent) => Ok(Arg::Constant(self.integers(&[1], &[extent as i64])?)),
            None => {
                let all = self.push(ShapeOf {}, std::slice::from_ref(x))?;
                self.part(&all, 0, axis as i64, axis as i64 + 1)
            }
        }
    }

    /// Returns the elements of a value at the positions `first..end` along an axis. Both bounds are lists of one
    /// element. Positions wrap around: the first element follows after the last, and the last comes before the first.
    pub fn cyclic(&mut self, x: &Arg, axis: usize, first: Arg, end: Arg) -> Result<Arg, Refusal> {
        let one = Arg::Constant(self.integers(&[1], &[1])?);
        let positions = self.push(Range {}, &[first, end, one])?;
        let extent = self.extent_at(x, axis)?;
        let positions = self.push(BinaryFunction::Modulo, &[positions, extent])?;
        self.push(Gather { axis: axis as i64 }, &[x.clone(), positions])
    }

    /// Turns a list that has an element for some of the axes into a list for all axes: for each axis in `places`, the
    /// element in `all` is replaced by the next element of `list`.
    pub fn late_spread(&mut self, list: &Arg, places: &[usize], mut all: Vec<Arg>) -> Result<Arg, Refusal> {
        for (element, &place) in places.iter().enumerate() {
            let part = self.part(list, 0, element as i64, element as i64 + 1)?;
            if let Some(slot) = all.get_mut(place) {
                *slot = part;
            }
        }
        self.joined(&all, 0)
    }

    /// If the node concatenates lists of integers, records which elements of the resulting list are known.
    pub fn note_joined(&mut self, operands: usize) -> Result<(), Refusal> {
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

    /// Returns operand 0, followed by the operands at these positions. They take the place of attributes of an op.
    pub fn late_operands(&mut self, positions: &[usize]) -> Result<Vec<Arg>, Refusal> {
        let mut args = vec![Arg::Operand(0)];
        for &position in positions {
            args.push(self.indices(position)?);
        }
        Ok(args)
    }

    /// Returns a shape that an operand gives, and the operands for an op that takes this shape. The op's operands are
    /// operand 0 and, if the shape is computed at run time, also the operand with the shape. The returned shape has −1
    /// in place of each extent that is only known at run time.
    pub fn shape_operand(&mut self, position: usize, missing: ReasonCode) -> Result<(Vec<i64>, Vec<Arg>), Refusal> {
        if let Some(shape) = self.late_list(position)? {
            return Ok((shape, self.late_operands(&[position])?));
        }
        let shape = self.known_ints(position, "shape")?;
        let shape = shape.ok_or_else(|| Refusal::invalid(missing, "the shape is missing"))?;
        Ok((shape, vec![Arg::Operand(0)]))
    }

    fn value_of(&mut self, position: usize) -> Result<Option<ValueId>, Refusal> {
        Ok(match self.entry(position)? {
            Entry::Value(value) => Some(value),
            _ => None,
        })
    }

    /// True if an operand has an extent that is only known at run time. Named extents of inputs do not count, because
    /// they can be bound.
    pub fn has_open_extent(&mut self, position: usize) -> Result<bool, Refusal> {
        let shape = self.ty(position)?.shape;
        let free = &self.builder.free;
        let mut names = shape.iter().filter(|dim| dim.fixed().is_none());
        let first = names.next();
        Ok(first.is_some_and(|dim| !free.contains(dim)) && names.all(|dim| !free.contains(dim)))
    }

    /// The node's first result, if it is a value of the graph.
    fn result_value(&self) -> Option<ValueId> {
        let id = self.first_result()?;
        self.builder.value_at(id)
    }
}
