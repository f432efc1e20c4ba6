//! Reads AMCT's quantization records (`ScaleOffsetRecord`), in the variants for PyTorch, for ONNX, and for TensorFlow
//! and Caffe.
//!
//! The variants give some fields different numbers and have a few fields of their own, so fields are recognized by
//! their names. A record has an entry for each layer, with the layer's name. The entry has the scale and offset of the
//! layer's input (`scale_d`, `offset_d`) and the scales of its weights (`scale_w`). An entry with the key `layer:index`
//! is for a single operand.
//!
//! The checks are the same as AMCT's: scales are in (0, ∞) and have a finite reciprocal, offsets are in the range of
//! the codes, and weights have no offset.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use strait_plugin_sdk::dialect::{KeyPath, Written};
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Elem, QuantParams};
use strait_plugin_sdk::{Recorded, TargetError};

use crate::amct::Unread;

/// The whole record.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Entries for layers.
    #[serde(default)]
    record: Vec<Entry>,
    /// Entries about pruning, which are refused.
    #[serde(default)]
    prune_record: Vec<Unread>,
}

/// Entry for a layer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Name of the layer, or of one of the layer's operands.
    key: String,
    /// Scales and offsets of the layer.
    value: Option<Layer>,
    /// Scales and offsets of a key-value cache, which are refused.
    #[serde(default)]
    kv_cache_value: Vec<Unread>,
}

/// Scales and offsets of a layer, with the fields of all variants.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Layer {
    /// Scale of the layer's input.
    scale_d: Option<f64>,
    /// Offset of the layer's input.
    offset_d: Option<i64>,
    /// Scales of the weights.
    #[serde(default)]
    scale_w: Vec<f64>,
    /// Offsets of the weights.
    #[serde(default)]
    offset_w: Vec<i64>,
    /// The shifts N of AMCT, which are not supported here.
    #[serde(default)]
    shift_bit: Vec<i64>,
    /// For each channel, a factor that moves magnitude between activations and weights (balancing).
    #[serde(default)]
    tensor_balance_factor: Vec<f64>,
    /// True if no other layer was folded into this one.
    #[serde(rename = "skip_fusion")]
    _skip_fusion: Option<bool>,
    /// Type of both operands.
    dst_type: Option<Type>,
    /// Type of the layer's input.
    act_type: Option<Type>,
    /// Type of the weights.
    wts_type: Option<Type>,
    /// Precision of the scales.
    fakequant_precision_mode: Option<String>,
    /// True if the entry is for a single operand and not for a whole layer.
    #[serde(rename = "is_tensor_quantize")]
    _is_tensor_quantize: Option<bool>,
    /// Element type of the layer before quantization.
    #[serde(rename = "op_data_type")]
    _op_data_type: Option<String>,
    /// Number of channels of the operand.
    #[serde(rename = "channels")]
    _channels: Option<i64>,
    /// Height of the operand.
    #[serde(rename = "height")]
    _height: Option<i64>,
    /// Width of the operand.
    #[serde(rename = "width")]
    _width: Option<i64>,
    /// Scale for recurrent layers, which is refused.
    #[serde(default)]
    scale_h: Vec<Unread>,
    /// Offset for recurrent layers, which is refused.
    #[serde(default)]
    offset_h: Vec<Unread>,
    /// Scale for recurrent layers, which is refused.
    #[serde(default)]
    scale_r: Vec<Unread>,
    /// Offset for recurrent layers, which is refused.
    #[serde(default)]
    offset_r: Vec<Unread>,
}

/// Type of the codes.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Type {
    /// 8 bits.
    Int8,
    /// 16 bits.
    Int16,
    /// 4 bits.
    Int4,
    /// The type is not set, which counts as absent.
    Unset,
}

impl Type {
    fn elem(self) -> Option<Elem> {
        match self {
            Type::Int8 => Some(Elem::I8),
            Type::Int16 => Some(Elem::I16),
            Type::Int4 => Some(Elem::I4),
            Type::Unset => None,
        }
    }
}

/// The smallest balance factor that is allowed: 2^-23, the distance from 1 to the next larger f32. The largest one is
/// its reciprocal.
const EPSILON: f64 = f32::EPSILON as f64;

/// Reads the scales and offsets in a record.
pub(crate) fn grids(text: &str) -> Result<Vec<Recorded>, TargetError> {
    let written = Written::<Record>::read(text)?;
    unread(
        &written,
        &KeyPath::default(),
        &[("prune_record", &written.value.prune_record, "pruning")],
    )?;
    let (mut grids, mut keys) = (Vec::new(), BTreeSet::new());
    for (index, entry) in written.value.record.iter().enumerate() {
        let at = KeyPath::of(&["record"]).index(index);
        unread(
            &written,
            &at,
            &[("kv_cache_value", &entry.kv_cache_value, "caches of keys and values")],
        )?;
        let key = at.clone().key("key");
        if !keys.insert(&entry.key) {
            return Err(written.wrong(&key, format!("the layer `{}` is here a second time", entry.key)));
        }
        let Some(value) = &entry.value else {
            return Err(written.wrong(&key, format!("the layer `{}` has no `value`", entry.key)));
        };
        let place = RecordedLayer {
            written: &written,
            key,
            value: at.key("value"),
        };
        layer(&place, &entry.key, value, &mut grids)?;
    }
    Ok(grids)
}

/// Refuses fields that ask for something other than scales and offsets.
fn unread(
    written: &Written<'_, Record>,
    at: &KeyPath,
    fields: &[(&str, &Vec<Unread>, &str)],
) -> Result<(), TargetError> {
    match fields.iter().find(|(_, given, _)| !given.is_empty()) {
        Some((name, _, purpose)) => {
            let message = format!("`{name}` is for {purpose}, which are not compiled for this target");
            Err(written.wrong(&at.clone().key(name).index(0), message))
        }
        None => Ok(()),
    }
}

/// An entry of a record, with its place in the document.
struct RecordedLayer<'a> {
    written: &'a Written<'a, Record>,
    key: KeyPath,
    value: KeyPath,
}

impl RecordedLayer<'_> {
    /// An error about a field, or about one of its elements.
    fn wrong(&self, field: &str, index: Option<usize>, rule: &str) -> TargetError {
        let path = self.path(field, index);
        self.written.wrong(&path, format!("`{field}` {rule}"))
    }

    fn path(&self, field: &str, index: Option<usize>) -> KeyPath {
        let path = self.value.clone().key(field);
        match index {
            Some(index) => path.index(index),
            None => path,
        }
    }

    /// Converts a scale to f32. It is rounded only once, directly from the decimal digits in the document.
    fn scale(&self, field: &str, index: Option<usize>, scale: f64) -> Result<f32, TargetError> {
        let digits = self.written.as_written(&self.path(field, index));
        let scale = digits.trim_end_matches(['f', 'F']).parse().unwrap_or(scale as f32);
        match scale > 0.0 && scale.is_finite() && (1.0 / scale).is_finite() {
            true => Ok(scale),
            false => Err(self.wrong(
                field,
                index,
                "lies between 0 and infinity, both excluded, and has a finite reciprocal",
            )),
        }
    }

    /// Checks every element of a list. The error names the first element that is wrong.
    fn each<T: Copy>(&self, field: &str, all: &[T], holds: impl Fn(T) -> bool, rule: &str) -> Result<(), TargetError> {
        match all.iter().position(|&one| !holds(one)) {
            Some(index) => Err(self.wrong(field, Some(index), rule)),
            None => Ok(()),
        }
    }
}

fn layer(place: &RecordedLayer<'_>, key: &str, layer: &Layer, grids: &mut Vec<Recorded>) -> Result<(), TargetError> {
    let recurrent = "recurrent layers";
    unread(
        place.written,
        &place.value,
        &[
            ("scale_h", &layer.scale_h, recurrent),
            ("offset_h", &layer.offset_h, recurrent),
            ("scale_r", &layer.scale_r, recurrent),
            ("offset_r", &layer.offset_r, recurrent),
        ],
    )?;
    let factors = &layer.tensor_balance_factor;
    let bounds = EPSILON..=1.0 / EPSILON;
    place.each(
        "tensor_balance_factor",
        factors,
        |factor| bounds.contains(&factor),
        "lies between 2^-23 and 2^23",
    )?;
    place.each(
        "tensor_balance_factor",
        factors,
        |factor| factor == 1.0,
        "is 1: weights and activations are not balanced here",
    )?;
    place.each(
        "shift_bit",
        &layer.shift_bit,
        |shift| (0..=16).contains(&shift),
        "is 0 or one of 1 to 16",
    )?;
    if layer
        .fakequant_precision_mode
        .as_ref()
        .is_some_and(|mode| mode != "DEFAULT")
    {
        let rule = "is \"DEFAULT\": scales of 19 bits are the option scale_bits of this target";
        return Err(place.wrong("fakequant_precision_mode", None, rule));
    }
    let elem = |own: Option<Type>| own.and_then(Type::elem).or(layer.dst_type.and_then(Type::elem));
    let activation = elem(layer.act_type).unwrap_or(Elem::I8);
    let weights = elem(layer.wts_type).unwrap_or(Elem::I8);
    let (name, operand) = split(key);
    let at = place.written.at(&place.key);
    let grid = |operand, elem, params| Recorded {
        layer: name.to_owned(),
        at: at.clone(),
        operand,
        elem,
        params,
    };
    let Some(scale) = layer.scale_d else {
        return Err(place
            .written
            .wrong(&place.key, format!("the layer `{name}` has no `scale_d`")));
    };
    let scale = place.scale("scale_d", None, scale)?;
    let (least, greatest) = activation.integers().unwrap_or((0, 0));
    let zero = layer.offset_d.unwrap_or(0);
    let zero = i32::try_from(zero).ok().filter(|_| (least..=greatest).contains(&zero));
    let Some(zero) = zero else {
        return Err(place.wrong("offset_d", None, &format!("lies between {least} and {greatest}")));
    };
    grids.push(grid(operand.unwrap_or(0), activation, QuantParams::tensor(scale, zero)));
    place.each(
        "offset_w",
        &layer.offset_w,
        |offset| offset == 0,
        "is 0: weights have no offset",
    )?;
    let scales = layer.scale_w.iter().enumerate();
    let scales = scales.map(|(index, &scale)| place.scale("scale_w", Some(index), scale));
    let scales = scales.collect::<Result<Vec<f32>, _>>()?;
    let offsets = layer.offset_w.len();
    if scales.is_empty() {
        return Ok(());
    }
    if operand.is_some() {
        let rule = "is for layers: this key names one of the layer's operands";
        return Err(place.wrong("scale_w", Some(0), rule));
    }
    if offsets != 0 && offsets != scales.len() {
        let message = format!("`{name}` has {} of `scale_w` and {offsets} of `offset_w`", scales.len());
        return Err(place.written.wrong(&place.path("scale_w", Some(0)), message));
    }
    let params = match *scales {
        [scale] => QuantParams::tensor(scale, 0),
        _ => QuantParams {
            scale: Per::Channel(scales.into()),
            axis: Some(0),
            ..QuantParams::tensor(1.0, 0)
        },
    };
    grids.push(grid(1, weights, params));
    Ok(())
}

/// Splits a key such as `pool:0` into the name of a layer and the index of an operand.
fn split(key: &str) -> (&str, Option<usize>) {
    match key.rsplit_once(':').map(|(layer, index)| (layer, index.parse())) {
        Some((layer, Ok(index))) => (layer, Some(index)),
        _ => (key, None),
    }
}

#[cfg(test)]
mod tests;
