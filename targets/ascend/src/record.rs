//! Records: AMCT's `ScaleOffsetRecord`, in the flavours for PyTorch, ONNX, and TensorFlow and Caffe.
//!
//! They differ in the numbers of some fields and in a few fields of their own, so fields are known by their names. A record has,
//! for each layer by its name, the grid of what it computes on (`scale_d`, `offset_d`) and the scales of its weights (`scale_w`); a
//! key `layer:index` has the grid of one operand. The checks are the toolkit's: scales in (0, ∞) with a finite reciprocal,
//! offsets that are codes, weights without an offset.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use strait_plugin_sdk::dialect::{KeyPath, Written};
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Elem, QuantParams};
use strait_plugin_sdk::{Recorded, TargetError};

use crate::amct::Unread;

/// The document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Record {
    /// A layer.
    #[serde(default)]
    record: Vec<Entry>,
    /// Pruning.
    #[serde(default)]
    prune_record: Vec<Unread>,
}

/// A layer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Its name, or that of one of its operands.
    key: String,
    /// Its grids.
    value: Option<Layer>,
    /// Grids of a cache.
    #[serde(default)]
    kv_cache_value: Vec<Unread>,
}

/// The grids of a layer, with the fields of all flavours.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Layer {
    /// The scale of what it computes on.
    scale_d: Option<f64>,
    /// The offset of what it computes on.
    offset_d: Option<i64>,
    /// Scales of the weights.
    #[serde(default)]
    scale_w: Vec<f64>,
    /// Offsets of the weights.
    #[serde(default)]
    offset_w: Vec<i64>,
    /// Shifts N.
    #[serde(default)]
    shift_bit: Vec<i64>,
    /// Factors of the channels between activations and weights.
    #[serde(default)]
    tensor_balance_factor: Vec<f64>,
    /// True where nothing is folded into the layer.
    #[serde(rename = "skip_fusion")]
    _skip_fusion: Option<bool>,
    /// The type of both operands.
    dst_type: Option<Type>,
    /// The type of what it computes on.
    act_type: Option<Type>,
    /// The type of the weights.
    wts_type: Option<Type>,
    /// Precision of the scales.
    fakequant_precision_mode: Option<String>,
    /// True for the grid of an operand.
    #[serde(rename = "is_tensor_quantize")]
    _is_tensor_quantize: Option<bool>,
    /// The type of the float layer.
    #[serde(rename = "op_data_type")]
    _op_data_type: Option<String>,
    /// Extent of the operand.
    #[serde(rename = "channels")]
    _channels: Option<i64>,
    /// Extent of the operand.
    #[serde(rename = "height")]
    _height: Option<i64>,
    /// Extent of the operand.
    #[serde(rename = "width")]
    _width: Option<i64>,
    /// Of recurrent layers.
    #[serde(default)]
    scale_h: Vec<Unread>,
    /// Of recurrent layers.
    #[serde(default)]
    offset_h: Vec<Unread>,
    /// Of recurrent layers.
    #[serde(default)]
    scale_r: Vec<Unread>,
    /// Of recurrent layers.
    #[serde(default)]
    offset_r: Vec<Unread>,
}

/// A type of codes.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Type {
    /// Of 8 bits.
    Int8,
    /// Of 16 bits.
    Int16,
    /// Of 4 bits.
    Int4,
    /// As if it were absent.
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

/// Bits of a balance factor's bounds: the step of f32 at 1.
const EPSILON: f64 = f32::EPSILON as f64;

/// The grids of a record.
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

/// Refuses fields that ask for more than grids.
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

/// The place of a layer in the document.
struct RecordedLayer<'a> {
    written: &'a Written<'a, Record>,
    key: KeyPath,
    value: KeyPath,
}

impl RecordedLayer<'_> {
    /// A fault of a field, or of one of its elements.
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

    /// A scale, rounded once from its decimal digits.
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

    /// The first element of a list that does not hold.
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

/// A layer and the position of an operand, out of a key like `pool:0`.
fn split(key: &str) -> (&str, Option<usize>) {
    match key.rsplit_once(':').map(|(layer, index)| (layer, index.parse())) {
        Some((layer, Ok(index))) => (layer, Some(index)),
        _ => (key, None),
    }
}

#[cfg(test)]
mod tests;
