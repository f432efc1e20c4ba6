//! The fake-quantized model. It has only standard ONNX operators, which compute on integers that are stored as float32.
//!
//! ```text
//! x · (1/s) ▶ Round ▶ + z ▶ Clip to the codes ▶ − z ▶ Conv with codes of weights and bias ▶ · s_w·s
//! ```
//!
//! Here x is the input, s its scale and z its zero point, and s_w is the scale of the weights. The model rounds before
//! it adds z, as AMCT's own fake-quantized model does. AscendQuant rounds after adding z. The two results only differ
//! if x/s is halfway between two integers and z is odd: then rint(x/s + z) is not rint(x/s) + z. Accumulators are exact
//! as long as they stay below 2^24.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Elem, Export, TensorData, ValueId};

use super::unsupported;
use super::walk::{Flavour, Grid, add, onnx};

pub(super) struct FakeQuant;

/// Adds an operation in float32 to the graph. The result has the shape of the first operand.
fn step(export: &mut Export<'_>, op: &str, name: &str, operands: &[ValueId], result: Option<ValueId>) -> ValueId {
    add(export, onnx(op, name, None, operands, Elem::F32), result)
}

impl Flavour for FakeQuant {
    fn quantize(&self, export: &mut Export<'_>, x: ValueId, grid: Grid, layer: &str) -> Result<ValueId, TargetError> {
        let zero = grid.zero as f32;
        let ends = [f32::from(i8::MIN), f32::from(i8::MAX)];
        let numbers = [
            ("scale", 1.0 / grid.scale),
            ("offset", zero),
            ("min", ends[0]),
            ("max", ends[1]),
        ];
        let [scale, offset, min, max] =
            numbers.map(|(what, number)| export.constant(&format!("{layer}.quant.{what}"), TensorData::scalar(number)));
        let mut made = x;
        let steps: [(&str, &str, &[ValueId]); 5] = [
            ("Mul", "mul", &[scale]),
            ("Round", "round", &[]),
            ("Add", "add", &[offset]),
            ("Clip", "clip", &[min, max]),
            ("Sub", "sub", &[offset]),
        ];
        for (op, what, others) in steps {
            let operands: Vec<ValueId> = std::iter::once(made).chain(others.iter().copied()).collect();
            made = step(export, op, &format!("{layer}.quant.{what}"), &operands, None);
        }
        Ok(made)
    }

    fn restore(
        &self,
        export: &mut Export<'_>,
        codes: ValueId,
        grid: Grid,
        layer: &str,
        result: Option<ValueId>,
    ) -> Result<ValueId, TargetError> {
        let name = format!("{layer}.anti_quant");
        let scale = export.constant(&format!("{name}.scale"), TensorData::scalar(grid.scale));
        Ok(step(export, "Mul", &name, &[codes, scale], result))
    }

    fn sum(&self) -> Elem {
        Elem::F32
    }

    fn weights(&self, codes: TensorData) -> Result<TensorData, TargetError> {
        let numbers = codes.to_i64().map_err(unsupported)?;
        let numbers: Vec<f32> = numbers.iter().map(|&code| code as f32).collect();
        TensorData::from_values(codes.shape(), &numbers).map_err(unsupported)
    }

    fn bias(&self, bias: &[i32]) -> Result<TensorData, TargetError> {
        let numbers: Vec<f32> = bias.iter().map(|&bias| bias as f32).collect();
        TensorData::from_values(&[bias.len() as u64], &numbers).map_err(unsupported)
    }

    fn dequantize(
        &self,
        export: &mut Export<'_>,
        sum: ValueId,
        factor: &Per<f32>,
        layer: &str,
        result: Option<ValueId>,
    ) -> Result<ValueId, TargetError> {
        let rank = export.shape(sum).len();
        // The channels of an image are its second axis. A matrix has a single factor.
        let shape: Vec<u64> = match factor {
            Per::Tensor(_) => Vec::new(),
            Per::Channel(factors) => {
                let extents = (0..rank).map(|axis| if axis == 1 { factors.len() as u64 } else { 1 });
                extents.collect()
            }
        };
        let factors = TensorData::from_values(&shape, factor.values());
        let factors = factors.map_err(unsupported)?;
        let factors = export.constant(&format!("{layer}.dequant.param"), factors);
        Ok(step(
            export,
            "Mul",
            &format!("{layer}.dequant"),
            &[sum, factors],
            result,
        ))
    }
}
