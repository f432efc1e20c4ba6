//! Conversions: QUANTIZE, DEQUANTIZE, CAST.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::Table;
use strait_core::Elem;

/// Writes a conversion to codes. From int8 codes to int8 codes on another grid, it is an ADD of a constant zero,
/// because QUANTIZE would round twice. All other conversions, from real numbers or with 16-bit codes, become QUANTIZE.
pub(super) fn quantize(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let made = emitter.result(site.node)?;
    let types = [x, made].map(|index| emitter.tensor(index).elem);
    if types != [Elem::I8, Elem::I8] {
        return emitter.emit("QUANTIZE", &[x], &[made], None);
    }
    let grid = emitter.tensor(x).grid.clone();
    let (_, zero) = grid
        .and_then(|grid| grid.as_tensor())
        .ok_or("its operand has several scales")?;
    let zero = emitter.number_like(x, zero.into())?;
    emitter.emit("ADD", &[x, zero], &[made], Some(Table::default()))
}

pub(super) fn convert(
    emitter: &mut Emitter<'_>,
    site: &Site<'_>,
    name: &'static str,
    options: Option<Table>,
) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let made = emitter.result(site.node)?;
    emitter.emit(name, &[x], &[made], options)
}
