//! Records: AMCT's `ScaleOffsetRecord`, in the flavours for PyTorch, ONNX, and TensorFlow and Caffe.
//!
//! They differ in the numbers of some fields and in a few fields of their own, so fields are known by their names. A record has,
//! for each layer by its name, the grid of what it computes on (`scale_d`, `offset_d`) and the scales of its weights (`scale_w`); a
//! key `layer:index` has the grid of one operand. The checks are the toolkit's: scales in (0, ∞) with a finite reciprocal,
//! offsets that are codes, weights without an offset.

use std::ops::Range;

use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Elem, QuantParams};
use strait_plugin_sdk::{Recorded, TargetError};

use crate::text_proto::{Field, Message, TextError, parse};

/// The fields of a layer in any flavour.
const FIELDS: &[&str] = &[
    "scale_d",
    "offset_d",
    "scale_w",
    "offset_w",
    "shift_bit",
    "tensor_balance_factor",
    "skip_fusion",
    "dst_type",
    "act_type",
    "wts_type",
    "fakequant_precision_mode",
    "is_tensor_quantize",
    "op_data_type",
    "channels",
    "height",
    "width",
];

/// Fields of the format that say what is not done here, and what that is.
const OTHERS: &[(&str, &str)] = &[
    ("prune_record", "pruning"),
    ("kv_cache_value", "caches of keys and values"),
    ("scale_h", "recurrent layers"),
    ("offset_h", "recurrent layers"),
    ("scale_r", "recurrent layers"),
    ("offset_r", "recurrent layers"),
];

/// Bits of a balance factor's bounds: the step of f32 at 1.
const EPSILON: f32 = f32::EPSILON;

/// The grids of a record.
pub(crate) fn grids(text: &str) -> Result<Vec<Recorded>, TargetError> {
    read(text).map_err(|error| TargetError::Text {
        at: error.at,
        message: error.message,
    })
}

fn read(text: &str) -> Result<Vec<Recorded>, TextError> {
    let document = parse(text)?;
    only(&document, &["record"])?;
    let (mut grids, mut keys) = (Vec::new(), std::collections::BTreeSet::new());
    for field in document.all("record") {
        let entry = field.message()?;
        only(entry, &["key", "value"])?;
        let lacks = |what: &str| TextError::new(field.at.clone(), format!("this record has no `{what}`"));
        let key = entry.one("key")?.ok_or_else(|| lacks("key"))?;
        let value = entry.one("value")?.ok_or_else(|| lacks("value"))?.message()?;
        if !keys.insert(key.text()?.to_owned()) {
            return Err(TextError::new(
                key.at.clone(),
                format!("the layer `{}` is here a second time", key.text()?),
            ));
        }
        layer(key, value, &mut grids)?;
    }
    Ok(grids)
}

/// Refuses fields that the format does not have, and those that ask for more than grids.
fn only(message: &Message<'_>, names: &[&str]) -> Result<(), TextError> {
    for field in &message.fields {
        if let Some((name, what)) = OTHERS.iter().find(|(name, _)| *name == field.name) {
            return Err(TextError::new(
                field.at.clone(),
                format!("`{name}` is for {what}, which are not compiled for this target"),
            ));
        }
    }
    message.only(names)
}

fn layer(key: &Field<'_>, value: &Message<'_>, grids: &mut Vec<Recorded>) -> Result<(), TextError> {
    only(value, FIELDS)?;
    for field in value.all("tensor_balance_factor") {
        let factor = field.float()?;
        if !(EPSILON..=1.0 / EPSILON).contains(&factor) {
            return Err(wrong(field, "lies between 2^-23 and 2^23"));
        }
        if factor != 1.0 {
            return Err(wrong(field, "is 1: weights and activations are not balanced here"));
        }
    }
    for field in value.all("shift_bit") {
        if !(0..=16).contains(&field.integer()?) {
            return Err(wrong(field, "is 0 or one of 1 to 16"));
        }
    }
    for name in ["skip_fusion", "is_tensor_quantize"] {
        value.one(name)?.map(Field::boolean).transpose()?;
    }
    for name in ["channels", "height", "width"] {
        value.one(name)?.map(Field::integer).transpose()?;
    }
    value.one("op_data_type")?.map(Field::text).transpose()?;
    if let Some(mode) = value.one("fakequant_precision_mode")?
        && mode.text()? != "DEFAULT"
    {
        return Err(wrong(
            mode,
            "is \"DEFAULT\": scales of 19 bits are the option scale_bits of this target",
        ));
    }
    let both = elem(value, "dst_type")?;
    let activation = elem(value, "act_type")?.or(both).unwrap_or(Elem::I8);
    let weights = elem(value, "wts_type")?.or(both).unwrap_or(Elem::I8);
    let (name, operand) = split(key.text()?);
    let mut add = |at: Range<usize>, operand, elem, params| {
        let layer = name.to_owned();
        grids.push(Recorded {
            layer,
            at,
            operand,
            elem,
            params,
        });
    };
    let scale = value.one("scale_d")?;
    let scale = scale.ok_or_else(|| TextError::new(key.at.clone(), format!("the layer `{name}` has no `scale_d`")))?;
    let offset = value.one("offset_d")?;
    let zero = match offset {
        Some(field) => {
            let range = activation.integers().unwrap_or((0, 0));
            let zero = field.integer()?;
            if !(range.0..=range.1).contains(&zero) {
                return Err(wrong(field, &format!("lies between {} and {}", range.0, range.1)));
            }
            i32::try_from(zero).unwrap_or(0)
        }
        None => 0,
    };
    add(
        key.at.clone(),
        operand.unwrap_or(0),
        activation,
        QuantParams::tensor(positive(scale)?, zero),
    );
    for field in value.all("offset_w") {
        if field.integer()? != 0 {
            return Err(wrong(field, "is 0: weights have no offset"));
        }
    }
    let fields: Vec<&Field<'_>> = value.all("scale_w").collect();
    let scales = fields
        .iter()
        .map(|field| positive(field))
        .collect::<Result<Vec<f32>, _>>()?;
    let offsets = value.all("offset_w").count();
    let Some(first) = fields.first() else { return Ok(()) };
    if operand.is_some() {
        return Err(wrong(
            first,
            "is for layers: this key names one of the layer's operands",
        ));
    }
    if offsets != 0 && offsets != scales.len() {
        let message = format!("`{name}` has {} of `scale_w` and {offsets} of `offset_w`", scales.len());
        return Err(TextError::new(first.at.clone(), message));
    }
    let params = match *scales {
        [scale] => QuantParams::tensor(scale, 0),
        _ => QuantParams {
            scale: Per::Channel(scales.into()),
            axis: Some(0),
            ..QuantParams::tensor(1.0, 0)
        },
    };
    add(key.at.clone(), 1, weights, params);
    Ok(())
}

/// A layer and the position of an operand, out of a key like `pool:0`.
fn split(key: &str) -> (&str, Option<usize>) {
    match key.rsplit_once(':').map(|(layer, index)| (layer, index.parse())) {
        Some((layer, Ok(index))) => (layer, Some(index)),
        _ => (key, None),
    }
}

fn positive(field: &Field<'_>) -> Result<f32, TextError> {
    let scale = field.float()?;
    match scale > 0.0 && scale.is_finite() && (1.0 / scale).is_finite() {
        true => Ok(scale),
        false => Err(wrong(
            field,
            "lies between 0 and infinity, both excluded, and has a finite reciprocal",
        )),
    }
}

fn elem(value: &Message<'_>, name: &str) -> Result<Option<Elem>, TextError> {
    let Some(field) = value.one(name)? else { return Ok(None) };
    match field.text()? {
        "INT8" => Ok(Some(Elem::I8)),
        "INT16" => Ok(Some(Elem::I16)),
        "INT4" => Ok(Some(Elem::I4)),
        "UNSET" => Ok(None),
        _ => Err(wrong(field, "is one of \"INT8\", \"INT16\", \"INT4\"")),
    }
}

fn wrong(field: &Field<'_>, rule: &str) -> TextError {
    TextError::new(field.at.clone(), format!("`{}` {rule}", field.name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    /// Layer, operand, type, scales and zero point of each grid.
    fn told(text: &str) -> Vec<String> {
        let grids = read(text).unwrap();
        let one = |grid: &Recorded| {
            let (scale, zero) = (grid.params.scale.values(), grid.params.zero_point.values()[0]);
            format!("{} {} {} {scale:?} {zero}", grid.layer, grid.operand, grid.elem)
        };
        grids.iter().map(one).collect()
    }

    #[test]
    fn the_three_flavours_say_the_same() {
        let with = |more: &str| {
            format!(
                "record {{ key: \"conv:a\" value {{ scale_d: 0.5 offset_d: -128 scale_w: 0.25 scale_w: 0.1 \
                 offset_w: 0 offset_w: 0 {more} }} }}"
            )
        };
        let expected = ["conv:a 0 i8 [0.5] -128", "conv:a 1 i8 [0.25, 0.1] 0"];
        let pytorch = "shift_bit: 0 tensor_balance_factor: 1 skip_fusion: true dst_type: \"INT8\" act_type: \"INT8\" \
                       fakequant_precision_mode: \"DEFAULT\"";
        let onnx =
            "skip_fusion: false is_tensor_quantize: false op_data_type: \"float32\" act_type: 'INT8' wts_type: 'INT8'";
        let tensorflow = "shift_bit: [1, 16] channels: 3 height: 8 width: 8 skip_fusion: false";
        for more in ["", pytorch, onnx, tensorflow] {
            assert_eq!(told(&with(more)), expected, "{more}");
        }
    }

    #[test]
    fn keys_name_operands_and_types_name_codes() {
        let text = "record { key: 'pool:1' value { scale_d: 2 is_tensor_quantize: true } } \
                    record { key: 'fc' value { scale_d: 1 offset_d: 300 act_type: 'INT16' wts_type: 'INT4' scale_w: 3 } }";
        assert_eq!(
            told(text),
            ["pool 1 i8 [2.0] 0", "fc 0 i16 [1.0] 300", "fc 1 i4 [3.0] 0"]
        );
    }

    #[test]
    fn what_is_wrong_is_said_at_its_place() {
        let value = |fields: &str| format!("record {{ key: 'a' value {{ {fields} }} }}");
        for (fields, word, message) in [
            (
                "scale_d: 0",
                "scale_d",
                "`scale_d` lies between 0 and infinity, both excluded, and has a finite reciprocal",
            ),
            (
                "scale_d: 1e-40",
                "scale_d",
                "`scale_d` lies between 0 and infinity, both excluded, and has a finite reciprocal",
            ),
            (
                "scale_d: inf",
                "scale_d",
                "`scale_d` lies between 0 and infinity, both excluded, and has a finite reciprocal",
            ),
            (
                "scale_d: 1 offset_d: 128",
                "offset_d",
                "`offset_d` lies between -128 and 127",
            ),
            (
                "scale_d: 1 scale_w: -1",
                "scale_w",
                "`scale_w` lies between 0 and infinity, both excluded, and has a finite reciprocal",
            ),
            (
                "scale_d: 1 scale_w: 1 offset_w: 1",
                "offset_w",
                "`offset_w` is 0: weights have no offset",
            ),
            (
                "scale_d: 1 shift_bit: 17",
                "shift_bit",
                "`shift_bit` is 0 or one of 1 to 16",
            ),
            (
                "scale_d: 1 scale_w: [1, 2] offset_w: 0",
                "1, 2",
                "`a` has 2 of `scale_w` and 1 of `offset_w`",
            ),
            (
                "scale_d: 1 tensor_balance_factor: 0",
                "tensor_",
                "`tensor_balance_factor` lies between 2^-23 and 2^23",
            ),
            (
                "scale_d: 1 tensor_balance_factor: 2",
                "tensor_",
                "`tensor_balance_factor` is 1: weights and activations are not balanced here",
            ),
            (
                "scale_d: 1 scale_h: 1",
                "scale_h",
                "`scale_h` is for recurrent layers, which are not compiled for this target",
            ),
            (
                "scale_d: 1 act_type: 'INT9'",
                "act_type",
                "`act_type` is one of \"INT8\", \"INT16\", \"INT4\"",
            ),
            (
                "scale_d: 1 ofset_d: 1",
                "ofset_d",
                "there is no field `ofset_d`; did you mean `offset_d`?",
            ),
            ("offset_d: 1", "key", "the layer `a` has no `scale_d`"),
        ] {
            let text = value(fields);
            let error = read(&text).unwrap_err();
            assert_eq!(error.message, message, "{fields}");
            assert!(
                text[error.at.start..].starts_with(word),
                "{fields}: {}",
                &text[error.at.clone()]
            );
        }
        let twice = format!("{0} {0}", value("scale_d: 1"));
        assert_eq!(read(&twice).unwrap_err().message, "the layer `a` is here a second time");
        assert!(read("record { key: 'a:0' value { scale_d: 1 scale_w: 1 } }").is_err());
        assert!(read("record { value { scale_d: 1 } }").is_err() && read("recrd {}").is_err());
    }
}
