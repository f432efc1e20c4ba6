//! Writes grids, lists and words in the text form.

use super::lexer::{is_plain_word, quoted};
use super::number::f32_text;
use crate::quant::QuantParams;
use strait_requantize::Per;

pub(super) fn grid(quant: &QuantParams) -> String {
    let axis = quant.axis.map(|axis| format!(" axis={axis}")).unwrap_or_default();
    let block = quant.block.map(|block| format!(" block={block}")).unwrap_or_default();
    let (scale, zero) = (
        per(&quant.scale, |s| f32_text(*s)),
        per(&quant.zero_point, i32::to_string),
    );
    let codes = quant.codes.map(|elem| format!(" codes={elem}")).unwrap_or_default();
    format!(" scale={scale} zero={zero}{axis}{block}{codes}")
}

fn per<T>(values: &Per<T>, text: impl Fn(&T) -> String) -> String {
    match values {
        Per::Tensor(value) => text(value),
        Per::Channel(values) => list(values.iter().map(text)),
    }
}

pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

pub(super) fn word_or_string(text: &str) -> String {
    if is_plain_word(text) { text.into() } else { quoted(text) }
}
