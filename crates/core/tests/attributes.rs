//! Tests of the attributes of every op: NaN is refused, and the zero points among them are known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use strait_core::{Attribute, AttributeError, Op, OpError, text, verifier};

/// An op called `name` with some valid attributes. Each attribute is the first candidate that the op accepts.
fn some(name: &str, keys: &[&str]) -> Op {
    let candidates = |allowed: &str| -> Vec<Attribute> {
        let words = allowed.split([' ', ',']).map(|word| Attribute::Text(word.into()));
        let form = strait_requantize::form::ArithFolded {
            narrowing: strait_requantize::Narrowing {
                shift: strait_requantize::Per::Tensor(0),
                rounding: strait_requantize::Rounding::Floor,
                out: strait_requantize::IntType::I8,
            },
        };
        let others = [
            Attribute::Int(1),
            Attribute::Ints(vec![1]),
            Attribute::Float(1.0),
            Attribute::Floats(vec![1.0]),
            Attribute::Text("f32".into()),
            Attribute::Text("e4m3 half_even".into()),
            Attribute::Form(Box::new(form.into())),
        ];
        words.chain(others).collect()
    };
    let mut list: Vec<(String, Attribute)> = keys
        .iter()
        .map(|&key| (key.into(), Attribute::Floats(vec![])))
        .collect();
    let mut tried = vec![0; keys.len()];
    loop {
        match Op::from_attribute_list(name, list.clone()) {
            Ok(op) => return op,
            Err(OpError::Attribute(AttributeError::Value { key, allowed, .. })) => {
                let at = keys.iter().position(|k| *k == key).unwrap();
                list[at].1 = candidates(&allowed)[tried[at]].clone();
                tried[at] += 1;
            }
            Err(other) => panic!("{name}: {other}"),
        }
    }
}

/// The op with NaN as its attribute `key`, if that attribute is a float.
fn with_nan(op: &Op, key: &str) -> Option<Op> {
    let mut list = op.attribute_list();
    let (_, value) = list.iter_mut().find(|(name, _)| *name == key)?;
    *value = match value {
        Attribute::Float(_) => Attribute::Float(f32::NAN),
        Attribute::Floats(_) => Attribute::Floats(vec![1.0, f32::NAN]),
        _ => return None,
    };
    let list = list.into_iter().map(|(key, value)| (key.into_owned(), value)).collect();
    Some(Op::from_attribute_list(op.name(), list).unwrap())
}

#[test]
fn nan_is_found_in_every_float_attribute_of_every_op() {
    let mut found = Vec::new();
    for &(name, _, keys) in Op::ALL {
        let op = some(name, keys);
        assert_eq!(op.nan_attribute(), None, "{name}");
        for &key in keys {
            if let Some(op) = with_nan(&op, key) {
                assert_eq!(op.nan_attribute(), Some(key), "{name}");
                found.push(format!("{name}.{key}"));
            }
        }
    }
    assert!(found.len() >= 12, "{found:?}");
    assert!(found.iter().any(|name| name == "leaky_relu.alpha"), "{found:?}");
}

#[test]
fn the_verifier_names_the_node_and_the_attribute() {
    let graph = "strait 1 float graph @g(%x: f32[2]) { %y: f32[2] = leaky_relu(%x) {alpha=nan(0x7fc00000)} return %y }";
    let violations = verifier::verify(&text::parse(graph).unwrap()).unwrap_err();
    let [violation] = &violations.shown[..] else {
        panic!("{violations}")
    };
    assert_eq!(violation.invariant, 7);
    assert_eq!(violation.text, "g: y (leaky_relu): attribute `alpha` is NaN");
}

#[test]
fn every_zero_point_among_the_attributes_is_known_as_one() {
    let mut seen = 0;
    for (name, _, keys) in Op::ALL {
        let op = some(name, keys);
        let mut codes: Vec<i64> = op.zeros().iter().map(|zero| zero.code.into()).collect();
        for (key, value) in op.attribute_list() {
            if let ("pad_value" | "a_zero" | "b_zero" | "weight_zero", Attribute::Int(code)) = (&*key, &value) {
                let at = codes.iter().position(|found| found == code);
                codes.remove(at.unwrap_or_else(|| panic!("{name}: {key}")));
                seen += 1;
            }
        }
        assert!(codes.is_empty(), "{name}: {codes:?}");
        let pads = op.attribute_list().iter().any(|(key, _)| key == "pad_value");
        assert!(
            op.zeros().iter().all(|zero| zero.pads == (pads && zero.operand == 0)),
            "{name}"
        );
    }
    assert_eq!(seen, 8);
}
