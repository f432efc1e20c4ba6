//! Operators that several formats have, and that compute the same in all of them.

use bytes::Bytes;
use strait_core::op::{BinaryFunction, Clip, Div, Function, Identity, Mul, Op, Reduction, Sub};
use strait_core::{ReasonCode, TensorData};

use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

impl Layer<'_, '_> {
    /// Ends the node with a chain of ops. The first operand of each op is the result of the op before it, or `x` for
    /// the first op. `ops` has each op together with its other operands. If `ops` is empty, the result of the node is
    /// `x`.
    pub fn finish_chain(&mut self, mut x: Arg, mut ops: Vec<(Op, Vec<Arg>)>) -> Result<(), Refusal> {
        let (last, further) = ops.pop().unwrap_or_else(|| (Identity {}.into(), Vec::new()));
        for (op, further) in ops {
            x = self.push(op, &[vec![x], further].concat())?;
        }
        self.finish(last, &[vec![x], further].concat())
    }

    /// Ends the node with an op of two operands that is applied to all operands of the node, from left to right.
    pub fn finish_from_left(&mut self, op: impl Into<Op>) -> Result<(), Refusal> {
        let (count, op) = (self.operand_count(), op.into());
        self.one_type(0..count)?;
        if count == 0 {
            return Err(Refusal::invalid(ReasonCode::MissingOperand, "it has no operands"));
        }
        let ops = (1..count).map(|position| (op.clone(), vec![Arg::Operand(position)]));
        self.finish_chain(Arg::Operand(0), ops.collect())
    }

    /// If the node is the maximum or minimum of a value and a constant number, ends the node with a clip and returns
    /// true. Otherwise adds nothing and returns false.
    pub fn finish_as_clip(&mut self, function: BinaryFunction) -> Result<bool, Refusal> {
        for (value, number) in [(0, 1), (1, 0)] {
            let rank = self.rank(value)?;
            let Some(tensor) = self.constant(number)? else {
                continue;
            };
            let is_value = self.constant(value)?.is_none();
            // A number with more axes than the value would give the result more axes.
            let is_number = tensor.len() == 1 && tensor.shape().len() <= rank && tensor.elem().is_float();
            if is_value
                && is_number
                && let Some(bound) = self.known_float(number, "bound")?
            {
                let (min, max) = match function {
                    BinaryFunction::Maximum => (bound, f32::INFINITY),
                    _ => (f32::NEG_INFINITY, bound),
                };
                self.finish(Clip { min, max }, &[Arg::Operand(value)])?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the node with the negation of booleans.
    pub fn finish_negated(&mut self, truth: Arg) -> Result<(), Refusal> {
        let all = Arg::Constant(self.truths(&[], &[true])?);
        self.finish(BinaryFunction::Xor, &[truth, all])
    }

    /// Ends the node with ⌊a / b⌋, where a and b are its two operands. For integers, this is computed as (a − a mod b)
    /// / b, where the remainder a mod b has the sign of b.
    pub fn finish_floor_div(&mut self) -> Result<(), Refusal> {
        self.one_type([0, 1])?;
        let (a, b) = (Arg::Operand(0), Arg::Operand(1));
        if self.ty(0)?.elem.is_float() {
            let quotient = self.over(&a, &b)?;
            return self.finish(Function::Floor, &[quotient]);
        }
        let rest = self.binary(BinaryFunction::Modulo, &a, &b)?;
        let whole = self.minus(&a, &rest)?;
        self.finish(Div {}, &[whole, b])
    }

    /// Ends the node with (a − b)² of its operands.
    pub fn finish_squared_difference(&mut self) -> Result<(), Refusal> {
        self.one_type([0, 1])?;
        let difference = self.minus(&Arg::Operand(0), &Arg::Operand(1))?;
        self.finish(Mul::float(), &[difference.clone(), difference])
    }

    /// Ends the node with x / (1 + |x|).
    pub fn finish_softsign(&mut self, x: Arg) -> Result<(), Refusal> {
        let magnitude = self.function(Function::Abs, &x)?;
        let divisor = self.shifted(&magnitude, 1.0)?;
        self.finish(Div {}, &[x, divisor])
    }

    /// Makes a constant without elements the node's first result. Refuses the node if operand 0 has elements.
    pub fn finish_empty(&mut self, shape: &[i64]) -> Result<(), Refusal> {
        let ty = self.ty(0)?;
        let is_empty = ty.shape.iter().any(|dim| dim.fixed().is_none_or(|extent| extent == 0));
        let extents: Option<Vec<u64>> = shape.iter().map(|&extent| u64::try_from(extent).ok()).collect();
        let extents = extents.filter(|_| is_empty).ok_or_else(|| {
            let text = format!("from {:?} to {shape:?}, where a 0 is an extent", ty.shape);
            Refusal::invalid(ReasonCode::Reshape, text)
        })?;
        self.room(&extents)?;
        self.finish_constant(TensorData::new(ty.elem, &extents, Bytes::new())?);
        Ok(())
    }

    /// Computes the logarithm of a softmax as x − max − ln Σ exp(x − max) along an axis. Where the softmax is close to
    /// 0, this is more precise than the logarithm of its rounded result. Returns the last op, which is not added yet,
    /// and its operands.
    pub fn log_softmax(&mut self, x: &Arg, axis: i64) -> Result<(Op, Vec<Arg>), Refusal> {
        let largest = self.reduced(Reduction::Max, x, &[axis])?;
        let below = self.minus(x, &largest)?;
        let exponentials = self.function(Function::Exp, &below)?;
        let sum = self.reduced(Reduction::Sum, &exponentials, &[axis])?;
        let logarithm = self.function(Function::Log, &sum)?;
        Ok((Sub {}.into(), vec![below, logarithm]))
    }
}
