//! Grids that a quantized model gives for its values, and the rounding of real numbers to these grids.
//!
//! A quantized model has codes between its layers. Strait reads it as a graph of real numbers, in which values have
//! grids ([`QuantParams::codes`]). The model rounds such a value to its grid, and saturates it at the smallest and the
//! largest code. The graph has no node for this rounding, because such nodes would hide patterns from the rules. If the
//! target stores the value as codes on that grid, the value is rounded anyway. If the value is computed in real
//! numbers, the rounding has to be added: [`Module::round_to_grids`] adds it to a float graph before the graph runs,
//! and lowering adds it to what the host computes.

use crate::elem::Elem;
use crate::failure::Failure;
use crate::graph::{Def, Graph};
use crate::ids::{GraphId, NodeId, Use, ValueId};
use crate::kind::Kind;
use crate::module::Module;
use crate::op::{Op, RoundTo};
use crate::patch::{NewNode, Patch, Source};
use crate::quant::{Granularity, Parts, Policy, QuantParams, Reading, Scheme};
use crate::stage::Stage;
use crate::tensor::{TensorData, TensorError};
use smallvec::smallvec;
use std::sync::Arc;
use strait_requantize::Rounding;
use strait_requantize::quantize::{dequantize, quantize_each};

/// The largest number of bits of an activation's codes. Wider integers are accumulators, which have no scheme.
const WIDEST: u32 = 16;

impl QuantParams {
    /// Returns the scheme with which a model quantizes to this grid, as ONNX and TFLite define it: halves are rounded
    /// to even, and all codes of the type are used. Returns `None` if the grid states no type of codes, or is the grid
    /// of accumulators.
    pub fn given_scheme(&self) -> Option<Scheme> {
        let codes = self.codes.filter(|codes| u32::from(codes.bits()) <= WIDEST)?;
        let (least, most) = codes.integers()?;
        let per = match (self.axis, self.block) {
            (None, _) => Granularity::Tensor,
            (Some(axis), None) => Granularity::Channel { axis },
            (Some(axis), Some(size)) => Granularity::Block { axis, size: size.get() },
        };
        Scheme::integers(Policy::linear(false, per), codes, [least, most], Rounding::HalfEven).ok()
    }

    /// Returns true if codes of type `elem` on `grid` stand for the same numbers as the codes on this grid. The two
    /// types of codes may differ in signedness, for example u8 with zero point 128 and i8 with zero point 0.
    pub fn has_numbers_of(&self, (grid, elem): (&QuantParams, Elem)) -> bool {
        let own = self.codes.and_then(Elem::integers).zip(elem.integers());
        own.is_some_and(|((own, most), (other, end))| {
            let codes = most.checked_sub(own);
            let points = self.zero_point.map(|zero| i64::from(*zero).checked_sub(own));
            codes.is_some()
                && codes == end.checked_sub(other)
                && (self.axis, self.block) == (grid.axis, grid.block)
                && self.scale == grid.scale
                && points == grid.zero_point.map(|zero| i64::from(*zero).checked_sub(other))
        })
    }

    /// Returns the real numbers that the codes stand for on this grid. Returns `None` if the grid's blocks do not fill
    /// their axis.
    ///
    /// # Errors
    /// The tensor does not have an integer type.
    pub fn reals(&self, codes: &TensorData) -> Result<Option<Vec<f32>>, TensorError> {
        let shape: Vec<usize> = codes.shape().iter().map(|&extent| extent as usize).collect();
        let Some(parts) = Parts::of_grid(self, &shape) else {
            return Ok(None);
        };
        Ok(match codes.elem() {
            // Most codes have 8 bits, and need not be widened first.
            Elem::I8 | Elem::I4 => self.reals_of(&parts, &codes.values::<i8>()?),
            Elem::U8 | Elem::U4 => self.reals_of(&parts, &codes.values::<u8>()?),
            _ => self.reals_of(&parts, &codes.to_i64()?),
        })
    }

    fn reals_of<T: Copy + Into<i64>>(&self, parts: &Parts, codes: &[T]) -> Option<Vec<f32>> {
        let mut reals = Vec::with_capacity(codes.len());
        for row in codes.chunks(parts.row()) {
            let part = parts.of(reals.len());
            let (&scale, &zero) = (self.scale.get(part)?, self.zero_point.get(part)?);
            reals.extend(row.iter().map(|&code| dequantize(code, scale, zero)));
        }
        Some(reals)
    }

    /// Returns the smallest and the largest number that the codes stand for: for the whole tensor, or for each channel
    /// or block. Returns `None` unless the grid is given by a model.
    pub fn ends(&self) -> Option<Vec<[f32; 2]>> {
        let codes = self.given_scheme()?.range()?;
        let parts = self.scale.channels().or(self.zero_point.channels()).unwrap_or(1);
        let ends = |part: usize| {
            let (&scale, &zero) = (self.scale.get(part)?, self.zero_point.get(part)?);
            Some(codes.map(|code| dequantize(code, scale, zero)))
        };
        (0..parts).map(ends).collect()
    }

    /// Rounds the numbers of a constant to the grid as the model does. Returns `None` if the scales of the grid do not
    /// cover all of the constant's elements.
    pub fn rounded(&self, tensor: &TensorData) -> Option<TensorData> {
        let (scheme, shape) = (self.given_scheme()?, tensor.shape());
        let [least, most] = scheme.range()?.map(|code| code as i32);
        let extents: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
        let parts = Parts::of_grid(self, &extents)?;
        let values = tensor.to_f32().ok()?;
        let mut codes = Vec::with_capacity(values.len());
        let mut rounded = Vec::with_capacity(values.len());
        for row in values.chunks(parts.row()) {
            let part = parts.of(rounded.len());
            let (&scale, &zero) = (self.scale.get(part)?, self.zero_point.get(part)?);
            codes.clear();
            quantize_each(row, (scale, zero), scheme.rounding(), &(least..=most), &mut codes);
            rounded.extend(codes.iter().map(|&code| dequantize(code, scale, zero)));
        }
        TensorData::from_values(shape, &rounded).ok()
    }
}

impl Graph {
    /// Returns the grid to which a computed float value has to be rounded. It is the grid that the model gives for the
    /// value. Returns `None` for a constant, because its numbers are already on their grid. Also returns `None` for the
    /// result of a node that only moves elements between values of the same grid.
    pub fn rounds_to(&self, id: ValueId) -> Option<&Arc<QuantParams>> {
        let value = self.value(id).filter(|value| value.ty.elem == Elem::F32)?;
        let grid = value.quant.as_ref().filter(|grid| grid.given_scheme().is_some())?;
        let is_moved = match value.def {
            Def::Data(_) => true,
            Def::Input(_) => false,
            Def::Node(node, _) => self.moves_on(node, grid),
        };
        (!is_moved).then_some(grid)
    }

    /// Records that an operand reads a value as `reading` says, and not on the grid that the model gives for the value.
    /// An output of the graph counts as an operand of [`NodeId::OUTSIDE`], at its position.
    pub fn read_otherwise(&mut self, at: Use, reading: Reading) {
        self.readings.insert(at, reading);
    }

    /// Returns how an operand reads a value. Returns `None` if it reads the value on the grid that the model gives.
    pub fn reading(&self, at: Use) -> Option<&Reading> {
        self.readings.get(&at)
    }

    /// True if a node only moves elements of its operands, and each operand either has the grid `grid` or consists of
    /// codes on this grid.
    fn moves_on(&self, node: NodeId, grid: &QuantParams) -> bool {
        let Some(node) = self.node(node) else { return false };
        let moves = matches!(node.op.term().kind(), Kind::Rearranges | Kind::Moves | Kind::Selects);
        let mut operands = node.inputs.iter().flatten().filter_map(|&operand| self.value(operand));
        if matches!(node.op, Op::Dequantize(_)) {
            return operands.all(|codes| codes.quant.as_deref() == Some(&grid.bare()));
        }
        let mut real = operands.filter(|operand| operand.ty.elem == Elem::F32);
        moves && grid.axis.is_none() && real.all(|operand| operand.quant.as_deref() == Some(grid))
    }
}

impl Module {
    /// Adds a rounding node after each float value that has to be rounded to the grid that the model gives for it.
    ///
    /// # Errors
    /// A bug in Strait.
    pub fn round_to_grids(&mut self) -> Result<(), Failure> {
        for index in 0..self.graphs.len() {
            let id = GraphId::new(index);
            for patch in self.graph(id).map(roundings).unwrap_or_default() {
                self.apply(id, patch)
                    .map_err(|error| Failure::defect(error.to_string()))?;
            }
        }
        Ok(())
    }

    /// True if some value in a float graph has to be rounded to the grid that the model gives.
    pub fn has_roundings(&self) -> bool {
        let mut float = self.graphs.iter().filter(|graph| graph.stage() == Stage::Float);
        float.any(|graph| graph.values().any(|(id, _)| graph.rounds_to(id).is_some()))
    }
}

/// Returns one patch for each value of a float graph that has to be rounded. The patch adds the rounding node.
fn roundings(graph: &Graph) -> Vec<Patch> {
    let rounding = |id: ValueId| {
        let grid = graph.rounds_to(id)?;
        let scheme = grid.given_scheme()?;
        // An input of the graph has no producer. If nothing reads the input, it needs no rounding.
        let node = match graph.producer(id) {
            Some((node, _)) => node,
            None => graph.uses(id).next()?.node,
        };
        let mut new = NewNode::new(RoundTo { scheme }, &[Some(Source::Old(id))], &[node]);
        new.quant = smallvec![Some(Arc::new(grid.bare()))];
        Some(Patch {
            add: vec![new],
            replace: vec![(id, Source::New(0, 0))],
            ..Patch::default()
        })
    };
    match graph.stage() {
        Stage::Float => graph.values().filter_map(|(id, _)| rounding(id)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_other_sign_and_of_no_other_type_stand_for_the_same_numbers() {
        let own = QuantParams::tensor(0.5, 100).of_codes(Elem::U8);
        for (zero, elem, expected) in [
            (100, Elem::U8, true),
            (-28, Elem::I8, true),
            (100, Elem::I8, false),
            (100, Elem::U16, false),
            (0, Elem::I64, false),
        ] {
            let found = own.has_numbers_of((&QuantParams::tensor(0.5, zero), elem));
            assert_eq!(found, expected, "{zero} {elem}");
        }
        let other = QuantParams::tensor(0.25, 100);
        assert!(!own.has_numbers_of((&other, Elem::U8)));
        // This type has more codes than 64 bits can count.
        let wide = QuantParams::tensor(0.5, 1).of_codes(Elem::I64);
        assert!(!wide.has_numbers_of((&wide, Elem::I64)));
    }

    #[test]
    fn codes_become_real_numbers_by_the_scale_of_their_channel() {
        let grid = QuantParams::channel([0.5, 2.0][..].into(), 1);
        let codes = TensorData::from_integers(Elem::I8, &[2, 2], &[1, 2, -3, 4]).unwrap();
        assert_eq!(grid.reals(&codes).unwrap(), Some(vec![0.5, 4.0, -1.5, 8.0]));
    }
}
