//! The deploy model, which ATC compiles.
//!
//! Attributes are written as CANN's ONNX parser reads them. Let s be the scale and z the zero point of the codes.
//! AscendQuant has the floats `scale` = 1/s and `offset` = z, and the text `dst_type`. AscendDequant has `dtype` 0,
//! which means float32; its second operand is a 64-bit word for each channel. AscendAntiQuant has `scale` = s and
//! `offset` = z, whose sign the parser inverts. These operators are registered in ONNX's own domain `ai.onnx`.

use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Attribute, Elem, Export, TensorData, ValueId};

use super::unsupported;
use super::walk::{Flavour, Grid, add, onnx};

pub(super) struct Deploy;

/// The parameter of AscendDequant for one channel, a 64-bit word. Bits 0 to 31 are the factor as a float. Bits 32 to 39
/// are the shift, and bits 40 to 47 the zero point of the weights. The shift and the zero point are 0 here.
fn word(factor: f32) -> u64 {
    u64::from(factor.to_bits())
}

impl Flavour for Deploy {
    fn quantize(&self, export: &mut Export<'_>, x: ValueId, grid: Grid, layer: &str) -> Result<ValueId, TargetError> {
        let name = format!("{layer}.quant");
        let attributes = vec![
            ("scale", Attribute::Float(1.0 / grid.scale)),
            ("offset", Attribute::Float(grid.zero as f32)),
            ("dst_type", Attribute::Text("INT8".into())),
        ];
        let operands = [x];
        let node = onnx("AscendQuant", &name, None, &operands, Elem::I8).with(attributes);
        Ok(add(export, node, None))
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
        let attributes = vec![
            ("scale", Attribute::Float(grid.scale)),
            ("offset", Attribute::Float(grid.zero as f32)),
            ("dtype", Attribute::Int(0)),
        ];
        let operands = [codes];
        let node = onnx("AscendAntiQuant", &name, None, &operands, Elem::F32).with(attributes);
        Ok(add(export, node, result))
    }

    fn sum(&self) -> Elem {
        Elem::I32
    }

    fn weights(&self, codes: TensorData) -> Result<TensorData, TargetError> {
        Ok(codes)
    }

    fn bias(&self, bias: &[i32]) -> Result<TensorData, TargetError> {
        TensorData::from_values(&[bias.len() as u64], bias).map_err(unsupported)
    }

    fn dequantize(
        &self,
        export: &mut Export<'_>,
        sum: ValueId,
        factor: &Per<f32>,
        layer: &str,
        result: Option<ValueId>,
    ) -> Result<ValueId, TargetError> {
        let words: Vec<u64> = factor.values().iter().copied().map(word).collect();
        let words = TensorData::from_values(&[words.len() as u64], &words);
        let words = words.map_err(unsupported)?;
        let words = export.constant(&format!("{layer}.dequant.param"), words);
        let name = format!("{layer}.dequant");
        let attributes = vec![("dtype", Attribute::Int(0))];
        let operands = [sum, words];
        let node = onnx("AscendDequant", &name, None, &operands, Elem::F32).with(attributes);
        Ok(add(export, node, result))
    }
}
