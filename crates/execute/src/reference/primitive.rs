//! The definitions of all integer primitives.

use super::array::Array;
use super::elementwise::Channels;
use super::windows::{self, Window};
use super::{elementwise, products, rows};
use crate::error::StepError;
use crate::site::{NodeSlots, Slot};
use smallvec::SmallVec;
use strait_core::{Addend, Elem, Fused, Kind, Op, TensorType};

/// A primitive, with everything besides its operands that is needed to compute it.
#[derive(Clone, Debug)]
pub(crate) struct Primitive {
    pub(crate) op: Op,
    pub(crate) fused: Option<Fused>,
    /// The type of the first operand.
    pub(crate) elem: Elem,
    /// The extents of the result.
    pub(crate) dims: crate::tensor::Dims,
    /// The type of the result before fused steps. For sums, this is the accumulator type.
    pub(crate) accumulator: Elem,
}

impl Primitive {
    /// True if this module defines the op.
    pub(crate) fn is_defined(op: &Op) -> bool {
        matches!(
            op.term().kind(),
            Kind::Accumulates | Kind::Selects | Kind::Divides | Kind::Integer
        )
    }

    /// Computes the result, including a fused requantization and clamp.
    ///
    /// # Errors
    /// [`StepError::Model`] if an accumulator does not fit its type, or if the fused requantization is not defined for
    /// an accumulator.
    pub(crate) fn compute(&self, operands: &[Option<Array>]) -> Result<Vec<i64>, StepError> {
        let exact = self.accumulate(operands)?;
        let values = exact
            .into_iter()
            .map(|value| self.held(value))
            .collect::<Result<Vec<_>, _>>()?;
        match &self.fused {
            Some(fused) => {
                let channels = self.channels(operands);
                let values = match &fused.addend {
                    Some(addend) => self.added(addend, operands, values)?,
                    None => values,
                };
                if channels.is_none() && fused.requant.channels().is_some() {
                    let op = self.op.name();
                    return Err(StepError::Model(format!(
                        "{op} has no channel axis for a requantization per channel"
                    )));
                }
                elementwise::epilogue(fused, channels.unwrap_or(Channels::Axis(0)), &self.dims, &values)
            }
            None => Ok(values),
        }
    }

    /// Adds the fused addend to the accumulators.
    fn added(
        &self,
        Addend { zero, form }: &Addend,
        operands: &[Option<Array>],
        values: Vec<i64>,
    ) -> Result<Vec<i64>, StepError> {
        let codes = operands.get(Addend::OPERAND).and_then(Option::as_ref);
        let codes = codes.ok_or_else(|| StepError::Model("the operand that is added is absent".into()))?;
        let centred: Vec<i64> = codes.values.iter().map(|&code| code - i64::from(*zero)).collect();
        let channels = self.channels(operands).unwrap_or(Channels::Axis(0));
        let onto = elementwise::requantize(form, channels, &self.dims, &centred)?;
        let sums = values.into_iter().zip(onto);
        sums.map(|(sum, addend)| self.held(i128::from(sum) + i128::from(addend)))
            .collect()
    }

    /// Checks that a number fits the accumulator type.
    fn held(&self, value: i128) -> Result<i64, StepError> {
        let codes = self.accumulator.int_type();
        let fits = |value: &i64| codes.is_none_or(|t| (i64::from(t.min())..=i64::from(t.max())).contains(value));
        i64::try_from(value)
            .ok()
            .filter(fits)
            .ok_or_else(|| StepError::Model(format!("{value} does not fit into {}", self.accumulator)))
    }

    /// Returns how to find the channel of each element of the result.
    fn channels<'a>(&self, operands: &'a [Option<Array>]) -> Option<Channels<'a>> {
        let picks = self
            .op
            .channel_operand()
            .and_then(|index| operands.get(index)?.as_ref());
        match picks {
            Some(picks) => Some(Channels::Picked(picks)),
            None => self.op.channel_axis(self.dims.len()).map(Channels::Axis),
        }
    }

    /// Computes the result before fused steps. The values do not have to fit the accumulator type. i128 is enough for
    /// all of them: a product of two i64, each minus a zero point, has at most 127 bits, and sums of products occur
    /// only for codes, which have fewer bits.
    fn accumulate(&self, operands: &[Option<Array>]) -> Result<Vec<i128>, StepError> {
        let optional = |index: usize| operands.get(index).and_then(Option::as_ref);
        let operand =
            |index: usize| optional(index).ok_or_else(|| StepError::Model(format!("operand {index} is absent")));
        let dims = &self.dims[..];
        let x = operand(0)?;
        Ok(match &self.op {
            Op::Conv(op) => products::conv(op, x, operand(1)?, optional(2), dims)?,
            Op::Gemm(op) => products::gemm(op, x, operand(1)?, optional(2), dims)?,
            Op::MatMul(op) => products::matmul(op, x, operand(1)?)?,
            Op::Add(_) => elementwise::binary(x, operand(1)?, |a, b| a + b)?,
            Op::Sub(_) => elementwise::binary(x, operand(1)?, |a, b| a - b)?,
            Op::Mul(op) => {
                let (a_zero, b_zero) = (i128::from(op.a_zero), i128::from(op.b_zero));
                elementwise::binary(x, operand(1)?, |a, b| (a - a_zero) * (b - b_zero))?
            }
            Op::SumPool(op) => {
                let window = Window::new([&op.size, &op.stride, &op.pad, &op.dilation]);
                windows::sum_pool(&window, x, dims, op.pad_value.into())?
            }
            Op::AveragePool(op) => {
                let window = Window::new([&op.size, &op.stride, &op.pad, &op.dilation]);
                windows::average_pool(&window, x, dims, op.count_include_pad)?
            }
            Op::MaxPool(op) => {
                let window = Window::new([&op.size, &op.stride, &op.pad, &op.dilation]);
                wide(windows::max_pool(&window, x, dims, self.lowest())?)
            }
            Op::GlobalAveragePool(_) => windows::global_average_pool(x),
            Op::Reduce(op) => windows::reduce(op, x)?,
            Op::Lookup(_) => {
                let table = operand(1)?;
                let entry = |&code: &i64| {
                    let entry = usize::try_from(code - self.lowest()).ok();
                    let found = entry.and_then(|entry| table.values.get(entry));
                    found
                        .map(|&entry| entry.into())
                        .ok_or_else(|| StepError::Model(format!("the table of a lookup has no entry for {code}")))
                };
                x.values.iter().map(entry).collect::<Result<_, _>>()?
            }
            Op::Interpolate(op) => {
                let (lines, table) = (op.on(self.elem), &operand(1)?.values);
                let value = |&code: &i64| {
                    let value = lines.and_then(|lines| lines.value(table, code)).map(i128::from);
                    value.ok_or_else(|| StepError::Model(format!("there is no line between two entries for {code}")))
                };
                x.values.iter().map(value).collect::<Result<_, _>>()?
            }
            Op::IntegerResize(op) => wide(windows::resize(op, x, dims)?),
            Op::IntegerSoftmax(op) => rows::softmax(op, x)?,
            Op::IntegerLayerNormalization(op) => rows::layer_normalization(op, self.elem, x, operand(1)?, optional(2))?,
            Op::Clamp(op) => {
                let (min, max) = (i64::from(op.min), i64::from(op.max));
                x.values.iter().map(|&v| v.min(max).max(min).into()).collect()
            }
            Op::Requantize(op) => {
                let channels = self.channels(operands).unwrap_or(Channels::Axis(0));
                wide(elementwise::requantize(&op.form, channels, dims, &x.values)?)
            }
            Op::ScaledAdd(op) => {
                let form = op
                    .form()
                    .ok_or_else(|| StepError::Model("its factors are not legal".into()))?;
                // Codes of 8 bits fit into i32.
                elementwise::binary(x, operand(1)?, |a, b| form.eval(a as i32, b as i32).into())?
            }
            // Every shifted code fits in i128, because inference has checked that it fits in the accumulator type.
            Op::ShiftLeft(op) => (x.values.iter())
                .map(|&v| (i128::from(v) - i128::from(op.zero)) << op.bits.min(64))
                .collect(),
            // No other op is a primitive (see [`Primitive::is_defined`]).
            _ => return Err(StepError::Unsupported(format!("{} on integers", self.op.term()))),
        })
    }

    /// Returns the smallest value of the first operand's type.
    fn lowest(&self) -> i64 {
        self.elem.int_type().map_or(i64::MIN, |t| i64::from(t.min()))
    }
}

fn wide(values: Vec<i64>) -> Vec<i128> {
    values.into_iter().map(i128::from).collect()
}

impl NodeSlots<'_> {
    /// Returns the node as an integer primitive.
    pub(crate) fn primitive(&self) -> Result<Primitive, StepError> {
        Ok(Primitive {
            op: self.node.op.clone(),
            fused: self.fused.clone(),
            elem: self.input(0)?.elem,
            dims: self.output()?.dims.clone(),
            accumulator: self.accumulator()?,
        })
    }

    /// Returns the type of the first result before fused steps.
    fn accumulator(&self) -> Result<Elem, StepError> {
        let own = self.node.own_inputs().len();
        let types: SmallVec<[Option<TensorType>; 3]> = (self.inputs.iter().take(own))
            .map(|slot| slot.as_ref().map(Slot::tensor_type))
            .collect();
        let operands: SmallVec<[Option<&TensorType>; 3]> = types.iter().map(Option::as_ref).collect();
        let before = self.node.op.infer(&operands)?;
        Ok(before.first().map_or(Elem::I32, |ty| ty.elem))
    }
}
