use super::*;

/// One line per grid: layer, operand, element type, scales and zero point.
fn told(text: &str) -> Vec<String> {
    let grids = grids(text).unwrap_or_else(|error| panic!("{error}"));
    let one = |grid: &Recorded| {
        let (scale, zero) = (grid.params.scale.values(), grid.params.zero_point.values()[0]);
        format!("{} {} {} {scale:?} {zero}", grid.layer, grid.operand, grid.elem)
    };
    grids.iter().map(one).collect()
}

/// The text beginning at the place of the error, and the message.
fn wrong(text: &str) -> (&str, String) {
    match grids(text) {
        Err(TargetError::Text { at, message }) => (&text[at.start..], message),
        other => panic!("{text}: {other:?}"),
    }
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
fn a_scale_is_rounded_once() {
    // The number is less than one float64 step above the middle between two floats. Rounding it to float64 first would
    // round it down.
    let digits = "1.0000000596046447753906250000000001";
    let text = format!("record {{ key: 'a' value {{ scale_d: {digits} scale_w: {digits}f }} }}");
    assert_eq!(told(&text), ["a 0 i8 [1.0000001] 0", "a 1 i8 [1.0000001] 0"]);
    assert_eq!(digits.parse::<f64>().unwrap() as f32, 1.0);
}

#[test]
fn what_is_wrong_is_said_at_its_place() {
    let value = |fields: &str| format!("record {{ key: 'a' value {{ {fields} }} }}");
    let positive = "lies between 0 and infinity, both excluded, and has a finite reciprocal";
    for (fields, at, message) in [
        ("scale_d: 0", "0", format!("`scale_d` {positive}")),
        ("scale_d: 1e-40", "1e-40", format!("`scale_d` {positive}")),
        (
            "scale_d: inf",
            "inf",
            "`record[0].value.scale_d` cannot be inf; expected a finite number".into(),
        ),
        (
            "scale_d: 1 offset_d: 128",
            "128",
            "`offset_d` lies between -128 and 127".into(),
        ),
        (
            "scale_d: 1 scale_w: 1 scale_w: -1",
            "-1",
            format!("`scale_w` {positive}"),
        ),
        (
            "scale_d: 1 scale_w: 1 offset_w: 1",
            "1 }",
            "`offset_w` is 0: weights have no offset".into(),
        ),
        (
            "scale_d: 1 shift_bit: 17",
            "17",
            "`shift_bit` is 0 or one of 1 to 16".into(),
        ),
        (
            "scale_d: 1 scale_w: [1, 2] offset_w: 0",
            "1, 2",
            "`a` has 2 of `scale_w` and 1 of `offset_w`".into(),
        ),
        (
            "scale_d: 1 tensor_balance_factor: 0",
            "0",
            "`tensor_balance_factor` lies between 2^-23 and 2^23".into(),
        ),
        (
            "scale_d: 1 tensor_balance_factor: [1, 2]",
            "2]",
            "`tensor_balance_factor` is 1: weights and activations are not balanced here".into(),
        ),
        (
            "scale_d: 1 scale_h: 3",
            "3",
            "`scale_h` is for recurrent layers, which are not compiled for this target".into(),
        ),
        (
            "scale_d: 1 act_type: 'INT9'",
            "'INT9'",
            "`record[0].value.act_type` cannot be \"INT9\"; expected ".into(),
        ),
        (
            "scale_d: 1 ofset_d: 1",
            "ofset_d",
            "there is no key `record[0].value.ofset_d`".into(),
        ),
        ("scale_d: 1 ofset_d: 1", "ofset_d", "did you mean `offset_d`?".into()),
        (
            "scale_d: 1 scale_d: 2",
            "scale_d: 2",
            "`scale_d` is given more than once".into(),
        ),
        ("offset_d: 1", "'a'", "the layer `a` has no `scale_d`".into()),
        (
            "scale_d: 1 }",
            "}",
            "this is not the text form of Protocol Buffers".into(),
        ),
    ] {
        let text = value(fields);
        let (found, said) = wrong(&text);
        assert!(said.contains(&message), "{fields}: {said}");
        assert!(found.starts_with(at), "{fields}: {found}");
    }
    let twice = format!("{0} {0}", value("scale_d: 1"));
    assert_eq!(wrong(&twice).1, "the layer `a` is here a second time");
    for (text, message) in [
        (
            "record { key: 'a:0' value { scale_d: 1 scale_w: 1 } }",
            "one of the layer's operands",
        ),
        ("record { value { scale_d: 1 } }", "`record[0].key` is missing"),
        ("record { key: 'a' }", "the layer `a` has no `value`"),
        ("recrd {}", "did you mean `record`?"),
        (
            "record { key: 'a' kv_cache_value { scale: 1 } }",
            "caches of keys and values",
        ),
        (
            "prune_record { producer { name: 'a' } }",
            "pruning, which are not compiled",
        ),
    ] {
        let said = wrong(text).1;
        assert!(said.contains(message), "{text}: {said}");
    }
}
